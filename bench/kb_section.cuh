// Marks sections of a kernel for an exact timeline of its warps. This one file needs no other.
//
//   #include "kb_section.cuh"
//   KB_SECTION("load");    from here on this warp is in section "load" ...
//   KB_SECTION_END();      ... until here; what was before goes on
//
// Both cost nothing and mean nothing, except in a traced compile (KB_SECTION_TRACED, by kbench-tui). There each warp
// notes, at each mark, which section it is in and the clock of its multiprocessor. Lines `//kb: section NAME` of a
// kernel need none of this: a traced compile makes the same calls of them. These macros are for what such lines do not
// reach, e.g. functions that a kernel calls. The name must be a literal.
//
// A mark is a barrier for the compiler: memory accesses stay on the side of it that the source says (`asm volatile`
// with a memory clobber). Arithmetic on registers may still move across. Nothing waits: a load that was issued in one
// section and is first used in another is waited for in the other.
//
// The first active lane of the warp records. Where lanes part ways, each part records when it comes by, and the warp is
// shown to be where the last of them said.
#ifndef KB_SECTION_CUH
#define KB_SECTION_CUH

// What the host and the kernel share.
struct kb_section_warp { // one a recorded warp; zeros: it never began
    unsigned long long begin_clock, end_clock; // of its multiprocessor; end 0: it never ended
    unsigned long long begin_ns, end_ns;       // %globaltimer
    unsigned sm, events;                       // events: those beyond the capacity, too
};
struct kb_section_setup { // the constant `kb_section_setup`, which the host fills after loading
    unsigned long long warps;  // address of kb_section_warp[slots]
    unsigned long long events; // address of unsigned long long[slots][capacity]
    unsigned slots, capacity;  // 0 slots: nothing is recorded
    unsigned first, middle, last; // blocks of the grid, see kb_section_place
};
// An event: what << 32 | clock (the lower 32 bits), what: kind << 30 | function << 24 | depth << 20 | id.
enum kb_section_kind {
    KB_SECTION_AT,   // a marker of this function (0: the kernel) and depth of blocks
    KB_SECTION_LEFT, // the block of this function and depth was left
    KB_SECTION_PUSH, // KB_SECTION
    KB_SECTION_POP,  // KB_SECTION_END
};
enum { KB_SECTION_ID_MASK = 0xfffff, KB_SECTION_FUNCTIONS = 64, KB_SECTION_DEPTHS = 16 };

enum { KB_SECTION_NOWHERE = 0xffffff };

#if defined(KB_SECTION_TRACED) || !defined(__CUDACC__)
// The place of a block among those recorded: the first ones, some spread evenly over those between, the last ones.
// KB_SECTION_NOWHERE: it is not recorded.
#ifdef __CUDACC__
__device__ __forceinline__
#else
static inline
#endif
    unsigned
    kb_section_place(const struct kb_section_setup *s, unsigned long long block, unsigned long long grid)
{
    if (grid <= (unsigned long long)s->first + s->middle + s->last || block < s->first)
        return (unsigned)block;
    if (block >= grid - s->last)
        return s->first + s->middle + (unsigned)(block - (grid - s->last));
    if (!s->middle || grid > 0xffffffffu)
        return KB_SECTION_NOWHERE;
    unsigned between = (unsigned)grid - s->first - s->last, step = (between + s->middle - 1) / s->middle;
    unsigned at = (unsigned)block - s->first;
    return at % step ? KB_SECTION_NOWHERE : s->first + at / step;
}
// Which section a name is: FNV-1a folded to 20 bits, never 0.
#ifdef __CUDACC__
constexpr __device__ __forceinline__
#else
static inline
#endif
    unsigned
    kb_section_id(const char *name)
{
    unsigned hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    hash = (hash ^ hash >> 20) & KB_SECTION_ID_MASK;
    return hash ? hash : 1;
}
#endif

#if defined(KB_SECTION_TRACED) && defined(__CUDACC__)
extern "C" {
__constant__ struct kb_section_setup kb_section_setup;
}
enum { KB_SECTION_BEGUN = 0x5ec70000 }; // so that what a kernel without marks finds in shared memory is no slot

