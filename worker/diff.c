// The request `diff`: two cubins, listings or texts in, one document out.
#include "worker/frames.h"
#include "worker/sass.h"
#include "worker/sass_listing.h"

#include "base/json.h"
#include "base/memory.h"
#include "jit/sass_samples.h"

#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 60000, CONTEXT = 3 };

struct side {
    const char *name;
    const char *data; // cubin or text
    size_t size;
    bool text;
    const char *samples_json;
    size_t samples_size;
    cJSON *samples_document; // what the samples' names point into
    struct kb_sass_sample *samples;
    int sample_count;
    struct kb_sass_made made;
};

static int take(const struct kb_frame *f, size_t *at, int64_t bytes, const char **data, size_t *size,
                struct kb_error *e)
{
    if (bytes < 0 || (uint64_t)bytes > f->blob_size - *at)
        return kb_fail(e, NULL, NULL, "the request's parts do not fit its %zu bytes", f->blob_size);
    *data = f->blob ? f->blob + *at : "";
    *size = (size_t)bytes;
    *at += (size_t)bytes;
    return 0;
}

// In the blob: what is compared, then its samples; a, then b.
static int cut_side(const struct kb_frame *f, struct side *s, size_t *at, struct kb_error *e)
{
    const cJSON *item = kb_json_get(f->head, s->name);
    int64_t cubin = kb_json_int(item, "cubin_bytes", -1), text = kb_json_int(item, "text_bytes", -1);
    if ((cubin < 0) == (text < 0))
        return kb_fail(e, s->name, NULL, "needs one of cubin_bytes and text_bytes");
    s->text = text >= 0;
    if (take(f, at, s->text ? text : cubin, &s->data, &s->size, e))
        return -1;
    return take(f, at, kb_json_int(item, "samples_bytes", 0), &s->samples_json, &s->samples_size, e);
}

static void read_samples(struct side *s)
{
    s->samples_document = s->samples_size ? cJSON_ParseWithLength(s->samples_json, s->samples_size) : NULL;
    s->sample_count = kb_sass_samples_read(s->samples_document, &s->samples);
}

static int list(struct side *s, int timeout_ms, struct kb_error *e)
{
    int status =
        s->text ? kb_sass_take(s->data, s->size, &s->made, e) : kb_sass_make(s->data, s->size, timeout_ms, &s->made, e);
    if (!status && s->made.unreadable)
        status = kb_fail(e, s->name, NULL, "%s", s->made.unreadable);
    return status;
}

// Of listings that are not whole nobody can say that they are the same.
static void doubt(cJSON *object, const struct side *a, const struct side *b)
{
    static const char *const keys[] = {"identical", "real_change"};
    const char *why = a->made.incomplete ? a->made.incomplete : b->made.incomplete;
    kb_worker_set_clean(object, "incomplete", why, 1000);
    for (size_t i = 0; why && i < KB_COUNT(keys); i++) {
        bool claim = kb_json_bool(object, keys[i], false) == (i == 0);
        if (!claim)
            continue;
        char *key = kb_format("%s_reason", keys[i]);
        kb_json_set_text(object, keys[i], NULL);
        kb_json_set_text(object, key, "a listing is not whole");
        free(key);
    }
}

static void send_document(const struct kb_frame *f, cJSON *document, const struct side *a, const struct side *b)
{
    cJSON *head = kb_frame_head("diff", kb_frame_job(f)), *short_head = kb_diff_head(document);
    doubt(document, a, b);
    doubt(short_head, a, b);
    kb_json_set_text(head, "kind", kb_json_text(document, "kind", "sass"));
    kb_json_set_bool(head, "raw", kb_json_bool(document, "raw", false));
    for (cJSON *item; (item = short_head->child);) {
        cJSON_DetachItemViaPointer(short_head, item);
        char *key = kb_strdup(item->string);
        kb_json_set(head, key, item);
        free(key);
    }
    cJSON_Delete(short_head);
    char *text = kb_json_line(document);
    kb_worker_send(head, text, strlen(text));
    kb_worker_done(kb_frame_job(f), "pass", NULL, false);
    free(text);
}

static cJSON *compare(const struct kb_frame *f, struct side *a, struct side *b, struct kb_error *e)
{
    struct kb_sass_diff_options o = {.raw = kb_json_bool(f->head, "raw", false),
                                     .context = (int)kb_json_int(f->head, "context", CONTEXT)};
    o.context = o.context < 0 ? 0 : o.context > 1000 ? 1000 : o.context;
    if (!strcmp(kb_json_text(f->head, "kind", "sass"), "text"))
        return kb_text_diff(a->data, a->size, b->data, b->size, &o);
    int timeout_ms = (int)kb_json_int(f->head, "timeout_ms", TIMEOUT_MS);
    if (list(a, timeout_ms, e) || list(b, timeout_ms, e))
        return NULL;
    read_samples(a);
    read_samples(b);
    o.a = (struct kb_sass_samples){a->samples, a->sample_count};
    o.b = (struct kb_sass_samples){b->samples, b->sample_count};
    return kb_sass_diff(a->made.listing, b->made.listing, &o);
}

static void free_side(struct side *s)
{
    kb_sass_made_free(&s->made);
    cJSON_Delete(s->samples_document);
    free(s->samples);
}

void kb_diff_job(const struct kb_frame *f)
{
    struct side a = {.name = "a"}, b = {.name = "b"};
    struct kb_error e = {0};
    size_t at = 0;
    bool cut = cut_side(f, &a, &at, &e) == 0 && cut_side(f, &b, &at, &e) == 0;
    cJSON *document = cut ? compare(f, &a, &b, &e) : NULL;
    if (document)
        send_document(f, document, &a, &b);
    else
        kb_worker_done(kb_frame_job(f), a.made.absent || b.made.absent ? "na" : "fail", kb_error_line(&e), false);
    cJSON_Delete(document);
    free_side(&a);
    free_side(&b);
}
