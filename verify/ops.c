#include "verify/ops.h"
#include "base/memory.h"
#include "verify/loops.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)KBE_F64 == (int)KB_F64 && (int)KBE_E5M2 == (int)KB_E5M2 && (int)KBE_I64 == (int)KB_I64,
               "element types of element.h and bench/dtype.h");
_Static_assert((int)KBE_NORMAL == (int)KB_FILL_NORMAL && (int)KBE_DENORMALS == (int)KB_FILL_DENORMALS,
               "fills of element.h and bench/bench.h");
_Static_assert(sizeof(kbe_u64) == sizeof(uint64_t), "64 bits");

static const char *const kernel_names[KB_OPS_COUNT] = {
    [KB_OP_FILL] = "kb_fill",
    [KB_OP_POISON] = "kb_poison",
    [KB_OP_DISTURB] = "kb_disturb",
    [KB_OP_MASK] = "kb_mask",
    [KB_OP_COPY] = "kb_copy",
    [KB_OP_WIDEN] = "kb_widen",
    [KB_OP_GUARD_FILL] = "kb_guard_fill",
    [KB_OP_GUARD_CHECK] = "kb_guard_check",
    [KB_OP_HASH] = "kb_hash",
    [KB_OP_INSPECT] = "kb_inspect",
    [KB_OP_GROUP_SCALE] = "kb_group_scale",
    [KB_OP_PROBE] = "kb_probe",
    [KB_OP_MOVED] = "kb_moved",
    [KB_OP_LEVEL] = "kb_level",
    [KB_OP_COMPARE] = "kb_compare",
    [KB_OP_MAP] = "kb_map",
};
enum { RESULT_BYTES = KBE_MOST_BLOCKS * sizeof(struct kbe_part), MOST_BLOCKS = 8192 };

int kb_ops_open(struct kb_device *device, const void *image, size_t bytes, bool force_kernels, struct kb_ops *ops,
                struct kb_error *e)
{
    *ops = (struct kb_ops){.device = device, .kernels = force_kernels || device->info.kind != KB_DEVICE_CPU};
    if (!ops->kernels)
        return 0;
    if (!image)
        return kb_fail(e, "element.cu", NULL, "the device needs the built-in kernels, and none were given");
    if (device->ops->load(device, image, bytes, &ops->module, e))
        return -1;
    for (int i = 0; i < KB_OPS_COUNT; i++)
        if (device->ops->symbol(ops->module, kernel_names[i], &ops->kernel[i], e)) {
            kb_ops_close(ops);
            return -1;
        }
    struct kb_buffer_spec spec = {
        .bytes = RESULT_BYTES, .name = "results", .dtype = KB_I64, .ndim = 1, .shape = {RESULT_BYTES / 8}};
    if (device->ops->alloc(device, &spec, &ops->results, e)) {
        kb_ops_close(ops);
        return -1;
    }
    return 0;
}

void kb_ops_close(struct kb_ops *ops)
{
    if (!ops->device)
        return;
    if (ops->results.address)
        ops->device->ops->free(ops->device, &ops->results);
    if (ops->module)
        ops->device->ops->unload(ops->device, ops->module);
    *ops = (struct kb_ops){0};
}

static int launch(struct kb_ops *ops, enum kb_op op, uint64_t blocks, const void *const *args, int count,
                  struct kb_error *e)
{
    struct kb_launch_args l = {.grid = {(int64_t)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS), 1, 1},
                               .block = {KBE_LANES, 1, 1},
                               .arg_count = count,
                               .args = args};
    return ops->device->ops->launch(ops->kernel[op], &l, e);
}

static uint64_t blocks_for(uint64_t n)
{
    return (n + KBE_LANES - 1) / KBE_LANES;
}

int kb_op_fill(struct kb_ops *ops, const struct kb_buffer *to, uint64_t n, const struct kbe_fill *fill,
               struct kb_error *e)
{
    if (!n)
        return 0;
    if (!ops->kernels) {
        kb_loop_fill(to->host, n, fill);
        return 0;
    }
    const void *args[] = {&to->address, &n, fill};
    return launch(ops, KB_OP_FILL, blocks_for(n), args, 3, e);
}

