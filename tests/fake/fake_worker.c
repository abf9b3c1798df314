// A worker that speaks the protocol and does as it is told: by `//fake: key=value` lines of the source it gets (they
// travel to the run worker inside the "PTX"), and by environment variables for what comes before a source.
//
//   compile = ok | fail | crash | hang | noise | hold:PATH (until that file exists)
//   check, run, verify = ok | fail | na | crash | hang | stubborn (ignores SIGTERM) | wait (until cancelled) | poison |
//                        garbage | half | long | forge | hold:PATH | fail-hold:PATH
//   time = microseconds, or one of the words above
//   races = the same words (fail: a race in line 14 of a.cu, and a warning); its worker calls itself "races"
//   races-check = what that worker says to `check`
//   cubin = no (only PTX comes); sections, counters, sass = ok | na | refuse (na with a remedy) | crash | hang |
//   wait | hold:PATH
//   KB_FAKE_HELLO = ROLE:garbage | half | long | version | silent | exit | no_device | no_compiler | leave (right
//   behind it) KB_FAKE_DEVICE = cuda | cpu     KB_FAKE_UUID     KB_FAKE_PERMISSION = a hash     KB_FAKE_IDLE = crash
//   KB_FAKE_PREPARE = fail | crash | reference (its fault, and the context is lost) | reference-hangs
//   KB_FAKE_NVCC = the version of nvcc that compiles
//   KB_FAKE_EXCLUSIVE (set: one context at a time) KB_FAKE_HOLD (set: sampling is never taken ahead) KB_FAKE_LOG = a
//   file that gets one line a request: "ROLE TYPE NAME-or-key"
#include "fake_worker.h"
#include "base/json.h"
#include "base/memory.h"
#include "bench/frame.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

const char *role;
static struct kb_frame_reader *reader;

static void write_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t done = write(fd, bytes, n);
        if (done <= 0)
            _exit(4);
        bytes += done;
        n -= (size_t)done;
    }
}

void send_frame(cJSON *head, const void *blob, size_t size)
{
    struct kb_text out = {0};
    kb_frame_encode(&out, head, blob, size, NULL);
    write_all(3, out.data, out.size);
    kb_text_free(&out);
}

void note(const char *type, const char *name)
{
    const char *path = getenv("KB_FAKE_LOG");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
    if (fd < 0)
        return;
    char *line = kb_format("%s %s %s\n", role, type, name);
    write_all(fd, line, strlen(line));
    free(line);
    close(fd);
}

static void stay(bool stubborn)
{
    if (stubborn)
        signal(SIGTERM, SIG_IGN);
    for (;;)
        poll(NULL, 0, 1000);
}

static int next_frame(struct kb_frame *f, int wait_ms)
{
    struct kb_error e;
    char bytes[65536];
    int got;
    while ((got = kb_frame_reader_next(reader, f, &e)) == 0) {
        struct pollfd p = {0, POLLIN, 0};
        if (poll(&p, 1, wait_ms) == 0)
            return 0;
        ssize_t n = read(0, bytes, sizeof bytes);
        if (n <= 0)
            exit(0);
        kb_frame_reader_feed(reader, bytes, (size_t)n);
    }
    if (got < 0)
        exit(5);
    return 1;
}

static void hold(const char *path)
{
    while (access(path, F_OK))
        poll(NULL, 0, 2);
}

void done(int64_t job, const char *status, const char *reason, bool poisoned)
{
    cJSON *head = kb_frame_head("done", job);
    kb_json_set_text(head, "status", status);
    kb_json_set_text(head, "reason", reason);
    kb_json_set_bool(head, "poisoned", poisoned);
    send_frame(head, NULL, 0);
}

static void rung(int64_t job, const char *name, const char *status, const char *reason)
{
    cJSON *head = kb_frame_head("rung", job);
    kb_json_set_text(head, "rung", name);
    kb_json_set_text(head, "status", status);
    kb_json_set_number(head, "ms", 1.5);
    kb_json_set_text(head, "reason", reason);
    send_frame(head, NULL, 0);
}

