#include "tui/replay.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_exact.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEK_MS = 5000, LONG_GAP_MS = 30000, GAP_REST_MS = 2000, SLOWEST = -3, FASTEST = 5 };
#define FILE_MOST ((size_t)1 << 30)

struct kb_replay {
    struct kb_model model;
    cJSON **events;
    int count, capacity, next; // next: first one not applied
    int bad_lines;
    double position_ms;
    int64_t last_us; // of the last step; 0: none yet
    int speed;       // power of two
    bool stopped;
    bool verdicts; // it has such events; older ones have `done` in their place
    char text[96];
};

static int64_t time_of(const struct kb_replay *r, int i)
{
    return kb_json_int(r->events[i], "t_ms", i ? kb_json_int(r->events[i - 1], "t_ms", 0) : 0);
}

static int64_t end_ms(const struct kb_replay *r)
{
    return time_of(r, r->count - 1);
}

static void read_lines(struct kb_replay *r, char *data, size_t size)
{
    for (char *line = data, *end = data + size; line < end;) {
        char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t n = stop ? (size_t)(stop - line) : (size_t)(end - line);
        cJSON *event = n ? kb_json_parse(line, n) : NULL;
        if (event && kb_json_text(event, "type", NULL)) {
            KB_GROW(r->events, r->count, r->capacity);
            r->events[r->count++] = event;
            r->verdicts = r->verdicts || !strcmp(kb_json_text(event, "type", ""), "verdict");
        } else {
            cJSON_Delete(event);
            r->bad_lines += n > 0;
        }
        line += n + 1;
    }
}

int kb_replay_open(const char *path, struct kb_replay **out, struct kb_error *e)
{
    char *data;
    size_t size;
    if (kb_file_read(path, FILE_MOST, &data, &size, e))
        return -1;
    struct kb_replay *r = kb_alloc(sizeof *r);
    kb_model_init(&r->model);
    read_lines(r, data, size);
    free(data);
    if (!r->count) {
        kb_fail(e, path, "give a file of .kbench/sessions/, or what --follow printed", "it holds no event in %d lines",
                r->bad_lines);
        kb_replay_free(r);
        return -1;
    }
    *out = r;
    kb_replay_seek(r, time_of(r, 0));
    return 0;
}

void kb_replay_free(struct kb_replay *r)
{
    if (!r)
        return;
    kb_model_free(&r->model);
    for (int i = 0; i < r->count; i++)
        cJSON_Delete(r->events[i]);
    free(r->events);
    free(r);
}

const struct kb_model *kb_replay_model(const struct kb_replay *r)
{
    return &r->model;
}

static bool apply_until(struct kb_replay *r, double t_ms)
{
    bool any = false;
    for (; r->next < r->count && (double)time_of(r, r->next) <= t_ms; r->next++)
        any |= !kb_model_apply(&r->model, r->events[r->next]);
    return any;
}

// Pauses of people are shortened: a lecture does not wait for them.
static void skip_gap(struct kb_replay *r)
{
    if (r->next <= 0 || r->next >= r->count)
        return;
    double last = (double)time_of(r, r->next - 1), next = (double)time_of(r, r->next);
    if (next - last > LONG_GAP_MS && r->position_ms > last + GAP_REST_MS && r->position_ms < next - GAP_REST_MS)
        r->position_ms = next - GAP_REST_MS;
}

static double factor(const struct kb_replay *r)
{
    return r->speed < 0 ? 1.0 / (1 << -r->speed) : (double)(1 << r->speed);
}

bool kb_replay_step(struct kb_replay *r, int64_t now_us)
{
    double passed = r->last_us ? (double)(now_us - r->last_us) / 1000 : 0;
    r->last_us = now_us;
    if (r->stopped || r->next >= r->count)
        return false;
    r->position_ms += passed * factor(r);
    skip_gap(r);
    return apply_until(r, r->position_ms);
}

int kb_replay_wait_ms(const struct kb_replay *r)
{
    if (r->stopped || r->next >= r->count)
        return -1;
    double wait = ((double)time_of(r, r->next) - r->position_ms) / factor(r);
    return wait < 0 ? 0 : wait > 1000 ? 1000 : (int)wait + 1;
}

int64_t kb_replay_time_ms(const struct kb_replay *r)
{
    return (int64_t)r->position_ms;
}

void kb_replay_seek(struct kb_replay *r, int64_t t_ms)
{
    int64_t first = time_of(r, 0), last = end_ms(r);
    t_ms = t_ms < first ? first : t_ms > last ? last : t_ms;
    if (t_ms < (int64_t)r->position_ms) {
        kb_model_free(&r->model);
        r->next = 0;
    }
    r->position_ms = (double)t_ms;
    apply_until(r, r->position_ms);
}

void kb_replay_seek_end(struct kb_replay *r)
{
    kb_replay_seek(r, end_ms(r));
}

static bool is_verdict(const struct kb_replay *r, int i)
{
    return !strcmp(kb_json_text(r->events[i], "type", ""), r->verdicts ? "verdict" : "done");
}

static void seek_verdict(struct kb_replay *r, int direction)
{
    int i = direction > 0 ? r->next : r->next - 1;
    int64_t now = kb_replay_time_ms(r);
    for (; i >= 0 && i < r->count; i += direction)
        if (is_verdict(r, i) && (direction > 0 || time_of(r, i) < now)) {
            kb_replay_seek(r, time_of(r, i));
            return;
        }
    kb_replay_seek(r, direction > 0 ? end_ms(r) : 0);
}

static void stop_or_go(struct kb_replay *r)
{
    if (r->next >= r->count) {
        kb_replay_seek(r, 0);
        r->stopped = false;
    } else {
        r->stopped = !r->stopped;
    }
}

bool kb_replay_act(struct kb_replay *r, enum kb_action action)
{
    switch (action) {
    case KB_ACT_PAUSE:
        stop_or_go(r);
        return true;
    case KB_ACT_SEEK_FORWARD:
        kb_replay_seek(r, kb_replay_time_ms(r) + SEEK_MS);
        return true;
    case KB_ACT_SEEK_BACK:
        kb_replay_seek(r, kb_replay_time_ms(r) - SEEK_MS);
        return true;
    case KB_ACT_NEXT_VERDICT:
        seek_verdict(r, 1);
        return true;
    case KB_ACT_PREVIOUS_VERDICT:
        seek_verdict(r, -1);
        return true;
    case KB_ACT_FASTER:
        r->speed += r->speed < FASTEST;
        return true;
    case KB_ACT_SLOWER:
        r->speed -= r->speed > SLOWEST;
        return true;
    default:
        return false;
    }
}

const char *kb_replay_text(struct kb_replay *r, bool ascii)
{
    const char *state = r->next >= r->count ? "end" : r->stopped ? "stopped" : ascii ? ">" : "▶";
    int64_t at = kb_replay_time_ms(r) / 1000, of = end_ms(r) / 1000;
    char speed[16] = "";
    if (r->speed)
        snprintf(speed, sizeof speed, r->speed < 0 ? " 1/%dx" : " %dx", 1 << abs(r->speed));
    snprintf(r->text, sizeof r->text, "replay %s%s %" PRId64 ":%02" PRId64 " / %" PRId64 ":%02" PRId64 " ", state,
             speed, at / 60, at % 60, of / 60, of % 60);
    return r->text;
}
