// The state of a launch while it runs: threads of the host, resident blocks, warps, and where lanes went apart.
#ifndef KB_JIT_PTX_RUN_H
#define KB_JIT_PTX_RUN_H
#include "jit/device.h"
#include "jit/ptx/program.h"

#include <pthread.h>
#include <stdatomic.h>

enum { PTX_LANES = 32, PTX_BARRIERS = 16 };
// For each lane i of a mask.
#define PTX_ACTIVE(mask, i) for (uint32_t m_ = (mask), i; m_ && ((i = (uint32_t)__builtin_ctz(m_)), 1); m_ &= m_ - 1)

// Generic addresses: global ones are host addresses; the others carry the space in bits 60 and up.
#define PTX_TAG_SHARED (1ull << 60)
#define PTX_TAG_LOCAL (2ull << 60)
#define PTX_TAG_PARAM (3ull << 60)
#define PTX_TAG(address) ((address) >> 60)

struct ptx_allocation {
    uint64_t low, high;             // what a kernel may touch
    uint64_t outer_low, outer_high; // with guard zones
    char name[64];
    enum kb_dtype dtype;
    uint32_t element_bytes;
    int ndim;
    int64_t shape[KB_MAX_DIMS];
    bool variable;          // a variable of the module
    bool set;               // then: it has an initialiser, or somebody wrote to it
    uint32_t read_loc;      // check "full": where it was read before that, 0: nowhere
    bool read_only;         // .const, or an input
    void *memory;           // what to free
    struct ptx_cell *cells; // check "full": who touched its elements in this launch
    uint64_t *undefined;    // check "full": see undefined.h; NULL: all of it has content
};

struct ptx_space_table { // sorted by address
    struct ptx_allocation **items;
    uint32_t count, cap;
};

struct ptx_op_count {   // of one operation on one host thread
    uint64_t lanes_off; // lanes that its guard kept out
    uint64_t warps_off; // times it did not run at all
    uint64_t sectors, conflicts, requests;
    uint64_t bytes;     // of operations whose size is a value
    uint64_t low, high; // the range that was last seen to be in bounds
    uint32_t hint;      // the pattern of addresses that fitted last
};
struct ptx_block_count {
    uint64_t warps, lanes, divergent;
};

struct ptx_report {
    char kind[32];
    char text[768];
    int line, caller_line; // caller: see ptx_place
    char file[128], caller_file[128];
    uint64_t count;
};
enum { PTX_MAX_REPORTS = 64 };

struct ptx_frame {
    struct ptx_frame *parent, *next_free;
    char *R;
    const struct ptx_program *program;
    uint32_t local_base, return_block, depth, users;
    const struct ptx_call *call;
};

enum ptx_wait { PTX_RUNS, PTX_WAITS_BARRIER, PTX_WAITS_LANES };
struct ptx_split { // lanes of a warp that stand at the same place
    struct ptx_frame *frame;
    uint32_t block, mask;
    uint32_t barrier;
    uint32_t seen; // when it was chosen last
    uint8_t wait;
};

// Whether a warp still gets on (spin.c): its state, looked at between turns.
struct ptx_watch {
    bool wrote, waited;    // since the last look: changed memory; since the state was kept: may wait for others
    bool steering;         // the state is that of the registers that branches depend on
    uint32_t quiet;        // turns without a change of memory that branches may depend on
    uint32_t looks, until; // since the state was kept; when another one is kept
    uint32_t turns;        // of the warp when it was kept
    uint64_t state, version;
    uint64_t stuck; // nothing changes any more while memory is as at this version, + 1
};

struct ptx_warp {
    char *R; // registers of the current frame
    struct ptx_cta *cta;
    struct ptx_thread *thread;
    const struct ptx_program *program;
    uint32_t index, lanes, live; // lanes: those that exist
    uint32_t current, split_count;
    uint32_t turns;
    uint64_t steps;          // instructions run
    uint64_t cycles, random; // what they took (clock.h), and the warp's random numbers
    uint32_t spin;           // weight of strong accesses since the last turn
    bool yield, shuffle_noted;
    struct ptx_watch watch;
    struct ptx_split split[PTX_LANES];
    char *local;
    uint32_t local_bytes;
    uint32_t tid[3][PTX_LANES];
    struct ptx_async *async; // cp.async groups
};

struct ptx_barrier {
    uint32_t arrived, expected; // expected 0: all living threads
    uint32_t any, all, count;
    bool used;
};

