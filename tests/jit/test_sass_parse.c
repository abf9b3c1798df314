// Listings of nvdisasm from several architectures, and what is none.
#include "base/json.h"
#include "base/memory.h"
#include "jit/sass_classes.h"
#include "jit/support_sass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const archs[] = {"75", "80", "90", "100", "120"};

static const struct kb_sass_instruction *find(const struct kb_sass_kernel *k, const char *opcode)
{
    for (int i = 0; i < k->count; i++)
        if (kb_starts(k->instructions[i].opcode, opcode))
            return &k->instructions[i];
    fail_msg("no %s", opcode);
    return NULL;
}

static void check_instructions(const struct kb_sass_listing *l)
{
    for (int i = 0; i < l->kernel_count; i++) {
        const struct kb_sass_kernel *k = &l->kernels[i];
        assert_true(k->count > 0);
        for (int n = 0; n < k->count; n++) {
            const struct kb_sass_instruction *at = &k->instructions[n];
            assert_int_equal(at->offset, n * 16);
            assert_true(at->base > 0 && at->line > 0 && at->at_line > 0);
            assert_null(strchr(at->operands, ';'));
            assert_true(*at->predicate == 0 || *at->predicate == '@');
        }
        assert_string_not_equal(k->instructions[k->count - 1].opcode, "NOP");
    }
}

static void test_every_arch(void **state)
{
    (void)state;
    for (size_t i = 0; i < KB_COUNT(archs); i++) {
        char name[32], arch[16];
        snprintf(name, sizeof name, "dot_%s", archs[i]);
        snprintf(arch, sizeof arch, "sm_%s", archs[i]);
        struct kb_sass_listing *l = sass_stored(name);
        assert_string_equal(l->arch, arch);
        assert_int_equal(l->kernel_count, 1);
        assert_string_equal(l->kernels[0].name, "_Z3dotPKfS0_Pfi");
        assert_true(l->has_lines && !l->has_live);
        assert_int_equal(l->kernels[0].live_peak, -1);
        check_instructions(l);
        kb_sass_free(l);
        snprintf(name, sizeof name, "variety_%s", archs[i]);
        l = sass_stored(name);
        assert_int_equal(l->kernel_count, 3);
        check_instructions(l);
        kb_sass_free(l);
    }
}

static void test_parts(void **state)
{
    (void)state;
    struct kb_sass_listing *l = sass_stored("dot_90");
    const struct kb_sass_kernel *k = &l->kernels[0];
    const struct kb_sass_instruction *at = &k->instructions[0x70 / 16];
    assert_string_equal(at->predicate, "@P0");
    assert_string_equal(at->opcode, "BRA");
    assert_string_equal(at->operands, "`(.L_x_1)");
    at = &k->instructions[0x3d0 / 16];
    assert_string_equal(at->opcode, "REDG.E.ADD.F32.FTZ.RN.STRONG.GPU");
    assert_int_equal(at->base, 4);
    assert_true(kb_sass_is(at, "REDG") && !kb_sass_is(at, "RED"));
    assert_string_equal(at->operands, "desc[UR6][R2.64], R7");
    struct kb_text shown = {0};
    kb_sass_show(&shown, &k->instructions[0x140 / 16]);
    assert_string_equal(shown.data, "@!P0 BRA `(.L_x_2)");
    kb_text_free(&shown);
    kb_sass_free(l);
}

// The line is that of the function that was inlined, the other one where that happened in the kernel.
static void test_inlining(void **state)
{
    (void)state;
    struct kb_sass_listing *l = sass_stored("dot_90");
    const struct kb_sass_kernel *k = &l->kernels[0];
    const struct kb_sass_instruction *at = find(k, "SHFL");
    assert_string_equal(l->files[at->file], "/include/sm_30_intrinsics.hpp");
    assert_int_equal(at->line, 449);
    assert_string_equal(l->files[at->at_file], "/dot.cu");
    assert_int_equal(at->at_line, 13);
    at = find(k, "FFMA");
    assert_string_equal(l->files[at->file], "/dot.cu");
    assert_int_equal(at->line, 12);
    assert_int_equal(at->at_line, 12);
    kb_sass_free(l);
}