// The value of `//fake: key=value` in a text; "ok" if there is none. Owned by the caller.
char *directive(const char *text, const char *key)
{
    char *wanted = kb_format("//fake: %s=", key);
    const char *at = text ? strstr(text, wanted) : NULL;
    char *value = at ? kb_strndup(at + strlen(wanted), strcspn(at + strlen(wanted), "\n")) : kb_strdup("ok");
    free(wanted);
    return value;
}

static void break_stream(const char *how)
{
    static const char half[] = "{\"kbench\":1,\"seq\":1,\"job\":1,\"ty";
    static const char version[] = "{\"kbench\":2,\"seq\":1,\"job\":0,\"type\":\"hello\",\"blob\":0}\n";
    if (!strcmp(how, "garbage"))
        write_all(3, "this is no frame\n", 17);
    else if (!strcmp(how, "version"))
        write_all(3, version, sizeof version - 1);
    else if (!strcmp(how, "half")) {
        write_all(3, half, sizeof half - 1);
        exit(0);
    } else if (!strcmp(how, "long")) {
        char *line = kb_alloc(1 << 20);
        memset(line, 'x', 1 << 20);
        write_all(3, line, 1 << 20);
        free(line);
    }
    stay(false);
}

static void forge(int64_t job)
{
    for (int fd = 1; fd <= 2; fd++) {
        char *line = kb_format("{\"kbench\":1,\"seq\":9,\"job\":%d,\"type\":\"done\",\"status\":\"pass\",\"blob\":0}\n",
                               (int)job);
        write_all(fd, line, strlen(line));
        free(line);
    }
    for (int i = 0; i < 5000; i++)
        write_all(1, "thread says \033[31mhello\n", 23);
}

// Does what the word asks for before an answer; returns the status to answer with, or NULL if it was cancelled.
const char *obey(const char *word, int64_t job)
{
    if (!strcmp(word, "crash")) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    } else if (!strcmp(word, "hang") || !strcmp(word, "stubborn")) {
        stay(!strcmp(word, "stubborn"));
    } else if (!strcmp(word, "garbage") || !strcmp(word, "half") || !strcmp(word, "long")) {
        break_stream(word);
    } else if (!strcmp(word, "forge")) {
        forge(job);
    } else if (!strcmp(word, "poison")) {
        done(job, "fail", "the kernel made an illegal memory access: CUDA_ERROR_ILLEGAL_ADDRESS", true);
        exit(0);
    } else if (!strncmp(word, "hold:", 5)) {
        hold(word + 5);
    } else if (!strncmp(word, "fail-hold:", 10)) {
        hold(word + 10);
        return "fail";
    } else if (!strcmp(word, "wait")) {
        struct kb_frame f;
        bool cancelled = false;
        while (!cancelled && next_frame(&f, -1)) {
            cancelled = !strcmp(kb_frame_type(&f), "cancel") && kb_json_int(f.head, "of", 0) == job;
            kb_frame_free(&f);
        }
        done(job, "cancelled", NULL, false);
        return NULL;
    }
    return !strcmp(word, "fail") || !strcmp(word, "na") ? word : "pass";
}

// Compiling

static cJSON *kernels(const cJSON *request)
{
    cJSON *list = cJSON_CreateArray();
    const cJSON *name;
    cJSON_ArrayForEach (name, kb_json_get(request, "kernels")) {
        cJSON *k = cJSON_CreateObject();
        kb_json_set_text(k, "name", name->valuestring);
        kb_json_set_text(k, "lowered", name->valuestring);
        kb_json_set_number(k, "registers", 32);
        kb_json_set_number(k, "spill_store_bytes", 0);
        kb_json_set_number(k, "spill_load_bytes", 0);
        kb_json_set_number(k, "shared_bytes", 0);
        kb_json_set_number(k, "stack_bytes", 0);
        cJSON_AddItemToArray(list, k);
    }
    return list;
}

static void compile_failed(int64_t job, const char *main_file)
{
    cJSON *head = kb_frame_head("errors", job), *list = cJSON_AddArrayToObject(head, "errors");
    cJSON *error = cJSON_CreateObject();
    kb_json_set_text(error, "file", main_file);
    kb_json_set_number(error, "line", 3);
    kb_json_set_number(error, "column", 5);
    kb_json_set_text(error, "severity", "error");
    kb_json_set_text(error, "text", "expected a \";\"");
    cJSON_AddItemToArray(list, error);
    rung(job, "compile", "fail", "1 error");
    send_frame(head, NULL, 0);
    done(job, "fail", "1 error", false);
}

