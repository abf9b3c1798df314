// One kernel of an operator, tried as `verify` tries a version: cases, hard inputs, repeated calls.
#ifndef KB_TESTS_TOLERANCE_ATTEMPT_H
#define KB_TESTS_TOLERANCE_ATTEMPT_H
#include "tolerance/operators.h"

struct attempt {
    bool pass;
    double margin;   // the largest scaled error over its bound, of all that passed
    char where[200]; // what failed first
};
// Whether this way of making it worse means anything here.
bool attempt_applies(const struct operator*, enum worse);
void attempt_run(const struct operator*, int kernel, enum worse, uint64_t seed, struct attempt *);

#endif
