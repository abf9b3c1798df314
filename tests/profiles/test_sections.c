// From samples to sections: lines through inlining (a stored cubin), attribution, groups of stalls. G4, F3.
#include "base/file.h"
#include "base/memory.h"
#include "profiles/sections.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUBIN KB_SOURCE_DIR "/tests/data/inlined.cubin" // NVRTC 13.0 of inlined.cu, sm_90, with lines

static char *cubin;
static size_t cubin_size;
static struct kb_line_table *table;

static int read_cubin(void **state)
{
    (void)state;
    struct kb_error e = {0};
    if (kb_file_read(CUBIN, 1 << 20, &cubin, &cubin_size, &e) || kb_line_table_read(cubin, cubin_size, &table, &e)) {
        print_error("%s\n", kb_error_line(&e));
        return -1;
    }
    return 0;
}

static int forget_cubin(void **state)
{
    (void)state;
    kb_line_table_free(table);
    free(cubin);
    return 0;
}

static void expect_frames(const char *function, uint64_t offset, const char *wanted)
{
    struct kb_line_frame frames[KB_LINE_DEPTH];
    char text[400] = "";
    int n = kb_line_table_find(table, function, offset, frames);
    for (int i = 0; i < n; i++) {
        char name[100] = "";
        if (frames[i].function)
            kb_symbol_readable(frames[i].function, name, sizeof name);
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s:%d%s%s", i ? " < " : "", frames[i].file, frames[i].line,
                 name[0] ? " " : "", name);
    }
    assert_string_equal(text, wanted);
}

// The rows that calls refer to are counted from the start of each function.
static void lines_of_two_kernels(void **state)
{
    (void)state;
    struct kb_line_table *whole = table;
    char *bytes;
    size_t size;
    struct kb_error e = {0};
    assert_int_equal(kb_file_read(KB_SOURCE_DIR "/tests/data/two_kernels.cubin", 1 << 20, &bytes, &size, &e), 0);
    assert_int_equal(kb_line_table_read(bytes, size, &table, &e), 0);
    expect_frames("two", 0x60, "two_kernels.cu:3 helper < two_kernels.cu:12");
    expect_frames("one", 0x60, "two_kernels.cu:3 helper < two_kernels.cu:7");
    kb_line_table_free(table);
    free(bytes);
    table = whole;
}

// As `nvdisasm -gi` prints them.
static void lines_through_inlining(void **state)
{
    (void)state;
    expect_frames("k", 0x0, "src/inlined.cu:16");
    expect_frames("k", 0x10, "src/inlined.cu:18");
    expect_frames("k", 0x18, "src/inlined.cu:18"); // inside an instruction
    expect_frames("k", 0x430, "src/inlined.cuh:4 helper < src/inlined.cu:20");
    expect_frames("k", 0x480, "src/inlined.cu:22");
    expect_frames("k", 0x490, "src/inlined.cuh:3 helper < src/inlined.cu:12 inner::twice < src/inlined.cu:22");
    expect_frames("$k$_Z6calledf", 0x0, "src/inlined.cu:6");
    expect_frames("nosuch", 0x0, "");
    expect_frames("k", 1 << 20, ""); // behind the end
}

static void lines_of_garbage(void **state)
{
    (void)state;
    struct kb_line_table *t = NULL;
    struct kb_line_frame frames[KB_LINE_DEPTH];
    struct kb_error e = {0};
    assert_int_equal(kb_line_table_read("no elf", 6, &t, &e), -1);
    assert_non_null(strstr(e.what, "6 bytes"));
    assert_int_equal(kb_line_table_read(NULL, 0, &t, NULL), -1);
    assert_int_equal(kb_line_table_find(NULL, "k", 0, frames), 0);
    uint32_t random = 12345;
    for (int round = 0; round < 400; round++) {
        char *spoilt = kb_alloc(cubin_size);
        memcpy(spoilt, cubin, cubin_size);
        for (int i = 0; i < 1 + round % 20; i++) {
            random = random * 1664525 + 1013904223;
            size_t at = random % cubin_size;
            random = random * 1664525 + 1013904223;
            spoilt[at] = (char)(random >> 24);
        }
        size_t size = round % 3 ? cubin_size : random % cubin_size;
        if (kb_line_table_read(spoilt, size, &t, NULL) == 0) {
            for (uint64_t offset = 0; offset < 0x1100; offset += 16)
                assert_true(kb_line_table_find(t, "k", offset, frames) <= KB_LINE_DEPTH);
            kb_line_table_free(t);
        }
        free(spoilt);
    }
}

