// Below what a time or a difference says nothing: the method's own share, and how far identical code differs.
#ifndef KB_PROFILES_TIMING_FLOOR_H
#define KB_PROFILES_TIMING_FLOOR_H
#include "jit/device.h"

// The time that an empty kernel gets by the same method, cold, in us: part of every time of a kernel. Some 5 ms.
// builtin: the module of verify/element.cu.
int kb_timing_overhead(struct kb_device *, struct kb_module *builtin, double *us, struct kb_error *);

// A/A controls of this GPU and driver, the newest last; kept in the cache folder from one run to the next.
enum { KB_NOISE_CONTROLS = 20 };
struct kb_noise {
    double spreads[KB_NOISE_CONTROLS]; // |ratio - 1| of two builds of the same code
    int count;
    bool read;
};
// kb_noise_floor of the controls, read at the first call; NAN as long as there are too few.
double kb_noise_known(struct kb_noise *, const struct kb_device_info *);
void kb_noise_add(struct kb_noise *, const struct kb_device_info *, double spread);

#endif
