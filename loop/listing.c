// Texts of any version for the screen: from memory, else from the history, else made by a worker.
#include "loop/parts.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"source", "ptx", "sass", "samples"};

const char *kb_listing_name(enum kb_listing kind)
{
    return names[kind];
}

// Memory

static struct kb_build *known(const struct kb_session *s, const char *variant, int version)
{
    int i = kb_bench_find_variant(s->bench, variant);
    struct kb_build *found = NULL;
    if (i < 0 || version <= 0)
        return NULL;
    if (s->slots[i].current && s->slots[i].current->version == version)
        return s->slots[i].current;
    for (int k = 0; k < s->slots[i].known_count; k++)
        if (s->slots[i].known[k]->version == version)
            found = s->slots[i].known[k];
    return found;
}

static const char *in_memory(const struct kb_session *s, const char *variant, int version, enum kb_listing kind,
                             size_t *size)
{
    const struct kb_build *b = known(s, variant, version);
    const char *text = NULL;
    *size = 0;
    if (b && kind == KB_LISTING_SOURCE) {
        text = b->source->snapshot.files[0].data;
        *size = b->source->snapshot.files[0].size;
    } else if (b && kind == KB_LISTING_PTX && b->blobs.ptx_size) {
        text = b->blobs.ptx;
        *size = b->blobs.ptx_size;
    } else if (b && kind == KB_LISTING_SASS && b->blobs.sass_size) {
        text = b->blobs.sass;
        *size = b->blobs.sass_size;
    } else if (b && kind == KB_LISTING_SAMPLES) {
        text = b->samples;
        *size = text ? strlen(text) : 0;
    }
    for (int i = 0; !text && i < KB_TEXTS_KEPT; i++) {
        const struct kb_text_kept *t = &s->texts[i];
        if (t->text && t->version == version && t->kind == (int)kind && !strcmp(t->variant, variant)) {
            text = t->text;
            *size = strlen(text);
        }
    }
    return text;
}

static void keep(struct kb_session *s, const char *variant, int version, enum kb_listing kind, const char *text,
                 size_t size)
{
    struct kb_text_kept *t = &s->texts[s->texts_next++ % KB_TEXTS_KEPT];
    free(t->variant);
    free(t->text);
    *t = (struct kb_text_kept){kb_strdup(variant), kb_strndup(text, size), version, (int)kind};
}

// Ends

static void free_reading(struct kb_session *s, struct kb_reading *r)
{
    for (struct kb_reading **at = &s->readings; *at; at = &(*at)->next)
        if (*at == r) {
            *at = r->next;
            break;
        }
    for (int i = 0; i < 2; i++) {
        struct kb_reading_side *side = &r->sides[i];
        char *texts[] = {side->variant, side->text, side->cubin, side->samples, side->reason};
        for (size_t k = 0; k < KB_COUNT(texts); k++)
            free(texts[k]);
    }
    free(r);
}

static cJSON *side_json(const struct kb_reading_side *side)
{
    cJSON *item = cJSON_CreateObject();
    kb_json_set_text(item, "variant", side->variant);
    kb_json_set_number(item, "version", side->version);
    return item;
}

static void end_listing(struct kb_session *s, struct kb_reading *r, const char *reason)
{
    cJSON *event = kb_event("listing");
    kb_json_set_text(event, "variant", r->sides[0].variant);
    kb_json_set_number(event, "version", r->sides[0].version);
    kb_json_set_text(event, "kind", names[r->kind]);
    kb_json_set_bool(event, "ready", !reason);
    kb_json_set_text(event, "reason", reason);
    free_reading(s, r);
    kb_emit_transient(s, event);
}

void kb_listing_compared(struct kb_session *s, struct kb_reading *r, char *document, size_t size, const char *reason)
{
    cJSON *event = kb_event("diff");
    kb_json_set_number(event, "id", r->id);
    kb_json_set(event, "a", side_json(&r->sides[0]));
    kb_json_set(event, "b", side_json(&r->sides[1]));
    kb_json_set_text(event, "kind", names[r->kind]);
    kb_json_set_bool(event, "raw", r->raw);
    kb_json_set_bool(event, "ready", document);
    kb_json_set_text(event, "reason", document ? NULL : reason);
    if (document) {
        struct kb_diff_kept *kept = &s->diffs[s->diffs_next++ % KB_DIFFS_KEPT];
        free(kept->text);
        *kept = (struct kb_diff_kept){document, size, r->id};
    }
    free_reading(s, r);
    kb_emit_transient(s, event);
}

void kb_listing_listed(struct kb_session *s, struct kb_reading *r, const char *text, size_t size, const char *reason)
{
    if (text && size && !reason)
        keep(s, r->sides[0].variant, r->sides[0].version, KB_LISTING_SASS, text, size);
    end_listing(s, r, reason ? reason : text && size ? NULL : "the listing is empty");
}

// Gathering

static void fetch(struct kb_session *s, struct kb_reading *r, struct kb_reading_side *side)
{
    size_t size;
    const char *text = in_memory(s, side->variant, side->version, r->kind, &size);
    const struct kb_build *b = known(s, side->variant, side->version);
    if (text) {
        side->text = kb_strndup(text, size);
        side->text_size = size;
    } else if (b && r->kind == KB_LISTING_SASS && b->blobs.cubin_size) {
        side->cubin = kb_alloc(b->blobs.cubin_size + 1);
        memcpy(side->cubin, b->blobs.cubin, b->blobs.cubin_size);
        side->cubin_size = b->blobs.cubin_size;
    } else {
        side->token = kb_records_load(s, side->variant, side->version);
        if (!side->token)
            side->reason = kb_format("%s of %s v%d is not kept any more, and there is no history", names[r->kind],
                                     side->variant, side->version);
    }
}

