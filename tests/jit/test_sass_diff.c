// What counts as a change of machine code, and what does not (cases G3 and G4).
#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "jit/sass_myers.h"
#include "jit/sass_samples.h"
#include "jit/support_sass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char dot[] = "_Z3dotPKfS0_Pfi";

static void expect(const cJSON *document, bool identical, bool real, int hunks)
{
    cJSON *head = kb_diff_head(document);
    assert_int_equal(kb_json_bool(head, "identical", !identical), identical);
    assert_int_equal(kb_json_bool(head, "real_change", !real), real);
    if (kb_json_int(head, "hunks", -1) != hunks)
        fail_msg("%d hunks: %s", (int)kb_json_int(head, "hunks", -1), kb_json_line(document));
    cJSON_Delete(head);
}

static void test_identical(void **state)
{
    (void)state;
    static const char *const names[] = {"dot_75", "dot_120", "variety_80", "variety_90", "variety_100", "softmax_90"};
    for (size_t i = 0; i < KB_COUNT(names); i++) {
        char *text = sass_text(names[i], NULL);
        cJSON *document = sass_compare(text, text, i % 2);
        expect(document, true, false, 0);
        cJSON_Delete(document);
        free(text);
    }
}

// Every R number through a permutation that keeps groups of four together, as the assembler has to.
static char *permuted(const char *text)
{
    struct kb_text out = {0};
    for (const char *at = text; *at;) {
        bool is = *at == 'R' && at > text &&
                  !strchr("UABCDEFGHIJKLMNOPQSTVWXYZ_abcdefghijklmnopqrstuvwxyz0123456789", at[-1]) && at[1] >= '0' &&
                  at[1] <= '9';
        if (!is) {
            kb_text_bytes(&out, at++, 1);
            continue;
        }
        char *end;
        long number = strtol(at + 1, &end, 10);
        long group = number / 4;
        kb_text_addf(&out, "R%ld", number < 4 ? number : ((group * 5 + 3) % 61 + 1) * 4 + number % 4);
        at = end;
    }
    return kb_text_take(&out);
}

// G3 (1)
static void test_renamed(void **state)
{
    (void)state;
    static const char *const names[] = {"dot_75",     "dot_80",      "dot_90",    "variety_80",
                                        "variety_90", "variety_120", "softmax_90"};
    for (size_t i = 0; i < KB_COUNT(names); i++) {
        char *text = sass_text(names[i], NULL), *other = permuted(text);
        assert_string_not_equal(text, other);
        cJSON *document = sass_compare(text, other, false), *raw = sass_compare(text, other, true);
        expect(document, false, false, 0);
        assert_true(sass_rows(raw, "~") > 0);
        assert_false(kb_json_bool(raw, "real_change", true));
        cJSON_Delete(document);
        cJSON_Delete(raw);
        free(text);
        free(other);
    }
}

// The assembler's own work: one source for two architectures.
static void test_renamed_by_assembler(void **state)
{
    (void)state;
    char *a = sass_text("variety_80", NULL), *b = sass_text("variety_86", NULL);
    cJSON *document = sass_compare(a, b, false);
    const cJSON *matrix = sass_unit(document, "_Z6matrixP6__halfS0_Pf");
    assert_string_equal(kb_json_text(matrix, "state", ""), "same");
    assert_int_equal(kb_json_int(matrix, "raw_rows", 0), 20);
    assert_string_equal(kb_json_text(sass_unit(document, "_Z6halvesP7__half2S_"), "state", ""), "changed");
    assert_true(sass_has_row(document, '-', "HFMA2.MMA R5, R0, R5", ""));
    assert_true(sass_has_row(document, '+', "", "HFMA2 R5, R0, R5"));
    cJSON_Delete(document);
    free(a);
    free(b);
}

