#include "support_session.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "loop/parts.h"
#include "loop/peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_S = 60 };
static int marked; // events before this one are old

static const char bench_text[] =
    "{ \"kbench\": 1, \"name\": \"fake\", \"params\": { \"n\": 64 },\n"
    "  \"args\": [ { \"name\": \"x\", \"role\": \"input\", \"dtype\": \"f32\", \"shape\": [\"n\"] },\n"
    "    { \"name\": \"y\", \"role\": \"output\", \"dtype\": \"f32\", \"shape\": [\"n\"] },\n"
    "    { \"name\": \"n\", \"role\": \"scalar\", \"dtype\": \"i32\" } ],\n"
    "  \"reference\": { \"source\": \"reference.cu\", \"kernel\": \"ref\", \"launch\": { \"grid\": [1], \"block\": "
    "[32] } "
    "},\n"
    "  \"variants\": [\n"
    "    { \"name\": \"a\", \"source\": \"a.cu\", \"kernel\": \"a\", \"launch\": { \"grid\": [1], \"block\": [32] } "
    "},\n"
    "    { \"name\": \"b\", \"source\": \"b.cu\", \"kernel\": \"b\", \"launch\": { \"grid\": [1], \"block\": [32] } } "
    "] }\n";

char *bed_path(struct bed *b, const char *name)
{
    return kb_path_join(b->dir, name);
}

void bed_write(struct bed *b, const char *name, const char *text)
{
    char *path = bed_path(b, name);
    assert_int_equal(kb_file_replace(path, text, strlen(text), NULL), 0);
    free(path);
}

void bed_kernel(struct bed *b, const char *name, const char *kernel, const char *fake, int salt)
{
    char *text =
        kb_format("%s\n// %d\n__global__ void %s(const float *x, float *y, int n)\n{\n}\n", fake, salt, kernel);
    bed_write(b, name, text);
    free(text);
}

char *bed_read(struct bed *b, const char *name)
{
    char *path = bed_path(b, name), *data = NULL;
    size_t size;
    if (kb_file_read(path, 1 << 24, &data, &size, NULL))
        data = NULL;
    free(path);
    return data;
}

static void keep(void *context, const struct kb_event *e, const cJSON *event)
{
    (void)e;
    struct bed *b = context;
    cJSON_AddItemToArray(b->events, cJSON_Duplicate(event, true));
    kb_model_apply(&b->model, event);
}

