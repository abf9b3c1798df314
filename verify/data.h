// The data of a bench on the device: cases with their shapes, input sets with the reference's results, and the outputs
// that variants write to. Every buffer lies between guard zones.
//
// A case has a few input sets, each of a number that it never had before: values are a function of seed, number, case,
// argument and element. The reference runs once a set, before any variant sees the set, on poisoned results of its own.
#ifndef KB_VERIFY_DATA_H
#define KB_VERIFY_DATA_H
#include "verify/hard.h"
#include "verify/ops.h"
#include "verify/program.h"
#include "verify/tolerance.h"

enum { KB_GUARD_BYTES = 4096, KB_MOST_SETS = 16 };

struct kb_data_file { // a .npy that travelled with the bench; borrowed
    const char *name;
    const char *bytes;
    size_t size;
};
enum kb_set_guard { KB_SET_EMPTY, KB_SET_READABLE, KB_SET_MASKED }; // its results and scales (verify/mask.h)
struct kb_set {
    uint64_t number, base; // base: a 64th of the values belongs to this number, all others to that one; 0: all to this
    bool ready;
    int verified;  // times that verify took it
    bool stressed; // its inputs are not the bench's own, but of this kind (verify/hard.h)
    enum kb_stress stress;
    bool spoilt; // a kernel changed an input
    bool has_reference;
    struct kb_buffer *input; // by argument; inputs and what inouts begin with
    uint64_t *hash;          // of each input
    struct kb_buffer *ref;   // by argument: outputs and inouts; doubles for floating types, else the type itself
    uint64_t *ref_hash;      // of each of these, once `hashed`
    struct kb_buffer *scale; // by argument: see kb_op_group_scale; floating types only
    double *fallback;        // by argument: root mean square over all groups
    enum kb_set_guard guarded;
    bool probed;                 // what follows belongs to these inputs (verify/probe.h)
    struct kb_buffer *condition; // by argument: doubles, one an element; see kbe_diff_of. Made when first needed
    bool hashed;                 // the hashes of results and scales are there
    uint64_t *scale_hash;        // by argument
};
struct kb_case_data {
    int index;
    char *label;
    int64_t (*shape)[KB_MAX_DIMS]; // by argument
    int64_t *elements;
    struct kb_sums sums;       // of the largest output
    bool introduced;           // sums were measured, stand-ins were tried
    struct kb_plan reference;  // launches of the reference
    struct kb_buffer *work[2]; // by argument: outputs, inouts, scratch; two of each for two runs
    struct kb_set *sets;
    int set_count;         // allocated so far, at most data.want_sets
    struct kb_set *stress; // by enum kb_stress; NULL until one is asked for
    uint64_t next_number;
    double set_bytes, work_bytes; // device memory of one set, of the two sets of outputs
    double reference_us;          // of the last run of the reference; 0 before
    double reference_spent_us;    // the same as budgets count it (kb_spent_us)
    char weak[160];               // which output that computes nothing would pass; "" if none (verify/null_kernels.h)
    bool usable;
    bool no_memory;        // why it is not
    bool reference_failed; // likewise: the reference is at fault
    struct kb_error why;   // if not usable
};
struct kb_command {              // how a reference that is a command is run (verify/command.h)
    const char *dir;             // the bench's folder; NULL: it may not run
    bool (*stop)(void *context); // asked while it runs; true ends it. NULL: never
    void (*say)(void *context, const char *text, size_t size); // what it printed; NULL: to nobody
    void *context;
    bool stopped; // the last one was ended by `stop`
};
struct kb_resized;
struct kb_data {
    struct kb_device *device;
    struct kb_bench *bench; // owned
    struct kb_ops ops;
    bool on_cpu;
    uint64_t seed;
    int want_sets;
    double budget_bytes, used_bytes; // device memory: half of what was free
    struct kb_program reference;
    bool has_reference;
    const char *no_reference; // why not: static text
    bool reference_failed;    // of the last failure, also of opening: it was by the reference's own fault
    // Told when a reference begins to run on a case, and when it ended; NULL: nobody.
    void (*on_reference)(void *context, const struct kb_case_data *, bool runs);
    void *on_reference_context;
    struct kb_command command;
    const struct kb_data_file *files;
    int file_count;
    struct kb_case_data *cases;    // one a case of the bench
    struct kb_resized *neighbours; // sizes next to timed ones (verify/neighbour.h)
    int neighbour_count;
    uint64_t counter;      // sets filled so far
    bool masks;            // results are masked while a version runs: on a GPU, and for tests
    uint64_t mask_keys[2]; // secret
};
struct kb_data_request {
    struct kb_bench *bench; // taken, also on failure
    uint64_t seed;
    int sets;
    const struct kb_image *builtin;   // NULL where loops do
    const struct kb_image *reference; // NULL: none
    const cJSON *reference_compiled;
    struct kb_command command;        // dir NULL: a reference that is a command is not there
    const struct kb_data_file *files; // must live as long as the data
    int file_count;
};
// Loads the reference and lays out the cases. A case that cannot be used says why by itself; -1 only if nothing can.
int kb_data_open(struct kb_device *, const struct kb_data_request *, struct kb_data *, struct kb_error *);
void kb_data_close(struct kb_data *);