// Everything that was asked for has been answered: what comes next?
static void gathered(struct kb_session *s, struct kb_reading *r)
{
    struct kb_reading_side *a = &r->sides[0], *b = &r->sides[1];
    if (a->token || b->token || r->state != KB_READING_GATHER)
        return;
    char *reason = kb_strdup(a->reason ? a->reason : b->reason);
    if (reason && r->diff) {
        kb_listing_compared(s, r, NULL, 0, reason);
    } else if (reason) {
        end_listing(s, r, reason);
    } else if (!r->diff && a->text) {
        keep(s, a->variant, a->version, r->kind, a->text, a->text_size);
        end_listing(s, r, NULL);
    } else {
        r->state = KB_READING_READY;
        for (int i = 0; r->diff && r->kind == KB_LISTING_SASS && i < 2; i++) {
            size_t size;
            const char *text = in_memory(s, r->sides[i].variant, r->sides[i].version, KB_LISTING_SAMPLES, &size);
            if (text && !r->sides[i].samples)
                r->sides[i].samples = kb_strndup(text, size);
        }
        s->again = true;
    }
    free(reason);
}

static struct kb_reading_side *side_of(struct kb_session *s, int64_t token, struct kb_reading **out)
{
    for (struct kb_reading *r = s->readings; r; r = r->next)
        for (int i = 0; i < 2; i++)
            if (r->sides[i].token == token) {
                *out = r;
                return &r->sides[i];
            }
    return NULL;
}

bool kb_listing_answered(struct kb_session *s, int64_t token, bool failed, const char *reason, const char *name,
                         char **data, size_t *size)
{
    struct kb_reading *r;
    struct kb_reading_side *side = token ? side_of(s, token, &r) : NULL;
    if (!side)
        return false;
    if (name && !strcmp(name, names[r->kind]) && !side->text) {
        side->text = *data;
        side->text_size = *size;
        *data = NULL;
    } else if (name && !strcmp(name, "samples") && r->diff && !side->samples) {
        side->samples = *data;
        *data = NULL;
    } else if (name && !strcmp(name, "cubin") && !side->cubin) {
        side->cubin = *data;
        side->cubin_size = *size;
        *data = NULL;
    }
    if (name)
        return true;
    side->token = 0; // the end of this answer
    if (failed)
        side->reason = kb_strdup(reason);
    else if (!side->text && (r->kind != KB_LISTING_SASS || !side->cubin_size))
        side->reason = kb_format("the history has no %s of %s v%d", names[r->kind], side->variant, side->version);
    gathered(s, r);
    return true;
}

struct kb_reading *kb_listing_next(struct kb_session *s)
{
    for (struct kb_reading *r = s->readings; r; r = r->next)
        if (r->state == KB_READING_READY)
            return r;
    return NULL;
}

// Whoever waits for the listing of this version has it now.
void kb_listing_made(struct kb_session *s, struct kb_build *b)
{
    for (struct kb_reading *r = s->readings, *following; r; r = following) {
        following = r->next;
        if (!r->diff && r->kind == KB_LISTING_SASS && r->state == KB_READING_READY && b->blobs.sass_size &&
            r->sides[0].version == b->version && !strcmp(r->sides[0].variant, b->name))
            end_listing(s, r, NULL);
    }
}

static struct kb_reading *add(struct kb_session *s, enum kb_listing kind)
{
    struct kb_reading *r = kb_alloc(sizeof *r), **at = &s->readings;
    r->kind = kind;
    r->id = ++s->last_reading;
    while (*at)
        at = &(*at)->next;
    return *at = r;
}

const char *kb_session_listing(struct kb_session *s, const char *variant, int version, enum kb_listing kind)
{
    size_t size;
    const char *text = in_memory(s, variant, version, kind, &size);
    if (text)
        return text;
    for (const struct kb_reading *r = s->readings; r; r = r->next)
        if (!r->diff && r->kind == kind && r->sides[0].version == version && !strcmp(r->sides[0].variant, variant))
            return NULL;
    struct kb_reading *r = add(s, kind);
    r->sides[0].variant = kb_strdup(variant);
    r->sides[0].version = version;
    fetch(s, r, &r->sides[0]);
    gathered(s, r);
    return NULL;
}

int kb_session_diff(struct kb_session *s, const struct kb_diff_request *request)
{
    struct kb_reading *r = add(s, request->kind);
    int id = r->id;
    r->diff = true;
    r->raw = request->raw;
    r->sides[0].variant = kb_strdup(request->a_variant);
    r->sides[0].version = request->a_version;
    r->sides[1].variant = kb_strdup(request->b_variant);
    r->sides[1].version = request->b_version;
    fetch(s, r, &r->sides[0]);
    fetch(s, r, &r->sides[1]);
    gathered(s, r);
    return id;
}

char *kb_session_take_diff(struct kb_session *s, int id, size_t *size)
{
    for (int i = 0; i < KB_DIFFS_KEPT; i++) {
        struct kb_diff_kept *kept = &s->diffs[i];
        if (!kept->text || kept->id != id)
            continue;
        char *text = kept->text;
        *size = kept->size;
        *kept = (struct kb_diff_kept){0};
        return text;
    }
    return NULL;
}

void kb_listing_free(struct kb_session *s)
{
    for (int i = 0; i < KB_DIFFS_KEPT; i++)
        free(s->diffs[i].text);
    while (s->readings)
        free_reading(s, s->readings);
    for (int i = 0; i < KB_TEXTS_KEPT; i++) {
        free(s->texts[i].variant);
        free(s->texts[i].text);
    }
}