static void compile(const struct kb_frame *f)
{
    int64_t job = kb_frame_job(f);
    const char *text = f->blob ? f->blob : "", *name = kb_json_text(f->head, "name", "?");
    char *word = directive(text, "compile");
    note("compile", name);
    rung(job, "scan", "pass", NULL);
    if (!strcmp(word, "noise"))
        forge(job);
    const char *status = obey(word, job);
    if (status && !strcmp(status, "fail")) {
        compile_failed(job, kb_json_text(f->head, "main", ""));
    } else if (status) {
        rung(job, "compile", "pass", NULL);
        cJSON *head = kb_frame_head("compiled", job);
        size_t size = strlen(text) + 1;
        const char *nvcc = getenv("KB_FAKE_NVCC");
        kb_json_set_text(head, "compiler", nvcc ? "nvcc" : "fake");
        kb_json_set_text(head, "compiler_version", nvcc);
        kb_json_set_text(head, "arch", kb_json_text(f->head, "arch", ""));
        kb_json_set(head, "kernels", kernels(f->head));
        kb_json_set_number(head, "ptx_bytes", (double)size);
        char *cubin = directive(text, "cubin");
        bool none = !strcmp(cubin, "no");
        struct kb_text both = {0};
        kb_text_bytes(&both, text, size);
        kb_text_bytes(&both, text, none ? 0 : size);
        kb_json_set_number(head, "cubin_bytes", none ? 0 : (double)size);
        send_frame(head, both.data, both.size);
        kb_text_free(&both);
        free(cubin);
        done(job, "pass", NULL, false);
    }
    free(word);
}

// Listings: the "cubin" is the source itself, and so is its listing.

static void sass(const struct kb_frame *f)
{
    int64_t job = kb_frame_job(f);
    const char *text = f->blob ? f->blob : "";
    char *word = directive(text, "sass");
    note("sass", word);
    const char *status = obey(word, job);
    if (status && !strcmp(status, "pass")) {
        cJSON *head = kb_frame_head("sass", job), *list = cJSON_AddArrayToObject(head, "kernels");
        cJSON *kernel = cJSON_CreateObject(), *classes = cJSON_AddObjectToObject(kernel, "by_class");
        kb_json_set_text(kernel, "name", "k");
        kb_json_set_number(kernel, "instructions", 12);
        kb_json_set_number(classes, "FFMA", 8);
        kb_json_set_number(classes, "LDG", 4);
        kb_json_set_number(kernel, "live_registers_peak", 9);
        cJSON_AddItemToArray(list, kernel);
        kb_json_set_text(head, "tool", "nvdisasm");
        send_frame(head, text, strlen(text));
    }
    if (status)
        done(job, status, strcmp(status, "pass") ? "there is no nvdisasm" : NULL, false);
    free(word);
}

static void diff(const struct kb_frame *f)
{
    int64_t job = kb_frame_job(f);
    const cJSON *a = kb_json_get(f->head, "a"), *b = kb_json_get(f->head, "b");
    size_t n = (size_t)kb_json_int(a, "text_bytes", kb_json_int(a, "cubin_bytes", 0));
    size_t m = (size_t)kb_json_int(b, "text_bytes", kb_json_int(b, "cubin_bytes", 0));
    size_t samples = (size_t)kb_json_int(a, "samples_bytes", 0);
    note("diff", kb_json_text(f->head, "kind", "?"));
    char *first = kb_strndup(f->blob, n), *second = kb_strndup(f->blob + n + samples, m);
    char *x = directive(first, "code"), *y = directive(second, "code"); // two sources with the same word: the same code
    cJSON *head = kb_frame_head("diff", job), *document = cJSON_CreateObject();
    kb_json_set_bool(head, "real_change", strcmp(x, y) != 0);
    kb_json_set_bool(document, "real_change", strcmp(x, y) != 0);
    kb_json_set_number(document, "samples_bytes", (double)samples);
    char *text = kb_json_line(document);
    send_frame(head, text, strlen(text));
    done(job, "pass", NULL, false);
    cJSON_Delete(document);
    char *all[] = {first, second, x, y, text};
    for (size_t i = 0; i < KB_COUNT(all); i++)
        free(all[i]);
}

