// Traces without a GPU: which blocks, what events mean, clocks side by side, sums, rows, and the way there and back.
#include "base/memory.h"
#include "base/text.h"
#include "profiles/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EVENT(kind, function, depth, id, clock)                                                                        \
    ((unsigned long long)((unsigned)(kind) << 30 | (function) << 24 | (depth) << 20 | (id)) << 32 | (clock))

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b) + 1e-12;
}

static void test_plan(void **state)
{
    (void)state;
    struct kb_trace_plan p;
    struct kb_section_setup s;
    kb_trace_plan(100, 8, 10, KB_TRACE_EVENTS, KB_TRACE_WARPS, &p);
    assert_int_equal(p.recorded, 100);
    kb_trace_plan(100000, 8, 100, 80000, KB_TRACE_WARPS, &p);
    assert_true(p.recorded <= 100 && p.recorded > 90);
    s = (struct kb_section_setup){.first = p.first, .middle = p.middle, .last = p.last};
    unsigned seen = 0;
    for (uint64_t block = 0; block < p.blocks; block++) { // each place once, and back
        unsigned place = kb_section_place(&s, block, p.blocks);
        if (place == KB_SECTION_NOWHERE)
            continue;
        assert_int_equal(place, seen);
        assert_int_equal(kb_trace_block(&p, place), block);
        seen++;
    }
    assert_int_equal(seen, p.recorded);
    kb_trace_plan(1000, 32, 1 << 20, 1000, 1000, &p); // never nothing
    assert_int_equal(p.recorded, 1);
    assert_int_equal(p.capacity, KB_TRACE_CAPACITY);
    char *text = kb_trace_plan_text(&p);
    assert_string_equal(text, "1 of 1000 blocks: the first 1, 0 in between, the last 0");
    free(text);
}

// One warp from clock 1000 to 1100 with these events; its spans as "begin:section ...".
static void expect_spans(const unsigned long long *events, unsigned count, unsigned capacity, const char *want)
{
    struct kb_trace t;
    struct kb_section_warp w = {.begin_clock = 1000, .end_clock = 1100, .begin_ns = 5, .end_ns = 60, .events = count};
    struct kb_trace_plan p = {.blocks = 1, .warps = 1, .first = 1, .recorded = 1, .capacity = capacity};
    struct kb_trace_raw raw = {&w, events};
    struct kb_text got = {0};
    kb_trace_begin(&t, false);
    kb_trace_add_section(&t, "a", "k.cu", 3, 7);
    kb_trace_add_section(&t, "b", "k.cu", 4, 8);
    kb_trace_add_section(&t, "c", "k.cu", 5, 9);
    kb_trace_add_launch(&t, "k", &p, &raw);
    kb_trace_sum_up(&t);
    assert_int_equal(t.warp_count, 1);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t.span_count; i++)
        kb_text_addf(&got, "%s%u:%u", i ? " " : "", t.spans[i].begin, t.spans[i].section);
    for (int i = 0; i < t.section_count; i++)
        sum += t.sections[i].ticks;
    assert_string_equal(got.data, want);
    assert_int_equal(sum, 100);
    assert_int_equal(t.launches[0].lost, count > capacity ? count - capacity : 0);
    kb_text_free(&got);
    kb_trace_free(&t);
}