bool kb_data_was_stopped(const struct kb_data *); // what failed last was ended by somebody who needs it no more
bool kb_device_is_lost(const struct kb_device *); // nothing more can be done in this process
enum kb_dtype kb_reference_type(enum kb_dtype);   // doubles for floating types
int kb_data_smallest(const struct kb_data *);     // usable case with the fewest elements, -1 if none
// What budgets count, in microseconds from some moment on. On a GPU the clock. On the CPU device what the instructions
// of all launches so far take on a slow core, and what commands of the bench computed: what is tried, which sets of
// inputs are made, and so whether a version is right, depend neither on the machine nor on its load.
double kb_spent_us(const struct kb_data *);
// The reference took longer than this. On the CPU small cases get 25 times as long: nobody waits for it in between, as
// on a GPU, and a verdict on new inputs is worth more.
bool kb_reference_is_slower(const struct kb_data *, const struct kb_case_data *, double us);
int64_t kb_case_elements(const struct kb_data *, const struct kb_case_data *);
bool kb_case_is_small(const struct kb_data *, const struct kb_case_data *); // all arrays together: 65,536 elements

// Makes outputs and one filled set of a case, if not there yet. -1: the case is not usable (its `why` is filled) or the
// device failed (see device.fault).
int kb_data_prepare(struct kb_data *, struct kb_case_data *, struct kb_error *);
// Fills or refills one set somewhere: a missing one, or one that verify took. slow: also where the reference takes long
// (over 20 ms). *c and *s say which; NULL if all are full. -1 on failure.
int kb_data_refill(struct kb_data *, bool slow, struct kb_case_data **c, struct kb_set **s, struct kb_error *);
bool kb_data_has_slow(const struct kb_data *); // a set is missing that only slow would fill
// A set for verifying that no version has seen; where the reference takes over 50 ms and none is ready, the one that
// was taken least (*fresh false).
struct kb_set *kb_data_take(struct kb_data *, struct kb_case_data *, bool *fresh, struct kb_error *);
// One case as the bench has it at the moment, and its end; kb_data does so for its own.
void kb_case_open(struct kb_data *, int index, struct kb_case_data *);
void kb_case_close(struct kb_data *, struct kb_case_data *);
// Buffers for a set; its content comes from verify/fill.h.
int kb_set_make(struct kb_data *, const struct kb_case_data *, struct kb_set *, struct kb_error *);
void kb_set_free(struct kb_data *, struct kb_set *);
// Marks a set as spoilt (an input was changed): it is filled anew before its next use.
void kb_set_spoil(struct kb_set *);

// What an argument's launch address is, in run 0 or 1 on this set; addresses: by argument.
void kb_data_addresses(const struct kb_data *, const struct kb_case_data *, const struct kb_set *, int run,
                       uint64_t *addresses);
// Outputs and scratch poisoned with pattern `run` and undefined for the device, inouts as the set has them, guards
// renewed.
int kb_data_reset(struct kb_data *, struct kb_case_data *, const struct kb_set *, int run, struct kb_error *);
// The same, but outputs and scratch stay as the call before left them.
int kb_data_restore(struct kb_data *, struct kb_case_data *, const struct kb_set *, int run, struct kb_error *);

#endif
