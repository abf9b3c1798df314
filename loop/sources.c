// The bench and its files: what is watched, what a change of each means, and which content asks for a build.
#include "base/file.h"
#include "base/json_exact.h"
#include "bench/permission.h"
#include "loop/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BENCH_FILE_LIMIT = 8 << 20 };

void kb_shared_unref(struct kb_shared *shared)
{
    if (!shared || --shared->refs)
        return;
    kb_snapshot_free(&shared->snapshot);
    free(shared);
}

// Which bench

static bool lists_source(const struct kb_bench *b, const char *path, const char **variant)
{
    for (int i = 0; i < b->variant_count; i++) {
        if (!b->variants[i].source)
            continue;
        char *source = kb_path_join(b->dir, b->variants[i].source), *clean = kb_path_clean(source);
        bool same = !strcmp(clean, path);
        free(source);
        free(clean);
        if (same) {
            *variant = b->variants[i].name;
            return true;
        }
    }
    return false;
}

// The bench beside the source, by one of the names that it may have, if it lists the file: 1; 0: it is none; -1: it is
// one that cannot be read.
static int open_beside(struct kb_session *s, const char *dir, const char *name, struct kb_error *e)
{
    char *beside = kb_path_join(dir, name);
    const char *variant = NULL;
    int status = !kb_is_file(beside) ? 0 : kb_bench_load(beside, &s->bench, e) ? -1 : 1;
    free(beside);
    if (status == 1 && !lists_source(s->bench, s->bench_path, &variant)) {
        kb_bench_free(s->bench);
        s->bench = NULL;
        status = 0;
    }
    if (status == 1 && !s->focus)
        s->focus = kb_strdup(variant);
    return status;
}

// A source: the bench beside it if that lists the file, else one made from its kernel. Who names a kernel wants that.
static int open_source(struct kb_session *s, struct kb_error *e)
{
    const char *base = kb_path_base(s->bench_path);
    char *dir = kb_path_dir(s->bench_path), *own = kb_format("%.*s.bench.json", (int)strcspn(base, "."), base);
    int found = s->wanted_kernel ? 0 : open_beside(s, dir, "bench.json", e);
    if (!found && !s->wanted_kernel)
        found = open_beside(s, dir, own, e);
    free(own);
    free(dir);
    return found ? found > 0 ? 0 : -1 : kb_guess_open(s, e);
}

static int check_name(const struct kb_session *s, const char *option, const char *name, struct kb_error *e)
{
    if (!name || kb_bench_find_variant(s->bench, name) >= 0)
        return 0;
    const char **names = kb_alloc(sizeof *names * (size_t)(s->bench->variant_count + 1));
    for (int i = 0; i < s->bench->variant_count; i++)
        names[i] = s->bench->variants[i].name;
    const char *near = kb_nearest(name, names, (size_t)s->bench->variant_count);
    char *remedy = near ? kb_format("did you mean \"%s\"?", near) : NULL;
    free(names);
    kb_fail(e, s->bench->path, remedy, "%s: no variant is called \"%s\"", option, name);
    free(remedy);
    return -1;
}

// Files

// program: whose source it is; NULL: a file without headers.
static struct kb_session_file *watch_file(struct kb_session *s, const char *name, const struct kb_variant *program)
{
    char *joined = kb_path_join(s->bench_dir, name), *path = kb_path_clean(joined);
    struct kb_reach_words reach = {0};
    if (program)
        kb_reach_of(s, program, &reach);
    free(joined);
    for (int i = 0; i < s->watched_count; i++) {
        struct kb_session_file *known = s->watched[i];
        if (strcmp(known->path, path) || known->plain != !program || !kb_reach_same(&known->reach, &reach))
            continue;
        known->wanted = true;
        free(path);
        kb_reach_free(&reach);
        return known;
    }
    struct kb_session_file *w = kb_alloc(sizeof *w);
    *w = (struct kb_session_file){.path = path, .plain = !program, .reach = reach, .watch = -1, .wanted = true};
    KB_GROW(s->watched, s->watched_count, s->watched_capacity);
    s->watched[s->watched_count++] = w;
    if (s->io)
        kb_records_watch(s, w);
    return w;
}