// Beginning

static cJSON *device(void)
{
    const char *kind = getenv("KB_FAKE_DEVICE");
    cJSON *d = cJSON_CreateObject();
    kb_json_set_text(d, "kind", kind ? kind : "cuda");
    kb_json_set_text(d, "name", "Fake GPU");
    kb_json_set_text(d, "arch", "sm_90");
    kb_json_set_text(d, "uuid", getenv("KB_FAKE_UUID"));
    kb_json_set_text(d, "driver", "0.0");
    kb_json_set_number(d, "memory_bytes", 100);
    kb_json_set_number(d, "free_bytes", 90);
    kb_json_set_number(d, "mps", 0);
    kb_json_set_bool(d, "exclusive_process", getenv("KB_FAKE_EXCLUSIVE") != NULL);
    return d;
}

static void hello(void)
{
    const char *plan = getenv("KB_FAKE_HELLO");
    const char *how =
        plan && !strncmp(plan, role, strlen(role)) && plan[strlen(role)] == ':' ? plan + strlen(role) + 1 : "ok";
    if (!strcmp(how, "exit"))
        exit(7);
    if (!strcmp(how, "silent"))
        stay(false);
    if (!strcmp(how, "garbage") || !strcmp(how, "half") || !strcmp(how, "long") || !strcmp(how, "version"))
        break_stream(how);
    cJSON *head = kb_frame_head("hello", 0), *libs = cJSON_AddArrayToObject(head, "libs"), *lib = cJSON_CreateObject();
    bool failed = kb_starts(how, "no_");
    kb_json_set_text(head, "role", role);
    kb_json_set_number(head, "pid", getpid());
    kb_json_set_text(lib, "name", "fake");
    kb_json_set_text(lib, "version", "1.0");
    kb_json_set_text(lib, "path", "/nowhere/libfake.so");
    kb_json_set_text(lib, "missing", NULL);
    cJSON_AddItemToArray(libs, lib);
    kb_json_set(head, "device", strcmp(role, "run") || failed ? cJSON_CreateNull() : device());
    cJSON *archs = cJSON_AddArrayToObject(head, "archs");
    cJSON_AddItemToArray(archs, cJSON_CreateString("sm_90"));
    kb_json_set_text(head, "failed", NULL);
    if (failed) {
        cJSON *why = cJSON_CreateObject();
        kb_json_set_text(why, "code", how);
        kb_json_set_text(why, "what", "there is nothing here");
        kb_json_set_text(why, "remedy", "--device cpu runs kernels without a GPU");
        kb_json_set(head, "failed", why);
    }
    send_frame(head, NULL, 0);
    if (failed)
        exit(3);
    if (!strcmp(how, "leave"))
        exit(0);
}

int main(int argc, char **argv)
{
    role = argc > 1 ? argv[1] : "?";
    if (!strcmp(role, "run") && argc > 5 && !strcmp(argv[3], "cpu") && !strcmp(argv[5], "full"))
        role = "races"; // started as: run --device cpu --check full
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    reader = kb_frame_reader_new();
    note("start", "-");
    if (!strcmp(role, "doctor")) {
        puts("{\"kbench\":1,\"tool\":\"fake\",\"libs\":[{\"name\":\"nvrtc\",\"path\":\"/x\",\"version\":\"13.0\","
             "\"missing\":null},{\"name\":\"cuda\",\"path\":null,\"version\":null,\"missing\":\"no driver\"}],"
             "\"archs\":[\"sm_90\"]}");
        return 0;
    }
    hello();
    struct kb_frame f;
    while (next_frame(&f, -1) == 1) {
        if (!strcmp(kb_frame_type(&f), "quit"))
            return 0;
        if (!strcmp(kb_frame_type(&f), "sass"))
            sass(&f);
        else if (!strcmp(kb_frame_type(&f), "diff"))
            diff(&f);
        else if (!strcmp(role, "profile"))
            profile(&f);
        else if (!strcmp(role, "compile"))
            compile(&f);
        else
            run(&f);
        kb_frame_free(&f);
    }
    return 0;
}
