// The requests `sass` and `diff`, with stand-ins for nvdisasm (case G1) and with the real one where there is one.
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/spawn.h"
#include "jit/compile.h"
#include "worker/support_workers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/kbench-test-XXXXXX";

static char *stored(const char *name, size_t *size)
{
    char *path = kb_format("%s/tests/data/sass/%s.txt", KB_SOURCE_DIR, name), *data = NULL;
    size_t n;
    assert_int_equal(kb_file_read(path, 1 << 24, &data, &n, NULL), 0);
    free(path);
    if (size)
        *size = n;
    return data;
}

// A stand-in that prints the stored listings and then does what `last` says; it counts its runs in a file.
static char *tool(const char *name, const char *lines, const char *live, const char *last)
{
    char *path = kb_path_join(folder, name);
    char *script = kb_format("#!/bin/sh\n"
                             "case \"$*\" in\n"
                             "--version) echo 'Cuda compilation tools, release 13.9, V13.9.1'; exit 0;;\n"
                             "*-plr*) echo run >> %s/runs; cat %s;;\n"
                             "*) echo run >> %s/runs; cat %s;;\n"
                             "esac\n%s\n",
                             folder, live, folder, lines, last);
    assert_int_equal(kb_file_replace(path, script, strlen(script), NULL), 0);
    assert_int_equal(chmod(path, 0755), 0);
    free(script);
    return path;
}

static char *usual_tool(const char *name, const char *last)
{
    char *tools = kb_format("%s/tests/data/sass/dot_90.txt", KB_SOURCE_DIR),
         *live = kb_format("%s/tests/data/sass/dot_90_live.txt", KB_SOURCE_DIR), *path = tool(name, tools, live, last);
    free(tools);
    free(live);
    return path;
}

static int runs(void)
{
    char *path = kb_path_join(folder, "runs"), *data = NULL;
    size_t size = 0;
    int count = 0;
    if (!kb_file_read(path, 1 << 20, &data, &size, NULL))
        for (size_t i = 0; i < size; i++)
            count += data[i] == '\n';
    free(data);
    free(path);
    return count;
}

static void start(struct driven *w, const char *with)
{
    char *cache = kb_path_join(folder, "cache");
    setenv("KB_CACHE", cache, 1);
    setenv("KBENCH_NVDISASM", with, 1);
    driven_start(w, (const char *const[]){"compile", NULL});
    struct kb_frame hello;
    assert_true(driven_next(w, &hello));
    bool able = cJSON_IsNull(kb_json_get(hello.head, "failed"));
    kb_frame_free(&hello);
    free(cache);
    if (!able) {
        driven_stop(w);
        skip();
    }
}

static void ask(const char *with, const char *type, const char *fields, const void *blob, size_t size,
                struct driven_answer *a)
{
    struct driven w;
    start(&w, with);
    driven_answer(&w, driven_send(&w, type, fields ? driven_json(fields) : NULL, blob, size), a);
    assert_int_equal(driven_stop(&w), 0);
}

static const char *done(const struct driven_answer *a, const char *key)
{
    const struct kb_frame *f = driven_find(a, "done");
    assert_non_null(f);
    return kb_json_text(f->head, key, "");
}

static void test_listing(void **state)
{
    (void)state;
    struct driven_answer a;
    char *with = usual_tool("usual", "");
    ask(with, "sass", NULL, "a cubin", 7, &a);
    assert_string_equal(done(&a, "status"), "pass");
    const struct kb_frame *f = driven_find(&a, "sass");
    assert_string_equal(kb_json_text(f->head, "tool", ""), with);
    assert_string_equal(kb_json_text(f->head, "tool_version", ""), "13.9.1");
    assert_string_equal(kb_json_text(f->head, "arch", ""), "sm_90");
    assert_true(cJSON_IsNull(kb_json_get(f->head, "incomplete")) && cJSON_IsNull(kb_json_get(f->head, "no_live")));
    assert_true(kb_json_bool(f->head, "lines", false));
    const cJSON *kernel = cJSON_GetArrayItem(kb_json_get(f->head, "kernels"), 0);
    assert_int_equal(kb_json_int(kernel, "instructions", 0), 64);
    assert_int_equal(kb_json_int(kernel, "live_registers_peak", 0), 13);
    assert_int_equal(kb_json_int(kb_json_get(kernel, "by_class"), "LDG.32", 0), 2);
    assert_non_null(strstr(f->blob, "//## File \"/dot.cu\", line 12"));
    assert_non_null(strstr(f->blob, "// |   13  |"));
    driven_answer_free(&a);
    free(with);
}