static void watch_data(struct kb_session *s)
{
    const struct kb_bench *b = s->bench;
    if (b->reference.kind == KB_REFERENCE_FILE && b->reference.file)
        watch_file(s, b->reference.file, NULL)->data = true;
    for (int i = 0; b->reference.kind == KB_REFERENCE_COMMAND && s->read_names && s->read_names[i]; i++)
        watch_file(s, s->read_names[i], NULL)->read = true;
    for (int k = 0; k < b->variant_count; k++)
        for (char *const *word = b->variants[k].command; word && *word; word++)
            if (kb_permission_names_file(*word))
                watch_file(s, *word, NULL)->script = true;
    for (int i = 0; i < b->arg_count; i++)
        if (b->args[i].fill.kind == KB_FILL_FILE)
            watch_file(s, b->args[i].fill.file, NULL)->data = true;
    for (int c = 0; c < b->case_count; c++)
        for (int i = 0; b->cases[c].fills && i < b->arg_count; i++)
            if (b->cases[c].fills[i].kind == KB_FILL_FILE)
                watch_file(s, b->cases[c].fills[i].file, NULL)->data = true;
}

static void free_watched(struct kb_session_file *w)
{
    kb_shared_unref(w->latest);
    kb_reach_free(&w->reach);
    free(w->path);
    free(w);
}

static void drop_watched(struct kb_session *s, int i)
{
    struct kb_session_file *w = s->watched[i];
    if (s->io)
        kb_records_unwatch(s, w);
    free_watched(w);
    s->watched[i] = s->watched[--s->watched_count];
}

void kb_sources_watch(struct kb_session *s)
{
    const struct kb_bench *b = s->bench;
    for (int i = 0; i < s->watched_count; i++)
        s->watched[i]->wanted = s->watched[i]->data = s->watched[i]->script = s->watched[i]->read = false;
    const struct kb_variant *first = &b->variants[kb_focus_index(s) < 0 ? 0 : kb_focus_index(s)];
    if (first->kind == KB_VARIANT_CUDA && first->source)
        watch_file(s, first->source, first); // read first, built first
    s->bench_file = b->path[0] ? watch_file(s, b->path, NULL) : NULL;
    const struct kb_variant *reference = &b->reference.program;
    s->reference = b->reference.kind == KB_REFERENCE_KERNEL ? watch_file(s, reference->source, reference) : NULL;
    for (int i = 0; i < s->slot_count; i++) {
        const struct kb_variant *v = &b->variants[i];
        s->slots[i].source = v->kind == KB_VARIANT_CUDA && v->source ? watch_file(s, v->source, v) : NULL;
    }
    watch_data(s);
    for (int i = 0; i < s->watched_count;)
        if (s->watched[i]->wanted)
            i++;
        else
            drop_watched(s, i);
}

char **kb_include_dirs(const struct kb_session *s, int *count)
{
    int n = 0;
    char **dirs = kb_alloc(sizeof *dirs * (size_t)(s->bench->include_dir_count + s->options.include_dir_count + 1));
    for (int i = 0; i < s->options.include_dir_count; i++)
        dirs[n++] = kb_strdup(s->include_dirs[i]);
    for (int i = 0; i < s->bench->include_dir_count; i++) {
        char *joined = kb_path_join(s->bench_dir, s->bench->include_dirs[i]);
        dirs[n++] = kb_path_clean(joined);
        free(joined);
    }
    *count = n;
    return dirs;
}

// The reference is read here once, so that the first event can already name the contract.
static void read_reference(struct kb_session *s)
{
    if (!s->reference)
        return;
    struct kb_reach reach = kb_reach_view(&s->reference->reach);
    struct kb_shared *shared = kb_alloc(sizeof *shared);
    shared->refs = 1;
    if (kb_snapshot_take(s->reference->path, &reach, &shared->snapshot, NULL) == 0)
        s->reference->latest = shared;
    else
        free(shared);
}

static void name_slots(struct kb_session *s)
{
    s->slot_count = s->bench->variant_count;
    s->slots = kb_alloc(sizeof *s->slots * (size_t)(s->slot_count + 1));
    for (int i = 0; i < s->slot_count; i++)
        s->slots[i].name = kb_strdup(s->bench->variants[i].name);
}

