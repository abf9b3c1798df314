// kbench-worker run on the CPU device, with kernels that kbench-worker compile makes. y = 2 x + 1.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/spawn.h"
#include "worker/support_workers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIGNATURE "(const float *x, float *y, int n)"
#define INDEX "int i = blockIdx.x * blockDim.x + threadIdx.x;"

static const char reference[] = "extern \"C\" __global__ void reference(const float *x, double *y, int n)\n"
                                "{ " INDEX " if (i < n) y[i] = 2.0 * x[i] + 1.0; }\n";
static const char bench[] =
    "{'kbench':1,'name':'axpy','params':{'n':1000},'args':["
    "{'name':'x','role':'input','dtype':'f32','shape':['n']},{'name':'y','role':'output','dtype':'f32','shape':['n']},"
    "{'name':'n','role':'scalar','dtype':'i32'}],"
    "'cases':[{'n':1000,'time':true},{'n':1},{'n':257,'name':'odd'}],"
    "'reference':{'source':'r.cu','kernel':'reference','launch':{'grid':['ceil_div(n,128)'],'block':[128]}},"
    "'work':{'flops':'2*n','bytes':'8*n'},"
    "'variants':[{'name':'v','source':'v.cu','kernel':'k','launch':{'grid':['ceil_div(n,128)'],'block':[128]}}]}";

struct compiled {
    cJSON *kernels; // NULL: nothing here compiles
    char *blob;
    size_t size;
    double ptx_bytes, cubin_bytes;
};
static struct driven compiler, runner;
static struct compiled built_in, built_reference;
static bool no_compiler;

static struct compiled compile(const char *builtin, const char *source, const char *kernel)
{
    struct driven_answer a;
    struct compiled c = {0};
    cJSON *fields = driven_json("{'arch':'sm_90','compiler':'nvrtc','lineinfo':true}");
    kb_json_set_text(fields, "for", builtin ? "builtin" : "variant");
    kb_json_set_text(fields, "name", builtin ? builtin : "v");
    kb_json_set_text(fields, "main", "v.cu");
    if (!builtin) {
        cJSON *files = cJSON_AddArrayToObject(fields, "files"), *file = cJSON_CreateObject();
        cJSON *kernels = cJSON_AddArrayToObject(fields, "kernels");
        kb_json_set_text(file, "name", "v.cu");
        kb_json_set_number(file, "bytes", (double)strlen(source));
        cJSON_AddItemToArray(files, file);
        cJSON_AddItemToArray(kernels, cJSON_CreateString(kernel));
    }
    size_t size = builtin ? 0 : strlen(source);
    driven_answer(&compiler, driven_send(&compiler, "compile", fields, source, size), &a);
    const struct kb_frame *f = driven_find(&a, "compiled");
    if (!f)
        fail_msg("does not compile: %s", kb_json_text(driven_find(&a, "done")->head, "reason", "?"));
    c.kernels = cJSON_Duplicate(kb_json_get(f->head, "kernels"), true);
    c.ptx_bytes = kb_json_number(f->head, "ptx_bytes", 0);
    c.cubin_bytes = kb_json_number(f->head, "cubin_bytes", 0);
    c.size = f->blob_size;
    c.blob = kb_alloc(c.size + 1);
    memcpy(c.blob, f->blob, c.size);
    driven_answer_free(&a);
    return c;
}

static void free_compiled(struct compiled *c)
{
    cJSON_Delete(c->kernels);
    free(c->blob);
    *c = (struct compiled){0};
}

static void set_sizes(cJSON *o, const struct compiled *c)
{
    kb_json_set_number(o, "ptx_bytes", c->ptx_bytes);
    kb_json_set_number(o, "cubin_bytes", c->cubin_bytes);
}