// G4: names of #line are shown as given, whatever they hold; without line information there are no lines.
static void test_names(void **state)
{
    (void)state;
    char *text = sass_text("dot_90", NULL), *odd = sass_replaced(text, "/dot.cu", "orig name (v2), line [7]: \"x\".cu");
    struct kb_sass_listing *l = sass_read(odd);
    assert_string_equal(l->files[find(&l->kernels[0], "FFMA")->file], "orig name (v2), line [7]: \"x\".cu");
    kb_sass_free(l);
    free(odd);
    odd = sass_replaced(text, "//## File", "// no");
    l = sass_read(odd);
    assert_false(l->has_lines);
    assert_int_equal(find(&l->kernels[0], "FFMA")->line, 0);
    assert_int_equal(find(&l->kernels[0], "FFMA")->file, -1);
    kb_sass_free(l);
    free(odd);
    odd = sass_replaced(text, "EXIT", "UCGABAR_ARV"); // a barrier of a cluster has a line in its name
    l = sass_read(odd);
    assert_string_equal(find(&l->kernels[0], "UCGABAR_ARV")->opcode, "UCGABAR_ARV");
    kb_sass_free(l);
    free(odd);
    free(text);
}

static void test_live(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int peak, first;
    } wanted[] = {{"dot_75_live", 8, 2}, {"dot_90_live", 13, 2}, {"dot_120_live", 13, 1}};
    for (size_t i = 0; i < KB_COUNT(wanted); i++) {
        struct kb_sass_listing *l = sass_stored(wanted[i].name);
        assert_true(l->has_live && !l->has_lines);
        assert_int_equal(l->kernels[0].live_peak, wanted[i].peak);
        assert_int_equal(l->kernels[0].instructions[0].live, wanted[i].first);
        kb_sass_free(l);
    }
    struct kb_sass_listing *l = sass_stored("dot_90_live");
    const struct kb_sass_instruction *at = &l->kernels[0].instructions[7];
    assert_int_equal(at->live, 4);
    assert_int_equal(at->live_predicates, 1);
    assert_int_equal(at->live_uniform, 3);
    kb_sass_free(l);
}

static void test_join(void **state)
{
    (void)state;
    static const char *const names[] = {"75", "90", "120"};
    for (size_t i = 0; i < KB_COUNT(names); i++) {
        char *name = kb_format("dot_%s", names[i]), *live_name = kb_format("dot_%s_live", names[i]);
        size_t n, m;
        char *lines = sass_text(name, &n), *live = sass_text(live_name, &m);
        struct kb_text joined = {0}, again = {0};
        assert_int_equal(kb_sass_join(lines, n, live, m, &joined, NULL), 0);
        struct kb_sass_listing *both = sass_read(joined.data), *a = sass_read(lines), *b = sass_read(live);
        assert_true(both->has_lines && both->has_live);
        assert_int_equal(both->kernels[0].count, a->kernels[0].count);
        for (int k = 0; k < a->kernels[0].count; k++) {
            const struct kb_sass_instruction *x = &a->kernels[0].instructions[k], *y = &b->kernels[0].instructions[k],
                                             *z = &both->kernels[0].instructions[k];
            assert_string_equal(x->operands, z->operands);
            assert_int_equal(x->line, z->line);
            assert_int_equal(y->live, z->live);
            assert_int_equal(y->live_predicates, z->live_predicates);
            assert_int_equal(y->live_uniform, z->live_uniform < 0 ? -1 : y->live_uniform < 0 ? -1 : z->live_uniform);
        }
        assert_int_equal(kb_sass_join(lines, n, "no listing\n", 11, &again, NULL), -1);
        kb_sass_free(both);
        kb_sass_free(a);
        kb_sass_free(b);
        kb_text_free(&joined);
        kb_text_free(&again);
        free(lines);
        free(live);
        free(name);
        free(live_name);
    }
}

static void test_encoding(void **state)
{
    (void)state;
    struct kb_sass_listing *plain = sass_stored("dot_90"), *hex = sass_stored("dot_90_hex");
    assert_int_equal(plain->kernels[0].count, hex->kernels[0].count);
    for (int i = 0; i < plain->kernels[0].count; i++) {
        const struct kb_sass_instruction *x = &plain->kernels[0].instructions[i], *y = &hex->kernels[0].instructions[i];
        assert_string_equal(x->opcode, y->opcode);
        assert_string_equal(x->operands, y->operands);
    }
    kb_sass_free(plain);
    kb_sass_free(hex);
}

static void test_functions(void **state)
{
    (void)state;
    struct kb_sass_listing *l = sass_stored("variety_90");
    const struct kb_sass_kernel *k = kb_sass_find(l, "_Z7varietyPK6float4PS_Pdii");
    assert_non_null(k);
    assert_null(kb_sass_find(l, "variety"));
    int functions = 0;
    for (int i = 0; i < k->label_count; i++)
        functions += k->labels[i].function;
    assert_int_equal(functions, 2); // the kernel, and the one that is not inlined
    kb_sass_free(l);
}

