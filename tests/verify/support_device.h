// A device for tests whose kernels are C functions: host memory, one thread. An image is a text of kernel names.
#ifndef KB_TESTS_VERIFY_SUPPORT_DEVICE_H
#define KB_TESTS_VERIFY_SUPPORT_DEVICE_H
#include "verify/trial.h"

typedef void (*toy_kernel)(void *const *args); // pointers to the values, as a launch has them
struct toy_entry {
    const char *name;
    toy_kernel run; // NULL: a launch of it fails
};
// entries end with a NULL name and must live as long as the device.
struct kb_device *toy_open(const struct toy_entry *entries);
extern size_t toy_free_bytes;                 // what the device says is free
extern int toy_stop_at;                       // the launch that somebody stops, counted from 1; 0: none
extern int toy_live;                          // buffers not yet freed
extern struct kb_command toy_command;         // of the next toy_setup
extern size_t toy_undefined;                  // bytes that were declared to have no content, in all
extern struct kb_module_memory toy_variables; // of every module; bytes 0: none

// A bench from JSON text (quotes may be ' there) with its variant "v", opened as data with two sets.
struct toy {
    struct kb_device *device;
    struct kb_data data;
    struct kb_variant *variant;
    struct kb_program program;
    struct kb_error error;
};
int toy_setup(struct toy *, const struct toy_entry *, const char *json); // -1: error tells
void toy_teardown(struct toy *);
// One verifying (or running) of a case; the trial must be freed. NULL if it could be made, else the error.
const char *toy_try(struct toy *, int case_index, enum kb_trial_depth, struct kb_trial *);

#endif
