// kbench-worker compile as a process, over pipes as kbench-tui drives it.
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/spawn.h"
#include "bench/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_US = 120 * 1000 * 1000 };

struct worker {
    pid_t pid;
    int in, out;
    struct kb_frame_reader *reader;
    struct kb_frame hello;
};
struct answer { // all frames of one job
    struct kb_frame frames[256];
    int count;
};

static char folder[] = "/tmp/kbench-test-XXXXXX";

static const char *program(void)
{
    const char *path = getenv("KB_WORKER");
    return path ? path : KB_BUILD_DIR "/kbench-worker";
}

// false at the end of the worker's output; fails after PATIENCE_US without a frame.
static bool next_frame(struct worker *w, struct kb_frame *f)
{
    int64_t end = kb_now_us() + PATIENCE_US;
    for (;;) {
        struct kb_error e;
        int got = kb_frame_reader_next(w->reader, f, &e);
        if (got == 1)
            return true;
        if (got < 0)
            fail_msg("%s", e.what);
        struct pollfd p = {w->out, POLLIN, 0};
        char buffer[1 << 16];
        if (poll(&p, 1, (int)((end - kb_now_us()) / 1000)) <= 0)
            fail_msg("no frame in time");
        ssize_t n = read(w->out, buffer, sizeof buffer);
        if (n <= 0)
            return false;
        kb_frame_reader_feed(w->reader, buffer, (size_t)n);
    }
}

static void start(struct worker *w, bool stdio)
{
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    char *argv[] = {(char *)program(), "compile", stdio ? "--stdio" : NULL, NULL};
    int fds[4] = {in[0], stdio ? out[1] : 2, stdio ? -1 : 2, out[1]};
    struct kb_error e = {0};
    *w = (struct worker){.pid = kb_spawn(argv, NULL, fds, stdio ? 3 : 4, &e), .in = in[1], .out = out[0]};
    close(in[0]);
    close(out[1]);
    if (w->pid < 0)
        fail_msg("%s", kb_error_line(&e));
    w->reader = kb_frame_reader_new();
    do { // captured output may come first
        kb_frame_free(&w->hello);
        assert_true(next_frame(w, &w->hello));
    } while (!strcmp(kb_frame_type(&w->hello), "log"));
    assert_string_equal(kb_frame_type(&w->hello), "hello");
}