static void readable_names(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"_Z6helperfi", "helper"},
        {"_ZN5inner5twiceEfi", "inner::twice"},
        {"_ZN12_GLOBAL__N_16secretEv", "secret"},
        {"_Z4tileILi128ELb1EEvPf", "tile"},
        {"_ZN2ns3boxIfLi4EE3getEv", "ns::box::get"},
        {"_ZNK2ns3box4sizeEv", "ns::box::size"},
        {"plain", "plain"},
        {"_Z", "_Z"},
        {"_Z99short", "_Z99short"},
        {"", ""},
    };
    for (size_t i = 0; i < KB_COUNT(names); i++) {
        char out[100];
        kb_symbol_readable(names[i][0], out, sizeof out);
        assert_string_equal(out, names[i][1]);
    }
}

static void same_files(void **state)
{
    (void)state;
    assert_true(kb_same_file("/src/k.cu", "src/k.cu"));
    assert_true(kb_same_file("a/src/k.cu", "k.cu"));
    assert_false(kb_same_file("src/mask.cu", "k.cu"));
    assert_false(kb_same_file("k.cu", "src/k.cu"));
    assert_true(kb_same_file("orig name (v2).cu", "orig name (v2).cu"));
}

static void stall_names(void **state)
{
    (void)state;
    char name[64];
    bool not_issued;
    kb_stall_short_name("smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued", name, &not_issued);
    assert_string_equal(name, "long_scoreboard");
    assert_true(not_issued);
    kb_stall_short_name("smsp__pcsamp_warps_issue_stalled_barrier", name, &not_issued);
    assert_string_equal(name, "barrier");
    assert_false(not_issued);
    kb_stall_short_name("something new and very long, longer than any name that was ever given to a stall", name,
                        &not_issued);
    assert_int_equal(kb_stall_reason(name)->group, KB_STALL_OTHER);
    assert_int_equal(kb_stall_reason("math_pipe_throttle")->group, KB_STALL_ARITHMETIC);
    assert_int_equal(kb_stall_reason("not_selected")->group, KB_STALL_NOT_SELECTED);
    for (int g = 0; g < KB_STALL_GROUPS; g++)
        assert_true(kb_stall_group_names[g] && kb_stall_group_about[g]);
}

static struct kb_pc_profile profile(void)
{
    struct kb_pc_profile p = {.reason_count = 4, .period = 10};
    snprintf(p.reasons[0].name, 64, "long_scoreboard");
    snprintf(p.reasons[1].name, 64, "long_scoreboard");
    p.reasons[1].not_issued = true;
    snprintf(p.reasons[2].name, 64, "selected");
    snprintf(p.reasons[3].name, 64, "novel");
    return p;
}

static void add(struct kb_pc_profile *p, const char *function, uint64_t offset, uint32_t memory, uint32_t not_issued,
                uint32_t selected)
{
    KB_GROW(p->pcs, p->pc_count, p->pc_capacity);
    struct kb_pc *pc = &p->pcs[p->pc_count++];
    *pc = (struct kb_pc){kb_strdup(function), offset, kb_alloc(KB_PCS_REASONS * sizeof *pc->counts)};
    pc->counts[0] = memory;
    pc->counts[1] = not_issued;
    pc->counts[2] = selected;
}

static const struct kb_section_mark marks[] = {
    {"src/inlined.cu", "one", 19, 20}, {"src/inlined.cu", "two", 21, 23}, {"src/inlined.cu", "three", 24, 27}};

