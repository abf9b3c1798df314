// The tolerance rule on right kernels of many operators, and on the same kernels made worse. `bench-tolerance` does the
// same for as many seeds as one likes.
#include "tolerance/attempt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SEEDS = 6 };

static void right_kernels_pass(void **state)
{
    (void)state;
    int refused = 0;
    const struct operator* op;
    for (int i = 0; (op = operator_at(i)); i++)
        for (int k = 0; k < 4 && op->kernels[k]; k++)
            for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                struct attempt a;
                attempt_run(op, k, RIGHT, seed, &a);
                refused += !a.pass;
                if (!a.pass)
                    print_error("%s, %s, seed %d: %s\n", op->name, op->kernel_names[k], (int)seed, a.where);
            }
    assert_int_equal(refused, 0);
}

static void worse_kernels_fail(void **state)
{
    static const char *const ways[WAYS] = {"", "inputs in bf16", "the last one dropped", "four times the error",
                                           "the other of two that tie"};
    (void)state;
    int passed = 0;
    const struct operator* op;
    for (int i = 0; (op = operator_at(i)); i++)
        for (int k = 0; k < 4 && op->kernels[k]; k++)
            for (int way = COARSE_INPUTS; way < WAYS; way++) {
                struct attempt a;
                if (!attempt_applies(op, (enum worse)way))
                    continue;
                attempt_run(op, k, (enum worse)way, 1, &a);
                passed += a.pass;
                if (a.pass)
                    print_error("%s, %s, %s: passes\n", op->name, op->kernel_names[k], ways[way]);
            }
    assert_int_equal(passed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(right_kernels_pass), cmocka_unit_test(worse_kernels_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