struct kb_section_state { // of one warp, in shared memory: functions that a kernel calls find it there
    unsigned slot, next;
};
__device__ __forceinline__ volatile kb_section_state *kb_section_own()
{
    __shared__ kb_section_state all[32];
    return &all[(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32];
}
__device__ __forceinline__ bool kb_section_leads()
{
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane == (unsigned)__ffs((int)__activemask()) - 1;
}
__device__ __forceinline__ unsigned long long kb_section_clock64()
{
    unsigned long long clock;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(clock)::"memory");
    return clock;
}
__device__ __forceinline__ unsigned long long kb_section_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}
__device__ __forceinline__ void kb_section_record(unsigned what)
{
    unsigned clock;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(clock)::"memory");
    if (kb_section_leads()) {
        volatile kb_section_state *own = kb_section_own();
        unsigned slot = own->slot - KB_SECTION_BEGUN;
        if (slot < kb_section_setup.slots) {
            unsigned at = atomicAdd((unsigned *)&own->next, 1u); // lanes that parted ways share it
            if (at < kb_section_setup.capacity)
                ((volatile unsigned long long *)
                     kb_section_setup.events)[(unsigned long long)slot * kb_section_setup.capacity + at] =
                    (unsigned long long)what << 32 | clock;
        }
    }
    asm volatile("" ::: "memory");
}
// What a traced compile makes of a marker. place: function << 24 | depth << 20.
__device__ __forceinline__ void kb_section_at(unsigned place, unsigned id)
{
    kb_section_record((unsigned)KB_SECTION_AT << 30 | place | id);
}
struct kb_section_block { // of the first marker in a block: its end, however it is left
    unsigned place;
    __device__ __forceinline__ explicit kb_section_block(unsigned at) : place(at) {}
    __device__ __forceinline__ ~kb_section_block() { kb_section_record((unsigned)KB_SECTION_LEFT << 30 | place); }
};
struct kb_section_kernel { // of a kernel's body
    __device__ __forceinline__ kb_section_kernel()
    {
        if (kb_section_leads()) {
            volatile kb_section_state *own = kb_section_own();
            unsigned long long block =
                blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
            unsigned threads = blockDim.x * blockDim.y * blockDim.z, warps = (threads + 31) / 32;
            unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
            unsigned place =
                kb_section_place(&kb_section_setup, block, (unsigned long long)gridDim.x * gridDim.y * gridDim.z);
            unsigned slot = place >= KB_SECTION_NOWHERE ? ~0u - KB_SECTION_BEGUN : place * warps + thread / 32;
            own->next = 0;
            own->slot = slot + KB_SECTION_BEGUN;
            if (slot < kb_section_setup.slots) {
                volatile kb_section_warp *w = (volatile kb_section_warp *)kb_section_setup.warps + slot;
                unsigned sm;
                asm("mov.u32 %0, %%smid;" : "=r"(sm));
                w->sm = sm;
                w->begin_ns = kb_section_ns();
                w->begin_clock = kb_section_clock64();
            }
        }
        __syncwarp(__activemask());
        asm volatile("" ::: "memory");
    }
    // Lanes that return early come by before the others: the last ones' end stands.
    __device__ __forceinline__ ~kb_section_kernel()
    {
        unsigned long long clock = kb_section_clock64();
        if (kb_section_leads()) {
            volatile kb_section_state *own = kb_section_own();
            unsigned slot = own->slot - KB_SECTION_BEGUN;
            if (slot < kb_section_setup.slots) {
                volatile kb_section_warp *w = (volatile kb_section_warp *)kb_section_setup.warps + slot;
                w->end_clock = clock;
                w->end_ns = kb_section_ns();
                w->events = own->next;
            }
        }
    }
};
#define KB_SECTION(name)                                                                                               \
    do {                                                                                                               \
        constexpr unsigned kb_section_constant = kb_section_id(name);                                                  \
        kb_section_record((unsigned)KB_SECTION_PUSH << 30 | kb_section_constant);                                              \
    } while (0)
#define KB_SECTION_END() kb_section_record((unsigned)KB_SECTION_POP << 30)
#else
#define KB_SECTION(name) ((void)0)
#define KB_SECTION_END() ((void)0)
#endif

#endif
