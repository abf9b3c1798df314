// What the two halves of fake libcupti share.
#ifndef KB_FAKE_CUPTI_H
#define KB_FAKE_CUPTI_H
#include "tests/fake/fake.h"

#include <cupti.h>

#define SCRIPT &kb_fake_cupti_state, "KB_FAKE_CUPTI"
#define CALL(name)                                                                                                     \
    do {                                                                                                               \
        int fake_code = fake_call(SCRIPT, name);                                                                       \
        if (fake_code)                                                                                                 \
            return (CUptiResult)fake_code;                                                                             \
    } while (0)

extern struct fake_script kb_fake_cupti_state;
void *kb_fake_driver_symbol(const char *name);
void kb_fake_cupti_profiler_reset(void);
long kb_fake_cupti_count(const char *what); // "enable", "disable", "start", "passes", "hosts", "open", ... "held"

#endif
