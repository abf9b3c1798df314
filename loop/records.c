// The session's side of the io thread: watching, history, the session's own stream, errors.txt.
#include "base/file.h"
#include "loop/io.h"
#include "loop/parts.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STUCK_MS = 2000, GIVE_UP_MS = 5000, STOP_MS = 1000 };
enum { CLAIM_OBJECTS = 256 };

// Requests in flight

static void ask(struct kb_session *s, int64_t token, struct kb_build *b)
{
    KB_GROW(s->asked, s->asked_count, s->asked_capacity);
    s->asked[s->asked_count++] = (struct kb_asked){kb_build_ref(b), token};
}

// The build of an answered request; its reference goes to the caller. False: nobody waits for it.
static bool answered(struct kb_session *s, int64_t token, struct kb_build **b)
{
    for (int i = 0; i < s->asked_count; i++) {
        if (s->asked[i].token != token)
            continue;
        *b = s->asked[i].build;
        s->asked[i] = s->asked[--s->asked_count];
        return true;
    }
    return false;
}

int kb_records_start(struct kb_session *s, struct kb_error *e)
{
    struct kb_io_options options = {.bench_dir = s->options.no_history ? NULL : s->bench_dir};
    if (kb_io_start(&options, &s->io, e))
        return -1;
    s->seal_key = kb_seal_key();
    for (int i = 0; i < s->watched_count; i++)
        kb_records_watch(s, s->watched[i]);
    return 0;
}

void kb_records_free(struct kb_session *s)
{
    if (s->io)
        kb_io_stop(s->io, STOP_MS);
    s->io = NULL;
    for (int i = 0; i < s->asked_count; i++)
        kb_build_unref(s->asked[i].build);
    free(s->asked);
    s->asked = NULL;
    s->asked_count = s->asked_capacity = 0;
}

int kb_records_fd(const struct kb_session *s)
{
    return s->io ? kb_io_fd(s->io) : -1;
}

void kb_records_watch(struct kb_session *s, struct kb_session_file *w)
{
    struct kb_reach reach = kb_reach_view(&w->reach);
    w->watch = kb_io_watch(s->io, w->path, &reach, w->plain);
}

void kb_records_unwatch(struct kb_session *s, struct kb_session_file *w)
{
    kb_io_unwatch(s->io, w->watch);
}

void kb_records_stream(struct kb_session *s, const char *line)
{
    if (s->io && !s->options.no_history)
        kb_io_session_line(s->io, line);
}

// Versions

static bool has_history(const struct kb_session *s)
{
    return !s->options.no_history;
}

void kb_records_ask(struct kb_session *s, struct kb_build *b, char *const *command)
{
    ask(s, kb_io_ask(s->io, s->bench_dir, command), b);
}

void kb_records_find(struct kb_session *s, struct kb_build *b)
{
    static const char *const wanted[] = {"ptx", "cubin", "samples"};
    if (!has_history(s) || kb_caches_off()) {
        kb_build_found(s, b, 0, NULL, NULL);
        return;
    }
    ask(s, kb_io_find(s->io, b->name, b->key, wanted, KB_COUNT(wanted)), b);
}

int64_t kb_records_load(struct kb_session *s, const char *variant, int version)
{
    static const char *const wanted[] = {"source", "ptx", "cubin", "sass", "samples"};
    return has_history(s) && s->io ? kb_io_load(s->io, variant, version, wanted, KB_COUNT(wanted)) : 0;
}

static cJSON *record_of(const struct kb_session *s, const struct kb_build *b)
{
    cJSON *record = cJSON_CreateObject();
    kb_json_set_text(record, "key", b->key);
    kb_json_set_text(record, "variant", b->name);
    kb_json_set_text(record, "source", b->source->snapshot.main);
    kb_json_set_text(record, "source_hash", b->source->snapshot.hash.hex);
    kb_json_set_text(record, "tool", "kbench-tui " KB_VERSION);
    kb_json_set_text(record, "arch", s->arch);
    kb_json_set(record, "resolved", b->resolved ? kb_variant_to_json(b->resolved) : cJSON_CreateNull());
    return record;
}

static int objects_of(const struct kb_build *b, struct kb_history_object *objects, char *names[])
{
    const struct kb_snapshot *snapshot = &b->source->snapshot;
    int n = 0;
    for (int i = 0; i < snapshot->file_count && n < CLAIM_OBJECTS - 2; i++, n++) {
        names[n] = i ? kb_format("header:%s", snapshot->files[i].name) : kb_strdup("source");
        objects[n] = (struct kb_history_object){names[n], snapshot->files[i].data, snapshot->files[i].size};
    }
    return n;
}

