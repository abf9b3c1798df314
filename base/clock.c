#include "base/clock.h"

#include <time.h>

int64_t kb_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
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