static void refuse(const char *text, const char *because)
{
    struct kb_sass_listing *l;
    struct kb_error e = {0};
    assert_int_equal(kb_sass_parse(text, strlen(text), &l, &e), -1);
    assert_null(l);
    assert_non_null(strstr(e.what, "could not read listing"));
    if (!strstr(e.what, because))
        fail_msg("%s", e.what);
}

// G3 (6)
static void test_unknown(void **state)
{
    (void)state;
    char *json = sass_text("dot_90_json", NULL), *text = sass_text("dot_90", NULL);
    refuse("", "none of its 0 lines");
    refuse("hello\nworld\n", "none of its 2 lines");
    refuse(json, "none of its");
    char *odd = sass_replaced(text, "FFMA R10, R5, R2, R10 ;", "R10 = FFMA R5 R2 R10");
    refuse(odd, "is not understood: ");
    free(odd);
    odd = sass_replaced(text, "/*0130*/", "0130:");
    refuse(odd, "0130: ");
    free(odd);
    struct kb_sass_listing *l;
    assert_int_equal(kb_sass_parse("a\0b", 3, &l, NULL), -1);
    free(json);
    free(text);
}

// A listing that was cut: whole lines count, the half one does not.
static void test_cut(void **state)
{
    (void)state;
    size_t size;
    char *text = sass_text("dot_90", &size);
    int before = 0;
    for (size_t n = 0; n < size; n++) {
        struct kb_sass_listing *l;
        if (kb_sass_parse(text, n, &l, NULL))
            continue;
        assert_true(l->kernels[0].count >= before || before >= 64);
        before = l->kernels[0].count;
        kb_sass_free(l);
    }
    assert_int_equal(before, 64);
    free(text);
}

// Whatever happens to a listing, it is read or refused, and what was read can be compared.
static void test_mutations(void **state)
{
    (void)state;
    static const char alphabet[] = "\n\t ;:.,[](){}@!`/*|$\"RPUBc0x9FZ\x80\xff";
    size_t size;
    char *text = sass_text("variety_90", &size), *changed = kb_alloc(size + 1);
    struct kb_sass_listing *whole = sass_read(text);
    uint32_t seed = 12345;
    int readable = 0;
    for (int round = 0; round < 150; round++) {
        memcpy(changed, text, size);
        for (int i = 0; i < 1 + round % 7; i++) {
            seed = seed * 1664525 + 1013904223;
            size_t at = (seed >> 4) % size;
            seed = seed * 1664525 + 1013904223;
            changed[at] = alphabet[(seed >> 8) % (sizeof alphabet - 1)];
        }
        struct kb_sass_listing *l;
        struct kb_error e = {0};
        if (kb_sass_parse(changed, size, &l, &e)) {
            assert_non_null(strstr(e.what, "could not read listing"));
            continue;
        }
        readable++;
        struct kb_sass_diff_options o = {.context = 3};
        cJSON *document = kb_sass_diff(whole, l, &o);
        assert_non_null(kb_json_get(document, "hunks"));
        cJSON_Delete(document);
        kb_sass_free(l);
    }
    assert_true(readable > 5);
    kb_sass_free(whole);
    free(changed);
    free(text);
}

static void test_garbage(void **state)
{
    (void)state;
    uint32_t seed = 99;
    char bytes[600];
    for (int round = 0; round < 400; round++) {
        size_t n = (size_t)snprintf(bytes, sizeof bytes, "//--- .text.k ---\n");
        while (n < sizeof bytes - 1) {
            seed = seed * 1664525 + 1013904223;
            bytes[n++] = (char)((seed >> 16) % 255 + 1);
        }
        bytes[n] = 0;
        struct kb_sass_listing *l;
        if (!kb_sass_parse(bytes, n, &l, NULL))
            kb_sass_free(l);
    }
}