int kb_op_poison(struct kb_ops *ops, const struct kb_buffer *to, uint64_t n, enum kb_dtype dtype, int pattern,
                 struct kb_error *e)
{
    int size = kbe_size((int)dtype);
    uint64_t code = kbe_poison((int)dtype, pattern);
    if (!n)
        return 0;
    if (!ops->kernels) {
        kb_loop_poison(to->host, n, size, code);
        return 0;
    }
    const void *args[] = {&to->address, &n, &size, &code};
    return launch(ops, KB_OP_POISON, blocks_for(n), args, 4, e);
}

int kb_op_mask(struct kb_ops *ops, const struct kb_buffer *b, uint64_t key, uint64_t second, struct kb_error *e)
{
    uint64_t bytes = b->bytes;
    if (!ops->kernels)
        kb_loop_mask(b->host, bytes, key, second);
    const void *args[] = {&b->address, &bytes, &key, &second};
    return ops->kernels && bytes ? launch(ops, KB_OP_MASK, blocks_for((bytes + 7) / 8), args, 4, e) : 0;
}

int kb_op_copy(struct kb_ops *ops, uint64_t to, uint64_t from, uint64_t bytes, struct kb_error *e)
{
    const void *args[] = {&to, &from, &bytes};
    if (!ops->kernels)
        return ops->device->ops->copy(ops->device, to, from, bytes, e);
    return bytes ? launch(ops, KB_OP_COPY, blocks_for((bytes + 7) / 8), args, 3, e) : 0;
}

int kb_op_disturb(struct kb_ops *ops, const struct kbe_disturb *d, struct kb_error *e)
{
    uint64_t most = (uint64_t)d->poke_count;
    for (int k = 0; k < d->spoil_count; k++)
        most = kbe_umax(most, (d->spoils[k].n + d->spoils[k].stride - 1) / d->spoils[k].stride);
    if (!ops->kernels)
        kb_loop_disturb(d);
    const void *args[] = {d};
    return ops->kernels && most ? launch(ops, KB_OP_DISTURB, kbe_umin(blocks_for(most), 64), args, 1, e) : 0;
}

int kb_op_widen(struct kb_ops *ops, const struct kb_buffer *from, enum kb_dtype dtype, const struct kb_buffer *to,
                uint64_t n, struct kb_error *e)
{
    int type = (int)dtype;
    if (n > to->bytes / sizeof(double))
        return kb_fail(e, "widening", NULL, "%llu doubles do not fit into %llu bytes", (unsigned long long)n,
                       (unsigned long long)to->bytes);
    if (!n)
        return 0;
    if (!ops->kernels) {
        kb_loop_widen(from->host, to->host, n, type);
        return 0;
    }
    const void *args[] = {&from->address, &to->address, &n, &type};
    return launch(ops, KB_OP_WIDEN, blocks_for(n), args, 4, e);
}

// Results of reducing kernels: pairs of a sum and a least index.
static int begin_pairs(struct kb_ops *ops, struct kb_error *e)
{
    static const uint64_t fresh[4] = {0, KBE_NO_INDEX, 0, KBE_NO_INDEX};
    return ops->device->ops->to_device(ops->device, ops->results.address, fresh, sizeof fresh, e);
}
static int end_pairs(struct kb_ops *ops, uint64_t pairs[4], struct kb_error *e)
{
    return ops->device->ops->to_host(ops->device, pairs, ops->results.address, 4 * sizeof *pairs, e);
}

int kb_op_hash(struct kb_ops *ops, const struct kb_buffer *b, uint64_t *hash, struct kb_error *e)
{
    uint64_t bytes = b->bytes, pairs[4] = {0};
    if (!ops->kernels) {
        *hash = kb_loop_hash(b->host, bytes);
        return 0;
    }
    const void *args[] = {&b->address, &bytes, &ops->results.address};
    if (bytes && (begin_pairs(ops, e) || launch(ops, KB_OP_HASH, blocks_for((bytes + 7) / 8), args, 3, e) ||
                  end_pairs(ops, pairs, e)))
        return -1;
    *hash = pairs[0];
    return 0;
}

struct zone {
    uint64_t address, bytes, key;
    unsigned char *host;
    int64_t offset; // of its first byte from the buffer's start
};
static void zones_of(const struct kb_buffer *b, struct zone z[2])
{
    uint64_t before = b->address - b->base, behind = b->total - before - b->bytes;
    unsigned char *host = b->host;
    z[0] = (struct zone){b->base, before, 0x6b62677561726431ull, host ? host - before : NULL, -(int64_t)before};
    z[1] = (struct zone){b->address + b->bytes, behind, 0x6b62677561726432ull, host ? host + b->bytes : NULL,
                         (int64_t)b->bytes};
}

