// The cubin's own tables, on real cubins of several architectures, and on damaged ones.
#include "jit/support_compile.h"

#include "base/hash.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char source[] =
    "struct big { int x[40]; char y; };\n"
    "struct huge { char x[20000]; };\n"
    "__constant__ float table[16];\n"
    "extern \"C\" __global__ __launch_bounds__(256) void mixed(big b, short q, float *p)\n"
    "{\n    float local[64];\n    for (int i = 0; i < 64; i++)\n"
    "        local[i] = b.x[i % 40] * table[i % 16];\n    p[0] = local[q] + b.y;\n}\n"
    "extern \"C\" __global__ void large(int q, huge h, char c) { if (h.x[q] == c) __trap(); }\n"
    "extern \"C\" __global__ void shared(float *p)\n{\n    __shared__ float t[128];\n"
    "    t[threadIdx.x] = p[threadIdx.x];\n    __syncthreads();\n"
    "    p[threadIdx.x] = t[127 - threadIdx.x];\n}\n"
    "extern \"C\" __global__ void nothing() {}\n";

static void compile(struct trial *t, const char *text, const char *arch)
{
    trial_file(t, "k.cu", text);
    t->request.arch = arch;
    trial_run(t);
    assert_int_equal(t->status, 0);
    assert_true(t->result.ok);
}

static const struct kb_compiled_kernel *named(const struct kb_compiled_kernel *list, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(list[i].lowered, name))
            return &list[i];
    fail_msg("no kernel %s", name);
    return NULL;
}

static void free_kernels(struct kb_compiled_kernel *list, int count)
{
    for (int i = 0; i < count; i++) {
        free(list[i].name);
        free(list[i].lowered);
    }
    free(list);
}

static void expect_param(const struct kb_compiled_kernel *k, int i, int offset, int bytes)
{
    assert_true(i < k->param_count);
    assert_int_equal(k->params[i].offset, offset);
    assert_int_equal(k->params[i].bytes, bytes);
}