// Job number of a `prepare` for this bench; npy: a file that comes with it, or NULL.
static int64_t send_prepare(const char *document, const struct compiled *ref, const void *npy, size_t npy_size)
{
    cJSON *fields = driven_json("{'seed':'77','sets':2}"), *document_json = driven_json(document);
    struct kb_text blob = {0};
    if (ref) {
        cJSON *item = cJSON_CreateObject();
        set_sizes(item, ref);
        kb_json_set(item, "kernels", cJSON_Duplicate(ref->kernels, true));
        kb_json_set(fields, "reference", item);
        kb_text_bytes(&blob, ref->blob, ref->size);
    } else {
        kb_json_set(fields, "reference", cJSON_CreateNull());
    }
    cJSON *builtin = cJSON_CreateObject(), *files = cJSON_CreateArray();
    set_sizes(builtin, &built_in);
    kb_text_bytes(&blob, built_in.blob, built_in.size);
    if (npy) {
        cJSON *file = driven_json("{'name':'x.npy'}");
        kb_json_set_number(file, "bytes", (double)npy_size);
        cJSON_AddItemToArray(files, file);
        kb_text_bytes(&blob, npy, npy_size);
    }
    kb_json_set(fields, "bench", document_json);
    kb_json_set(fields, "builtin", builtin);
    kb_json_set(fields, "files", files);
    int64_t job = driven_send(&runner, "prepare", fields, blob.data, blob.size);
    kb_text_free(&blob);
    return job;
}

static void start(const char *check)
{
    const char *args[] = {"run", "--device", "cpu", check ? "--check" : NULL, check, NULL};
    struct kb_frame hello;
    driven_start(&runner, args);
    assert_true(driven_next(&runner, &hello));
    assert_string_equal(kb_frame_type(&hello), "hello");
    assert_string_equal(kb_json_text(hello.head, "role", ""), "run");
    assert_true(cJSON_IsNull(kb_json_get(hello.head, "failed")));
    assert_string_equal(kb_json_text(kb_json_get(hello.head, "device"), "kind", ""), "cpu");
    kb_frame_free(&hello);
}

static void prepare(void)
{
    struct driven_answer a;
    driven_answer(&runner, send_prepare(bench, &built_reference, NULL, 0), &a);
    const struct kb_frame *done = driven_find(&a, "done");
    if (strcmp(kb_json_text(done->head, "status", ""), "pass"))
        fail_msg("prepare: %s", kb_json_text(done->head, "reason", "?"));
    assert_int_equal(cJSON_GetArraySize(kb_json_get(driven_find(&a, "prepared")->head, "cases")), 3);
    driven_answer_free(&a);
}

// `check` of a source whose kernel k has this launch (JSON).
static void check_source(const char *version, const char *source, const char *launch, struct driven_answer *a)
{
    struct compiled c = compile(NULL, source, "k");
    cJSON *fields = cJSON_CreateObject(),
          *variant = driven_json("{'name':'v','source':'v.cu','launches':[{'kernel':'k'}]}");
    kb_json_set(cJSON_GetArrayItem(kb_json_get(variant, "launches"), 0), "launch", driven_json(launch));
    kb_json_set_text(fields, "version", version);
    kb_json_set(fields, "variant", variant);
    kb_json_set(fields, "kernels", cJSON_Duplicate(c.kernels, true));
    set_sizes(fields, &c);
    driven_answer(&runner, driven_send(&runner, "check", fields, c.blob, c.size), a);
    free_compiled(&c);
}

static void ask(const char *type, const char *version, struct driven_answer *a)
{
    cJSON *fields = driven_json("{'against':[],'cases':[],'budget_ms':20,'stage':'first'}");
    kb_json_set_text(fields, "version", version);
    driven_answer(&runner, driven_send(&runner, type, fields, NULL, 0), a);
}

static const char plain[] = "{'grid':['ceil_div(n,128)'],'block':[128]}";

// The frame of `rung` tells status and part of the reason; frees the answer.
static void expect_rung(struct driven_answer *a, const char *status, const char *says)
{
    const struct kb_frame *rung = driven_find(a, "rung"), *done = driven_find(a, "done");
    if (!rung || !done)
        fail_msg("no rung or no done");
    const char *reason = kb_json_text(rung->head, "reason", "");
    if (strcmp(kb_json_text(rung->head, "status", ""), status) || !strstr(reason, says))
        fail_msg("%s: %s, \"%s\"; wanted %s, \"%s\"", kb_json_text(rung->head, "rung", "?"),
                 kb_json_text(rung->head, "status", "?"), reason, status, says);
    assert_string_equal(kb_json_text(done->head, "status", ""), status);
    driven_answer_free(a);
}

