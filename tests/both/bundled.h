// Each variant of each bundled bench on each of its cases, ready to run on both devices from the same PTX with the same
// inputs. Cases have the sizes that the CPU device gets.
#ifndef KB_TESTS_BUNDLED_H
#define KB_TESTS_BUNDLED_H
#include "both/both.h"
#include "verify/data.h"

struct bundled {
    const struct kb_bench *bench;
    const struct kb_variant *variant; // resolved
    const struct kb_case_data *data;
    int case_index;
    struct kb_device *device[2];
    struct kb_program program[2];
    struct kb_plan plan;
    uint64_t *address[2];     // by argument
    struct kb_buffer *buffer; // by argument: the second device's own
};
// Both devices with the inputs, and the outputs as verify poisons them.
int bundled_reset(struct bundled *, struct kb_error *);
// One after another, in order of the launches. counted: NULL, or gets the CPU device's facts of all launches (owned).
int bundled_run_cpu(struct bundled *, cJSON **facts, struct kb_error *);

// use: once for each; what fails is put into failures and goes on with the next.
typedef void (*bundled_use)(struct bundled *, void *context);
int bundled_each(const struct both_options *, struct kb_device *const device[2], bundled_use, void *context,
                 cJSON *failures);

#endif