static void test_classes(void **state)
{
    (void)state;
    static const char *const wanted[][2] = {{"LDG.E.128.CONSTANT", "LDG.128"},
                                            {"LDG.E", "LDG.32"},
                                            {"LDG.E.64.SYS", "LDG.64"},
                                            {"LDG.E.U8", "LDG.8"},
                                            {"LDG.E.ENL2.256", "LDG.256"},
                                            {"STG.E.128", "STG.128"},
                                            {"LDS.U.128", "LDS.128"},
                                            {"STS", "STS.32"},
                                            {"STS.U16", "STS.16"},
                                            {"LDL.64", "LDL.64"},
                                            {"STL.128", "STL.128"},
                                            {"LDGSTS.E.BYPASS.LTC128B.128", "LDGSTS.128"},
                                            {"UBLKCP.S.G", "UBLKCP"},
                                            {"UBLKPF", "UBLK"},
                                            {"UTMALDG.2D", "UTMALDG"},
                                            {"UTMAREDG.1D", "UTMA"},
                                            {"FFMA.FTZ", "FFMA"},
                                            {"FFMA2", "FFMA2"},
                                            {"FADD", "FADD"},
                                            {"FMUL.RZ", "FMUL"},
                                            {"HFMA2.MMA", "HFMA2"},
                                            {"HFMA2", "HFMA2"},
                                            {"HADD2.F32", "HADD2"},
                                            {"DFMA", "DFMA"},
                                            {"IMAD.MOV.U32", "IMAD"},
                                            {"IMAD.WIDE", "IMAD"},
                                            {"IADD3.X", "IADD3"},
                                            {"VIADD", "IADD3"},
                                            {"IADD.64", "IADD3"},
                                            {"MUFU.EX2", "MUFU"},
                                            {"HMMA.16816.F32", "HMMA"},
                                            {"IMMA.16832.S8.S8", "IMMA"},
                                            {"HGMMA.64x128x16.F32", "HGMMA"},
                                            {"BAR.SYNC.DEFER_BLOCKING", "BAR"},
                                            {"MEMBAR.SC.GPU", "MEMBAR"},
                                            {"SHFL.BFLY", "SHFL"},
                                            {"ATOMG.E.ADD.F32", "ATOM"},
                                            {"ATOMS.CAS", "ATOMS"},
                                            {"RED.E.ADD", "RED"},
                                            {"REDG.E.ADD", "RED"},
                                            {"REDUX.MAX.S32", "REDUX"},
                                            {"BRA.U", "BRA"},
                                            {"BRXU", "BRA"},
                                            {"EXIT", "EXIT"},
                                            {"CALL.REL.NOINC", "CALL"},
                                            {"BSSY.RECONVERGENT", "BSSY"},
                                            {"ISETP.GE.AND", "SETP"},
                                            {"LDCU.64", "LDC"},
                                            {"ULDC", "LDC"},
                                            {"I2FP.F32.U32", "CVT"},
                                            {"S2UR", "S2R"},
                                            {"ULEA", "UNIFORM"},
                                            {"NOP", "other"},
                                            {"NEVERSEEN.X", "other"}};
    for (size_t i = 0; i < KB_COUNT(wanted); i++)
        assert_string_equal(kb_sass_class_name(kb_sass_class(wanted[i][0])).s, wanted[i][1]);
}

static void test_summary(void **state)
{
    (void)state;
    struct kb_sass_listing *l = sass_stored("variety_90");
    int left_out;
    cJSON *list = kb_sass_summary(l, 1 << 20, &left_out), *item;
    assert_int_equal(left_out, 0);
    assert_int_equal(cJSON_GetArraySize(list), 3);
    cJSON_ArrayForEach (item, list) {
        const cJSON *by_class = kb_json_get(item, "by_class"), *one;
        double sum = 0;
        cJSON_ArrayForEach (one, by_class)
            sum += one->valuedouble;
        assert_int_equal(sum, kb_json_int(item, "instructions", -1));
        assert_true(cJSON_IsNull(kb_json_get(item, "live_registers_peak")));
        assert_non_null(kb_json_text(item, "live_registers_peak_reason", NULL));
    }
    item = cJSON_GetArrayItem(list, 1);
    assert_string_equal(kb_json_text(item, "name", ""), "_Z6matrixP6__halfS0_Pf");
    assert_int_equal(kb_json_int(kb_json_get(item, "by_class"), "HMMA", 0), 2);
    cJSON_Delete(list);
    list = kb_sass_summary(l, 800, &left_out);
    assert_true(left_out > 0 && left_out + cJSON_GetArraySize(list) == 3);
    cJSON_Delete(list);
    kb_sass_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_arch), cmocka_unit_test(test_parts),     cmocka_unit_test(test_inlining),
        cmocka_unit_test(test_names),      cmocka_unit_test(test_live),      cmocka_unit_test(test_join),
        cmocka_unit_test(test_encoding),   cmocka_unit_test(test_functions), cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_cut),        cmocka_unit_test(test_mutations), cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_classes),    cmocka_unit_test(test_summary)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
