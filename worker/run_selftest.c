// `kbench-worker selftest [--device D]`: the kernels of element.cu on this device against the C loops, bit for bit. One
// line for each type with what was compared; exit status 1 if anything differs.
#include "base/memory.h"
#include "verify/loops.h"
#include "worker/builtin.h"
#include "worker/run.h"
#include "worker/workers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct selftest {
    struct kb_device *device;
    struct kb_ops ops;
    uint64_t n;
    int compared, differing;
    char first[160]; // what differed first
    struct kb_error error;
};

static void expect(struct selftest *t, bool same, const char *what, const char *detail)
{
    t->compared++;
    t->differing += !same;
    if (!same && !t->first[0])
        snprintf(t->first, sizeof t->first, "%s %s", what, detail);
}

static int make(struct selftest *t, enum kb_dtype dtype, uint64_t n, struct kb_buffer *b)
{
    struct kb_buffer_spec spec = {.bytes = (size_t)n * kb_dtype_bytes(dtype),
                                  .guard_bytes = 512,
                                  .name = "selftest",
                                  .dtype = dtype,
                                  .ndim = 1,
                                  .shape = {(int64_t)n}};
    return t->device->ops->alloc(t->device, &spec, b, &t->error);
}
static int upload(struct selftest *t, const struct kb_buffer *to, const void *from)
{
    return t->device->ops->to_device(t->device, to->address, from, to->bytes, &t->error);
}
static int same_bytes(struct selftest *t, const struct kb_buffer *b, const void *want, bool *same)
{
    void *got = kb_alloc(b->bytes);
    int failed = t->device->ops->to_host(t->device, got, b->address, b->bytes, &t->error);
    *same = !failed && !memcmp(got, want, b->bytes);
    free(got);
    return failed;
}

static int one_fill(struct selftest *t, const struct kb_buffer *b, void *host, const struct kbe_fill *f,
                    const char *what, const char *detail)
{
    bool same = false;
    kb_loop_fill(host, t->n, f);
    if (kb_op_fill(&t->ops, b, t->n, f, &t->error) || same_bytes(t, b, host, &same))
        return -1;
    expect(t, same, what, detail);
    return 0;
}

// Each kind of fill, and each kind of hard inputs in its domain; leaves the last one in b and host.
static int fills(struct selftest *t, enum kb_dtype dtype, const struct kb_buffer *b, void *host)
{
    static const int domains[] = {KBE_NORMAL, KBE_UNIFORM, KBE_LOGNORMAL, KBE_INTEGERS};
    struct kbe_fill f = {
        .inner = 100, .rows = t->n / 100, .a = -3, .b = 5, .dtype = (int)dtype, .large = 100, .small = 0x1p-9};
    for (int hard = KBE_LARGE; hard <= KBE_MIXED_ROWS; hard++) {
        char which[16];
        snprintf(which, sizeof which, "kind %d", hard);
        f.key = 0x4321 + (kbe_u64)hard;
        f.hard = hard;
        f.kind = domains[hard % 4];
        f.infinite = 1;
        if (one_fill(t, b, host, &f, "hard inputs", which))
            return -1;
    }
    f.hard = KBE_PLAIN;
    for (int kind = 0; kind < KB_FILL_FILE; kind++) {
        f.key = 0x1234 + (kbe_u64)kind;
        f.kind = kind;
        f.other = kind % 2 ? 0x4321 : 0;
        if (one_fill(t, b, host, &f, "fill", kb_fill_name((enum kb_fill_kind)kind)))
            return -1;
    }
    return 0;
}

// There and back; an odd number of bytes, too.
static int masks(struct selftest *t, const struct kb_buffer *b, void *host)
{
    bool same = false;
    struct kb_buffer part = *b;
    part.bytes -= 3;
    kb_loop_mask(host, part.bytes, 0x99, 0x88);
    if (kb_op_mask(&t->ops, &part, 0x99, 0x88, &t->error) || same_bytes(t, b, host, &same))
        return -1;
    expect(t, same, "mask", "");
    kb_loop_mask(host, part.bytes, 0x99, 0x88);
    if (kb_op_mask(&t->ops, &part, 0x99, 0x88, &t->error) || same_bytes(t, b, host, &same))
        return -1;
    expect(t, same, "mask", "and back");
    return 0;
}