int kb_sources_open(struct kb_session *s, struct kb_error *e)
{
    int status = kb_source_path(s->bench_path) ? open_source(s, e) : kb_bench_load(s->bench_path, &s->bench, e);
    if (status || check_name(s, "--variant", s->focus, e) || check_name(s, "--baseline", s->options.baseline, e))
        return -1;
    if (!s->bench->variant_count)
        return kb_fail(e, s->bench->path, "add one: {\"name\": ..., \"source\": ..., \"kernel\": ..., \"launch\": ...}",
                       "the bench has no variants");
    s->bench_dir = kb_path_clean(s->bench->dir);
    if (!s->focus)
        s->focus = kb_strdup(s->bench->variants[0].name);
    name_slots(s);
    kb_reads_open(s);
    kb_sources_watch(s);
    read_reference(s);
    kb_contract_compute(s);
    s->programs[KB_PROGRAM_BUILTIN].wanted = true;
    return 0;
}

void kb_slot_free(struct kb_slot *slot)
{
    kb_build_unref(slot->current);
    kb_build_unref(slot->good);
    kb_build_unref(slot->previous);
    for (int i = 0; i < slot->known_count; i++)
        kb_build_unref(slot->known[i]);
    free(slot->known);
    free(slot->name);
}

void kb_sources_free(struct kb_session *s)
{
    for (int i = 0; i < s->slot_count; i++)
        kb_slot_free(&s->slots[i]);
    free(s->slots);
    kb_build_unref(s->pin);
    for (int i = 0; i < KB_PROGRAMS; i++) {
        kb_blobs_free(&s->programs[i].blobs);
        cJSON_Delete(s->programs[i].compiled);
        free(s->programs[i].reason);
    }
    for (int i = 0; i < s->watched_count; i++)
        free_watched(s->watched[i]);
    free(s->watched);
    kb_bench_free(s->bench);
}

int kb_focus_index(const struct kb_session *s)
{
    return s->focus ? kb_bench_find_variant(s->bench, s->focus) : -1;
}

cJSON *kb_bench_document(const struct kb_session *s)
{
    return cJSON_Duplicate(s->bench->json, true);
}

// bench.json was saved

static void move_builds(struct kb_slot *from, struct kb_slot *to, int index)
{
    *to = *from;
    *from = (struct kb_slot){0};
    struct kb_build *own[] = {to->current, to->good, to->previous};
    for (size_t i = 0; i < KB_COUNT(own); i++)
        if (own[i])
            own[i]->variant = index;
    for (int i = 0; i < to->known_count; i++)
        to->known[i]->variant = index;
}

// Whoever still holds one of them finds no slot by it any more.
static void orphan_builds(struct kb_slot *slot)
{
    struct kb_build *own[] = {slot->current, slot->good, slot->previous};
    for (int i = 0; i < (int)KB_COUNT(own) + slot->known_count; i++) {
        struct kb_build *b = i < (int)KB_COUNT(own) ? own[i] : slot->known[i - (int)KB_COUNT(own)];
        if (b) {
            b->dead = true;
            b->variant = -1;
        }
    }
}

static void swap_slots(struct kb_session *s, struct kb_bench *next)
{
    struct kb_slot *old = s->slots;
    int old_count = s->slot_count;
    for (int i = 0; i < old_count; i++)
        if (kb_bench_find_variant(next, old[i].name) < 0 && old[i].current) {
            kb_ended_slot(s, &old[i]);
            kb_build_supersede(s, old[i].current);
        }
    struct kb_slot *slots = kb_alloc(sizeof *slots * (size_t)(next->variant_count + 1));
    for (int i = 0; i < next->variant_count; i++) {
        for (int k = 0; k < old_count; k++)
            if (old[k].name && !strcmp(old[k].name, next->variants[i].name))
                move_builds(&old[k], &slots[i], i);
        if (!slots[i].name)
            slots[i].name = kb_strdup(next->variants[i].name);
    }
    for (int i = 0; i < old_count; i++) {
        orphan_builds(&old[i]);
        kb_slot_free(&old[i]);
    }
    free(old);
    s->slots = slots;
    s->slot_count = next->variant_count;
}

static void refuse_bench(struct kb_session *s, const struct kb_error *error)
{
    cJSON *event = kb_event("bench"), *item = cJSON_CreateObject();
    char *text = kb_cleaned(kb_error_line(error));
    kb_json_set_text(item, "text", text);
    kb_json_set(event, "error", item);
    kb_emit(s, event);
    free(text);
}