int kb_op_guard_fill(struct kb_ops *ops, const struct kb_buffer *b, struct kb_error *e)
{
    struct zone z[2];
    zones_of(b, z);
    for (int i = 0; i < 2; i++) {
        const void *args[] = {&z[i].address, &z[i].bytes, &z[i].key};
        if (!ops->kernels)
            kb_loop_guard_fill(z[i].host, z[i].bytes, z[i].key);
        else if (z[i].bytes && launch(ops, KB_OP_GUARD_FILL, blocks_for(z[i].bytes), args, 3, e))
            return -1;
    }
    return 0;
}

int kb_op_guard_check(struct kb_ops *ops, const struct kb_buffer *b, struct kb_guard_report *report, struct kb_error *e)
{
    struct zone z[2];
    uint64_t pairs[4] = {0, KBE_NO_INDEX, 0, KBE_NO_INDEX};
    zones_of(b, z);
    if (ops->kernels && begin_pairs(ops, e))
        return -1;
    for (int i = 0; i < 2; i++) {
        uint64_t result = ops->results.address + 16 * (uint64_t)i;
        const void *args[] = {&z[i].address, &z[i].bytes, &z[i].key, &result};
        if (!ops->kernels)
            kb_loop_guard_check(z[i].host, z[i].bytes, z[i].key, pairs + 2 * i);
        else if (z[i].bytes && launch(ops, KB_OP_GUARD_CHECK, blocks_for(z[i].bytes), args, 4, e))
            return -1;
    }
    if (ops->kernels && end_pairs(ops, pairs, e))
        return -1;
    report->changed = pairs[0] + pairs[2];
    report->first = pairs[0] ? z[0].offset + (int64_t)pairs[1] : pairs[2] ? z[1].offset + (int64_t)pairs[3] : 0;
    return 0;
}

static int inspect(struct kb_ops *ops, const struct kb_buffer *a, const struct kb_buffer *b, uint64_t n,
                   enum kb_dtype dtype, const int patterns[2], uint64_t pairs[4], struct kb_error *e)
{
    int size = kbe_size((int)dtype);
    uint64_t poison[2] = {kbe_poison((int)dtype, patterns[0]), kbe_poison((int)dtype, patterns[1])};
    const void *args[] = {&a->address, &b->address, &n, &size, &poison[0], &poison[1], &ops->results.address};
    pairs[0] = pairs[2] = 0;
    pairs[1] = pairs[3] = KBE_NO_INDEX;
    if (!ops->kernels) {
        kb_loop_inspect(a->host, b->host, n, size, poison, pairs);
        return 0;
    }
    if (!n)
        return 0;
    return begin_pairs(ops, e) || launch(ops, KB_OP_INSPECT, blocks_for(n), args, 7, e) || end_pairs(ops, pairs, e) ? -1
                                                                                                                    : 0;
}

int kb_op_inspect(struct kb_ops *ops, const struct kb_buffer *a, const struct kb_buffer *b, uint64_t n,
                  enum kb_dtype dtype, struct kb_inspection *out, struct kb_error *e)
{
    uint64_t pairs[4];
    if (inspect(ops, a, b, n, dtype, (const int[]){0, 1}, pairs, e))
        return -1;
    *out = (struct kb_inspection){pairs[0], pairs[1], pairs[2], pairs[3]};
    return 0;
}

int kb_op_count_poison(struct kb_ops *ops, const struct kb_buffer *b, uint64_t n, enum kb_dtype dtype, int pattern,
                       uint64_t *count, uint64_t *first, struct kb_error *e)
{
    uint64_t pairs[4];
    if (inspect(ops, b, b, n, dtype, (const int[]){pattern, pattern}, pairs, e))
        return -1;
    *count = pairs[0];
    *first = pairs[1];
    return 0;
}

int kb_op_group_scale(struct kb_ops *ops, const struct kb_buffer *ref, uint64_t n, uint64_t group,
                      const struct kb_buffer *scale, struct kb_error *e)
{
    if (!n)
        return 0;
    if (!ops->kernels) {
        kb_loop_group_scale(ref->host, n, group, scale->host);
        return 0;
    }
    const void *args[] = {&ref->address, &n, &group, &scale->address};
    return launch(ops, KB_OP_GROUP_SCALE, (n + group - 1) / group, args, 4, e);
}