// A few elements of b, which holds what host holds, and of host alike.
static int disturbs(struct selftest *t, enum kb_dtype dtype, const struct kb_buffer *b, void *host)
{
    struct kbe_disturb d = {.poke_count = 2, .spoil_count = 2};
    bool same = false;
    for (int k = 0; k < 2; k++) {
        d.pokes[k] = (struct kbe_poke){.to = b->address,
                                       .index = t->n - 1 - 5 * (uint64_t)k,
                                       .code = 0x55 + (uint64_t)k,
                                       .size = kbe_size((int)dtype)};
        d.spoils[k] = (struct kbe_spoil){.to = b->address,
                                         .n = t->n - 6, // not where the others are: they come in no order
                                         .stride = 16 + 51 * (uint64_t)k,
                                         .key = 0x777 + (uint64_t)k,
                                         .size = 2.5,
                                         .dtype = (int)dtype};
        if (k)
            d.spoils[k].n = 0;
    }
    if (kb_op_disturb(&t->ops, &d, &t->error))
        return -1;
    for (int k = 0; k < 2; k++)
        d.pokes[k].to = d.spoils[k].to = (uint64_t)(uintptr_t)host;
    kb_loop_disturb(&d);
    if (same_bytes(t, b, host, &same))
        return -1;
    expect(t, same, "disturb", "");
    return 0;
}

// The zones lie inside of the buffer here: the CPU device lets no kernel write beside one.
static int guards(struct selftest *t, const struct kb_buffer *whole)
{
    struct kb_buffer inner = {.base = whole->address,
                              .address = whole->address + 256,
                              .bytes = whole->bytes - 512,
                              .total = whole->bytes},
                     *b = &inner;
    struct kb_guard_report r;
    unsigned char byte;
    uint64_t at = b->address + b->bytes + 5;
    if (kb_op_guard_fill(&t->ops, b, &t->error) || kb_op_guard_check(&t->ops, b, &r, &t->error))
        return -1;
    expect(t, !r.changed, "guard", "untouched");
    if (t->device->ops->to_host(t->device, &byte, at, 1, &t->error))
        return -1;
    byte ^= 0x10;
    if (t->device->ops->to_device(t->device, at, &byte, 1, &t->error) || kb_op_guard_check(&t->ops, b, &r, &t->error))
        return -1;
    expect(t, r.changed == 1 && r.first == (int64_t)b->bytes + 5, "guard", "one byte behind");
    return 0;
}

static int hashes(struct selftest *t, const struct kb_buffer *b, const void *host)
{
    uint64_t hash;
    if (kb_op_hash(&t->ops, b, &hash, &t->error))
        return -1;
    expect(t, hash == kb_loop_hash(host, b->bytes), "hash", "");
    return 0;
}

static int poisons(struct selftest *t, enum kb_dtype dtype, const struct kb_buffer *a, const struct kb_buffer *b,
                   void *host)
{
    int size = (int)kb_dtype_bytes(dtype);
    struct kb_inspection seen;
    bool same = false;
    if (kb_op_poison(&t->ops, a, t->n, dtype, 0, &t->error) || kb_op_poison(&t->ops, b, t->n, dtype, 1, &t->error))
        return -1;
    kb_loop_poison(host, t->n, size, kbe_poison((int)dtype, 1));
    if (same_bytes(t, b, host, &same))
        return -1;
    expect(t, same, "poison", "");
    for (uint64_t i = 3; i < t->n; i += 7) // these are "written", differently from run 0
        kbe_store(host, size, i, i & 0x7f);
    if (upload(t, b, host) || kb_op_inspect(&t->ops, a, b, t->n, dtype, &seen, &t->error))
        return -1;
    uint64_t patterns[2] = {kbe_poison((int)dtype, 0), kbe_poison((int)dtype, 1)}, pairs[4];
    void *first = kb_alloc(a->bytes);
    kb_loop_poison(first, t->n, size, patterns[0]);
    kb_loop_inspect(first, host, t->n, size, patterns, pairs);
    free(first);
    expect(t, seen.unwritten == pairs[0] && seen.first_unwritten == pairs[1], "inspect", "unwritten");
    expect(t, seen.differ == pairs[2] && seen.first_differ == pairs[3], "inspect", "differing");
    return 0;
}

struct pair { // an output with its reference, here and there
    struct kb_buffer out, ref, scale, condition;
    void *host_out, *host_ref;
    double *host_scale, *host_condition;
    uint64_t group;
};

static bool same_part(const struct kbe_part *a, const struct kbe_part *b)
{
    return !memcmp(a, b, sizeof *a);
}