void kb_sources_accept(struct kb_session *s, struct kb_bench *next)
{
    const char *wanted = s->pin ? s->pin->name : s->pin_variant >= 0 ? s->slots[s->pin_variant].name : NULL;
    int pin_index = wanted ? kb_bench_find_variant(next, wanted) : -1;
    swap_slots(s, next);
    if (s->pin && pin_index < 0)
        kb_pin(s, NULL);
    else if (s->pin)
        s->pin->variant = pin_index;
    s->pin_variant = pin_index;
    kb_bench_free(s->bench);
    s->bench = next;
    if (kb_focus_index(s) < 0) {
        free(s->focus);
        s->focus = kb_strdup(next->variants[0].name);
    }
    kb_sources_watch(s);
    kb_reads_ask(s);
    kb_contract_compute(s);
    kb_sources_announce(s);
    kb_consider_all(s);
}

static void bench_changed(struct kb_session *s, const struct kb_snapshot *snapshot)
{
    struct kb_error error = {0};
    struct kb_bench *next = NULL;
    const struct kb_snapshot_file *file = &snapshot->files[0];
    if (kb_bench_parse(file->data, file->size, s->bench->path, &next, &error) == 0 && !next->variant_count) {
        kb_fail(&error, s->bench->path, NULL, "the bench has no variants");
        kb_bench_free(next);
        next = NULL;
    }
    if (!next) {
        s->bench_refused = true;
        refuse_bench(s, &error);
        return;
    }
    if (!s->bench_refused && kb_json_same(next->json, s->bench->json)) {
        kb_bench_free(next);
        return;
    }
    s->bench_refused = false;
    kb_sources_accept(s, next);
}

// A file changed

static void file_event(struct kb_session *s, const struct kb_session_file *w, const char *state, const char *reason)
{
    for (int i = 0; i < s->slot_count; i++) {
        if (s->slots[i].source != w)
            continue;
        cJSON *event = kb_event("file");
        kb_json_set_text(event, "variant", s->slots[i].name);
        kb_json_set_text(event, "state", state);
        char *path = kb_path_relative(s->bench_dir, w->path), *clean = kb_cleaned(path);
        kb_json_set_text(event, "path", clean);
        kb_json_set_text(event, "reason", reason);
        kb_emit(s, event);
        free(path);
        free(clean);
    }
}

void kb_sources_decided(struct kb_session *s)
{
    if (!kb_contract_compute(s))
        return;
    kb_sources_announce(s);
    kb_consider_all(s);
}

static void tell_opaque(struct kb_session *s, struct kb_session_file *w)
{
    const char *opaque = w->latest->snapshot.opaque;
    if (opaque && !w->opaque_told)
        kb_status_line(s, "warning", "name the header itself",
                       "%s: which file this means cannot be made out, so its changes are not seen", opaque);
    w->opaque_told = opaque != NULL;
}

static void changed(struct kb_session *s, struct kb_session_file *w, struct kb_watch_event *event)
{
    struct kb_shared *shared = kb_alloc(sizeof *shared);
    shared->refs = 1;
    shared->snapshot = event->snapshot;
    event->snapshot = (struct kb_snapshot){0};
    kb_shared_unref(w->latest);
    w->latest = shared;
    w->settled = !shared->snapshot.saved_us; // the first reading was caused by no save
    tell_opaque(s, w);
    if (w->missing)
        file_event(s, w, "back", NULL);
    w->missing = false;
    bool script = w->script, read = w->read, guessed = s->inferred && w == s->slots[0].source;
    shared->refs++; // accepting a bench may drop this file
    if (w == s->bench_file)
        bench_changed(s, &shared->snapshot);
    else if (w == s->reference || w->data)
        kb_sources_decided(s);
    if (guessed && shared->snapshot.saved_us)
        kb_guess_again(s, &shared->snapshot);
    if (read && shared->snapshot.saved_us)
        kb_reads_ask(s);
    if (script && shared->snapshot.saved_us)
        kb_report_again(s);
    for (int i = 0; i < s->slot_count; i++)
        if (s->slots[i].source && s->slots[i].source->latest == shared)
            kb_consider_slot(s, i);
    kb_shared_unref(shared);
}