static int open_all(void **state)
{
    (void)state;
    struct kb_frame hello;
    const char *args[] = {"compile", NULL};
    driven_start(&compiler, args);
    if (!driven_next(&compiler, &hello))
        return -1;
    no_compiler = cJSON_IsObject(kb_json_get(hello.head, "failed"));
    kb_frame_free(&hello);
    if (no_compiler)
        return 0;
    built_in = compile("element", NULL, NULL);
    built_reference = compile(NULL, reference, "reference");
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    free_compiled(&built_in);
    free_compiled(&built_reference);
    driven_stop(&compiler);
    return 0;
}

static void begin(const char *check)
{
    if (no_compiler)
        skip();
    start(check);
    prepare();
}

static void right_kernel_climbs_the_ladder(void **state)
{
    (void)state;
    struct driven_answer a;
    begin(NULL);
    check_source("v1", "extern \"C\" __global__ void k" SIGNATURE "{ " INDEX " if (i < n) y[i] = 2 * x[i] + 1; }",
                 plain, &a);
    const cJSON *kernel = cJSON_GetArrayItem(kb_json_get(driven_find(&a, "resources")->head, "kernels"), 0);
    assert_int_equal(kb_json_int(kernel, "block_threads", 0), 128);
    assert_true(kb_json_number(kernel, "occupancy", 0) > 0);
    const cJSON *limits = kb_json_get(kernel, "limits"); // those of an H200
    assert_string_equal(kb_json_text(kernel, "limited_by", ""), "threads");
    assert_int_equal(kb_json_int(limits, "threads", 0), 2048 / 128);
    assert_int_equal(kb_json_int(limits, "blocks", 0), 32);
    assert_true(kb_json_number(limits, "registers", 0) > 2048.0 / 128);
    assert_true(cJSON_IsNull(kb_json_get(limits, "shared_memory")));
    assert_int_equal(kb_json_int(kernel, "dynamic_shared_bytes", -1), 0);
    expect_rung(&a, "pass", "");
    ask("run", "v1", &a);
    assert_non_null(driven_find(&a, "case"));
    expect_rung(&a, "pass", "");
    ask("verify", "v1", &a);
    int cases = 0;
    for (int i = 0; i < a.count; i++)
        cases += !strcmp(kb_frame_type(&a.frames[i]), "case");
    assert_int_equal(cases, 3);
    const cJSON *facts = kb_json_get(driven_find(&a, "facts")->head, "facts");
    assert_int_equal(kb_json_int(kb_json_get(facts, "bytes"), "global_store", 0), 4 * 257);
    assert_string_equal(kb_json_text(driven_find(&a, "case")->head, "set", ""), "fresh");
    expect_rung(&a, "pass", "");
    ask("time", "v1", &a);
    const cJSON *roofline = kb_json_get(driven_find(&a, "timing")->head, "roofline");
    assert_string_equal(kb_json_text(roofline, "source", ""), "counted");
    assert_int_equal(kb_json_int(roofline, "bytes", 0), 8000);
    assert_true(kb_json_number(roofline, "floor_us", -1) >= 0);
    expect_rung(&a, "na", "the CPU's time says nothing");
    assert_int_equal(driven_stop(&runner), 0);
}

