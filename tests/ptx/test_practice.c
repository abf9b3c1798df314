// Kernels as people write them (tests/ptx/practice): cooperative groups, cuda::barrier and pipeline, CUB, flags. Each
// is run at both levels of checks, against values computed here, and none may give a report.
#include "support_cpu.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1024, T = 128 };
static int x[N], y[N];

// What y[i] must be, for the first `count` elements.
struct practice {
    const char *kernel;
    int count;
    int (*want)(int i);
};

static int sum_of(int from, int n)
{
    int sum = 0;
    for (int i = from; i < from + n; i++)
        sum += x[i];
    return sum;
}

static int max_of(int from, int n)
{
    int most = x[from];
    for (int i = from; i < from + n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

static int tile_sum(int i)
{
    return sum_of(i / 8 * 8, 8);
}
static int tile_max(int i)
{
    return max_of(i / 32 * 32, 32);
}
static int tile_scan(int i)
{
    int exclusive = 0;
    for (int k = i / 16 * 16; k < i; k++)
        exclusive += x[k] & 3;
    return sum_of(i / 16 * 16, i % 16 + 1) * 1000 + exclusive;
}
static int tile_shuffles(int i)
{
    int tile = i / 4 * 4;
    return x[tile + 1] + 10 * x[i ^ 3] + 100 * (i % 4 == 3 ? x[i] : x[i + 1]) + i / 4;
}
static int large_tile(int i)
{
    return sum_of(i / 64 * 64, 64);
}
static int coalesced(int i)
{
    int rank = 0, last = 0;
    for (int k = i / 32 * 32; k < i / 32 * 32 + 32; k++) {
        rank += k < i && x[k] & 1;
        last = x[k] & 1 ? x[k] : last;
    }
    return x[i] & 1 ? last * 100 + rank : -1;
}
static int labeled(int i)
{
    int sum = 0, rank = 0;
    for (int k = i / 32 * 32; k < i / 32 * 32 + 32; k++) {
        bool same = x[k] % 5 == x[i] % 5;
        sum += same ? x[k] : 0;
        rank += same && k < i;
    }
    return sum * 100 + rank;
}
static int binary(int i)
{
    int size = 0, rank = 0;
    for (int k = i / 32 * 32; k < i / 32 * 32 + 32; k++) {
        bool same = (x[k] > 40) == (x[i] > 40);
        size += same;
        rank += same && k < i;
    }
    return size * 100 + rank;
}
static int above_30(void)
{
    int n = 0;
    for (int i = 0; i < T; i++)
        n += x[i] > 30;
    return n;
}
static int aggregated(int i)
{
    return i == 200 ? above_30() : i < above_30() ? 1 : 0;
}
static int mirrored_256(int i)
{
    return x[255 - i];
}
static int mirrored_128(int i)
{
    return x[127 - i];
}

static const struct practice groups[] = {
    {"tile_sum", T, tile_sum},
    {"tile_max", T, tile_max},
    {"tile_scan", T, tile_scan},
    {"tile_shuffles", T, tile_shuffles},
    {"large_tile", T, large_tile},
    {"coalesced", T, coalesced},
    {"labeled", T, labeled},
    {"binary", T, binary},
    {"aggregated", 201, aggregated},
    {"copied", T, mirrored_256},
    {"split_barrier", T, mirrored_128},
};

static int rounds(int i)
{
    return x[127 - i % 128] + i / 128;
}
static int weighted_fours(int i)
{
    const int *v = x + 4 * (127 - i);
    return v[0] + 2 * v[1] + 3 * v[2] + 4 * v[3];
}
static int both_ends(int i)
{
    return x[511 - i] + x[i];
}
static int tiles_mirrored(int i)
{
    return x[i / 128 * 128 + 127 - i % 128];
}
static int small_tiles_mirrored(int i)
{
    return x[i / 96 * 96 + 95 - i % 96];
}
static int references(int i)
{
    float half = 0.5f * T;
    int bits;
    memcpy(&bits, &half, 4);
    const int want[] = {sum_of(0, T), max_of(0, T), 2 * T, bits, 0, 0, 32 * 0x01010101, 0};
    return i == 7 ? (int)((unsigned)(uint16_t)(-3 * 64) * 0x10001u) : want[i];
}
static int locked(int i)
{
    (void)i;
    return sum_of(0, T);
}
static int latched(int i)
{
    return i < T ? x[i] + 1 : x[255 - i] + 1;
}
static int pairs(int i) // the count, the sum, and who came last to y[4]; then who came before
{
    return i == 0 ? T : i == 2 ? sum_of(0, T) : i == 6 ? 7 : i == 1 || i == 3 || i == 5 || i == 7 ? 0 : y[i];
}

static const struct practice pipelines[] = {
    {"rounds", 3 * T, rounds},
    {"copy_group", T, mirrored_256},
    {"copy_thread", T, weighted_fours},
    {"copy_tile", T, both_ends},
    {"stages", 8 * T, tiles_mirrored},
    {"thread_stages", 8 * T, tiles_mirrored},
    {"roles", 8 * 96, small_tiles_mirrored},
    {"references", 8, references},
    {"locked", 1, locked},
    {"latched", 2 * T, latched},
    {"pairs", 8, pairs},
};

static int most(int i)
{
    int best = 0;
    for (int k = 1; k < T; k++)
        best = x[k] > x[best] ? k : best;
    return i ? x[best] : best;
}
static int scan(int i)
{
    return sum_of(0, i + 1);
}
static int scan_raking(int i)
{
    return i < T ? sum_of(0, i) : sum_of(0, T);
}
static int place[512]; // of each element in the sorted order, stable

static int by_value(const void *a, const void *b)
{
    int i = *(const int *)a, k = *(const int *)b;
    return x[i] != x[k] ? x[i] - x[k] : i - k;
}
static int sorted(int i)
{
    return x[place[i]];
}
static int sorted_pairs(int i)
{
    return i < 512 ? -x[place[i]] : place[i - 512];
}
static int transposed(int i)
{
    return x[i] + i / 4 * 1000;
}
static int histogram(int i)
{
    int n = 0;
    for (int k = 0; k < 512; k++)
        n += (x[k] & 15) == i;
    return n;
}
static int warp_sum(int i)
{
    return sum_of(i * 16, 16);
}
static int segments(int i)
{
    int lane = i % 32;
    return lane % 5 ? 0 : sum_of(i, lane + 5 > 32 ? 32 - lane : 5);
}
static int warp_scan(int i)
{
    return sum_of(i / 32 * 32, i % 32 + 1);
}

static const struct practice blocks[] = {
    {"sum", 1, locked},           {"most", 2, most},
    {"scan", 512, scan},          {"scan_raking", 2 * T, scan_raking},
    {"sort", 512, sorted},        {"sort_pairs", 1024, sorted_pairs},
    {"merge", 512, sorted},       {"transposed", 500, transposed},
    {"histogram", 16, histogram}, {"warp_sum", 8, warp_sum},
    {"segments", T, segments},    {"warp_scan", T, warp_scan},
};

static int relay(int i)
{
    return sum_of(0, i + 1);
}
static int last_block(int i)
{
    return i == 0 ? sum_of(0, N) : i < 8 ? 0 : sum_of((i - 8) * 32, 32);
}
static int volatile_warp(int i)
{
    return sum_of(i * 32, 32);
}
static int handed_on(int i)
{
    const int *v = x + i / 128 * 128;
    return v[0] + v[32] + v[64] + v[96];
}
static int all_bins(int i)
{
    int n = 0;
    for (int k = 0; k < N; k++)
        n += x[k] == i;
    return n;
}
static int split_phases(int i)
{
    return x[i / 64 * 64 + 63 - i % 64] + 3;
}

static const struct practice flags[] = {
    {"look_back", N, scan},
    {"relay", 8, relay},
    {"last_block", 40, last_block},
    {"volatile_warp", 32, volatile_warp},
    {"handed_on", N, handed_on},
    {"histogram", 97, all_bins},
    {"split_phases", 512, split_phases},
};

static void no_reports(struct cpu *c, const char *kernel)
{
    static const char *const kinds[] = {"race",         "race_in_warp",     "uninitialised", "divergent_barrier",
                                        "barrier_left", "shuffle_inactive", "member_mask"};
    for (size_t k = 0; k < KB_COUNT(kinds); k++) {
        int line = 0;
        char *text = cpu_report(c, kinds[k], &line);
        if (text)
            fail_msg("%s, line %d: %s: %s", kernel, line, kinds[k], text);
    }
}

static void run_all(const char *file, unsigned grid, const struct practice *list, size_t count)
{
    static const char *const levels[] = {"bounds", "full"};
    char path[600];
    char *source = NULL;
    size_t size;
    struct kb_error e;
    snprintf(path, sizeof path, "%s/tests/ptx/practice/%s", KB_SOURCE_DIR, file);
    assert_int_equal(kb_file_read(path, 1 << 20, &source, &size, &e), 0);
    char *ptx = cuda_to_ptx(source, NULL);
    free(source);
    NEED_NVRTC(ptx);
    for (int i = 0; i < N; i++)
        x[i] = (int)((unsigned)i * 2654435761u >> 16) % 97;
    for (int i = 0; i < 512; i++)
        place[i] = i;
    qsort(place, 512, sizeof *place, by_value);
    for (size_t l = 0; l < KB_COUNT(levels); l++) {
        struct cpu c;
        cpu_open(&c, levels[l]);
        cpu_load(&c, ptx);
        cpu_buffer(&c, "x", KB_I32, N, x);
        void *out = cpu_buffer(&c, "y", KB_I32, N, NULL);
        uint64_t px = cpu_address(&c, 0), py = cpu_address(&c, 1);
        for (size_t k = 0; k < count; k++) {
            memset(out, 0, sizeof y);
            cpu_run(&c, list[k].kernel, grid, T, 0, &px, &py, NULL);
            memcpy(y, out, sizeof y);
            for (int i = 0; i < list[k].count; i++)
                if (y[i] != list[k].want(i))
                    fail_msg("%s: y[%d] is %d, not %d", list[k].kernel, i, y[i], list[k].want(i));
            no_reports(&c, list[k].kernel);
        }
        cpu_close(&c);
    }
    free(ptx);
}

static void test_groups(void **state)
{
    (void)state;
    run_all("groups.cu", 1, groups, KB_COUNT(groups));
}
static void test_pipelines(void **state)
{
    (void)state;
    run_all("pipelines.cu", 1, pipelines, KB_COUNT(pipelines));
}
static void test_blocks(void **state)
{
    (void)state;
    run_all("blocks.cu", 1, blocks, KB_COUNT(blocks));
}

static void test_flags(void **state)
{
    (void)state;
    run_all("flags.cu", 8, flags, KB_COUNT(flags));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups), cmocka_unit_test(test_pipelines),
                                       cmocka_unit_test(test_blocks), cmocka_unit_test(test_flags)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