// One use of another register is a change, however alike it looks; so is a value that was overwritten.
static void test_not_renamed(void **state)
{
    (void)state;
    static const char *const changes[][2] = {
        {"FFMA R10, R5, R2, R10", "FFMA R10, R5, R5, R10"},
        {"IADD3 R11, R12, R11, RZ", "IADD3 R11, R11, R11, RZ"},
        {"ISETP.GE.AND P0, PT, R11, UR4, PT", "ISETP.GE.AND P0, PT, R11, UR5, PT"},
        {"@!P0 BRA `(.L_x_2)", "@!P1 BRA `(.L_x_2)"},
        {"IMAD.WIDE R4, R11, 0x4, R8", "IMAD.WIDE R4, R11, 0x4, R6"},
        {"LDC.64 R8, c[0x0][0x218]", "LDC.64 R8, c[0x0][0x210]"},
        {"@!P0 BRA `(.L_x_2)", "@!P0 BRA `(.L_x_0)"},
    };
    char *text = sass_text("dot_90", NULL);
    for (size_t i = 0; i < KB_COUNT(changes); i++) {
        char *other = sass_replaced(text, changes[i][0], changes[i][1]);
        assert_string_not_equal(text, other);
        cJSON *document = sass_compare(text, other, false);
        if (!kb_json_bool(document, "real_change", false))
            fail_msg("not seen: %s", changes[i][1]);
        assert_true(sass_rows(document, "~-+") > 0);
        cJSON_Delete(document);
        free(other);
    }
    free(text);
}

// What a register holds across blocks counts: the loop's counter and its sum are exchanged behind the loop only.
static void test_across_blocks(void **state)
{
    (void)state;
    char *text = sass_text("dot_90", NULL);
    char *other = sass_replaced(text, "SHFL.BFLY PT, R3, R10, 0x10, 0x1f", "SHFL.BFLY PT, R3, R11, 0x10, 0x1f");
    cJSON *document = sass_compare(text, other, false);
    expect(document, false, true, 1);
    assert_true(sass_has_row(document, '~', "SHFL.BFLY PT, R3, R10", "SHFL.BFLY PT, R3, R11"));
    cJSON_Delete(document);
    free(other);
    free(text);
}

// G3 (2)
static void test_moved_constants(void **state)
{
    (void)state;
    char *text = sass_text("dot_90", NULL), *one = sass_replaced(text, "[0x218]", "[0x298]"),
         *two = sass_replaced(one, "[0x228]", "[0x2a8]");
    assert_string_not_equal(text, one);
    cJSON *document = sass_compare(text, two, false);
    expect(document, false, false, 0);
    cJSON_Delete(document);
    document = sass_compare(text, two, true);
    assert_int_equal(sass_rows(document, "~"), 2);
    cJSON_Delete(document);
    free(text);
    free(one);
    free(two);
}

// Scheduling: reuse flags and control text.
static void test_scheduling(void **state)
{
    (void)state;
    char *text = sass_text("dot_90", NULL), *one = sass_replaced(text, "R0.reuse", "R0"),
         *two = sass_replaced(one, "FFMA R10, R5, R2, R10 ;", "FFMA R10, R5, R2, R10 &req={1,0} ?WAIT4 ;");
    assert_string_not_equal(one, two);
    struct kb_sass_listing *l = sass_read(two);
    assert_string_equal(l->kernels[0].instructions[0x130 / 16].control, "&req={1,0} ?WAIT4");
    assert_string_equal(l->kernels[0].instructions[0x130 / 16].operands, "R10, R5, R2, R10");
    kb_sass_free(l);
    cJSON *document = sass_compare(text, two, false);
    expect(document, false, false, 0);
    cJSON_Delete(document);
    free(text);
    free(one);
    free(two);
}

// G3 (3)
static void test_one_hunk(void **state)
{
    (void)state;
    char *a = sass_text("dot_90", NULL), *b = sass_text("dot_changed_90", NULL);
    cJSON *document = sass_compare(a, b, false);
    expect(document, false, true, 1);
    const cJSON *hunk = cJSON_GetArrayItem(kb_json_get(document, "hunks"), 0);
    assert_string_equal(kb_json_text(hunk, "kernel", ""), dot);
    assert_int_equal(sass_rows(document, "-"), 1);
    assert_int_equal(sass_rows(document, "+"), 2);
    assert_true(sass_has_row(document, '-', "FFMA R10, R5, R2, R10", ""));
    assert_int_equal(kb_json_int(kb_json_get(document, "by_class"), "FADD", 0), 1);
    assert_int_equal(kb_json_int(kb_json_get(document, "by_class"), "FFMA", 99), 99); // one each: no change
    cJSON_Delete(document);
    free(a);
    free(b);
}

static char *with_fmul(const char *text)
{
    return sass_replaced(
        text, "/*0130*/                   FFMA R10, R5, R2, R10 ;",
        "/*0130*/                   FMUL R13, R5, R2 ;\n        /*0138*/                   FADD R10, R13, R10 ;");
}