static char *cache_entry(void)
{
    char *cache = kb_path_join(folder, "cache"), *found = NULL;
    DIR *d = opendir(cache);
    for (struct dirent *item; d && (item = readdir(d));)
        if (kb_starts(item->d_name, "sass-")) {
            assert_null(found);
            found = kb_path_join(cache, item->d_name);
        }
    assert_non_null(d);
    closedir(d);
    free(cache);
    return found;
}

// Half a second is spent once a cubin; an entry that was spoiled is made anew.
static void test_cache(void **state)
{
    (void)state;
    char *with = usual_tool("cached", ""), *cache = kb_path_join(folder, "cache"), *first = NULL;
    kb_remove_tree(cache);
    int before = runs();
    for (int i = 0; i < 3; i++) {
        struct driven_answer a;
        ask(with, "sass", NULL, "another cubin", 13, &a);
        const struct kb_frame *f = driven_find(&a, "sass");
        assert_int_equal(kb_json_bool(f->head, "cached", i != 1), i == 1);
        assert_int_equal(runs() - before, i < 2 ? 2 : 4);
        if (first)
            assert_string_equal(f->blob, first);
        else
            first = kb_strdup(f->blob);
        driven_answer_free(&a);
        char *entry = cache_entry(), *data;
        size_t size;
        assert_non_null(strstr(entry, kb_hash_of("another cubin", 13).hex));
        assert_true(kb_ends(entry, "-13.9.1"));
        assert_int_equal(kb_file_read(entry, 1 << 24, &data, &size, NULL), 0);
        data[size / 2] ^= 1;
        assert_true(i != 1 || kb_file_replace(entry, data, size, NULL) == 0);
        free(data);
        free(entry);
    }
    free(first);
    free(cache);
    free(with);
}

static void test_partial(void **state)
{
    (void)state;
    struct driven_answer a;
    char *with = usual_tool("partial", "echo 'untrackable indirect branch' >&2; exit 1");
    ask(with, "sass", NULL, "cubin p", 7, &a);
    assert_string_equal(done(&a, "status"), "pass");
    const struct kb_frame *f = driven_find(&a, "sass");
    assert_non_null(strstr(kb_json_text(f->head, "incomplete", ""), "status 1: untrackable indirect branch"));
    assert_int_equal(kb_json_int(cJSON_GetArrayItem(kb_json_get(f->head, "kernels"), 0), "instructions", 0), 64);
    driven_answer_free(&a);
    // Of such a listing nobody says that it is the same.
    ask(with, "diff", "{'kind':'sass','a':{'cubin_bytes':7},'b':{'cubin_bytes':7}}", "cubin pcubin p", 14, &a);
    f = driven_find(&a, "diff");
    assert_true(cJSON_IsNull(kb_json_get(f->head, "identical")) && cJSON_IsNull(kb_json_get(f->head, "real_change")));
    assert_non_null(kb_json_text(f->head, "identical_reason", NULL));
    driven_answer_free(&a);
    free(with);
}

static void test_no_live(void **state)
{
    (void)state;
    struct driven_answer a;
    char *lines = kb_format("%s/tests/data/sass/dot_90.txt", KB_SOURCE_DIR),
         *with = tool("no-live", lines, "/dev/null", "");
    ask(with, "sass", NULL, "cubin n", 7, &a);
    assert_string_equal(done(&a, "status"), "pass");
    const struct kb_frame *f = driven_find(&a, "sass");
    assert_non_null(strstr(kb_json_text(f->head, "no_live", ""), "no live registers"));
    const cJSON *kernel = cJSON_GetArrayItem(kb_json_get(f->head, "kernels"), 0);
    assert_true(cJSON_IsNull(kb_json_get(kernel, "live_registers_peak")));
    driven_answer_free(&a);
    free(with);
    free(lines);
}

