// Kernel records of CUPTI's activity API: start and end of each launch by the GPU's own clock. Enabled once a process,
// at the first use. One thread records; CUPTI may deliver from another.
#ifndef KB_PROFILES_CUPTI_ACTIVITY_H
#define KB_PROFILES_CUPTI_ACTIVITY_H
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

// 0, or -1 with the refusal in words and its remedy. A refusal is remembered: it is not tried again at each save but
// only behind kb_cupti_retry(), when the user asks for it.
int kb_cupti_open(struct kb_error *);
void kb_cupti_retry(void);

struct kb_kernel_span { // one launch
    bool known;         // false: no record came, or an impossible one (start or end 0, end < start, start before begin)
    uint64_t start_ns, end_ns;
};
int kb_cupti_begin(struct kb_error *); // forgets everything and starts to note launches
int kb_cupti_launches(void);           // noted since begin
// Ends the recording. Behind a device sync: spans of launches 0 .. count-1 in launch order. Returns how many are
// unknown, or -1 (CUPTI failed).
int kb_cupti_collect(struct kb_kernel_span *spans, int count, struct kb_error *);

// 1 if the driver lets only administrators profile (RmProfilingAdminOnly), 0 if not, -1 unknown. params_path NULL: the
// driver's own /proc/driver/nvidia/params. Kernel records need no rights, counters and sampling do.
int kb_profiling_admin_only(const char *params_path);

#endif
