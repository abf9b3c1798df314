// How large an element of a variable is. In PTX arrays are bytes; the code tells by the steps that it reaches them in.
#ifndef KB_JIT_PTX_ELEMENTS_H
#define KB_JIT_PTX_ELEMENTS_H
#include "jit/ptx/module.h"

// Sets element_bytes of shared, global and constant variables declared in bytes, where each address that the code
// computes from one is a multiple of the same step behind its start: 8 for struct { float a, b; } s[16], also where it
// is read by 4 bytes. Stays 1 where nothing is known. For texts only.
void ptx_find_elements(struct ptx_module *);

#endif