static void test_counts(void **state)
{
    (void)state;
    size_t n, m;
    char *lines = sass_text("dot_90", &n), *live = sass_text("dot_90_live", &m);
    struct kb_text joined = {0};
    assert_int_equal(kb_sass_join(lines, n, live, m, &joined, NULL), 0);
    char *other = with_fmul(lines);
    cJSON *document = sass_compare(joined.data, other, false), *head = kb_diff_head(document);
    expect(document, false, true, 1);
    const cJSON *by_class = kb_json_get(head, "by_class"), *unit = sass_unit(document, dot);
    assert_int_equal(kb_json_int(by_class, "FFMA", 0), -1);
    assert_int_equal(kb_json_int(by_class, "FMUL", 0), 1);
    assert_int_equal(kb_json_int(by_class, "FADD", 0), 1);
    assert_int_equal(cJSON_GetArraySize(by_class), 3);
    assert_int_equal(kb_json_int(kb_json_get(unit, "instructions"), "a", 0) + 1,
                     kb_json_int(kb_json_get(unit, "instructions"), "b", 0));
    const cJSON *peak = kb_json_get(unit, "live_registers_peak");
    assert_int_equal(kb_json_int(peak, "a", 0), 13);
    assert_true(cJSON_IsNull(kb_json_get(peak, "b")));
    assert_non_null(kb_json_text(peak, "b_reason", NULL));
    const cJSON *row =
        cJSON_GetArrayItem(kb_json_get(cJSON_GetArrayItem(kb_json_get(document, "hunks"), 0), "rows"), 0);
    assert_int_equal(kb_json_int(row, "ao", 0), 0x100);
    assert_int_equal(kb_json_int(row, "al", 0), 12);
    assert_int_equal(kb_json_int(row, "ar", 0), 12);
    cJSON_Delete(head);
    cJSON_Delete(document);
    kb_text_free(&joined);
    free(lines);
    free(live);
    free(other);
}

// G3 (4)
static void test_labels(void **state)
{
    (void)state;
    char *text = sass_text("dot_90", NULL), *one = sass_replaced(text, ".L_x_2", ".L_x_77"),
         *two = sass_replaced(one, ".L_x_1", ".L_x_2");
    cJSON *document = sass_compare(text, two, false);
    expect(document, false, false, 0);
    cJSON_Delete(document);
    // An address instead of a label, and all of it moved.
    char *three = sass_replaced(text, "`(.L_x_2)", "0xd0");
    document = sass_compare(text, three, true);
    assert_int_equal(sass_rows(document, "-+"), 2); // written in another way altogether
    cJSON_Delete(document);
    char *moved = sass_replaced(three, "0xd0", "0xd8"), *shifted = sass_replaced(moved, "/*00d0*/", "/*00d8*/");
    document = sass_compare(three, shifted, false);
    expect(document, false, false, 0);
    cJSON_Delete(document);
    free(text);
    free(one);
    free(two);
    free(three);
    free(moved);
    free(shifted);
}

// G3 (5)
static void test_added(void **state)
{
    (void)state;
    char *a = sass_text("dot_90", NULL), *b = sass_text("variety_90", NULL), *both = kb_format("%s%s", a, b);
    cJSON *document = sass_compare(a, both, false);
    assert_true(kb_json_bool(document, "real_change", false));
    assert_string_equal(kb_json_text(sass_unit(document, dot), "state", ""), "identical");
    assert_string_equal(kb_json_text(sass_unit(document, "_Z6halvesP7__half2S_"), "state", ""), "added");
    assert_true(sass_rows(document, "+") > 100);
    cJSON_Delete(document);
    document = sass_compare(both, a, false);
    assert_string_equal(kb_json_text(sass_unit(document, "_Z6halvesP7__half2S_"), "state", ""), "removed");
    assert_int_equal(sass_rows(document, "+~"), 0);
    cJSON_Delete(document);
    free(a);
    free(b);
    free(both);
}

