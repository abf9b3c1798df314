#include "base/clock.h"

#include <time.h>

static int64_t read_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t kb_now_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t kb_cpu_us(void)
{
    return read_us(CLOCK_PROCESS_CPUTIME_ID);
}

static void utc(char *out, unsigned long size, const char *format)
{
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(out, size, format, &parts);
}

void kb_utc_stamp(char out[17])
{
    utc(out, 17, "%Y%m%dT%H%M%SZ");
}

void kb_utc_iso(char out[21])
{
    utc(out, 21, "%Y-%m-%dT%H:%M:%SZ");
}