static void launches_are_refused_in_words(void **state)
{
    (void)state;
    static const char k[] = "extern \"C\" __global__ void k" SIGNATURE "{ " INDEX " if (i < n) y[i] = 2 * x[i] + 1; }";
    static const struct {
        const char *source, *launch, *says;
    } wrong[] = {
        {"extern \"C\" __global__ void k(const float *x, float *y, float *z, int n) { if (z) y[n] = x[n]; }", plain,
         "kernel wants 4 (8,8,8,4 bytes), set-up gives 3 (8,8,4)"},
        {"extern \"C\" __global__ void k(const float *x, float *y, long n) { y[n] = x[n]; }", plain,
         "kernel wants 3 (8,8,8 bytes), set-up gives 3 (8,8,4)"},
        {k, "{'grid':[1,65536],'block':[128]}", "65,536"},
        {k, "{'grid':[1],'block':[1025]}", "1,025"},
        {k, "{'grid':[1],'block':[128],'shared':'300000'}", "300,000"},
        {k, "{'grid':['ceil_div(n,0)'],'block':[128]}", "zero"},
    };
    struct driven_answer a;
    begin(NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        check_source("w", wrong[i].source, wrong[i].launch, &a);
        expect_rung(&a, "fail", wrong[i].says);
        ask("run", "w", &a); // never launched after that
        expect_rung(&a, "fail", "not loaded");
    }
    assert_int_equal(driven_stop(&runner), 0);
}

static void wrong_kernels_fail_where_they_should(void **state)
{
    (void)state;
    static const struct {
        const char *body, *rung, *says;
    } wrong[] = {
        {"", "run", "y: 1 of 1 elements never written"},
        {INDEX " if (i < n && i % 2 == 0) y[i] = 2 * x[i] + 1;", "run",
         "500 of 1000 elements never written, first at [1]"},
        {INDEX " if (i < n / 128 * 128) y[i] = 2 * x[i] + 1;", "run", "never written"},
        {INDEX " if (i < n) y[i] = (2 * x[i] + 1) / (i != 3);", "run", "1 of 1000 elements are NaN or infinite"},
        {INDEX " if (i < n) y[i] = 0;", "verify", "elements are wrong: scaled above"},
        {INDEX " if (i < n) y[i] = 2 * x[i] + 1 + (n == 257 && i == 256);", "verify",
         "odd: y: 1 of 257 elements are wrong"},
        {INDEX " if (i < n) y[i] = 2 * x[i] + 1.001f;", "verify", "wrong"},
        {"extern __device__ int calls; " INDEX " if (i < n) y[i] = 2 * x[i] + (calls++ > 0 ? 2 : 1);", "verify",
         "wrong"},
    };
    struct driven_answer a;
    begin(NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *source =
            kb_format("__device__ int calls; extern \"C\" __global__ void k" SIGNATURE "{ %s }", wrong[i].body);
        check_source("w", source, plain, &a);
        expect_rung(&a, "pass", "");
        bool in_run = !strcmp(wrong[i].rung, "run");
        ask("run", "w", &a);
        expect_rung(&a, in_run ? "fail" : "pass", in_run ? wrong[i].says : "");
        if (!in_run) {
            ask("verify", "w", &a);
            const cJSON *out = cJSON_GetArrayItem(kb_json_get(driven_find(&a, "case")->head, "outputs"), 0);
            assert_non_null(kb_json_get(kb_json_get(out, "metrics"), "max_abs"));
            expect_rung(&a, "fail", wrong[i].says);
        }
        free(source);
    }
    assert_int_equal(driven_stop(&runner), 0);
}

// nvcc takes the file as it is, beside the kernel's source; there is no GPU to run it on here.
static void compiles(const char *source, const struct kb_frame *exported)
{
    char dir[] = "/tmp/export-XXXXXX", *nvcc = kb_which("nvcc");
    if (!nvcc && access("/usr/local/cuda/bin/nvcc", X_OK) == 0)
        nvcc = kb_strdup("/usr/local/cuda/bin/nvcc");
    if (!nvcc)
        return;
    assert_non_null(mkdtemp(dir));
    char *main_path = kb_path_join(dir, "case.cu"), *source_path = kb_path_join(dir, "v.cu");
    char *out = kb_path_join(dir, "case.o");
    assert_int_equal(kb_file_replace(main_path, exported->blob, exported->blob_size, NULL), 0);
    assert_int_equal(kb_file_replace(source_path, source, strlen(source), NULL), 0);
    char *argv[] = {nvcc, "-c", "-arch=sm_90", "-o", out, main_path, NULL};
    struct kb_capture ran;
    struct kb_error error = {0};
    if (kb_capture(argv, dir, 120000, 1 << 20, &ran, &error))
        fail_msg("%s", kb_error_line(&error));
    if (ran.exit_code)
        fail_msg("%s", ran.err.data ? ran.err.data : "nvcc failed");
    kb_capture_free(&ran);
    kb_remove_tree(dir);
    free(main_path);
    free(source_path);
    free(out);
    free(nvcc);
}