static int binaries_of(const struct kb_build *b, struct kb_history_object *objects)
{
    int n = 0;
    if (b->blobs.ptx_size)
        objects[n++] = (struct kb_history_object){"ptx", b->blobs.ptx, b->blobs.ptx_size};
    if (b->blobs.cubin_size)
        objects[n++] = (struct kb_history_object){"cubin", b->blobs.cubin, b->blobs.cubin_size};
    return n;
}

static void claim_here(struct kb_session *s, struct kb_build *b)
{
    struct kb_slot *slot = kb_slot_of(s, b);
    kb_build_claimed(s, b, slot ? ++slot->last_number : 0, NULL, false);
}

void kb_records_claim(struct kb_session *s, struct kb_build *b)
{
    if (!has_history(s)) {
        claim_here(s, b);
        return;
    }
    struct kb_history_object *objects = kb_alloc(sizeof *objects * CLAIM_OBJECTS);
    char **names = kb_alloc(sizeof *names * CLAIM_OBJECTS);
    int named = objects_of(b, objects, names), n = named + binaries_of(b, objects + named);
    b->stored = n > named;
    ask(s, kb_io_claim(s->io, b->name, record_of(s, b), objects, n), b);
    for (int i = 0; i < named; i++)
        free(names[i]);
    free(names);
    free(objects);
}

// Whoever writes into the history cannot put another binary under a version's key: its binaries are sealed for the key.
static struct kb_keyed seal_of(const struct kb_session *s, const char *key, const cJSON *compiled,
                               const struct kb_blobs *blobs)
{
    char *line = kb_json_line(compiled);
    const struct kb_seal_part parts[] = {
        {key, strlen(key)}, {line, strlen(line)}, {blobs->ptx, blobs->ptx_size}, {blobs->cubin, blobs->cubin_size}};
    struct kb_keyed seal = kb_seal(&s->seal_key, "binaries", parts, KB_COUNT(parts));
    free(line);
    return seal;
}

static bool is_sealed(const struct kb_session *s, const char *key, const cJSON *results, const struct kb_blobs *blobs)
{
    const char *kept = kb_json_text(results, "seal", "");
    const cJSON *compiled = kb_json_get(results, "compiled");
    return s->seal_key.known && compiled && !strcmp(kept, seal_of(s, key, compiled, blobs).hex);
}

static cJSON *results_of(const struct kb_session *s, const struct kb_build *b)
{
    cJSON *results = cJSON_CreateObject();
    char seed[32], utc[21];
    kb_utc_iso(utc);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)s->seed);
    const char *status = b->dead ? "superseded" : !b->finished ? "unfinished" : kb_build_failed(b) ? "fail" : "pass";
    kb_json_set_text(results, "status", status);
    kb_json_set_text(results, "contract", b->contract);
    kb_json_set_text(results, "seed", seed);
    kb_json_set_text(results, "utc", utc);
    kb_json_set(results, "device", s->device ? cJSON_Duplicate(s->device, true) : cJSON_CreateNull());
    kb_json_set(results, "compiled", b->compiled ? cJSON_Duplicate(b->compiled, true) : cJSON_CreateNull());
    kb_json_set_text(results, "seal", b->seal.hex[0] ? b->seal.hex : NULL);
    kb_json_set(results, "events", cJSON_Duplicate(b->results, true));
    return results;
}

void kb_records_update(struct kb_session *s, struct kb_build *b)
{
    if (!has_history(s) || !b->version)
        return;
    struct kb_history_object objects[4];
    int n = b->stored ? 0 : binaries_of(b, objects);
    b->stored = b->stored || n;
    if (b->blobs.sass_size && !b->sass_stored)
        objects[n++] = (struct kb_history_object){"sass", b->blobs.sass, b->blobs.sass_size};
    b->sass_stored = b->sass_stored || b->blobs.sass_size;
    if (b->samples && !b->samples_stored)
        objects[n++] = (struct kb_history_object){"samples", b->samples, strlen(b->samples)};
    b->samples_stored = b->samples != NULL;
    if (s->seal_key.known && b->compiled && b->blobs.ptx_size) // they may be dropped later
        b->seal = seal_of(s, b->key, b->compiled, &b->blobs);
    ask(s, kb_io_update(s->io, b->name, b->version, results_of(s, b), objects, n), NULL);
}

