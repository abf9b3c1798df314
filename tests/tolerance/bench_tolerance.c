// bench-tolerance [SEEDS] [OPERATOR]: how many of so many seeds refuse a right kernel, and how many find it made worse.
#include "tolerance/attempt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int count(const struct operator* op, int kernel, enum worse way, int seeds, double *margin, char first[200])
{
    int failed = 0;
    for (int seed = 1; seed <= seeds; seed++) {
        struct attempt a;
        attempt_run(op, kernel, way, (uint64_t)seed, &a);
        if (!a.pass && !failed++)
            snprintf(first, 200, "%.199s", a.where);
        *margin = fmax(*margin, a.margin);
    }
    return failed;
}

int main(int argc, char **argv)
{
    int seeds = argc > 1 ? atoi(argv[1]) : 200, tried = 0, refused = 0, kernels = 0, worse = 0, found = 0;
    printf("%-15s %-16s %8s %8s   %s\n", "operator", "right kernel", "refused", "margin",
           "found: bf16 inputs, last dropped, 4 x the error, other tie");
    const struct operator* op;
    for (int i = 0; (op = operator_at(i)); i++)
        for (int k = 0; k < 4 && op->kernels[k]; k++) {
            double margin = 0, ignored = 0;
            char first[200] = "", none[200] = "";
            if (argc > 2 && strcmp(argv[2], op->name))
                continue;
            int bad = count(op, k, RIGHT, seeds, &margin, first);
            printf("%-15s %-16s %4d/%-4d %7.2f  ", op->name, op->kernel_names[k], bad, seeds, margin);
            for (int way = COARSE_INPUTS; way < WAYS; way++) {
                if (!attempt_applies(op, (enum worse)way)) {
                    printf("       -");
                    continue;
                }
                int now = count(op, k, (enum worse)way, seeds, &ignored, none);
                printf("  %6.1f%%", 100.0 * now / seeds);
                worse += seeds;
                found += now;
            }
            printf("  %s\n", first);
            fflush(stdout);
            kernels++;
            tried += seeds;
            refused += bad;
        }
    printf("%d right kernels, %d seeds each: %d of %d refused; made worse: %.2f%% of %d found\n", kernels, seeds,
           refused, tried, worse ? 100.0 * found / worse : 0, worse);
    return 0;
}