// The request that makes a file of this case, with what its `case` frame said about the failure (NULL: nothing).
static void ask_export(int index, const cJSON *failure, struct driven_answer *a)
{
    cJSON *fields = driven_json("{'variant':{'name':'v','source':'v.cu','kernel':'k','launch':{'grid':['ceil_div(n,"
                                "128)'],'block':[128]}},'reason':'what was wrong'}");
    kb_json_set_number(fields, "case", index);
    if (failure)
        kb_json_set(fields, "failure", cJSON_Duplicate(failure, true));
    driven_answer(&runner, driven_send(&runner, "export", fields, NULL, 0), a);
}

static const struct kb_frame *exported(const struct driven_answer *a)
{
    const struct kb_frame *f = driven_find(a, "exported");
    if (!f)
        fail_msg("%s", kb_json_text(driven_find(a, "done")->head, "reason", "?"));
    return f;
}

// What the last failing `case` frame of an answer says about it; owned by the caller.
static cJSON *failure_of(const struct driven_answer *a)
{
    for (int i = a->count - 1; i >= 0; i--)
        if (!strcmp(kb_frame_type(&a->frames[i]), "case") && kb_json_get(a->frames[i].head, "failure"))
            return cJSON_Duplicate(kb_json_get(a->frames[i].head, "failure"), true);
    fail_msg("no case failed");
    return NULL;
}

static void answer_of_verify(const char *version, struct driven_answer *a)
{
    cJSON *fields = cJSON_CreateObject();
    kb_json_set_text(fields, "version", version);
    driven_answer(&runner, driven_send(&runner, "verify", fields, NULL, 0), a);
}

// In a worker that never saw the version: another one may have gone down with it.
static void failing_case_becomes_a_file(void **state)
{
    (void)state;
    static const char source[] = "extern \"C\" __global__ void k" SIGNATURE "{ " INDEX
                                 " if (i < n) y[i] = 2 * x[i] + 1 + (n == 257 && i == 255); }";
    struct driven_answer a;
    begin(NULL);
    check_source("w", source, plain, &a);
    expect_rung(&a, "pass", "");
    answer_of_verify("w", &a);
    cJSON *failure = failure_of(&a);
    expect_rung(&a, "fail", "odd: y: 1 of 257");
    assert_int_equal(driven_stop(&runner), 0);
    assert_string_equal(kb_json_text(failure, "arg", ""), "y");
    assert_string_equal(kb_json_text(failure, "index", ""), "255");
    assert_int_equal(kb_json_int(failure, "calls", 0), 1);
    assert_true(cJSON_IsNull(kb_json_get(failure, "inputs")));
    begin(NULL);
    ask_export(2, failure, &a);
    const char *text = exported(&a)->blob;
    assert_non_null(strstr(text, "#include \"v.cu\""));
    assert_non_null(strstr(text, "what was wrong"));
    char *inputs = kb_format("seed 77, set %s\n", kb_json_text(failure, "set", "?"));
    assert_non_null(strstr(text, inputs));
    assert_non_null(strstr(text, "kbe_changed(&a0)"));
    compiles(source, exported(&a));
    free(inputs);
    driven_answer_free(&a);
    ask_export(9, failure, &a);
    assert_string_equal(kb_json_text(driven_find(&a, "done")->head, "status", ""), "fail");
    driven_answer_free(&a);
    ask_export(1, NULL, &a); // a kernel that took its worker along before anything could be said
    assert_non_null(strstr(exported(&a)->blob, "set 1\n"));
    driven_answer_free(&a);
    cJSON_Delete(failure);
    assert_int_equal(driven_stop(&runner), 0);
}

