// Monotonic time. Everything in the loop is measured with it; wall-clock time is only for people and file names.
#ifndef KB_BASE_CLOCK_H
#define KB_BASE_CLOCK_H
#include <stdint.h>

int64_t kb_now_us(void);
// "20261130T164518Z" into out[17].
void kb_utc_stamp(char out[17]);
// "2026-11-30T16:45:18Z" into out[21].
void kb_utc_iso(char out[21]);

#endif