static void test_events(void **state)
{
    (void)state;
    enum { AT = KB_SECTION_AT, LEFT = KB_SECTION_LEFT, PUSH = KB_SECTION_PUSH, POP = KB_SECTION_POP };
    const unsigned long long one[] = {EVENT(AT, 0, 0, 7, 1010), EVENT(AT, 0, 0, 8, 1040)};
    expect_spans(one, 2, 8, "0:0 10:1 40:2");
    expect_spans(one, 2, 1, "0:0 10:1"); // the second had no room
    expect_spans(one, 0, 8, "0:0");
    // a loop's block inside of a section, left by its end each time, then the next section of the kernel
    const unsigned long long loop[] = {EVENT(AT, 0, 0, 7, 1000), EVENT(AT, 0, 1, 8, 1010), EVENT(LEFT, 0, 1, 0, 1020),
                                       EVENT(AT, 0, 1, 8, 1030), EVENT(AT, 0, 1, 8, 1040), EVENT(LEFT, 0, 1, 0, 1050),
                                       EVENT(AT, 0, 0, 9, 1060)};
    expect_spans(loop, 7, 8, "0:1 10:2 20:1 30:2 40:2 50:1 60:3");
    // what a #if took away leaves no hole: a marker further out ends what is deeper
    const unsigned long long deeper[] = {EVENT(AT, 0, 2, 8, 1010), EVENT(AT, 0, 0, 7, 1020),
                                         EVENT(LEFT, 0, 2, 0, 1030)};
    expect_spans(deeper, 3, 8, "0:0 10:2 20:1");
    // by hand, inside of a section and inside of each other; one end too many
    const unsigned long long hand[] = {EVENT(AT, 0, 0, 7, 1010),   EVENT(PUSH, 0, 0, 8, 1020),
                                       EVENT(PUSH, 0, 0, 9, 1030), EVENT(POP, 0, 0, 0, 1040),
                                       EVENT(POP, 0, 0, 0, 1050),  EVENT(POP, 0, 0, 0, 1060)};
    expect_spans(hand, 6, 8, "0:0 10:1 20:2 30:3 40:2 50:1");
    // a function's own markers count where its caller is in no section
    const unsigned long long called[] = {
        EVENT(AT, 3, 0, 8, 1010), EVENT(AT, 3, 0, 9, 1020),   EVENT(LEFT, 3, 0, 0, 1030), EVENT(AT, 0, 0, 7, 1040),
        EVENT(AT, 3, 0, 8, 1050), EVENT(LEFT, 3, 0, 0, 1060), EVENT(LEFT, 3, 0, 0, 1070)};
    expect_spans(called, 7, 8, "0:0 10:2 20:3 30:0 40:1");
    // lanes that parted ways overtake each other by a few cycles
    const unsigned long long apart[] = {EVENT(AT, 0, 0, 7, 1020), EVENT(AT, 0, 0, 8, 1015), EVENT(AT, 0, 0, 9, 1050)};
    expect_spans(apart, 3, 8, "0:0 20:2 50:3");
    // the clock's lower half wraps
    const unsigned long long unknown[] = {EVENT(PUSH, 0, 0, 12345, 1050)};
    expect_spans(unknown, 1, 8, "0:0 50:4"); // a name that no source says
}

static void test_wrap(void **state)
{
    (void)state;
    struct kb_trace t;
    struct kb_section_warp w = {.begin_clock = 0x1fffffff0, .end_clock = 0x200000040, .begin_ns = 5, .events = 2};
    const unsigned long long events[] = {EVENT(KB_SECTION_AT, 0, 0, 7, 0xfffffff8u),
                                         EVENT(KB_SECTION_AT, 0, 0, 8, 0x10u)};
    struct kb_trace_plan p = {.blocks = 1, .warps = 1, .first = 1, .recorded = 1, .capacity = 2};
    struct kb_trace_raw raw = {&w, events};
    kb_trace_begin(&t, false);
    kb_trace_add_launch(&t, "k", &p, &raw);
    assert_int_equal(t.span_count, 3);
    assert_int_equal(t.spans[1].begin, 8);
    assert_int_equal(t.spans[2].begin, 32);
    kb_trace_free(&t);
}