// Inputs that verify adds come from the same generator, in the file, too.
static void hard_inputs_are_made_again(void **state)
{
    (void)state;
    static const char source[] =
        "extern \"C\" __global__ void k" SIGNATURE "{ " INDEX " if (i < n) y[i] = x[i] > 50 ? 0 : 2 * x[i] + 1; }";
    struct driven_answer a;
    begin(NULL);
    check_source("w", source, plain, &a);
    expect_rung(&a, "pass", "");
    answer_of_verify("w", &a);
    cJSON *failure = failure_of(&a);
    expect_rung(&a, "fail", "large values");
    assert_string_equal(kb_json_text(failure, "inputs", ""), "large values");
    ask_export(0, failure, &a);
    assert_non_null(strstr(exported(&a)->blob, "kbe_fill f0 = "));
    assert_null(strstr(exported(&a)->blob, "kbe_data_0[]"));
    assert_non_null(strstr(exported(&a)->blob, "// inputs:  large values\n"));
    compiles(source, exported(&a));
    driven_answer_free(&a);
    cJSON_Delete(failure);
    assert_int_equal(driven_stop(&runner), 0);
}

// Without a reference: what nobody wrote, and writes beside the arrays.
static void export_needs_no_reference(void **state)
{
    (void)state;
    static const char source[] =
        "extern \"C\" __global__ void k" SIGNATURE "{ " INDEX " if (i < n - 1) y[i] = 2 * x[i] + 1; }";
    struct driven_answer a;
    start(NULL);
    char *without = kb_strdup(bench), *from = strstr(without, "'reference':{"), *to = strstr(without, "'work'");
    memmove(from, to, strlen(to) + 1);
    driven_answer(&runner, send_prepare(without, NULL, NULL, 0), &a);
    assert_string_equal(kb_json_text(driven_find(&a, "done")->head, "status", ""), "pass");
    driven_answer_free(&a);
    ask_export(2, NULL, &a);
    assert_non_null(strstr(exported(&a)->blob, "kbe_unwritten(&a1, 0)"));
    assert_null(strstr(exported(&a)->blob, "kbe_want[]"));
    compiles(source, exported(&a));
    driven_answer_free(&a);
    free(without);
    assert_int_equal(driven_stop(&runner), 0);
}

static void fault_is_said(const char *body, const char *says)
{
    struct driven_answer a;
    begin(NULL);
    char *source = kb_format("extern \"C\" __global__ void k" SIGNATURE "\n{ " INDEX "\n %s\n}", body);
    check_source("w", source, plain, &a);
    free(source);
    expect_rung(&a, "pass", "");
    ask("run", "w", &a);
    const struct kb_frame *done = driven_find(&a, "done");
    bool poisoned = kb_json_bool(done->head, "poisoned", false);
    assert_non_null(strstr(kb_json_text(done->head, "reason", ""), says));
    expect_rung(&a, "fail", "kernel k");
    struct kb_frame f;
    if (poisoned)
        assert_false(driven_next(&runner, &f)); // nothing behind that frame
    assert_int_equal(driven_stop(&runner), 0);
}

static void fault_is_said_and_ends_the_worker(void **state)
{
    (void)state;
    fault_is_said("y[i + n] = 2 * x[0];", "y[1], 1 past its end");
    fault_is_said("if (i < n) { y[i] = 2 * x[i] + 1; ((float *)x)[i] = 0; }", "x[0], which is an input");
}

static void pool_and_oddities(void **state)
{
    (void)state;
    struct driven_answer a;
    begin(NULL);
    driven_answer(&runner, driven_send(&runner, "idle", NULL, NULL, 0), &a);
    // One more set of each of three cases (two values served the stand-ins), with both ends of its reference; and done.
    assert_int_equal(a.count, 10);
    assert_string_equal(kb_json_text(driven_find(&a, "pool")->head, "set", ""), "3");
    driven_answer_free(&a);
    driven_answer(&runner, driven_send(&runner, "dance", NULL, NULL, 0), &a);
    assert_non_null(strstr(kb_json_text(driven_find(&a, "done")->head, "reason", ""), "no request 'dance'"));
    driven_answer_free(&a);
    ask("verify", "never-seen", &a);
    expect_rung(&a, "fail", "this version is not loaded");
    cJSON *fields = driven_json("{'version':'x','variant':{},'kernels':[],'ptx_bytes':5000,'cubin_bytes':0}");
    driven_answer(&runner, driven_send(&runner, "check", fields, "short", 5), &a);
    expect_rung(&a, "fail", "shorter than its parts");
    ask("forget", "never-seen", &a);
    assert_string_equal(kb_json_text(driven_find(&a, "done")->head, "status", ""), "pass");
    driven_answer_free(&a);
    driven_send(&runner, "quit", NULL, NULL, 0);
    struct kb_frame f;
    assert_false(driven_next(&runner, &f));
    assert_int_equal(driven_stop(&runner), 0);
}