struct bed *bed_new(void)
{
    struct bed *b = kb_alloc(sizeof *b);
    static const char *const variables[] = {"KB_FAKE_HELLO",     "KB_FAKE_DEVICE", "KB_FAKE_UUID", "KB_FAKE_PREPARE",
                                            "KB_FAKE_EXCLUSIVE", "KB_FAKE_HOLD",   "KB_FAKE_IDLE"};
    for (size_t i = 0; i < KB_COUNT(variables); i++)
        unsetenv(variables[i]);
    snprintf(b->dir, sizeof b->dir, "%s/loop-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(b->dir));
    b->log = bed_path(b, "worker.log");
    setenv("KB_FAKE_LOG", b->log, 1);
    setenv("KB_WORKER", KB_BUILD_DIR "/tests/fake_worker", 1);
    b->events = cJSON_CreateArray();
    kb_model_init(&b->model);
    b->options = (struct kb_session_options){.bench_path = b->dir,
                                             .device = "auto",
                                             .seed = 7,
                                             .worker = KB_BUILD_DIR "/tests/fake_worker",
                                             .on_event = keep,
                                             .context = b};
    bed_write(b, "bench.json", bench_text);
    bed_kernel(b, "reference.cu", "ref", "", 0);
    bed_kernel(b, "a.cu", "a", "//fake: time=20", 0);
    bed_kernel(b, "b.cu", "b", "//fake: time=10", 0);
    kb_peer_longest_ms = 0;
    kb_lookup_ms = PATIENCE_S * 1000; // on a busy machine the history answers late, and is waited for
    kb_peer_system = (struct kb_peer_system){kill, waitpid};
    marked = 0;
    return b;
}

void bed_start(struct bed *b)
{
    struct kb_error error = {0};
    int status = kb_session_new(&b->options, &b->session, &error);
    if (status)
        print_error("%s\n", kb_error_line(&error));
    assert_int_equal(status, 0);
}

void bed_stop(struct bed *b)
{
    kb_session_free(b->session);
    b->session = NULL;
}

void bed_free(struct bed *b)
{
    bed_stop(b);
    kb_model_free(&b->model);
    cJSON_Delete(b->events);
    kb_remove_tree(b->dir);
    free(b->log);
    free(b);
}

static void step(struct bed *b, int most_ms)
{
    struct pollfd fds[64];
    int n = kb_session_fds(b->session, fds, 64), wait = kb_session_wait_ms(b->session);
    poll(fds, (nfds_t)n, wait < 0 || wait > most_ms ? most_ms : wait);
    kb_session_step(b->session);
}

static void tell_last_events(struct bed *b)
{
    int count = cJSON_GetArraySize(b->events);
    for (int i = count > 40 ? count - 40 : 0; i < count; i++) {
        char *line = kb_json_line(cJSON_GetArrayItem(b->events, i));
        print_error("%.300s\n", line);
        free(line);
    }
}

void bed_until(struct bed *b, bed_condition *condition, const void *what)
{
    int64_t end = kb_now_us() + (int64_t)PATIENCE_S * 1000000;
    while (!condition(b, what)) {
        if (kb_now_us() > end) {
            tell_last_events(b);
            fail_msg("waited %d s in vain", PATIENCE_S);
        }
        step(b, 100);
    }
}

void bed_idle(struct bed *b, int ms)
{
    int64_t end = kb_now_us() + (int64_t)ms * 1000;
    while (kb_now_us() < end)
        step(b, 10);
}

void bed_mark(struct bed *b)
{
    marked = cJSON_GetArraySize(b->events);
}

static bool value_matches(const cJSON *event, const char *key, const char *value)
{
    const cJSON *item = kb_json_get(event, key);
    if (cJSON_IsString(item))
        return !strcmp(item->valuestring, value);
    char *text = item ? kb_json_line(item) : kb_strdup("absent");
    bool same = !strcmp(text, value);
    free(text);
    return same;
}

static bool matches(const cJSON *event, const char *pattern)
{
    char *copy = kb_strdup(pattern), *rest = NULL;
    char *word = strtok_r(copy, " ", &rest);
    bool same = !strcmp(kb_json_text(event, "type", ""), word);
    while (same && (word = strtok_r(NULL, " ", &rest))) {
        char *equals = strchr(word, '=');
        *equals = 0;
        same = value_matches(event, word, equals + 1);
    }
    free(copy);
    return same;
}

int bed_count(struct bed *b, const char *pattern)
{
    int count = 0, index = 0;
    const cJSON *event;
    cJSON_ArrayForEach (event, b->events)
        if (index++ >= marked && matches(event, pattern))
            count++;
    return count;
}

const cJSON *bed_find(struct bed *b, const char *pattern)
{
    const cJSON *found = NULL, *event;
    int index = 0;
    cJSON_ArrayForEach (event, b->events)
        if (index++ >= marked && matches(event, pattern))
            found = event;
    return found;
}

static bool seen(struct bed *b, const void *pattern)
{
    return bed_find(b, pattern) != NULL;
}

void bed_until_event(struct bed *b, const char *pattern)
{
    bed_until(b, seen, pattern);
}

static bool ended(struct bed *b, const void *nothing)
{
    (void)nothing;
    return kb_session_ended(b->session);
}

void bed_until_ended(struct bed *b)
{
    bed_until(b, ended, NULL);
}

int bed_log_count(struct bed *b, const char *line)
{
    char *text = bed_read(b, "worker.log"), *rest = NULL;
    int count = 0;
    for (char *l = text ? strtok_r(text, "\n", &rest) : NULL; l; l = strtok_r(NULL, "\n", &rest))
        count += kb_starts(l, line);
    free(text);
    return count;
}

static const struct kb_rung_state *rung_state(struct bed *b, const char *variant, const char *rung)
{
    const struct kb_model_version *v = kb_model_current(&b->model, kb_model_variant_index(&b->model, variant));
    return v ? &v->rungs[kb_rung_parse(rung)] : NULL;
}

const char *bed_status(struct bed *b, const char *variant, const char *rung)
{
    const struct kb_rung_state *state = rung_state(b, variant, rung);
    return state ? kb_status_name(state->status) : "no version";
}

const char *bed_reason(struct bed *b, const char *variant, const char *rung)
{
    const struct kb_rung_state *state = rung_state(b, variant, rung);
    return state && state->reason ? state->reason : "";
}