// Two variants: one kernel each, of different names.
static void test_other_name(void **state)
{
    (void)state;
    char *a = sass_text("dot_90", NULL), *b = sass_replaced(a, dot, "_Z5tunedPKfS0_Pfi"),
         *c = sass_replaced(b, ".text._Z3dotPKfS0_Pfi", ".text._Z5tunedPKfS0_Pfi");
    cJSON *document = sass_compare(a, c, false);
    const cJSON *unit = sass_unit(document, "_Z5tunedPKfS0_Pfi");
    assert_string_equal(kb_json_text(unit, "was", ""), dot);
    assert_string_equal(kb_json_text(unit, "state", ""), "identical");
    cJSON_Delete(document);
    free(a);
    free(b);
    free(c);
}

static void test_reordered(void **state)
{
    (void)state;
    char *a = sass_text("dot_90", NULL);
    char *one = sass_replaced(a, "LDC.64 R6, c[0x0][0x210]", "MARK"),
         *two = sass_replaced(one, "LDC R12, c[0x0][RZ]", "LDC.64 R6, c[0x0][0x210]"),
         *three = sass_replaced(two, "MARK", "LDC R12, c[0x0][RZ]");
    cJSON *document = sass_compare(a, three, false);
    assert_true(kb_json_bool(document, "real_change", false));
    assert_true(kb_json_bool(sass_unit(document, dot), "reordered", false));
    assert_int_equal(cJSON_GetArraySize(kb_json_get(document, "by_class")), 0);
    cJSON_Delete(document);
    free(a);
    free(one);
    free(two);
    free(three);
}

static void test_hot_first(void **state)
{
    (void)state;
    char *a = sass_text("dot_90", NULL), *one = with_fmul(a);
    char *b = sass_replaced(one, "STS [R3], R2", "STS [R3+0x4], R2");
    struct kb_sass_sample samples[] = {{dot, 0x130, 5}, {"other", 0x250, 1000}, {dot, 0x250, 70}, {dot, 0x7, 9}};
    struct kb_sass_listing *x = sass_read(a), *y = sass_read(b);
    for (int i = 0; i < x->kernels[0].count; i++)
        if (kb_sass_is(&x->kernels[0].instructions[i], "STS"))
            samples[2].offset = x->kernels[0].instructions[i].offset;
    struct kb_sass_diff_options o = {.context = 2};
    cJSON *document = kb_sass_diff(x, y, &o);
    const cJSON *hunks = kb_json_get(document, "hunks");
    assert_int_equal(cJSON_GetArraySize(hunks), 2);
    assert_null(kb_json_get(cJSON_GetArrayItem(hunks, 0), "samples"));
    assert_true(kb_starts(
        kb_json_text(cJSON_GetArrayItem(kb_json_get(cJSON_GetArrayItem(hunks, 0), "rows"), 2), "a", ""), "FFMA"));
    cJSON_Delete(document);
    o.a = (struct kb_sass_samples){samples, 4};
    document = kb_sass_diff(x, y, &o);
    hunks = kb_json_get(document, "hunks");
    assert_int_equal(kb_json_int(cJSON_GetArrayItem(hunks, 0), "samples", 0), 70);
    assert_int_equal(kb_json_int(cJSON_GetArrayItem(hunks, 1), "samples", 0), 5);
    cJSON_Delete(document);
    kb_sass_free(x);
    kb_sass_free(y);
    free(a);
    free(one);
    free(b);
}

static void test_samples(void **state)
{
    (void)state;
    struct kb_sass_sample *items;
    cJSON *json = cJSON_Parse(
        "{\"kernels\":[{\"name\":\"k\",\"pcs\":[[16,5,\"memory\"],[32,7],[\"x\",1],[-1,2]]},{\"pcs\":[[1,1]]}]}");
    assert_int_equal(kb_sass_samples_read(json, &items), 2);
    assert_string_equal(items[1].kernel, "k");
    assert_int_equal(items[1].offset, 32);
    assert_int_equal(items[1].samples, 7);
    free(items);
    cJSON_Delete(json);
    json = cJSON_Parse("[[\"k\",16,5],[1,2,3],7,[]]");
    assert_int_equal(kb_sass_samples_read(json, &items), 1);
    free(items);
    cJSON_Delete(json);
    assert_int_equal(kb_sass_samples_read(NULL, &items), 0);
    assert_null(items);
}