static void test_hangs(void **state)
{
    (void)state;
    struct driven_answer a;
    char *with = usual_tool("hangs", "exec sleep 1000");
    ask(with, "sass", "{'timeout_ms':500}", "cubin h", 7, &a);
    assert_string_equal(done(&a, "status"), "pass");
    const struct kb_frame *f = driven_find(&a, "sass");
    assert_non_null(strstr(kb_json_text(f->head, "incomplete", ""), "not finished after 0.5 s"));
    driven_answer_free(&a);
    free(with);
    with = tool("hangs-mute", "/dev/null", "/dev/null", "exec sleep 1000");
    ask(with, "sass", "{'timeout_ms':300}", "cubin h", 7, &a);
    assert_string_equal(done(&a, "status"), "fail");
    assert_null(driven_find(&a, "sass"));
    driven_answer_free(&a);
    free(with);
}

static void test_endless(void **state)
{
    (void)state;
    struct driven_answer a;
    char *with = usual_tool("endless", "head -c 200000000 /dev/zero | tr '\\0' '\\n'");
    ask(with, "sass", NULL, "cubin e", 7, &a);
    assert_string_equal(done(&a, "status"), "pass");
    const struct kb_frame *f = driven_find(&a, "sass");
    assert_non_null(strstr(kb_json_text(f->head, "incomplete", ""), "longer than 64 MiB"));
    assert_int_equal(kb_json_int(cJSON_GetArrayItem(kb_json_get(f->head, "kernels"), 0), "instructions", 0), 64);
    driven_answer_free(&a);
    free(with);
}

static void test_unreadable(void **state)
{
    (void)state;
    struct driven_answer a;
    char *json = kb_format("%s/tests/data/sass/dot_90_json.txt", KB_SOURCE_DIR), *with = tool("json", json, json, "");
    ask(with, "sass", NULL, "cubin j", 7, &a);
    assert_string_equal(done(&a, "status"), "fail");
    assert_non_null(strstr(done(&a, "reason"), "could not read listing"));
    assert_true(cJSON_IsNull(kb_json_get(driven_find(&a, "sass")->head, "kernels")));
    driven_answer_free(&a);
    ask(with, "diff", "{'a':{'cubin_bytes':7},'b':{'cubin_bytes':7}}", "cubin jcubin j", 14, &a);
    assert_string_equal(done(&a, "status"), "fail");
    assert_non_null(strstr(done(&a, "reason"), "could not read listing"));
    assert_null(driven_find(&a, "diff"));
    driven_answer_free(&a);
    free(with);
    free(json);
}

static void test_absent(void **state)
{
    (void)state;
    struct driven_answer a;
    ask("/nowhere/nvdisasm", "sass", NULL, "cubin", 5, &a);
    assert_string_equal(done(&a, "status"), "na");
    assert_non_null(strstr(done(&a, "reason"), "/nowhere/nvdisasm"));
    assert_non_null(strstr(done(&a, "reason"), "pip install"));
    driven_answer_free(&a);
    ask("/nowhere/nvdisasm", "diff", "{'a':{'cubin_bytes':2},'b':{'cubin_bytes':3}}", "cubin", 5, &a);
    assert_string_equal(done(&a, "status"), "na");
    driven_answer_free(&a);
}

// Listings that exist already need no tool.
static void test_diff(void **state)
{
    (void)state;
    size_t n, m;
    static const char samples[] = "[[\"_Z3dotPKfS0_Pfi\",304,7],[1,2],\"x\",[\"k\",-1,3]]";
    char *x = stored("dot_90", &n), *y = stored("dot_changed_90", &m);
    char *fields =
        kb_format("{'kind':'sass','raw':false,'a':{'text_bytes':%zu,'samples_bytes':%zu},'b':{'text_bytes':%zu}}", n,
                  sizeof samples - 1, m);
    struct kb_text blob = {0};
    struct driven_answer a;
    kb_text_bytes(&blob, x, n);
    kb_text_add(&blob, samples);
    kb_text_bytes(&blob, y, m);
    ask("/nowhere", "diff", fields, blob.data, blob.size, &a);
    assert_string_equal(done(&a, "status"), "pass");
    const struct kb_frame *f = driven_find(&a, "diff");
    assert_false(kb_json_bool(f->head, "identical", true));
    assert_true(kb_json_bool(f->head, "real_change", false));
    assert_int_equal(kb_json_int(f->head, "hunks", 0), 1);
    assert_int_equal(kb_json_int(kb_json_get(f->head, "by_class"), "FADD", 0), 1);
    cJSON *document = cJSON_ParseWithLength(f->blob, f->blob_size);
    assert_int_equal(kb_json_int(cJSON_GetArrayItem(kb_json_get(document, "hunks"), 0), "samples", 0), 7);
    cJSON_Delete(document);
    driven_answer_free(&a);
    kb_text_free(&blob);
    free(fields);
    free(x);
    free(y);
}