static void cancelled_before_it_goes_on(void **state)
{
    (void)state;
    struct driven_answer a;
    begin(NULL);
    check_source("v", "extern \"C\" __global__ void k" SIGNATURE "{ " INDEX " if (i < n) y[i] = 2 * x[i] + 1; }", plain,
                 &a);
    expect_rung(&a, "pass", "");
    cJSON *fields = driven_json("{'version':'v'}"), *cancel = cJSON_CreateObject();
    int64_t idle = driven_send(&runner, "idle", NULL, NULL, 0); // both requests wait behind it in the pipe
    int64_t job = driven_send(&runner, "verify", fields, NULL, 0);
    kb_json_set_number(cancel, "of", (double)job);
    driven_send(&runner, "cancel", cancel, NULL, 0);
    driven_answer(&runner, idle, &a);
    driven_answer_free(&a);
    driven_answer(&runner, job, &a);
    const char *status = kb_json_text(driven_find(&a, "done")->head, "status", "");
    assert_true(!strcmp(status, "cancelled") || !strcmp(status, "pass")); // it may have been quicker than the request
    driven_answer_free(&a);
    ask("verify", "v", &a); // and works on
    expect_rung(&a, "pass", "");
    assert_int_equal(driven_stop(&runner), 0);
}

static void npy_input_and_reference(void **state)
{
    (void)state;
    static const char document[] =
        "{'kbench':1,'name':'npy','params':{'n':4},'args':["
        "{'name':'x','role':'input','dtype':'f32','shape':['n'],'fill':'x.npy'},"
        "{'name':'y','role':'output','dtype':'f32','shape':['n']},{'name':'n','role':'scalar','dtype':'i32'}],"
        "'reference':{'npy':'x.npy'},'tolerance':'exact',"
        "'variants':[{'name':'v','source':'v.cu','kernel':'k','launch':{'grid':[1],'block':[128]}}]}";
    static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }\n";
    float values[4] = {1, -0.0F, 3e-39F, 4};
    struct kb_text npy = {0};
    struct driven_answer a;
    if (no_compiler)
        skip();
    start(NULL);
    kb_text_bytes(&npy, "\x93NUMPY\x01\x00", 8);
    kb_text_bytes(&npy, (const char[]){sizeof header - 1, 0}, 2);
    kb_text_add(&npy, header);
    kb_text_bytes(&npy, values, sizeof values);
    driven_answer(&runner, send_prepare(document, NULL, npy.data, npy.size), &a);
    if (!driven_find(&a, "prepared"))
        fail_msg("%s", kb_json_text(driven_find(&a, "done")->head, "reason", "?"));
    const cJSON *item = cJSON_GetArrayItem(kb_json_get(driven_find(&a, "prepared")->head, "cases"), 0);
    if (strcmp(kb_json_text(item, "status", ""), "ready"))
        fail_msg("%s", kb_json_text(item, "reason", "?"));
    driven_answer_free(&a);
    check_source("copy", "extern \"C\" __global__ void k" SIGNATURE "{ " INDEX " if (i < n) y[i] = x[i]; }", plain, &a);
    expect_rung(&a, "pass", "");
    ask("verify", "copy", &a);
    const cJSON *out = cJSON_GetArrayItem(kb_json_get(driven_find(&a, "case")->head, "outputs"), 0);
    assert_true(kb_json_bool(kb_json_get(out, "metrics"), "exact", false));
    expect_rung(&a, "pass", "");
    check_source("plus0", "extern \"C\" __global__ void k" SIGNATURE "{ " INDEX " if (i < n) y[i] = x[i] + 0.0f; }",
                 plain, &a);
    expect_rung(&a, "pass", "");
    answer_of_verify("plus0", &a); // -0 became +0: not the same bits
    cJSON *failure = failure_of(&a);
    expect_rung(&a, "fail", "1 of 4 elements differ");
    ask_export(0, failure, &a); // inputs that no generator makes stand in the file as numbers
    assert_non_null(strstr(exported(&a)->blob, "static const unsigned long long kbe_data_0[]"));
    driven_answer_free(&a);
    cJSON_Delete(failure);
    kb_text_free(&npy);
    assert_int_equal(driven_stop(&runner), 0);
}

