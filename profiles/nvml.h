// What NVML tells about the GPU of a device: its clock, and who else uses it. Opened at the first call (tens of ms).
#ifndef KB_PROFILES_NVML_H
#define KB_PROFILES_NVML_H
#include "jit/device.h"

// SM clock now, in MHz; NAN if unknown (no NVML, no GPU).
double kb_gpu_clock_mhz(const struct kb_device *);
// Compute processes on the GPU besides this one and its siblings (processes of the same parent and program); -1
// unknown.
int kb_gpu_others(const struct kb_device *);

#endif