void kb_records_allow(struct kb_session *s, char *const *command, const char *hash)
{
    kb_io_allow(s->io, s->bench_dir, command, hash);
}

void kb_records_seeds(struct kb_session *s, const char *text)
{
    ask(s, kb_io_seeds(s->io, text), NULL);
}

void kb_records_create(struct kb_session *s, const char *path, const char *text, bool numbered)
{
    kb_io_create(s->io, path, text, numbered);
}

// errors.txt

struct messages {
    struct kb_history_message *items;
    char **owned;
    int count, capacity, owned_count, owned_capacity;
};

static char *keep(struct messages *m, char *text)
{
    KB_GROW(m->owned, m->owned_count, m->owned_capacity);
    return m->owned[m->owned_count++] = text;
}

// A message of the same place is the same if its text is, or begins with the same kind (NULL: a compiler's).
static bool is_said(const struct messages *m, const struct kb_history_message *new, const char *kind)
{
    size_t n = kind ? strlen(kind) + 1 : SIZE_MAX;
    for (int i = 0; i < m->count; i++) {
        const struct kb_history_message *o = &m->items[i];
        if (o->line == new->line && o->column == new->column && !strcmp(o->file, new->file) &&
            !strcmp(o->severity, new->severity) && !strncmp(o->text, new->text, n))
            return true;
    }
    return false;
}

static void add_message(const struct kb_session *s, struct messages *m, const cJSON *item, const char *severity,
                        const char *kind, const char *text)
{
    const char *file = kb_json_text(item, "file", "");
    if (!*file)
        return;
    struct kb_history_message new = {keep(m, kb_path_join(s->bench_dir, file)), (int)kb_json_int(item, "line", 0),
                                     (int)kb_json_int(item, "column", 0), severity, text};
    if (is_said(m, &new, kind)) // several cases find the same, and so do variants of one source
        return;
    KB_GROW(m->items, m->count, m->capacity);
    m->items[m->count++] = new;
}

// Where the compiler found fault, and where the CPU device did.
static void add_messages(const struct kb_session *s, struct messages *m, const struct kb_build *b)
{
    const cJSON *item, *event;
    cJSON_ArrayForEach (item, b->errors)
        add_message(s, m, item, kb_json_text(item, "severity", "error"), NULL, kb_json_text(item, "text", ""));
    cJSON_ArrayForEach (event, b->results) {
        if (strcmp(kb_json_text(event, "type", ""), "findings"))
            continue;
        cJSON_ArrayForEach (item, kb_json_get(event, "findings")) {
            const char *kind = kb_json_text(item, "kind", "?");
            if (kb_json_get(item, "accepted"))
                continue;
            add_message(s, m, item, kb_json_bool(item, "fails", true) ? "error" : "warning", kind,
                        keep(m, kb_format("%s: %s", kind, kb_json_text(item, "text", ""))));
        }
    }
}

void kb_records_errors(struct kb_session *s)
{
    struct messages m = {0};
    if (!has_history(s))
        return;
    for (int i = 0; i < s->slot_count; i++)
        if (s->slots[i].current)
            add_messages(s, &m, s->slots[i].current);
    char *text = kb_history_errors_text(m.items, m.count);
    if (!s->errors_text || strcmp(s->errors_text, text)) {
        ask(s, kb_io_errors(s->io, text), NULL);
        free(s->errors_text);
        s->errors_text = kb_strdup(text);
    }
    for (int i = 0; i < m.owned_count; i++)
        free(m.owned[i]);
    free(m.owned);
    free(m.items);
    free(text);
}

// Answers

static void history_lost(struct kb_session *s, const struct kb_io_message *m)
{
    if (!m->repeated)
        kb_status_line(s, "warning", m->error.remedy, "the history is not written: %s%s%s", m->error.on,
                       m->error.on[0] ? ": " : "", m->error.what);
}