static void lost(struct kb_session *s, struct kb_session_file *w, const char *state, const char *reason)
{
    w->missing = true;
    file_event(s, w, state, reason);
    if (w == s->bench_file)
        kb_status_line(s, "warning", NULL, "%s: %s; the bench stays as it was", kb_path_base(w->path), reason);
    else if (w == s->reference)
        kb_status_line(s, "warning", "put it back", "the reference %s: %s", kb_path_base(w->path), reason);
}

static void settled(struct kb_session *s, struct kb_session_file *w)
{
    w->settled = true;
    for (int i = 0; i < s->slot_count; i++)
        if (s->slots[i].source == w && s->slots[i].current)
            kb_build_settle(s, s->slots[i].current);
}

static void mode_event(struct kb_session *s, const struct kb_watch_event *event)
{
    cJSON *out = kb_event("watch");
    kb_json_set_text(out, "mode", event->polling ? "polling" : "inotify");
    kb_json_set_text(out, "reason", event->error.what[0] ? event->error.what : NULL);
    kb_json_set_text(out, "path", event->error.on[0] ? event->error.on : NULL);
    kb_json_set_text(out, "remedy", event->error.remedy[0] ? event->error.remedy : NULL);
    kb_emit(s, out);
}

void kb_sources_event(struct kb_session *s, struct kb_watch_event *event)
{
    if (event->kind == KB_WATCH_MODE) {
        mode_event(s, event);
        return;
    }
    struct kb_session_file *w = NULL;
    for (int i = 0; i < s->watched_count; i++)
        if (s->watched[i]->watch == event->source)
            w = s->watched[i];
    if (!w)
        return;
    if (event->kind == KB_WATCH_CHANGED)
        changed(s, w, event);
    else if (event->kind == KB_WATCH_SAME)
        file_event(s, w, "unchanged", NULL);
    else if (event->kind == KB_WATCH_MISSING)
        lost(s, w, "missing", "the file is gone");
    else if (event->kind == KB_WATCH_UNREADABLE)
        lost(s, w, "unreadable", event->error.what);
    else if (event->kind == KB_WATCH_SETTLED)
        settled(s, w);
    else if (event->kind == KB_WATCH_MOUNTED)
        kb_status_line(s, "warning", event->error.remedy, "%s %s", kb_path_base(event->error.on), event->error.what);
}

// Which content asks for a build

static struct kb_build *find_known(const struct kb_slot *slot, const char *key)
{
    for (int i = slot->known_count - 1; i >= 0; i--)
        if (!strcmp(slot->known[i]->key, key))
            return slot->known[i];
    return NULL;
}

static bool ready_for_keys(const struct kb_session *s)
{
    return s->compiler_absent || (s->compile_libs && s->arch[0]);
}

static void same_content(struct kb_session *s, struct kb_slot *slot, struct kb_build *b)
{
    struct kb_build *current = slot->current;
    bool noticed = current->source != b->source;
    kb_shared_unref(current->source);
    current->source = b->source;
    current->source->refs++;
    if (strcmp(current->contract, s->contract))
        kb_build_rerun(s, current, KB_RUNG_CHECK);
    else if (noticed)
        file_event(s, slot->source, "unchanged", NULL);
    kb_build_settle(s, current);
}

void kb_consider_slot(struct kb_session *s, int index)
{
    struct kb_slot *slot = &s->slots[index];
    slot->wants_build = true;
    if (!kb_is_wanted(s, slot) || !slot->source || !slot->source->latest || s->paused || !ready_for_keys(s))
        return;
    slot->wants_build = false;
    struct kb_build *b = kb_build_new(s, index), *known = find_known(slot, b->key);
    if (slot->current && !slot->current->dead && !strcmp(slot->current->key, b->key)) {
        same_content(s, slot, b);
        kb_build_unref(b);
        return;
    }
    if (slot->current && !slot->current->finished)
        kb_build_supersede(s, slot->current);
    if (known) {
        kb_build_unref(b);
        kb_build_return(s, index, known);
    } else {
        kb_build_start(s, index, b);
    }
}

void kb_consider_waiting(struct kb_session *s)
{
    for (int i = 0; i < s->slot_count; i++)
        if (s->slots[i].wants_build)
            kb_consider_slot(s, i);
}

void kb_consider_all(struct kb_session *s)
{
    for (int i = 0; i < s->slot_count; i++)
        kb_consider_slot(s, i);
}