// Two multiprocessors whose clocks began at different times, at 2 cycles a ns, with a timer of 32 ns steps.
static void fill_gpu(struct kb_section_warp *w, unsigned long long *events, unsigned blocks)
{
    for (unsigned b = 0; b < blocks; b++) {
        unsigned sm = b % 2;
        unsigned long long ns = 1700000000000000000ull + b / 2 * 1000 + sm * 100,
                           clock = (sm ? 900000 : 50) + ns % 1000000 * 2;
        w[b] = (struct kb_section_warp){.begin_clock = clock,
                                        .end_clock = clock + 1800,
                                        .begin_ns = ns / 32 * 32,
                                        .end_ns = (ns + 900) / 32 * 32,
                                        .sm = sm,
                                        .events = 2};
        events[2 * b] = EVENT(KB_SECTION_AT, 0, 0, 7, (unsigned)(clock + 100));
        events[2 * b + 1] = EVENT(KB_SECTION_AT, 0, 0, 8, (unsigned)(clock + 1000));
    }
}

static void make_gpu(struct kb_trace *t, unsigned blocks)
{
    struct kb_section_warp w[64];
    unsigned long long events[128];
    struct kb_trace_plan p = {.blocks = blocks, .warps = 1, .first = blocks, .recorded = blocks, .capacity = 2};
    struct kb_trace_raw raw = {w, events};
    fill_gpu(w, events, blocks);
    kb_trace_begin(t, false);
    t->ticks_per_us = 2000;
    kb_trace_add_section(t, "load", "k.cu", 3, 7);
    kb_trace_add_section(t, "store", "k.cu", 4, 8);
    kb_trace_add_launch(t, "k", &p, &raw);
    kb_trace_sum_up(t);
}

static void test_clocks(void **state)
{
    (void)state;
    struct kb_trace t;
    struct kb_section_warp before[64], after[64];
    unsigned long long events[128];
    make_gpu(&t, 7); // 4 on the first, 3 on the second
    assert_true(t.aligned);
    for (uint32_t i = 0; i < t.warp_count; i++) { // within a step of the timer of where they were
        double want = (i / 2 * 1000 + i % 2 * 100) * 2.0;
        assert_true(fabs((double)t.warps[i].begin - want) <= 64);
    }
    assert_int_equal(t.launches[0].sms, 2);
    assert_true(is_near(t.launches[0].waves, 3.5));
    assert_true(t.launches[0].tail > 0.1 && t.launches[0].tail < 0.13); // one ends 900 ns before the other, of 3.9 us
    assert_true(is_near(t.launches[0].block_median, 1800));
    assert_true(is_near(t.sections[1].mean, 900) && is_near(t.sections[1].median, 900));
    assert_int_equal(t.sections[2].spans, 7);
    assert_true(is_near(t.sections[2].imbalance, 1));
    kb_trace_free(&t);
    fill_gpu(before, events, 7);
    fill_gpu(after, events, 7);
    for (int i = 0; i < 7; i++) { // a second run, 1 ms later
        after[i].begin_clock += 2000000, after[i].end_clock += 2000000;
        after[i].begin_ns += 1000000, after[i].end_ns += 1000000;
    }
    assert_true(fabs(kb_trace_rate(before, 7, after, 7) - 2000) < 1);
    assert_true(isnan(kb_trace_rate(before, 7, before, 7)));
    assert_true(isnan(kb_trace_rate(after, 7, before, 7)));
}

static void test_rows(void **state)
{
    (void)state;
    struct kb_trace t;
    struct kb_trace_row *rows;
    uint8_t cells[80];
    make_gpu(&t, 7);
    struct kb_trace_window w = {.level = KB_TRACE_LEVEL_SMS, .sm = KB_TRACE_ALL, .to = kb_trace_end(&t)};
    assert_int_equal(kb_trace_rows(&t, &w, &rows), 2);
    assert_int_equal(rows[0].warps, 4);
    assert_int_equal(rows[1].sm, 1);
    kb_trace_cells(&t, &w, rows, 2, 40, cells);
    char text[41] = "";
    for (int i = 0; i < 40; i++)
        text[i] = cells[i] ? kb_trace_letter(cells[i] - 1) : ' ';
    // 195 cycles a cell; each block: 100 outside, 900 of load, 800 of store, and 200 until the next one
    assert_string_equal(text, ".aaaabbbbb.aaaabbbbb.aaaaabbbb.aaaaabbbb");
    free(rows);
    w.level = KB_TRACE_LEVEL_BLOCKS;
    w.sm = 1;
    assert_int_equal(kb_trace_rows(&t, &w, &rows), 3);
    assert_int_equal(rows[0].block, 1);
    assert_int_equal(rows[2].block, 5);
    free(rows);
    w.level = KB_TRACE_LEVEL_WARPS;
    w.launch = 0;
    w.block = 5;
    assert_int_equal(kb_trace_rows(&t, &w, &rows), 1);
    free(rows);
    kb_trace_free(&t);
}