static int compares(struct selftest *t, enum kb_dtype dtype, const struct pair *p)
{
    static const struct kbe_map map = {.columns = 100, .rows = 37, .cell_columns = 32, .cell_rows = 16};
    uint64_t cells[KBE_MAP_ROWS * KBE_MAP_COLUMNS], host_cells[KBE_MAP_ROWS * KBE_MAP_COLUMNS] = {0};
    struct kbe_part part, host;
    struct kbe_rule rule = {.max_abs = 4,
                            .max_rel = 0.9,
                            .max_ulp = 1e18,
                            .scaled = 0.4,
                            .allowance = 1e-9,
                            .fallback = 1,
                            .group = p->group,
                            .dtype = (int)dtype};
    bool wide = kb_dtype_is_float(dtype);
    struct kbe_wanted here = {p->host_ref, wide ? p->host_scale : NULL, p->host_condition};
    struct kb_wanted there = {&p->ref, wide ? &p->scale : NULL, &p->condition};
    kb_loop_compare(p->host_out, &here, t->n, &rule, &host);
    kb_loop_map(p->host_out, &here, t->n, &rule, &map, host_cells);
    if (kb_op_compare(&t->ops, &p->out, &there, t->n, &rule, &part, &t->error) ||
        kb_op_map(&t->ops, &p->out, &there, t->n, &rule, &map, cells, &t->error))
        return -1;
    expect(t, same_part(&part, &host), "compare", "");
    expect(t, !memcmp(cells, host_cells, sizeof cells), "map", "");
    return 0;
}

// Out: random values, some of them not finite. Ref: the same, widened, with an error on every fifth.
static int references(struct selftest *t, enum kb_dtype dtype, struct pair *p)
{
    bool wide = kb_dtype_is_float(dtype), same = false;
    struct kbe_fill f = {
        .key = 77, .inner = 100, .rows = t->n / 100, .b = 9, .kind = KBE_NEG_INF_ROWS, .dtype = (int)dtype};
    kb_loop_fill(p->host_out, t->n, &f);
    if (upload(t, &p->out, p->host_out))
        return -1;
    if (!wide)
        memcpy(p->host_ref, p->host_out, p->out.bytes);
    if (wide) {
        kb_loop_widen(p->host_out, p->host_ref, t->n, (int)dtype);
        if (kb_op_widen(&t->ops, &p->out, dtype, &p->ref, t->n, &t->error) ||
            same_bytes(t, &p->ref, p->host_ref, &same))
            return -1;
        expect(t, same, "widen", "");
    }
    for (uint64_t i = 0; wide && i < t->n; i += 5)
        ((double *)p->host_ref)[i] *= 1 + 1e-3 * (double)(i % 1000);
    for (uint64_t i = 0; !wide && i < t->n; i += 5)
        kbe_store(p->host_ref, (int)kb_dtype_bytes(dtype), i, i & 0x7f);
    if (upload(t, &p->ref, p->host_ref))
        return -1;
    if (!wide)
        return 0;
    kb_loop_group_scale(p->host_ref, t->n, p->group, p->host_scale);
    if (kb_op_group_scale(&t->ops, &p->ref, t->n, p->group, &p->scale, &t->error) ||
        same_bytes(t, &p->scale, p->host_scale, &same))
        return -1;
    expect(t, same, "group scale", "");
    return 0;
}

// Values that moved, in each way, and how far references did.
static int probes(struct selftest *t, enum kb_dtype dtype, struct pair *p)
{
    void *moved = kb_alloc(t->n * 8), *before = kb_alloc(t->n * 8);
    uint64_t groups = (t->n + p->group - 1) / p->group;
    struct kb_buffer was = {0};
    bool same = false;
    int failed = make(t, kb_reference_type(dtype), t->n, &was);
    memcpy(before, p->host_ref, was.bytes);
    for (int move = KBE_MOVE_UP; !failed && kb_dtype_is_float(dtype) && move <= KBE_MOVE_SOME; move++) {
        struct kbe_probe probe = {.key = 99,
                                  .inner = 100,
                                  .one_of = 7,
                                  .delta = 0x1p-3,
                                  .move = move,
                                  .dtype = (int)kb_reference_type(dtype)};
        kb_loop_probe(p->host_ref, moved, t->n, &probe);
        failed = kb_op_probe(&t->ops, &p->ref, &was, t->n, &probe, &t->error) || same_bytes(t, &was, moved, &same);
        expect(t, same, "probe", "");
        memcpy(before, moved, was.bytes);
    }
    for (uint64_t i = 0; !kb_dtype_is_float(dtype) && i < t->n; i += 11)
        kbe_store(before, (int)kb_dtype_bytes(dtype), i, i & 0x3f);
    memset(p->host_condition, 0, t->n * 8);
    kb_loop_moved(p->host_ref, before, p->host_condition, t->n, (int)dtype, 0.125);
    kb_loop_level(p->host_condition, t->n, p->group, p->host_scale);
    failed = failed || upload(t, &was, before) ||
             t->device->ops->fill(t->device, p->condition.address, 0, p->condition.bytes, &t->error) ||
             t->device->ops->to_device(t->device, p->scale.address, p->host_scale, groups * 8, &t->error) ||
             kb_op_moved(&t->ops, &p->ref, &was, &p->condition, t->n, dtype, 0.125, &t->error) ||
             kb_op_level(&t->ops, &p->condition, t->n, p->group, &p->scale, &t->error) ||
             same_bytes(t, &p->condition, p->host_condition, &same);
    expect(t, same, "moved", "");
    if (was.address)
        t->device->ops->free(t->device, &was);
    free(moved);
    free(before);
    return failed;
}