struct ptx_cta {
    struct ptx_cta *next;
    uint32_t ctaid[3];
    uint64_t number;
    uint64_t clock; // the latest reading by one of its warps
    uint32_t warp_count, live_threads, live_warps;
    char *shared;
    struct ptx_barrier barrier[PTX_BARRIERS];
    struct ptx_warp *warps;
    struct ptx_shadow *shadow;
    struct ptx_ordering *ordering;
    struct ptx_bulk *bulk;
};

struct ptx_thread { // one thread of the host
    struct ptx_launch *launch;
    pthread_t id;
    struct ptx_op_count *ops;
    struct ptx_block_count *blocks;
    uint64_t barriers, atomics;
    struct ptx_cta *free_ctas;
    struct ptx_frame *free_frames;
    uint64_t since_end;      // instructions since a block ended
    bool stop;               // a fault was recorded, or another thread wants the end
    bool main;               // the caller's thread: it asks whether the launch shall stop
    uint64_t since_asked;    // instructions
    _Atomic uint64_t stuck;  // as of a warp, for all its blocks; UINT64_MAX: it has ended
    const struct ptx_op *op; // the one that runs, for texts
};

enum ptx_check { PTX_CHECK_OFF, PTX_CHECK_BOUNDS, PTX_CHECK_FULL };

struct ptx_shared_range {
    uint32_t low, high;
    const char *name;
    uint32_t element_bytes;
};

struct ptx_launch {
    struct ptx_module *module;
    struct ptx_func *func;
    const struct ptx_space_table *space;
    enum ptx_check check;
    uint32_t grid[3], block[3];
    uint32_t threads, warps; // of a block
    uint64_t ctas;
    uint32_t dynamic_shared, shared_end; // shared_end: bytes to reserve
    uint32_t dynamic_at, static_shared;
    struct ptx_shared_range *ranges;
    int range_count;
    const uint8_t *params;
    size_t param_bytes;
    bool cooperative;
    uint32_t resident_a_thread; // blocks that one host thread lets take turns
    uint64_t seed, budget;
    uint32_t time;           // check "full": rises with each access
    struct ptx_flags *flags; // and what strong accesses leave in memory for others
    _Atomic uint64_t next_cta;
    atomic_bool stop;
    _Atomic uint64_t version; // rises when somebody changes memory
    struct ptx_thread *all;   // threads of the host
    uint32_t all_count;
    bool (*stops)(void *); // asked now and then by the caller's thread; may be NULL
    void *stops_context;
    bool stopped;
    pthread_mutex_t lock; // of what follows
    bool failed, refused; // refused: by the device, whatever the kernel is worth
    struct kb_error fault;
    int fault_code;
    const char *fault_name;
    struct ptx_place fault_place;
    struct ptx_report *reports;
    int report_count;
    uint64_t reports_cut;
    struct ptx_heap *heap;
    struct ptx_output *output; // of printf
    uint64_t workspace;        // %envreg1/2
    int sm_count;
    uint32_t warps_per_sm;
    uint32_t local_bytes;
    uint64_t clock_base, clock_key, sm_key, grid_id; // clock.h
    _Atomic uint64_t clock_told, clock_latest;
    bool clock_counts; // %clock counts the warp's instructions
};

// The table of handlers of the best instruction set of this host; NULL for an unknown key.
ptx_handler *ptx_find_handler(const char *key);
const char *ptx_isa_name(void);

// Runs the launch to its end on this and further host threads and adds their counts to ops[] and blocks[].
int ptx_run(struct ptx_launch *, struct ptx_thread *total);

// Faults: the first one of a launch is kept and everything stops. lane -1: the warp as a whole.
void ptx_fault(struct ptx_warp *, const struct ptx_op *, int lane, const char *name, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
// An instruction that the device does not run was reached: no fault of the kernel.
void ptx_refused(struct ptx_warp *, const struct kb_error *why);
// A finding that does not stop the kernel; the same text at the same line is counted, not repeated.
void ptx_note(struct ptx_warp *, uint32_t loc, const char *kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void ptx_note_at(struct ptx_launch *, uint32_t loc, const char *kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static inline uint32_t *ptx_u32(const struct ptx_warp *w, uint32_t offset)
{
    return (uint32_t *)(w->R + offset);
}
static inline uint64_t *ptx_u64(const struct ptx_warp *w, uint32_t offset)
{
    return (uint64_t *)(w->R + offset);
}
static inline uint32_t ptx_operand(const struct ptx_op *o, unsigned i)
{
    return i < 4 ? o->r[i] : o->more[i - 4];
}

#endif
