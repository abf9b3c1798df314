// Check "full" between blocks, warps and threads (tests/ptx/practice/ordered.cu, unordered.cu): a kernel that orders
// what it hands on is not accused, whatever the way; one that does not is, with both lines.
#include "support_cpu.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1024, BLOCKS = 8, T = 128 };

static int x[N];

static int sum(int first, int count)
{
    int s = 0;
    for (int i = first; i < first + count; i++)
        s += x[i];
    return s;
}
static int all(int i)
{
    (void)i;
    return sum(0, N);
}
static int lane_of_16(int i)
{
    return x[i / 8 * T + i % 8 * 16 + 3] + 1;
}
static int blocks_before(int i)
{
    return sum(0, (i + 1) * T);
}
static int of_the_blocks(int i)
{
    int s = 0;
    for (int b = 0; b < BLOCKS; b++)
        s += x[b * T + i];
    return s;
}
static int heads(int i)
{
    (void)i;
    int s = 0;
    for (int b = 0; b < BLOCKS; b++)
        s += x[b * T] + x[b * T + 64];
    return s;
}
static int thrice_turned(int i)
{
    return x[N - 1 - i] + 3;
}
static int sixth(int i)
{
    (void)i;
    return x[5];
}
static int doubled(int i)
{
    return x[i % 32] * 2;
}
static int more_by_3(int i)
{
    return x[i] + 3;
}
static int turned_32(int i)
{
    return x[i % T / 32 * 32 + 31 - i % 32];
}
static int turned_64(int i)
{
    return x[i / 64 * 64 + 63 - i % 64];
}
static int warps_of_block(int i)
{
    int b = i / T * T;
    return x[b] + x[b + 32] + x[b + 64] + x[b + 96];
}
static int turned_128(int i)
{
    return x[i / T * T + T - 1 - i % T];
}
static int more_by_1(int i)
{
    return x[i] + 1;
}
static int turned_8(int i)
{
    return x[7 - i];
}
static int largest(int i)
{
    int most = -1;
    for (int k = i / T * T; k < i / T * T + T; k++)
        most = x[k] > most ? x[k] : most;
    return most;
}
static int block_and_7(int i)
{
    return i + 7;
}

static const struct {
    const char *kernel;
    int count; // of results to compare
    int (*want)(int);
} right[] = {
    {"sample", 1, all},
    {"some_lanes", 64, lane_of_16},
    {"drawn_alone", 1, all},
    {"packed", 8, blocks_before},
    {"fair_lock", 1, heads},
    {"semaphores", T, of_the_blocks},
    {"phases", N, thrice_turned},
    {"chain", 1, sixth},
    {"arrivals", 1, all},
    {"once", N, doubled},
    {"queue", 4, more_by_3},
    {"ring", N, turned_32},
    {"tiles", N, turned_64},
    {"flags_in_block", N, warps_of_block},
    {"reduced_barriers", N, turned_128},
    {"copied_out", N, more_by_1},
    {"device_barrier", 8, turned_8},
    {"both_look", N, largest},
    {"same_value", 8, block_and_7},
};

static const char *const kinds[] = {
    "race",        "race_look",       "race_unacquired", "race_in_warp", "race_same_value", "copy_not_awaited",
    "proxy_fence", "uninitialised",   "lanes_differ",    "barrier_left", "barrier_by_warp", "divergent_barrier",
    "member_mask", "shuffle_inactive"};

static char *read_source(const char *file)
{
    char path[600], *source = NULL;
    size_t size;
    struct kb_error e;
    snprintf(path, sizeof path, "%s/tests/ptx/practice/%s", KB_SOURCE_DIR, file);
    if (kb_file_read(path, 1 << 20, &source, &size, &e))
        fail_msg("%s", kb_error_line(&e));
    return source;
}

static void open_source(struct cpu *c, const char *source)
{
    cpu_open(c, "full");
    cpu_load_cuda(c, source);
    for (int i = 0; i < N; i++)
        x[i] = (int)((unsigned)i * 2654435761u >> 16) % 97;
    cpu_buffer(c, "x", KB_I32, N, x);
    cpu_buffer(c, "y", KB_I32, N, NULL);
}