static void found(struct kb_session *s, struct kb_build *b, struct kb_io_message *m)
{
    struct kb_blobs blobs = {0};
    for (int i = 0; i < m->blob_count; i++) {
        bool ptx = !strcmp(m->blobs[i].name, "ptx");
        if (!strcmp(m->blobs[i].name, "samples")) {
            free(b->samples);
            b->samples = m->blobs[i].data;
            b->samples_stored = true;
        } else {
            *(ptx ? &blobs.ptx : &blobs.cubin) = m->blobs[i].data;
            *(ptx ? &blobs.ptx_size : &blobs.cubin_size) = m->blobs[i].size;
        }
        m->blobs[i].data = NULL;
    }
    const cJSON *results = kb_json_get(m->json, "results");
    bool usable = !m->failed && m->version > 0 && blobs.ptx_size && is_sealed(s, b->key, results, &blobs);
    if (!usable && blobs.ptx_size) {
        char *text =
            kb_format("the history's binary of v%d was not made here, or changed: it is compiled again", m->version);
        kb_emit_log(s, "session", b->name, text, 0);
        free(text);
    }
    kb_build_found(s, b, usable ? m->version : 0, results, &blobs);
    kb_blobs_free(&blobs);
}

static void claimed(struct kb_session *s, struct kb_build *b, const struct kb_io_message *m)
{
    if (m->failed || m->version <= 0) {
        history_lost(s, m);
        if (!b->dead)
            claim_here(s, b);
        return;
    }
    struct kb_slot *slot = b->dead ? NULL : kb_slot_of(s, b);
    b->stored = b->stored && !m->known; // a known version may lack what this build has
    if (slot && m->version > slot->last_number)
        slot->last_number = m->version;
    kb_build_claimed(s, b, m->version, m->git, m->known);
}

// What somebody wants to look at: the parts first, then that this was all.
static bool listing_loaded(struct kb_session *s, struct kb_io_message *m)
{
    bool failed = m->failed || m->version <= 0;
    for (int i = 0; !failed && i < m->blob_count; i++)
        if (!kb_listing_answered(s, m->token, false, NULL, m->blobs[i].name, &m->blobs[i].data, &m->blobs[i].size))
            return false;
    return kb_listing_answered(s, m->token, failed,
                               m->failed ? kb_error_line(&m->error) : "the history has no such version", NULL, NULL,
                               NULL);
}

static void take_message(struct kb_session *s, struct kb_io_message *m)
{
    struct kb_build *b = NULL;
    if (m->kind == KB_IO_WATCH) {
        kb_sources_event(s, &m->event);
        return;
    }
    if (m->kind == KB_IO_FOUND && listing_loaded(s, m))
        return;
    if (m->kind == KB_IO_READ) {
        kb_seeds_read(s, m->failed ? NULL : m->data);
        return;
    }
    if (m->kind == KB_IO_ASKED && m->token == s->reads_token) {
        kb_reads_answered(s, m->json);
        return;
    }
    if (m->kind == KB_IO_ALLOWED) {
        kb_permission_written(s, m->failed, &m->error);
        return;
    }
    if (m->kind == KB_IO_CREATED) {
        kb_export_written(s, m->failed ? NULL : m->data, &m->error);
        return;
    }
    if (!answered(s, m->token, &b) && m->kind != KB_IO_WRITTEN)
        return;
    if (m->kind == KB_IO_ASKED)
        kb_options_answered(s, b, m->failed ? &m->error : NULL, m->known, m->json);
    else if (m->kind == KB_IO_FOUND && b)
        found(s, b, m);
    else if (m->kind == KB_IO_CLAIMED && b)
        claimed(s, b, m);
    else if (m->failed)
        history_lost(s, m);
    kb_build_unref(b);
}

static void watch_the_disk(struct kb_session *s)
{
    char where[512] = "";
    bool stuck = kb_io_busy_ms(s->io, where, sizeof where) >= STUCK_MS;
    if (stuck == s->disk_stuck)
        return;
    cJSON *event = kb_event("disk");
    kb_json_set_text(event, "state", stuck ? "stuck" : "answers");
    kb_json_set_text(event, "path", stuck ? where : NULL);
    kb_emit(s, event);
    if (stuck)
        kb_status_line(s, "warning", "nothing is lost yet: it goes on when the disk answers", "a disk hangs: %s",
                       where);
    else
        kb_status_line(s, "info", NULL, "the disk answers again");
    s->disk_stuck = stuck;
}

void kb_records_step(struct kb_session *s)
{
    struct kb_io_message m;
    while (kb_io_next(s->io, &m)) {
        take_message(s, &m);
        kb_io_message_free(&m);
        s->again = true;
    }
    watch_the_disk(s);
}

int kb_records_wait_ms(const struct kb_session *s)
{
    return s->asked_count || s->disk_stuck ? 250 : 1000; // a disk that hangs wakes nobody
}

bool kb_records_pending(const struct kb_session *s)
{
    return s->asked_count && kb_io_busy_ms(s->io, NULL, 0) < GIVE_UP_MS;
}