static void test_tables(void **state)
{
    (void)state;
    skip_without_nvrtc();
    static const char *const archs[] = {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"};
    cJSON *known = kb_toolkit_archs(kb_toolkit_get());
    for (size_t a = 0; a < KB_COUNT(archs); a++) {
        const cJSON *item;
        bool supported = false;
        cJSON_ArrayForEach (item, known)
            supported = supported || !strcmp(item->valuestring, archs[a]);
        if (!supported)
            continue;
        struct trial t = {0};
        compile(&t, source, archs[a]);
        struct kb_compiled_kernel *list;
        int count = kb_cubin_kernels(t.result.cubin, t.result.cubin_size, &list, NULL);
        assert_int_equal(count, 4);
        const struct kb_compiled_kernel *mixed = named(list, count, "mixed"), *large = named(list, count, "large"),
                                        *shared = named(list, count, "shared"),
                                        *nothing = named(list, count, "nothing");
        assert_int_equal(mixed->param_count, 3);
        expect_param(mixed, 0, 0, 164);
        expect_param(mixed, 1, 164, 2);
        expect_param(mixed, 2, 168, 8);
        assert_int_equal(mixed->max_threads, 256);
        assert_int_equal(mixed->const_bytes, 64);
        assert_int_equal(mixed->shared_bytes, 0);
        assert_int_equal(large->param_count, 3);
        expect_param(large, 1, 4, 20000);
        expect_param(large, 2, 20004, 1);
        assert_int_equal(large->max_threads, 0);
        assert_int_equal(shared->shared_bytes, 512);
        assert_int_equal(nothing->param_count, 0);
        for (int i = 0; i < count; i++) { // ptxas' log and the cubin tell the same story
            const struct kb_compiled_kernel *logged = named(t.result.kernels, t.result.kernel_count, list[i].lowered);
            assert_int_equal(logged->registers, list[i].registers);
            assert_int_equal(logged->shared_bytes, list[i].shared_bytes);
            assert_int_equal(logged->stack_bytes, list[i].stack_bytes);
        }
        free_kernels(list, count);
        trial_free(&t);
    }
    cJSON_Delete(known);
}

static void test_code_hash(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t[3] = {0};
    struct kb_hash hash[3], all[3];
    compile(&t[0], "extern \"C\" __global__ void k(float *p) { p[0] = p[1] * 2; }\n", "sm_90");
    compile(&t[1], "// a comment\n\nextern \"C\" __global__ void k(float *p) { p[0] = p[1] + p[1]; }\n", "sm_90");
    compile(&t[2], "extern \"C\" __global__ void k(float *p) { p[0] = p[1] * 3; }\n", "sm_90");
    for (int i = 0; i < 3; i++) {
        const struct kb_compiled *c = &t[i].result;
        assert_int_equal(kb_cubin_code_hash(c->cubin, c->cubin_size, "k", &hash[i], NULL), 0);
        assert_int_equal(kb_cubin_code_hash(c->cubin, c->cubin_size, NULL, &all[i], NULL), 0);
    }
    assert_string_equal(hash[0].hex, hash[1].hex); // x * 2 and x + x are one instruction
    assert_string_equal(all[0].hex, all[1].hex);
    assert_string_not_equal(hash[0].hex, hash[2].hex);
    struct kb_error e;
    assert_int_equal(kb_cubin_code_hash(t[0].result.cubin, t[0].result.cubin_size, "other", &hash[0], &e), -1);
    for (int i = 0; i < 3; i++)
        trial_free(&t[i]);
}

// Whatever they are called, and those of inline assembly, which the assembler renames.
static void test_variables(void **state)
{
    (void)state;
    skip_without_nvrtc();
    static const char source_text[] =
        "extern \"C\" { __device__ unsigned __cudart_calls; __device__ char text[8]; }\n"
        "__constant__ float table[3];\nstatic __device__ double start = 2;\n__managed__ int everywhere;\n"
        "extern \"C\" __global__ void k(float *p)\n{\n    unsigned v;\n"
        "    asm volatile(\"{ .global .u32 inside; atom.global.add.u32 %0, [inside], 1; }\" : \"=r\"(v));\n"
        "    p[0] = v + __cudart_calls++ + text[1]++ + table[(int)p[1]] + start++ + everywhere++;\n}\n";
    struct trial t = {0};
    struct kb_cubin_variable *list;
    int constant = 0, managed = 0, inside = 0;
    uint64_t bytes = 0;
    compile(&t, source_text, "sm_90");
    int count = kb_cubin_variables(t.result.cubin, t.result.cubin_size, &list, NULL);
    assert_int_equal(count, 6);
    for (int i = 0; i < count; i++) {
        constant += list[i].constant;
        managed += list[i].managed && !strcmp(list[i].name, "everywhere");
        inside += strstr(list[i].name, "inside") != NULL;
        bytes += list[i].bytes;
        for (int k = 0; k < i; k++) // no two in one place
            assert_true(list[k].section != list[i].section || list[k].offset + list[k].bytes <= list[i].offset ||
                        list[i].offset + list[i].bytes <= list[k].offset);
    }
    assert_int_equal(constant, 1);
    assert_int_equal(managed, 1);
    assert_int_equal(inside, 1);
    assert_int_equal(bytes, 4 + 8 + 12 + 8 + 4 + 4);
    kb_cubin_variables_free(list, count);
    trial_free(&t);
}

static void read_damaged(const char *bytes, size_t size)
{
    char *exact = malloc(size ? size : 1); // so that a sanitizer sees each byte read behind the end
    memcpy(exact, bytes, size);
    struct kb_compiled_kernel *list;
    struct kb_hash hash;
    int count = kb_cubin_kernels(exact, size, &list, NULL);
    for (int i = 0; i < count; i++)
        assert_true(list[i].param_count >= 0 && list[i].param_count <= 128);
    kb_cubin_code_hash(exact, size, NULL, &hash, NULL);
    struct kb_cubin_variable *variables;
    kb_cubin_variables_free(variables, kb_cubin_variables(exact, size, &variables, NULL));
    free_kernels(list, count);
    free(exact);
}

static void test_damaged(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    compile(&t, source, "sm_90");
    size_t size = t.result.cubin_size;
    char *copy = malloc(size);
    for (size_t n = 0; n < size; n += n < 64 ? 1 : 97)
        read_damaged(t.result.cubin, n);
    srand(7);
    for (int round = 0; round < 3000; round++) {
        memcpy(copy, t.result.cubin, size);
        for (int k = 0; k < 4; k++) { // headers and tables are at both ends
            size_t at = (size_t)rand() % 4096, behind = (size_t)rand() & 1;
            copy[behind ? size - 1 - at % size : at % size] = (char)(rand() & 1 ? 0xff : rand());
        }
        read_damaged(copy, size);
    }
    free(copy);
    trial_free(&t);
}

static void test_no_cubin(void **state)
{
    (void)state;
    struct kb_compiled_kernel *list;
    struct kb_error e = {0};
    assert_int_equal(kb_cubin_kernels("", 0, &list, &e), -1);
    assert_int_equal(kb_cubin_kernels("//\n// Generated by NVIDIA NVVM Compiler\n", 40, &list, &e), -1);
    assert_non_null(strstr(e.what, "40 bytes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),  cmocka_unit_test(test_code_hash), cmocka_unit_test(test_variables),
        cmocka_unit_test(test_damaged), cmocka_unit_test(test_no_cubin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
