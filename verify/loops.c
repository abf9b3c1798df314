#include "verify/loops.h"

void kb_loop_fill(void *to, uint64_t n, const struct kbe_fill *fill)
{
    int size = kbe_size(fill->dtype);
    for (uint64_t i = 0; i < n; i++)
        kbe_store(to, size, i, kbe_fill_code(fill, i));
}

void kb_loop_poison(void *to, uint64_t n, int size, uint64_t code)
{
    for (uint64_t i = 0; i < n; i++)
        kbe_store(to, size, i, code);
}

void kb_loop_mask(void *p, uint64_t bytes, uint64_t key, uint64_t second)
{
    for (uint64_t i = 0; i < (bytes + 7) / 8; i++)
        kbe_mask(p, bytes, i, key, second);
}

void kb_loop_disturb(const struct kbe_disturb *d)
{
    for (int k = 0; k < d->poke_count; k++)
        kbe_store((void *)d->pokes[k].to, d->pokes[k].size, d->pokes[k].index, d->pokes[k].code);
    for (int k = 0; k < d->spoil_count; k++)
        for (uint64_t block = 0; block * d->spoils[k].stride < d->spoils[k].n; block++)
            kbe_spoil_block(&d->spoils[k], block, (void *)d->spoils[k].to);
}

void kb_loop_widen(const void *from, double *to, uint64_t n, int dtype)
{
    int size = kbe_size(dtype);
    for (uint64_t i = 0; i < n; i++)
        to[i] = kbe_decode(dtype, kbe_load(from, size, i));
}

uint64_t kb_loop_hash(const void *p, uint64_t bytes)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < (bytes + 7) / 8; i++)
        sum += kbe_hash_term(kbe_hash_word(p, bytes, i), i);
    return sum;
}

void kb_loop_guard_fill(unsigned char *to, uint64_t bytes, uint64_t key)
{
    for (uint64_t i = 0; i < bytes; i++)
        to[i] = kbe_guard_byte(key, i);
}

void kb_loop_guard_check(const unsigned char *p, uint64_t bytes, uint64_t key, uint64_t pair[2])
{
    pair[0] = 0;
    pair[1] = KBE_NO_INDEX;
    for (uint64_t i = 0; i < bytes; i++)
        if (p[i] != kbe_guard_byte(key, i)) {
            pair[0]++;
            pair[1] = kbe_umin(pair[1], i);
        }
}

void kb_loop_inspect(const void *a, const void *b, uint64_t n, int size, const uint64_t poison[2], uint64_t pairs[4])
{
    pairs[0] = pairs[2] = 0;
    pairs[1] = pairs[3] = KBE_NO_INDEX;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t x = kbe_load(a, size, i), y = kbe_load(b, size, i);
        uint64_t *pair = x == poison[0] && y == poison[1] ? pairs : x != y ? pairs + 2 : 0;
        if (!pair)
            continue;
        pair[0]++;
        pair[1] = kbe_umin(pair[1], i);
    }
}

static double group_scale(const double *ref, uint64_t begin, uint64_t end)
{
    double sums[KBE_LANES] = {0};
    uint64_t count = 0;
    for (uint64_t i = begin; i < end; i++)
        if (kbe_finite(ref[i])) {
            double *sum = &sums[(i - begin) % KBE_LANES];
            *sum = KBE_ADD(*sum, KBE_MUL(ref[i], ref[i]));
            count++;
        }
    for (int half = KBE_LANES / 2; half; half /= 2)
        for (int lane = 0; lane < half; lane++)
            sums[lane] = KBE_ADD(sums[lane], sums[lane + half]);
    return count ? KBE_SQRT(KBE_DIV(sums[0], (double)count)) : 0.0;
}

void kb_loop_group_scale(const double *ref, uint64_t n, uint64_t group, double *scale)
{
    for (uint64_t g = 0; g * group < n; g++)
        scale[g] = group_scale(ref, g * group, kbe_umin(n, (g + 1) * group));
}

void kb_loop_probe(const void *from, void *to, uint64_t n, const struct kbe_probe *probe)
{
    int size = kbe_size(probe->dtype);
    for (uint64_t i = 0; i < n; i++)
        kbe_store(to, size, i, kbe_probe_code(probe, kbe_load(from, size, i), i));
}

void kb_loop_moved(const void *now, const void *before, double *moved, uint64_t n, int dtype, double factor)
{
    int size = kbe_is_float_type(dtype) ? 8 : kbe_size(dtype);
    for (uint64_t i = 0; i < n; i++)
        moved[i] = kbe_max(moved[i], kbe_moved_by(dtype, kbe_load(now, size, i), kbe_load(before, size, i), factor));
}

void kb_loop_level(double *moved, uint64_t n, uint64_t group, const double *levels)
{
    for (uint64_t i = 0; i < n; i++)
        moved[i] = kbe_max(moved[i], levels[kbe_group_of(i, group)]);
}

static void diff_at(const void *out, const struct kbe_wanted *want, uint64_t i, const struct kbe_rule *rule,
                    struct kbe_diff *d)
{
    int size = kbe_size(rule->dtype), ref_size = kbe_is_float_type(rule->dtype) ? 8 : size;
    kbe_diff_of(rule, kbe_load(out, size, i), kbe_load(want->ref, ref_size, i),
                want->scale ? want->scale[kbe_group_of(i, rule->group)] : 0.0,
                want->condition ? want->condition[i] : 0.0, d);
}

void kb_loop_compare(const void *out, const struct kbe_wanted *want, uint64_t n, const struct kbe_rule *rule,
                     struct kbe_part *total)
{
    struct kbe_part lanes[KBE_LANES];
    uint64_t chunk = kbe_chunk(n);
    kbe_part_zero(total);
    for (uint64_t begin = 0; begin < n; begin += chunk) {
        uint64_t end = kbe_umin(n, begin + chunk);
        for (int lane = 0; lane < KBE_LANES; lane++)
            kbe_part_zero(&lanes[lane]);
        for (uint64_t i = begin; i < end; i++) {
            struct kbe_diff d;
            diff_at(out, want, i, rule, &d);
            kbe_part_add(&lanes[(i - begin) % KBE_LANES], &d, i);
        }
        for (int half = KBE_LANES / 2; half; half /= 2)
            for (int lane = 0; lane < half; lane++)
                kbe_part_merge(&lanes[lane], &lanes[lane + half]);
        kbe_part_merge(total, &lanes[0]);
    }
}

void kb_loop_map(const void *out, const struct kbe_wanted *want, uint64_t n, const struct kbe_rule *rule,
                 const struct kbe_map *map, uint64_t *cells)
{
    for (uint64_t i = 0; i < n; i++) {
        struct kbe_diff d;
        diff_at(out, want, i, rule, &d);
        if (d.bad)
            cells[kbe_map_cell(map, i)]++;
    }
}

void kb_loop_mark(const void *out, const struct kbe_wanted *want, uint64_t n, const struct kbe_rule *rule,
                  unsigned char *wrong)
{
    for (uint64_t i = 0; i < n; i++) {
        struct kbe_diff d;
        diff_at(out, want, i, rule, &d);
        wrong[i] = d.bad != 0;
    }
}