static void test_unfinished(void **state)
{
    (void)state;
    struct kb_trace t;
    struct kb_section_warp w[3] = {
        {.begin_clock = 100, .begin_ns = 5}, {0}, {.begin_clock = 90, .end_clock = 190, .begin_ns = 5}};
    const unsigned long long events[6] = {EVENT(KB_SECTION_AT, 0, 0, 7, 130)};
    struct kb_trace_plan p = {.blocks = 3, .warps = 1, .first = 3, .recorded = 3, .capacity = 2};
    struct kb_trace_raw raw = {w, events};
    kb_trace_begin(&t, false);
    kb_trace_add_launch(&t, "k", &p, &raw);
    kb_trace_sum_up(&t);
    assert_int_equal(t.warp_count, 2); // the second never began
    assert_int_equal(t.launches[0].unfinished, 1);
    assert_int_equal(t.warps[0].end - t.warps[0].begin, 30);
    assert_false(t.aligned); // no rate: each from its own 0
    kb_trace_free(&t);
}

static void test_there_and_back(void **state)
{
    (void)state;
    struct kb_trace a, b;
    size_t size;
    make_gpu(&a, 7);
    cJSON *head = cJSON_CreateObject();
    kb_trace_to_json(&a, head);
    char *blob = kb_trace_pack(&a, &size);
    assert_int_equal(kb_trace_from_json(head, blob, size, &b), 0);
    assert_int_equal(b.warp_count, a.warp_count);
    assert_memory_equal(b.warps, a.warps, a.warp_count * sizeof *a.warps);
    assert_memory_equal(b.spans, a.spans, a.span_count * sizeof *a.spans);
    assert_int_equal(b.section_count, 3);
    assert_string_equal(b.sections[2].name, "store");
    assert_true(is_near(b.sections[2].mean, a.sections[2].mean) && is_near(b.launches[0].tail, a.launches[0].tail));
    assert_int_equal(kb_trace_end(&b), kb_trace_end(&a));
    kb_trace_free(&b);
    // bytes that lie are refused, whole or cut
    assert_int_equal(kb_trace_from_json(head, blob, size - 1, &b), -1);
    assert_int_equal(kb_trace_from_json(head, blob, 4, &b), -1);
    for (size_t at = 16; at < size; at += 4) {
        uint32_t kept, huge = 0xfffffff0u;
        memcpy(&kept, blob + at, 4);
        memcpy(blob + at, &huge, 4);
        if (!kb_trace_from_json(head, blob, size, &b)) {
            struct kb_trace_window w = {.level = KB_TRACE_LEVEL_SMS, .sm = KB_TRACE_ALL, .to = 1000};
            struct kb_trace_row *rows;
            uint8_t cells[400];
            int n = kb_trace_rows(&b, &w, &rows);
            kb_trace_cells(&b, &w, rows, n < 10 ? n : 10, 40, cells);
            free(rows);
            kb_trace_free(&b);
        }
        memcpy(blob + at, &kept, 4);
    }
    free(blob);
    cJSON_Delete(head);
    kb_trace_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan),           cmocka_unit_test(test_events), cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_clocks),         cmocka_unit_test(test_rows),   cmocka_unit_test(test_unfinished),
        cmocka_unit_test(test_there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