static void test_text_and_bad_requests(void **state)
{
    (void)state;
    struct driven_answer a;
    ask("/nowhere", "diff", "{'kind':'text','a':{'text_bytes':4},'b':{'text_bytes':2}}", "x\ny\nx\n", 6, &a);
    assert_string_equal(done(&a, "status"), "pass");
    assert_string_equal(kb_json_text(driven_find(&a, "diff")->head, "kind", ""), "text");
    assert_int_equal(kb_json_int(driven_find(&a, "diff")->head, "hunks", 0), 1);
    driven_answer_free(&a);
    static const char *const bad[] = {"{'a':{'text_bytes':4},'b':{'text_bytes':3}}", "{'a':{'text_bytes':4}}",
                                      "{'a':{'text_bytes':1,'cubin_bytes':1},'b':{'text_bytes':1}}", "{}",
                                      "{'a':{'text_bytes':0},'b':{'text_bytes':0}}"};
    for (size_t i = 0; i < KB_COUNT(bad); i++) {
        ask("/nowhere", "diff", bad[i], "x\ny\nx\n", 6, &a);
        assert_string_equal(done(&a, "status"), "fail");
        assert_true(strlen(done(&a, "reason")) > 10);
        driven_answer_free(&a);
    }
}

static const char source_text[] =
    "extern \"C\" __global__ void scale(float *x, int n)\n{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        x[i] *= 2.0f;\n}\n";

// What NVRTC makes, listed by the real nvdisasm.
static void test_real(void **state)
{
    (void)state;
    unsetenv("KBENCH_NVDISASM");
    char *real = kb_toolkit_tool(kb_toolkit_get(), "nvdisasm", NULL);
    if (!real) { // where scripts/setup puts it, beside a build folder that is elsewhere
        real = kb_strdup(KB_SOURCE_DIR "/.deps/nvidia/cu13/bin/nvdisasm");
        if (!kb_is_file(real)) {
            free(real);
            skip();
        }
    }
    struct kb_compile_file file = {"scale.cu", source_text, sizeof source_text - 1};
    struct kb_compile_request r = {
        .main = "scale.cu", .files = &file, .file_count = 1, .arch = "sm_90", .compiler = "nvrtc", .lineinfo = true};
    struct kb_compiled c;
    struct kb_error e = {0};
    struct driven_answer a;
    if (kb_compile(&r, &c, &e)) {
        free(real);
        skip();
    }
    assert_true(c.ok && c.cubin_size);
    ask(real, "sass", NULL, c.cubin, c.cubin_size, &a);
    if (strcmp(done(&a, "status"), "pass"))
        fail_msg("%s", done(&a, "reason"));
    const struct kb_frame *f = driven_find(&a, "sass");
    const cJSON *kernel = cJSON_GetArrayItem(kb_json_get(f->head, "kernels"), 0);
    assert_string_equal(kb_json_text(kernel, "name", ""), "scale");
    assert_int_equal(kb_json_int(kb_json_get(kernel, "by_class"), "LDG.32", 0), 1);
    assert_int_equal(kb_json_int(kb_json_get(kernel, "by_class"), "STG.32", 0), 1);
    assert_true(kb_json_int(kernel, "live_registers_peak", 0) >= 3);
    assert_true(kb_json_bool(f->head, "lines", false));
    assert_non_null(strstr(f->blob, "scale.cu\", line 5"));
    driven_answer_free(&a);
    kb_compiled_free(&c);
    free(real);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return kb_remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_listing),    cmocka_unit_test(test_cache),
                                       cmocka_unit_test(test_partial),    cmocka_unit_test(test_no_live),
                                       cmocka_unit_test(test_hangs),      cmocka_unit_test(test_endless),
                                       cmocka_unit_test(test_unreadable), cmocka_unit_test(test_absent),
                                       cmocka_unit_test(test_diff),       cmocka_unit_test(test_text_and_bad_requests),
                                       cmocka_unit_test(test_real)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