int kb_op_probe(struct kb_ops *ops, const struct kb_buffer *from, const struct kb_buffer *to, uint64_t n,
                const struct kbe_probe *probe, struct kb_error *e)
{
    if (!n)
        return 0;
    if (!ops->kernels) {
        kb_loop_probe(from->host, to->host, n, probe);
        return 0;
    }
    const void *args[] = {&from->address, &to->address, &n, probe};
    return launch(ops, KB_OP_PROBE, blocks_for(n), args, 4, e);
}

int kb_op_moved(struct kb_ops *ops, const struct kb_buffer *now, const struct kb_buffer *before,
                const struct kb_buffer *moved, uint64_t n, enum kb_dtype dtype, double factor, struct kb_error *e)
{
    int type = (int)dtype;
    if (!n)
        return 0;
    if (!ops->kernels) {
        kb_loop_moved(now->host, before->host, moved->host, n, type, factor);
        return 0;
    }
    const void *args[] = {&now->address, &before->address, &moved->address, &n, &type, &factor};
    return launch(ops, KB_OP_MOVED, blocks_for(n), args, 6, e);
}

int kb_op_level(struct kb_ops *ops, const struct kb_buffer *moved, uint64_t n, uint64_t group,
                const struct kb_buffer *levels, struct kb_error *e)
{
    if (!n)
        return 0;
    if (!ops->kernels) {
        kb_loop_level(moved->host, n, group, levels->host);
        return 0;
    }
    const void *args[] = {&moved->address, &n, &group, &levels->address};
    return launch(ops, KB_OP_LEVEL, blocks_for(n), args, 4, e);
}

// For the side that compares: pointers of the host, or addresses on the device.
static struct kbe_wanted wanted_for(const struct kb_ops *ops, const struct kb_wanted *w)
{
    const struct kb_buffer *list[] = {w->ref, w->scale, w->condition};
    const void *at[3] = {NULL, NULL, NULL};
    for (int i = 0; i < 3; i++)
        if (list[i])
            at[i] = ops->kernels ? (const void *)(uintptr_t)list[i]->address : list[i]->host;
    return (struct kbe_wanted){at[0], at[1], at[2]};
}

int kb_op_compare(struct kb_ops *ops, const struct kb_buffer *out, const struct kb_wanted *w, uint64_t n,
                  const struct kbe_rule *rule, struct kbe_part *total, struct kb_error *e)
{
    struct kbe_wanted wanted = wanted_for(ops, w);
    kbe_part_zero(total);
    if (!n)
        return 0;
    if (!ops->kernels) {
        kb_loop_compare(out->host, &wanted, n, rule, total);
        return 0;
    }
    uint64_t blocks = (n + kbe_chunk(n) - 1) / kbe_chunk(n);
    const void *args[] = {&out->address, &wanted, &n, rule, &ops->results.address};
    struct kbe_part *parts = kb_alloc((size_t)blocks * sizeof *parts);
    int failed = launch(ops, KB_OP_COMPARE, blocks, args, 5, e) ||
                 ops->device->ops->to_host(ops->device, parts, ops->results.address, (size_t)blocks * sizeof *parts, e);
    for (uint64_t i = 0; !failed && i < blocks; i++)
        kbe_part_merge(total, &parts[i]);
    free(parts);
    return failed ? -1 : 0;
}

int kb_op_map(struct kb_ops *ops, const struct kb_buffer *out, const struct kb_wanted *w, uint64_t n,
              const struct kbe_rule *rule, const struct kbe_map *map, uint64_t *cells, struct kb_error *e)
{
    struct kbe_wanted wanted = wanted_for(ops, w);
    size_t bytes = sizeof(uint64_t) * KBE_MAP_ROWS * KBE_MAP_COLUMNS;
    memset(cells, 0, bytes);
    if (!n)
        return 0;
    if (!ops->kernels) {
        kb_loop_map(out->host, &wanted, n, rule, map, cells);
        return 0;
    }
    const void *args[] = {&out->address, &wanted, &n, rule, map, &ops->results.address};
    if (ops->device->ops->fill(ops->device, ops->results.address, 0, bytes, e) ||
        launch(ops, KB_OP_MAP, blocks_for(n), args, 6, e))
        return -1;
    return ops->device->ops->to_host(ops->device, cells, ops->results.address, bytes, e);
}