static void release(struct selftest *t, struct pair *p)
{
    struct kb_buffer *all[] = {&p->out, &p->ref, &p->scale, &p->condition};
    for (size_t i = 0; i < KB_COUNT(all); i++)
        if (all[i]->address)
            t->device->ops->free(t->device, all[i]);
    free(p->host_out);
    free(p->host_ref);
    free(p->host_scale);
    free(p->host_condition);
}

static int one_type(struct selftest *t, enum kb_dtype dtype)
{
    struct pair p = {.group = 100};
    uint64_t groups = (t->n + p.group - 1) / p.group;
    enum kb_dtype ref = kb_reference_type(dtype);
    t->compared = t->differing = 0;
    t->first[0] = 0;
    p.host_out = kb_alloc(t->n * 8);
    p.host_ref = kb_alloc(t->n * 8);
    p.host_scale = kb_alloc(groups * 8);
    p.host_condition = kb_alloc(t->n * 8);
    int failed = make(t, dtype, t->n, &p.out) || make(t, ref, t->n, &p.ref) || make(t, KB_F64, groups, &p.scale) ||
                 make(t, KB_F64, t->n, &p.condition) || fills(t, dtype, &p.out, p.host_out) ||
                 hashes(t, &p.out, p.host_out) || disturbs(t, dtype, &p.out, p.host_out) ||
                 masks(t, &p.out, p.host_out) || guards(t, &p.out) || references(t, dtype, &p) ||
                 probes(t, dtype, &p) || compares(t, dtype, &p);
    struct kb_buffer second = {0};
    failed = failed || make(t, dtype, t->n, &second) || poisons(t, dtype, &p.out, &second, p.host_out);
    if (second.address)
        t->device->ops->free(t->device, &second);
    release(t, &p);
    return failed;
}

static int builtin_image(struct kb_device *device, struct kb_image *image, struct kb_error *e)
{
    struct kb_compile_request r = {.main = kb_builtin_main(), .arch = device->info.arch, .compiler = "auto"};
    struct kb_compiled c;
    r.file_count = kb_builtin_files("element", &r.files, e);
    if (kb_builtin_compile(&r, &c, e))
        return -1;
    int status = c.ok ? 0 : kb_fail(e, "element.cu", NULL, "%s", c.reason);
    if (c.ok)
        kb_image_set(image, c.ptx, c.ptx_size, c.cubin, c.cubin_size);
    kb_compiled_free(&c);
    return status;
}

static int all_types(struct selftest *t)
{
    int bad = 0;
    printf("%s (%s), %llu elements of each type\n", t->device->info.name, t->device->info.arch,
           (unsigned long long)t->n);
    for (int type = 0; type < KB_DTYPES; type++) {
        if (one_type(t, (enum kb_dtype)type))
            return -1;
        printf("%-5s %2d of %2d the same bit for bit%s%s\n", kb_dtype_name((enum kb_dtype)type),
               t->compared - t->differing, t->compared, t->first[0] ? ", first difference: " : "", t->first);
        bad += t->differing;
    }
    return bad ? 1 : 0;
}

int kb_run_selftest(const struct kb_worker_options *o)
{
    struct selftest t = {0};
    struct kb_device_request request = {.kind = o->device, .check = o->check, .seed = 1};
    struct kb_image image = {0};
    size_t bytes = 0;
    int status = -1;
    if (kb_device_open(&request, &t.device, &t.error)) {
        fprintf(stderr, "kbench-worker: %s\n", kb_error_line(&t.error));
        return KB_EXIT_NO_WORKER;
    }
    t.n = t.device->info.kind == KB_DEVICE_CPU ? 5003 : 1000003;
    if (!builtin_image(t.device, &image, &t.error)) {
        const void *code = kb_image_for(&image, t.device, &bytes, &t.error);
        if (code && !kb_ops_open(t.device, code, bytes, true, &t.ops, &t.error))
            status = all_types(&t);
    }
    if (status < 0)
        fprintf(stderr, "kbench-worker: %s\n", kb_error_line(&t.error));
    kb_ops_close(&t.ops);
    kb_image_free(&image);
    t.device->ops->close(t.device);
    return status < 0 ? KB_EXIT_NO_WORKER : status;
}
