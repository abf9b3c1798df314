// Right kernels of many operators as C functions in the precision that a GPU would use, and what makes them worse. They
// run on the toy device of tests/verify, so that thousands of trials of the tolerance rule take seconds.
#ifndef KB_TESTS_TOLERANCE_OPERATORS_H
#define KB_TESTS_TOLERANCE_OPERATORS_H
#include "verify/support_device.h"

enum worse { RIGHT, COARSE_INPUTS, LAST_DROPPED, FOUR_TIMES, OTHER_TIE, WAYS };
// What a kernel sees beside its arguments: LAST_DROPPED leaves out the last element of what is summed or looked at.
extern int operators_dropped;   // 0 or 1
extern int operators_other_tie; // 1: of two that are equal the last is taken

enum operator_trait {
    SUMS = 1,     // there is a last element to drop
    INTEGERS = 2, // the output is no floating type: four times an error has no meaning
    TIES = 4,     // it takes the first of equal ones
};
struct operator
{
    const char *name;
    const char *bench; // JSON, quotes as '; the reference is the kernel "ref", the variant's "v"
    toy_kernel reference;
    toy_kernel kernels[4]; // right ones; NULL ends them
    const char *kernel_names[4];
    int inputs[3], input_count; // parameters that are inputs
    unsigned traits;
};
const struct operator* operator_at(int index); // NULL behind the last

#endif