// An error of the driver is said in the greeting, with what to do, and the worker ends.
static void no_gpu_is_said(void **state)
{
    (void)state;
    static const char *const args[] = {"run", "--device", "cuda", NULL};
    struct kb_frame hello;
    setenv("KBENCH_CUDA", KB_BUILD_DIR "/tests/fake/libcuda.so.1", 1);
    setenv("KB_FAKE_CUDA", "init=100", 1);
    driven_start(&runner, args);
    unsetenv("KBENCH_CUDA");
    assert_true(driven_next(&runner, &hello));
    const cJSON *failed = kb_json_get(hello.head, "failed");
    assert_string_equal(kb_json_text(failed, "code", ""), "no_device");
    assert_non_null(strstr(kb_json_text(failed, "remedy", ""), "--device cpu"));
    assert_true(cJSON_IsNull(kb_json_get(hello.head, "device")));
    kb_frame_free(&hello);
    assert_int_equal(driven_stop(&runner), 3);
}

static void bad_bench_is_refused(void **state)
{
    (void)state;
    struct driven_answer a;
    if (no_compiler)
        skip();
    start(NULL);
    driven_answer(&runner, send_prepare("{'kbench':1,'nome':'x'}", NULL, NULL, 0), &a);
    assert_string_equal(kb_json_text(driven_find(&a, "done")->head, "status", ""), "fail");
    assert_non_null(strstr(kb_json_text(driven_find(&a, "done")->head, "reason", ""), "nome"));
    driven_answer_free(&a);
    ask("verify", "v", &a);
    expect_rung(&a, "fail", "no bench was prepared");
    check_source("v", "extern \"C\" __global__ void k" SIGNATURE "{ }", plain, &a);
    expect_rung(&a, "fail", "no bench was prepared");
    prepare();
    assert_int_equal(driven_stop(&runner), 0);
}

// The kernels of element.cu, executed as PTX, give the bits of the C loops.
static void selftest(void **state)
{
    (void)state;
    struct kb_capture c;
    struct kb_error e;
    char *argv[] = {(char *)driven_program(), "selftest", "--device", "cpu", NULL};
    if (no_compiler)
        skip();
    if (kb_capture(argv, NULL, 280000, 1 << 20, &c, &e))
        fail_msg("%s", e.what);
    if (c.exit_code)
        fail_msg("exit %d: %s %s", c.exit_code, c.out.data ? c.out.data : "", c.err.data ? c.err.data : "");
    assert_non_null(strstr(c.out.data, "e5m2"));
    assert_null(strstr(c.out.data, "first difference"));
    kb_capture_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_kernel_climbs_the_ladder),
        cmocka_unit_test(launches_are_refused_in_words),
        cmocka_unit_test(wrong_kernels_fail_where_they_should),
        cmocka_unit_test(failing_case_becomes_a_file),
        cmocka_unit_test(hard_inputs_are_made_again),
        cmocka_unit_test(export_needs_no_reference),
        cmocka_unit_test(fault_is_said_and_ends_the_worker),
        cmocka_unit_test(pool_and_oddities),
        cmocka_unit_test(cancelled_before_it_goes_on),
        cmocka_unit_test(npy_input_and_reference),
        cmocka_unit_test(no_gpu_is_said),
        cmocka_unit_test(bad_bench_is_refused),
        cmocka_unit_test(selftest),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