static int finish(struct worker *w)
{
    struct kb_frame f;
    int status;
    if (w->in >= 0)
        close(w->in);
    while (next_frame(w, &f))
        kb_frame_free(&f);
    close(w->out);
    assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
    kb_frame_reader_free(w->reader);
    kb_frame_free(&w->hello);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void send_bytes(struct worker *w, const char *data, size_t size)
{
    while (size) {
        ssize_t n = write(w->in, data, size);
        assert_true(n > 0);
        data += n;
        size -= (size_t)n;
    }
}

static void send_frame(struct worker *w, cJSON *head, const void *blob, size_t size)
{
    struct kb_text out = {0};
    kb_frame_encode(&out, head, blob, size, NULL);
    send_bytes(w, out.data, out.size);
    kb_text_free(&out);
}

static void collect(struct worker *w, int64_t job, struct answer *a)
{
    a->count = 0;
    do {
        assert_true(a->count < 256);
        assert_true(next_frame(w, &a->frames[a->count]));
        if (!strcmp(kb_frame_type(&a->frames[a->count]), "log") && kb_frame_job(&a->frames[a->count]) == 0) {
            kb_frame_free(&a->frames[a->count]);
            continue;
        }
        assert_int_equal(kb_frame_job(&a->frames[a->count]), job);
        a->count++;
    } while (a->count == 0 || strcmp(kb_frame_type(&a->frames[a->count - 1]), "done"));
}

static const struct kb_frame *frame_of(const struct answer *a, const char *type, const char *rung)
{
    const struct kb_frame *last = NULL;
    for (int i = 0; i < a->count; i++)
        if (!strcmp(kb_frame_type(&a->frames[i]), type) &&
            (!rung || !strcmp(kb_json_text(a->frames[i].head, "rung", ""), rung)))
            last = &a->frames[i];
    return last;
}

static const char *text_of(const struct answer *a, const char *type, const char *rung, const char *key)
{
    const struct kb_frame *f = frame_of(a, type, rung);
    return f ? kb_json_text(f->head, key, "") : "";
}

static void free_answer(struct answer *a)
{
    for (int i = 0; i < a->count; i++)
        kb_frame_free(&a->frames[i]);
    a->count = 0;
}

static cJSON *request(int64_t job, const char *name, size_t bytes)
{
    cJSON *head = kb_frame_head("compile", job), *files = cJSON_AddArrayToObject(head, "files");
    cJSON *file = cJSON_CreateObject();
    kb_json_set_text(file, "name", name);
    kb_json_set_number(file, "bytes", (double)bytes);
    cJSON_AddItemToArray(files, file);
    kb_json_set_text(head, "for", "variant");
    kb_json_set_text(head, "name", "naive");
    kb_json_set_text(head, "main", name);
    kb_json_set_text(head, "arch", "sm_90");
    kb_json_set_text(head, "compiler", "nvrtc");
    return head;
}

static void compile(struct worker *w, int64_t job, const char *name, const char *source, struct answer *a)
{
    send_frame(w, request(job, name, strlen(source)), source, strlen(source));
    collect(w, job, a);
}

static bool has_nvrtc(const struct worker *w)
{
    return cJSON_GetArraySize(kb_json_get(w->hello.head, "archs")) > 0;
}

static void start_or_skip(struct worker *w)
{
    start(w, false);
    if (!has_nvrtc(w)) {
        finish(w);
        skip();
    }
}

static const char plain[] = "__global__ void add(float *a, int n) { if (threadIdx.x < n) a[threadIdx.x] += 1; }\n";

static void test_hello(void **state)
{
    (void)state;
    struct worker w;
    start(&w, false);
    const cJSON *head = w.hello.head;
    assert_string_equal(kb_json_text(head, "role", ""), "compile");
    assert_int_equal(kb_json_int(head, "pid", 0), w.pid);
    const cJSON *libs = kb_json_get(head, "libs"), *lib;
    assert_true(cJSON_GetArraySize(libs) >= 4);
    cJSON_ArrayForEach (lib, libs) // each is there with a path, or says why not
    {
        bool there = kb_json_text(lib, "path", NULL) != NULL, explained = kb_json_text(lib, "missing", NULL) != NULL;
        assert_true(there != explained);
    }
    bool able = has_nvrtc(&w);
    assert_true(cJSON_IsNull(kb_json_get(head, "failed")) || !able);
    int status = finish(&w);
    assert_true(status == 0 || !able);
}

static void test_compile(void **state)
{
    (void)state;
    struct worker w;
    struct answer a;
    start_or_skip(&w);
    compile(&w, 11, "naive.cu", plain, &a);
    assert_string_equal(text_of(&a, "rung", "scan", "status"), "pass");
    assert_string_equal(text_of(&a, "rung", "compile", "status"), "pass");
    assert_string_equal(text_of(&a, "done", NULL, "status"), "pass");
    const struct kb_frame *c = frame_of(&a, "compiled", NULL);
    assert_non_null(c);
    const cJSON *kernel = cJSON_GetArrayItem(kb_json_get(c->head, "kernels"), 0);
    assert_string_equal(kb_json_text(kernel, "name", ""), "add");
    assert_string_equal(kb_json_text(kernel, "lowered", ""), "_Z3addPfi");
    assert_true(kb_json_number(kernel, "registers", 0) > 0);
    assert_int_equal(cJSON_GetArraySize(kb_json_get(kernel, "params")), 2);
    size_t ptx = (size_t)kb_json_int(c->head, "ptx_bytes", 0), cubin = (size_t)kb_json_int(c->head, "cubin_bytes", 0);
    assert_int_equal(ptx + cubin, c->blob_size);
    assert_int_equal(memcmp(c->blob + ptx, "\177ELF", 4), 0);
    free_answer(&a);
    assert_int_equal(finish(&w), 0);
}

static void test_errors(void **state)
{
    (void)state;
    struct worker w;
    struct answer a;
    start_or_skip(&w);
    compile(&w, 1, "naive.cu", "__global__ void k(int *p) { p[0] = nope; }\n", &a);
    assert_string_equal(text_of(&a, "done", NULL, "status"), "fail");
    assert_non_null(strstr(text_of(&a, "done", NULL, "reason"), "nope"));
    assert_null(frame_of(&a, "compiled", NULL));
    const cJSON *error = cJSON_GetArrayItem(kb_json_get(frame_of(&a, "errors", NULL)->head, "errors"), 0);
    assert_string_equal(kb_json_text(error, "file", ""), "naive.cu");
    assert_int_equal(kb_json_int(error, "line", 0), 1);
    assert_int_equal(kb_json_int(error, "column", 0), 36);
    assert_string_equal(kb_json_text(error, "severity", ""), "error");
    free_answer(&a);
    compile(&w, 2, "naive.cu", "", &a);
    assert_string_equal(text_of(&a, "rung", "scan", "status"), "fail");
    assert_string_equal(text_of(&a, "done", NULL, "reason"), "no __global__ function in naive.cu (0 bytes)");
    free_answer(&a);
    compile(&w, 3, "../naive.cu", plain, &a);
    assert_string_equal(text_of(&a, "done", NULL, "status"), "fail");
    free_answer(&a);
    compile(&w, 4, "naive.cu", plain, &a);
    assert_string_equal(text_of(&a, "done", NULL, "status"), "pass");
    free_answer(&a);
    assert_int_equal(finish(&w), 0);
}

static void test_files_that_do_not_fit(void **state)
{
    (void)state;
    struct worker w;
    struct answer a;
    start_or_skip(&w);
    send_frame(&w, request(5, "naive.cu", 1000), plain, sizeof plain - 1);
    collect(&w, 5, &a);
    assert_string_equal(text_of(&a, "done", NULL, "status"), "fail");
    free_answer(&a);
    send_frame(&w, kb_frame_head("dance", 6), NULL, 0);
    collect(&w, 6, &a);
    assert_string_equal(text_of(&a, "done", NULL, "status"), "fail");
    assert_non_null(strstr(text_of(&a, "done", NULL, "reason"), "dance"));
    free_answer(&a);
    send_frame(&w, kb_frame_head("quit", 0), NULL, 0);
    assert_int_equal(finish(&w), 0);
}

// Whatever bytes a source holds, frames stay frames of clean text.
static void test_foreign_bytes(void **state)
{
    (void)state;
    struct worker w;
    struct answer a;
    start_or_skip(&w);
    compile(&w, 1, "a (b): c.cu",
            "#warning \"\x1b]52;c;aGk=\x07 \xc2\x9b \xff\xfe \xe2\x80\xae\"\n__global__ void k(int *p) { caf\xc3\xa9 "
            "\xff; }\n",
            &a);
    assert_string_equal(text_of(&a, "done", NULL, "status"), "fail");
    for (int i = 0; i < a.count; i++) {
        char *line = kb_json_line(a.frames[i].head);
        for (const char *p = line; *p;) {
            uint32_t code;
            int n = kb_utf8_decode(p, strlen(p), &code);
            assert_true(n > 0);
            assert_true(code >= 0x20 && code != 0x7f && code != 0x9b && code != 0x202e);
            p += n;
        }
        free(line);
    }
    free_answer(&a);
    assert_int_equal(finish(&w), 0);
}

static void test_many_messages(void **state)
{
    (void)state;
    struct worker w;
    struct answer a;
    struct kb_text source = {0};
    start_or_skip(&w);
    kb_text_add(&source, "__global__ void k(int *p)\n{\n");
    for (int i = 0; i < 700; i++)
        kb_text_addf(&source, "    int unused_variable_with_a_rather_long_name_%d;\n", i);
    kb_text_add(&source, "}\n");
    compile(&w, 1, "many.cu", source.data, &a);
    assert_string_equal(text_of(&a, "done", NULL, "status"), "pass");
    const cJSON *head = frame_of(&a, "errors", NULL)->head;
    int sent = cJSON_GetArraySize(kb_json_get(head, "errors"));
    assert_in_range(sent, 1, 200);
    assert_int_equal(sent + kb_json_int(head, "dropped", 0), 700);
    free_answer(&a);
    kb_text_free(&source);
    assert_int_equal(finish(&w), 0);
}

static cJSON *builtin_request(int64_t job)
{
    cJSON *head = kb_frame_head("compile", job);
    kb_json_set_text(head, "for", "builtin");
    kb_json_set_text(head, "name", "element");
    kb_json_set_text(head, "arch", "sm_90");
    return head;
}

static char *only_entry(const char *dir)
{
    DIR *d = opendir(dir);
    char *found = NULL;
    for (struct dirent *entry; d && (entry = readdir(d));)
        if (entry->d_name[0] != '.') {
            assert_null(found);
            found = kb_path_join(dir, entry->d_name);
        }
    if (d)
        closedir(d);
    return found;
}

static void test_builtin_cache(void **state)
{
    (void)state;
    struct worker w;
    struct answer a;
    char *cache = kb_path_join(folder, "cache"), *first = NULL;
    size_t first_size = 0;
    setenv("KB_CACHE", cache, 1);
    start_or_skip(&w);
    for (int i = 0; i < 3; i++) { // made, from the cache, and made again because the entry is damaged
        send_frame(&w, builtin_request(i + 1), NULL, 0);
        collect(&w, i + 1, &a);
        assert_string_equal(text_of(&a, "done", NULL, "status"), "pass");
        const struct kb_frame *c = frame_of(&a, "compiled", NULL);
        if (first) {
            assert_int_equal(c->blob_size, first_size);
            assert_memory_equal(c->blob, first, first_size);
        } else {
            first_size = c->blob_size;
            first = kb_alloc(first_size);
            memcpy(first, c->blob, first_size);
        }
        assert_true(cJSON_GetArraySize(kb_json_get(c->head, "kernels")) > 3);
        free_answer(&a);
        char *entry = only_entry(cache), *data;
        size_t size;
        assert_int_equal(kb_file_read(entry, 64 << 20, &data, &size, NULL), 0);
        data[size / 2] ^= 1;
        assert_true(i != 1 || kb_file_replace(entry, data, size, NULL) == 0);
        free(data);
        free(entry);
    }
    free(first);
    free(cache);
    assert_int_equal(finish(&w), 0);
}

static char *fake_tool(const char *name, const char *script)
{
    char *path = kb_path_join(folder, name);
    assert_int_equal(kb_file_replace(path, script, strlen(script), NULL), 0);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

// G1: listings by a stand-in for nvdisasm.
static void sass_with(const char *tool, struct answer *a)
{
    struct worker w;
    setenv("KBENCH_NVDISASM", tool, 1);
    start(&w, false);
    unsetenv("KBENCH_NVDISASM");
    if (!has_nvrtc(&w)) {
        finish(&w);
        skip();
    }
    send_frame(&w, kb_frame_head("sass", 9), "cubin bytes", 11);
    collect(&w, 9, a);
    assert_int_equal(finish(&w), 0);
}

static void test_sass(void **state)
{
    (void)state;
    struct answer a;
    char *good = fake_tool("good", "#!/bin/sh\nfor f; do :; done\ngrep -q 'cubin bytes' \"$f\" || exit 3\n"
                                   "echo '//--------- .text.k ------'\necho ' /*0000*/ EXIT ;'\n");
    sass_with(good, &a);
    assert_string_equal(text_of(&a, "done", NULL, "status"), "pass");
    assert_non_null(strstr(frame_of(&a, "sass", NULL)->blob, "/*0000*/ EXIT ;"));
    free_answer(&a);
    char *partial = fake_tool("partial", "#!/bin/sh\necho '//--------- .text.k ------'\necho ' /*0000*/ EXIT ;'\n"
                                         "echo 'untrackable branch' >&2\nexit 1\n");
    sass_with(partial, &a);
    assert_string_equal(text_of(&a, "done", NULL, "status"), "pass");
    assert_non_null(strstr(text_of(&a, "sass", NULL, "incomplete"), "untrackable branch"));
    free_answer(&a);
    char *bad = fake_tool("bad", "#!/bin/sh\necho 'no such file' >&2\nexit 2\n");
    sass_with(bad, &a);
    assert_string_equal(text_of(&a, "done", NULL, "status"), "fail");
    assert_non_null(strstr(text_of(&a, "done", NULL, "reason"), "no such file"));
    free_answer(&a);
    char *absent = kb_path_join(folder, "absent");
    sass_with(absent, &a);
    assert_string_equal(text_of(&a, "done", NULL, "status"), "na");
    assert_non_null(strstr(text_of(&a, "done", NULL, "reason"), absent));
    free_answer(&a);
    free(good);
    free(partial);
    free(bad);
    free(absent);
}

static int folders_in(const char *dir)
{
    DIR *d = opendir(dir);
    int count = 0;
    for (struct dirent *entry; d && (entry = readdir(d));)
        count += kb_starts(entry->d_name, "kbench-worker-");
    if (d)
        closedir(d);
    return count;
}

// Takes minutes: a recursive, force-inlined template of depth 12 with two calls a level.
static const char endless[] =
    "template <int N> struct f { static __device__ __forceinline__ float go(float x, float y)\n"
    "{ return powf(f<N - 1>::go(x + N, y), y) + sinf(f<N - 1>::go(x, y * N)); } };\n"
    "template <> struct f<0> { static __device__ __forceinline__ float go(float x, float y) { return powf(x, y); } };\n"
    "__global__ void k(float *p) { p[0] = f<12>::go(p[1], p[2]); }\n";

static void wait_until_compiling(struct worker *w)
{
    struct kb_frame f;
    for (bool compiling = false; !compiling; kb_frame_free(&f)) {
        assert_true(next_frame(w, &f));
        compiling = !strcmp(kb_json_text(f.head, "rung", ""), "compile") &&
                    !strcmp(kb_json_text(f.head, "status", ""), "running");
    }
}

// B6: a compile is cancelled by killing the worker; what it leaves goes with the next one.
static void test_killed(void **state)
{
    (void)state;
    struct worker w;
    struct answer a;
    char *temporary = kb_path_join(folder, "temporary");
    assert_int_equal(kb_make_dirs(temporary, NULL), 0);
    setenv("TMPDIR", temporary, 1);
    start_or_skip(&w);
    compile(&w, 1, "naive.cu", plain, &a);
    free_answer(&a);
    assert_int_equal(folders_in(temporary), 1);
    send_frame(&w, request(2, "naive.cu", strlen(endless)), endless, strlen(endless));
    wait_until_compiling(&w);
    kill(w.pid, SIGKILL);
    assert_int_equal(finish(&w), -1);
    assert_int_equal(folders_in(temporary), 1);
    start(&w, false);
    compile(&w, 1, "naive.cu", plain, &a);
    free_answer(&a);
    assert_int_equal(folders_in(temporary), 1); // its own
    assert_int_equal(finish(&w), 0);
    assert_int_equal(folders_in(temporary), 0);
    unsetenv("TMPDIR");
    free(temporary);
}

static void test_garbage(void **state)
{
    (void)state;
    static const char *const streams[] = {"this is no frame\n", "{\"kbench\":2,\"type\":\"compile\",\"blob\":0}\n",
                                          "{\n"};
    for (size_t i = 0; i < KB_COUNT(streams); i++) {
        struct worker w;
        start_or_skip(&w);
        send_bytes(&w, streams[i], strlen(streams[i]));
        int status = finish(&w);
        assert_int_equal(status, 2);
    }
}

// With --stdio what is printed to descriptors 1 and 2 travels as log frames among the others.
static void test_stdio(void **state)
{
    (void)state;
    struct worker w;
    struct answer a;
    setenv("LD_DEBUG", "libs", 1); // makes the loader print when libraries are opened
    start(&w, true);
    unsetenv("LD_DEBUG");
    if (has_nvrtc(&w)) {
        compile(&w, 3, "naive.cu", plain, &a);
        assert_string_equal(text_of(&a, "done", NULL, "status"), "pass");
        assert_non_null(frame_of(&a, "compiled", NULL));
        free_answer(&a);
    }
    close(w.in);
    w.in = -1;
    assert_int_not_equal(finish(&w), -1);
}

static int make_folder(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return kb_remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hello),         cmocka_unit_test(test_compile),
        cmocka_unit_test(test_errors),        cmocka_unit_test(test_files_that_do_not_fit),
        cmocka_unit_test(test_foreign_bytes), cmocka_unit_test(test_many_messages),
        cmocka_unit_test(test_builtin_cache), cmocka_unit_test(test_sass),
        cmocka_unit_test(test_killed),        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_stdio),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