static void inlined_code_counts_for_its_caller(void **state)
{
    (void)state;
    struct kb_pc_profile p = profile();
    struct kb_sections s;
    add(&p, "k", 0x490, 20, 5, 10);          // helper in inner::twice: two
    add(&p, "k", 0x430, 60, 50, 0);          // helper: one
    add(&p, "k", 0x10, 5, 0, 0);             // before the first section
    add(&p, "$k$_Z6calledf", 0x10, 0, 0, 5); // called, not inlined
    kb_pc_profile_sum(&p);
    assert_true(p.inclusive);
    assert_int_equal(p.samples, 100);
    kb_sections_make(&p, table, marks, 3, &s);
    assert_int_equal(s.section_count, 5);
    static const struct {
        const char *name;
        uint64_t samples;
    } wanted[] = {{"one", 60}, {"two", 30}, {"three", 0}, {"in called", 5}, {"outside sections", 5}};
    for (int i = 0; i < 5; i++) {
        assert_string_equal(s.sections[i].name, wanted[i].name);
        assert_int_equal(s.sections[i].samples, wanted[i].samples);
    }
    assert_int_equal(s.sections[0].line, 19);
    assert_int_equal(s.sections[1].groups[KB_STALL_MEMORY], 20);
    assert_int_equal(s.sections[1].groups[KB_STALL_ISSUING], 10);
    assert_int_equal(s.sections[0].reasons[1], 50); // the raw numbers stay
    assert_int_equal(s.by_neighbour + s.without_line, 0);
    assert_string_equal(s.functions[0].name, "helper");
    assert_int_equal(s.functions[0].samples, 90);
    assert_string_equal(s.lines[0].file, "src/inlined.cuh");
    assert_int_equal(s.lines[0].line, 4);
    kb_sections_free(&s);
    kb_pc_profile_free(&p);
}

// Records of one PC are joined; what cannot be part of the plain count comes on top of it.
static void not_issued_on_top(void **state)
{
    (void)state;
    struct kb_pc_profile p = profile();
    struct kb_sections s;
    add(&p, "k", 0x430, 1, 7, 0);
    add(&p, "k", 0x490, 3, 1, 0);
    add(&p, "k", 0x430, 1, 0, 0);
    kb_pc_profile_sum(&p);
    assert_int_equal(p.pc_count, 2);
    assert_false(p.inclusive);
    assert_int_equal(p.samples, 13);
    kb_sections_make(&p, table, marks, 3, &s);
    assert_int_equal(s.sections[0].samples, 9);
    assert_int_equal(s.sections[0].groups[KB_STALL_MEMORY], 9);
    kb_sections_free(&s);
    kb_pc_profile_free(&p);
}

static void without_lines_neighbours_and_functions(void **state)
{
    (void)state;
    struct kb_pc_profile p = profile();
    struct kb_sections s;
    add(&p, "k", 0x430, 10, 0, 0);
    add(&p, "k", 1 << 20, 20, 0, 0); // no line: the nearest before it that has a section
    add(&p, "other", 0, 7, 0, 0);    // no line, and no neighbour
    kb_pc_profile_sum(&p);
    kb_sections_make(&p, table, marks, 3, &s);
    assert_int_equal(s.sections[0].samples, 30);
    assert_int_equal(s.by_neighbour, 20);
    assert_int_equal(s.without_line, 27);
    assert_string_equal(s.sections[3].name, "outside sections");
    kb_sections_free(&s);
    kb_sections_make(&p, NULL, NULL, 0, &s); // no markers and no lines: functions
    assert_int_equal(s.section_count, 0);
    assert_int_equal(s.line_count, 0);
    assert_int_equal(s.function_count, 2);
    assert_string_equal(s.functions[0].name, "k");
    assert_int_equal(s.functions[0].samples, 30);
    kb_sections_free(&s);
    kb_pc_profile_free(&p);
}

static void nothing_sampled(void **state)
{
    (void)state;
    struct kb_pc_profile p = profile();
    struct kb_sections s;
    kb_pc_profile_sum(&p);
    kb_sections_make(&p, table, marks, 3, &s);
    assert_int_equal(s.samples, 0);
    assert_int_equal(s.section_count, 3);
    kb_sections_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_through_inlining),
        cmocka_unit_test(lines_of_two_kernels),
        cmocka_unit_test(lines_of_garbage),
        cmocka_unit_test(readable_names),
        cmocka_unit_test(same_files),
        cmocka_unit_test(stall_names),
        cmocka_unit_test(inlined_code_counts_for_its_caller),
        cmocka_unit_test(not_issued_on_top),
        cmocka_unit_test(without_lines_neighbours_and_functions),
        cmocka_unit_test(nothing_sampled),
    };
    return cmocka_run_group_tests(tests, read_cubin, forget_cubin);
}
