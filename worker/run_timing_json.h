// A timing result as the fields of a `timing` event.
#ifndef KB_WORKER_RUN_TIMING_JSON_H
#define KB_WORKER_RUN_TIMING_JSON_H
#include "profiles/timing.h"

// Adds cold, warm, call_us, launches, source, clock_mhz, batch, histogram. variant: names of the launches' kernels.
void run_timing_json(cJSON *event, const struct kb_timing_result *, const struct kb_variant *variant);

#endif
