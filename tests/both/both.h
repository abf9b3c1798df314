// The CPU device and a GPU side by side: the same PTX with the same inputs on both, the results compared as far as the
// PTX manual defines them.
//
// A snippet is a few statements of PTX that every thread runs. What they find and what they leave:
//   %dK %rK %fK %gK %hK %pK   input K (from 0): 64 bits, their low 32 and 16, as f32, f64, and the lowest bit
//   %r50 %r51 %r52            thread in its block (of 128), thread in the grid, lane
//   %d50                      64 bytes a thread of global memory of the block (8192 bytes, zero), compared afterwards
//   sm, lo                    16 KiB of shared and 256 bytes of local memory, declared where the statements name them
//   result J                  in register 20 + J of the kind that `out` says
// Registers from 20 on are theirs, but for 50 to 52 and 60 to 63.
#ifndef KB_TESTS_BOTH_H
#define KB_TESTS_BOTH_H
#include "jit/device.h"

enum { BOTH_THREADS = 128, BOTH_SCRATCH = 8192, BOTH_SLOTS = 16, BOTH_RESULTS = 8, BOTH_SAMPLES = 4 };

// How far a result is defined. Bounds are those of the PTX manual for the GPU; ours add one rounding of the result.
enum both_how {
    BOTH_EXACT, // bit for bit
    BOTH_NAN,   // bit for bit, but any NaN is as good as another
    BOTH_ULP,   // bound units in the last place
    BOTH_REL,   // bound relative to the result
    BOTH_ABS,   // bound as it is
    BOTH_MIX,   // bound relative to the larger of the result and 1
};

struct both_snippet {
    char *name, *preamble, *body; // owned; preamble: what stands before the kernel, or ""
    const char *family;           // names in the preamble hold a `~`, which becomes the kernel's name
    char in[BOTH_SLOTS + 1];      // what values an input takes: see values.c
    char out[BOTH_RESULTS + 1];   // r d h: integers of 32, 64, 16 bits; p; f g: f32, f64; k w: f16, bf16 in %h;
                                  // K W: two of them in %r
    enum both_how how;
    double bound;
};
struct both_table {
    struct both_snippet *items;
    int count, cap;
    const char *family; // of what is added next
    const char *preamble;
};

// What statements are written for: `#` in them becomes the name, `$` the kind of register, in `in` and `out` the kinds
// of values.
struct both_type {
    const char *name;
    char in, out, reg;
};
extern const struct both_type both_ints[6], both_floats[4];

// Adds a snippet for each way of choosing from the lists <a|b|c> in the statements. "words :: statements" names it, and
// there one choice holds for all lists that are spelled alike.
void both_add(struct both_table *, enum both_how, double bound, const char *in, const char *out, const char *text);
void both_each(struct both_table *, const struct both_type *, int count, enum both_how, double bound, const char *in,
               const char *out, const char *text);
void both_table_free(struct both_table *);

void both_integers(struct both_table *);
void both_floats_arith(struct both_table *);
void both_compares(struct both_table *);
void both_converts(struct both_table *);
void both_warps(struct both_table *);
void both_memories(struct both_table *);
void both_atomics(struct both_table *);
void both_matrices(struct both_table *);

// Value number i of n for input `slot` of these kinds: edge values against each other first, then random ones.
uint64_t both_value(const char *in, int slot, int i, int n);

// The kernel with this name; owned by the caller.
char *both_kernel(const struct both_snippet *, const char *name);
char *both_module(const struct both_snippet *); // with its head; the kernel is "k"
extern const char both_head[];

struct both_difference {
    int index, result; // thread; result, or -1 - word of the scratch memory
    uint64_t first, second;
};
struct both_result {
    enum { BOTH_NOT_RUN, BOTH_SAME, BOTH_DIFFER, BOTH_FAILED } status;
    int on;               // of a failed one: which device
    bool refused;         // it was refused before it ran
    char reason[300];     // of a failed one
    uint64_t values;      // compared
    uint64_t bits_differ; // of these, whatever is allowed
    uint64_t nan_differ;  // of these, NaN both
    uint64_t wrong;       // beyond what is allowed
    double worst;         // deviation in the units of `how`; 0 of exact ones
    int sample_count;
    struct both_difference samples[BOTH_SAMPLES];
    uint64_t expected_wrong; // results of the first device that are not what C computes
    bool expected;           // it was compared with C
};

// One device with the buffers that snippets use.
struct both_rig {
    struct kb_device *device;
    struct kb_buffer in, out, scratch;
    int n;
};
int both_rig_open(struct both_rig *, const char *kind, int n, struct kb_error *);
void both_rig_close(struct both_rig *);
// out: BOTH_RESULTS * n values; scratch: n / BOTH_THREADS * BOTH_SCRATCH bytes.
int both_rig_run(struct both_rig *, const struct both_snippet *, const uint64_t *in, uint64_t *out, uint8_t *scratch,
                 bool *refused, struct kb_error *);
void both_compare(const struct both_snippet *, int n, const uint64_t *a, const uint64_t *b, const uint8_t *scratch_a,
                  const uint8_t *scratch_b, struct both_result *);
// What C computes for some snippets; false where it has nothing to say.
bool both_expected(const struct both_snippet *, const uint64_t *in, uint64_t *out);

// The bundled kernels on both (kernels.c) and what both count of them and of probes (counts.c).
struct both_options {
    const char *second; // the device beside the CPU device: "cuda", or NULL
    const char *only;   // part of a name, or NULL
    const char *root;   // folder of the project
    int n;
};
int both_run_kernels(const struct both_options *, cJSON *record);
int both_run_counts(const struct both_options *, cJSON *record);

#endif
