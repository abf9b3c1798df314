// What every use of CUPTI shares: its functions by name, and what its refusals mean in words.
#ifndef KB_PROFILES_CUPTI_H
#define KB_PROFILES_CUPTI_H
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct kb_cupti_symbol {
    void *to; // address of the function pointer to fill
    const char *name;
};
// Opens the library (once a process) and finds the functions. 0, or -1 saying which is missing.
int kb_cupti_symbols(const struct kb_cupti_symbol *, size_t count, struct kb_error *);

// Fills the error with what a CUptiResult means and its remedy; -1.
int kb_cupti_refuse(int code, const char *step, struct kb_error *);
// A refusal that lasts until somebody changes something (no permission, unsupported, another tool in this process), so
// that asking again at each save is no use. A busy one (26) passes by itself.
// Whether such a refusal of sampling speaks for counters too, and the other way round: not what one of them lacks.
bool kb_cupti_shared(int code);
bool kb_cupti_lasting(int code);
// The code of the last refusal in this thread since the last call; 0: none.
int kb_cupti_take_refusal(void);

// Sampling and counters need a right that kernel records do not: 0, or -1 with both remedies where the driver's option
// (admin_only, see kb_profiling_admin_only) and this process's lack of CAP_SYS_ADMIN say that it will be refused.
int kb_profiling_allowed(int admin_only, bool sys_admin, struct kb_error *);
bool kb_has_sys_admin(void); // effective capability of this process

#endif