static void run(struct cpu *c, const char *kernel)
{
    uint64_t px = cpu_address(c, 0), py = cpu_address(c, 1);
    const void *args[] = {&px, &py};
    memset(c->buffers[1].host, 0, N * sizeof(int));
    if (cpu_try_args(c, kernel, (int64_t[3]){BLOCKS, 1, 1}, (int64_t[3]){T, 1, 1}, 0, true, 2, args))
        fail_msg("%s: %s", kernel, kb_error_line(&c->error));
}

static void expect_silence(struct cpu *c, const char *kernel, const char *but, const char *beside)
{
    for (size_t k = 0; k < KB_COUNT(kinds); k++) {
        int line = 0;
        bool may = (but && !strcmp(kinds[k], but)) || (beside && !strcmp(kinds[k], beside));
        char *text = may ? NULL : cpu_report(c, kinds[k], &line);
        if (text)
            fail_msg("%s, line %d: %s: %s", kernel, line, kinds[k], text);
    }
}

static void test_right(void **state)
{
    (void)state;
    struct cpu c;
    char *source = read_source("ordered.cu");
    open_source(&c, source);
    free(source);
    for (size_t k = 0; k < KB_COUNT(right); k++) {
        run(&c, right[k].kernel);
        const int *y = c.buffers[1].host;
        for (int i = 0; i < right[k].count; i++)
            if (y[i] != right[k].want(i))
                fail_msg("%s: y[%d] is %d, not %d", right[k].kernel, i, y[i], right[k].want(i));
        expect_silence(&c, right[k].kernel, NULL, NULL);
    }
    cpu_close(&c);
}

static int marked_line(const char *source, int which, const char *kernel)
{
    char *mark = kb_format("%d %s", which, kernel);
    const char *at = strstr(source, mark);
    while (at && at[strlen(mark)] != '\n' && at[strlen(mark)] != ' ')
        at = strstr(at + 1, mark);
    if (!at)
        fail_msg("no mark '%s'", mark);
    free(mark);
    int line = 1;
    for (const char *p = source; p < at; p++)
        line += *p == '\n';
    return line;
}

static const struct {
    const char *kernel, *kind, *also, *beside; // also: part of the text; beside: another kind that may come with it
} wrong[] = {
    {"no_release", "race", "no ordering", NULL},
    {"released_too_early", "race", "no ordering", NULL},
    {"fences_of_blocks", "race", "no ordering", NULL},
    {"counter_of_block", "race", "block only", NULL},
    {"release_of_block", "race", "no ordering", NULL},
    {"warps_not_waited_for", "race", "no ordering", NULL},
    {"open_lock", "race", "no ordering", NULL},
    {"half_a_lock", "race", "cache", NULL},
    {"volatile_is_no_fence", "race", "no fence", NULL},
    {"fence_is_no_flag", "race", "no ordering", NULL},
    {"copied_not_awaited", "copy_not_awaited", "s[159], whose copy by cp.async ", NULL},
    {"awaited_too_late", "copy_not_awaited", "cp.async", "race"},
    {"bulk_not_awaited", "copy_not_awaited", "cp.async.bulk", NULL},
    {"one_proxy_fence", "proxy_fence", "fence.proxy.async", NULL},
    {"outside_of_the_barrier", "race", "no barrier", NULL},
    {"arrived_too_early", "race", "no barrier", NULL},
    {"flag_of_the_block", "race", "no barrier", NULL},
    {"plain_look", "race_look", "look", NULL},
    {"not_acquired", "race_unacquired", "__threadfence", NULL},
    {"lanes", "lanes_differ", "lanes 0-3 store different values to y[0]", NULL},
};

static void test_wrong(void **state)
{
    (void)state;
    struct cpu c;
    char *source = read_source("unordered.cu");
    open_source(&c, source);
    for (size_t k = 0; k < KB_COUNT(wrong); k++) {
        int line = 0;
        run(&c, wrong[k].kernel);
        char *text = cpu_report(&c, wrong[k].kind, &line);
        char *other = kb_format(".cu:%d", marked_line(source, 1, wrong[k].kernel));
        if (!text || !strstr(text, wrong[k].also) || (!strstr(text, other) && strcmp(wrong[k].kernel, "lanes")))
            fail_msg("%s: %s (%s)", wrong[k].kernel, text ? text : "no report", other);
        if (line != marked_line(source, 2, wrong[k].kernel))
            fail_msg("%s: line %d: %s", wrong[k].kernel, line, text);
        expect_silence(&c, wrong[k].kernel, wrong[k].kind, wrong[k].beside);
        free(text);
        free(other);
    }
    free(source);
    cpu_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_right), cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