// G3 (7): a kernel of 60,000 lines, changed here and there.
static char *long_listing(const char *from, const char *replaced, const char *by)
{
    struct kb_text out = {0};
    kb_text_add(&out, "\t.target\tsm_90\n//--------------------- .text.k --------------------------\nk:\n");
    char *body = strchr(strstr(from, ".text._Z3dotPKfS0_Pfi:"), '\n') + 1;
    unsigned offset = 0;
    for (int copy = 0, lines = 0; lines < 60000; copy++)
        for (char *line = body; kb_starts(line, "\t//") || kb_starts(line, "  ") || kb_starts(line, ".L_"); lines++) {
            int n = (int)strcspn(line, "\n");
            char *text = kb_strndup(line, (size_t)n), *number = strstr(text, ".L_x_"), *at = strstr(text, "/*");
            if (at && copy % 50 == 7 && strstr(text, replaced))
                kb_text_addf(&out, "        /*%04x*/                   %s ;\n", offset, by);
            else if (at && number)
                kb_text_addf(&out, "        /*%04x%.*s%d%s\n", offset, (int)(number + 5 - at - 6), at + 6, copy,
                             number + 5);
            else if (at)
                kb_text_addf(&out, "        /*%04x%s\n", offset, at + 6);
            else if (number)
                kb_text_addf(&out, ".L_x_%d%s\n", copy, number + 5);
            offset += at ? 16 : 0;
            free(text);
            line += n + 1;
        }
    return kb_text_take(&out);
}

static void test_long(void **state)
{
    (void)state;
    char *text = sass_text("dot_90", NULL), *a = long_listing(text, "FFMA", "FFMA R10, R5, R2, R10"),
         *b = long_listing(text, "FFMA", "FMUL R10, R5, R2"), *c = long_listing(text, ";", "XFOO R1, R2");
    struct kb_sass_listing *l = sass_read(a);
    assert_true(l->kernels[0].count > 20000);
    kb_sass_free(l);
    cJSON *document = sass_compare(a, b, false), *head = kb_diff_head(document);
    int changes = -(int)kb_json_int(kb_json_get(head, "by_class"), "FFMA", 0);
    assert_true(changes >= 6);
    assert_int_equal(kb_json_int(head, "hunks", 0), changes);
    assert_int_equal(sass_rows(document, "-"), changes);
    cJSON_Delete(head);
    cJSON_Delete(document);
    document = sass_compare(a, c, false); // whole copies replaced
    assert_true(kb_json_bool(document, "real_change", false) && sass_rows(document, "+") > 400);
    cJSON_Delete(document);
    struct kb_sass_listing *x = sass_read(a), *y = sass_read(text);
    struct kb_sass_diff_options o = {.context = 3, .rows_most = 500};
    document = kb_sass_diff(x, y, &o); // cut, and it says so
    assert_int_equal(sass_rows(document, "=~-+"), 500);
    const cJSON *hunk = NULL, *each;
    cJSON_ArrayForEach (each, kb_json_get(document, "hunks"))
        hunk = each;
    assert_true(kb_json_int(hunk, "rows_left_out", 0) > 0 || kb_json_int(document, "hunks_left_out", 0) > 0);
    cJSON_Delete(document);
    kb_sass_free(x);
    kb_sass_free(y);
    free(a);
    free(b);
    free(c);
    free(text);
}

// ---- the engine, and texts

static void test_match(void **state)
{
    (void)state;
    uint32_t seed = 7;
    for (int round = 0; round < 2000; round++) {
        uint64_t a[40], b[40];
        int na = 0, nb = 0, match[40], best[41][41] = {{0}}, found = 0, last = -1;
        seed = seed * 1664525 + 1013904223;
        na = (int)((seed >> 8) % 40);
        nb = (int)((seed >> 16) % 40);
        for (int i = 0; i < 40; i++) {
            seed = seed * 1664525 + 1013904223;
            a[i] = (seed >> 8) % (uint32_t)(2 + round % 9);
            b[i] = (seed >> 20) % (uint32_t)(2 + round % 9);
        }
        kb_sass_match(a, na, b, nb, match);
        for (int i = na - 1; i >= 0; i--)
            for (int k = nb - 1; k >= 0; k--)
                best[i][k] = a[i] == b[k]                      ? best[i + 1][k + 1] + 1
                             : best[i + 1][k] > best[i][k + 1] ? best[i + 1][k]
                                                               : best[i][k + 1];
        for (int i = 0; i < na; i++) {
            if (match[i] < 0)
                continue;
            assert_true(match[i] > last && match[i] < nb && a[i] == b[match[i]]);
            last = match[i];
            found++;
        }
        assert_int_equal(found, best[0][0]); // the longest there is
    }
}

static void test_text(void **state)
{
    (void)state;
    static const char a[] = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n",
                      b[] = "one\ntwo\n3\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven \x1b[31m\xff";
    struct kb_sass_diff_options o = {.context = 1};
    cJSON *document = kb_text_diff(a, sizeof a - 1, b, sizeof b - 1, &o);
    expect(document, false, true, 2);
    assert_int_equal(kb_json_int(document, "added", 0), 2);
    assert_int_equal(kb_json_int(document, "removed", 0), 1);
    assert_true(sass_has_row(document, '-', "three", ""));
    assert_true(sass_has_row(document, '+', "", "3"));
    const cJSON *row =
        cJSON_GetArrayItem(kb_json_get(cJSON_GetArrayItem(kb_json_get(document, "hunks"), 1), "rows"), 1);
    assert_int_equal(kb_json_int(row, "bl", 0), 11);
    assert_null(strchr(kb_json_text(row, "b", ""), '\x1b'));
    cJSON_Delete(document);
    document = kb_text_diff(a, sizeof a - 1, a, sizeof a - 1, &o);
    expect(document, true, false, 0);
    cJSON_Delete(document);
    document = kb_text_diff("", 0, a, sizeof a - 1, &o);
    expect(document, false, true, 1);
    assert_int_equal(sass_rows(document, "+"), 10);
    cJSON_Delete(document);
    // The end of the last line is a change too.
    document = kb_text_diff(a, sizeof a - 2, a, sizeof a - 1, &o);
    assert_false(kb_json_bool(document, "identical", true));
    cJSON_Delete(document);
}

// A comment more in the source moves every .loc, and gives static names another hash.
static void test_ptx(void **state)
{
    (void)state;
    static const char a[] = "//\n.version 9.0\n.target sm_90\n\t.loc\t1 7 3\n\tadd.f32 %f1, %f2, %f3;\n"
                            "\tmov.u64 %rd1, _ZZN34_INTERNAL_00000000_4_k_cu_c6d2f4b83fooE1s;\n",
                      b[] = "//\n.version 9.0\n.target sm_90\n\t.loc\t1 8 3\n\tadd.f32 %f1, %f2, %f3;\n"
                            "\tmov.u64 %rd1, _ZZN34_INTERNAL_00000000_4_k_cu_0badcafe3fooE1s;\n",
                      c[] = "//\n.version 9.0\n.target sm_90\n\t.loc\t1 8 3\n\tmul.f32 %f1, %f2, %f3;\n"
                            "\tmov.u64 %rd1, _ZZN34_INTERNAL_00000000_4_k_cu_0badcafe3barE1s;\n";
    struct kb_sass_diff_options o = {.context = 1};
    cJSON *document = kb_text_diff(a, sizeof a - 1, b, sizeof b - 1, &o);
    expect(document, false, false, 0);
    cJSON_Delete(document);
    document = kb_text_diff(a, sizeof a - 1, c, sizeof c - 1, &o);
    assert_int_equal(kb_json_int(document, "added", 0), 2); // another operation, another name
    cJSON_Delete(document);
    o.raw = true;
    document = kb_text_diff(a, sizeof a - 1, b, sizeof b - 1, &o);
    assert_int_equal(kb_json_int(document, "added", 0), 2);
    cJSON_Delete(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_identical),
                                       cmocka_unit_test(test_ptx),
                                       cmocka_unit_test(test_renamed),
                                       cmocka_unit_test(test_renamed_by_assembler),
                                       cmocka_unit_test(test_not_renamed),
                                       cmocka_unit_test(test_across_blocks),
                                       cmocka_unit_test(test_moved_constants),
                                       cmocka_unit_test(test_scheduling),
                                       cmocka_unit_test(test_one_hunk),
                                       cmocka_unit_test(test_counts),
                                       cmocka_unit_test(test_labels),
                                       cmocka_unit_test(test_added),
                                       cmocka_unit_test(test_other_name),
                                       cmocka_unit_test(test_reordered),
                                       cmocka_unit_test(test_hot_first),
                                       cmocka_unit_test(test_samples),
                                       cmocka_unit_test(test_long),
                                       cmocka_unit_test(test_match),
                                       cmocka_unit_test(test_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
