#include "tui/code_store.h"
#include "base/json.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 12, ANSWERS = 4 };
enum state { WISHED, ASKED, KNOWN, REFUSED };

struct entry {
    struct kb_code_request request; // its texts are owned
    char *variant, *against;
    enum state state;
    int id; // of a diff that was asked for
    char *text;
    size_t size;
    cJSON *diff;
    char *reason;
    unsigned used;
};
struct kb_code_store {
    struct entry entries[ENTRIES];
    unsigned clock, edition;
    cJSON *early[ANSWERS]; // diffs that came before their id was known
    int next_early;
};

struct kb_code_store *kb_code_store_new(void)
{
    return kb_alloc(sizeof(struct kb_code_store));
}

static void clear(struct entry *e)
{
    free(e->variant);
    free(e->against);
    free(e->text);
    free(e->reason);
    cJSON_Delete(e->diff);
    *e = (struct entry){0};
}

void kb_code_store_free(struct kb_code_store *s)
{
    if (!s)
        return;
    for (int i = 0; i < ENTRIES; i++)
        clear(&s->entries[i]);
    for (int i = 0; i < ANSWERS; i++)
        cJSON_Delete(s->early[i]);
    free(s);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool same(const struct entry *e, const struct kb_code_request *r)
{
    return e->variant && e->request.kind == r->kind && e->request.version == r->version &&
           same_text(e->variant, r->variant) && same_text(e->against, r->against) &&
           (!r->against || (e->request.against_version == r->against_version && e->request.raw == r->raw));
}

static struct entry *find(struct kb_code_store *s, const struct kb_code_request *r)
{
    struct entry *oldest = &s->entries[0];
    for (int i = 0; i < ENTRIES; i++) {
        struct entry *e = &s->entries[i];
        if (same(e, r))
            return e;
        if (!e->variant || (oldest->variant && e->used < oldest->used))
            oldest = e;
    }
    clear(oldest);
    s->edition++;
    oldest->request = *r;
    oldest->variant = kb_strdup(r->variant);
    oldest->against = r->against ? kb_strdup(r->against) : NULL;
    return oldest;
}

void kb_code_store_get(struct kb_code_store *s, const struct kb_code_request *r, struct kb_code_answer *out)
{
    struct entry *e = find(s, r);
    e->used = ++s->clock;
    *out = (struct kb_code_answer){e->text, e->size, e->diff, s->edition, e->reason};
    if (e->state == WISHED || e->state == ASKED)
        out->reason = r->against ? "being compared" : "on its way";
}

static enum kb_listing listing_of(enum kb_code_kind kind)
{
    return kind == KB_CODE_SASS     ? KB_LISTING_SASS
           : kind == KB_CODE_PTX    ? KB_LISTING_PTX
           : kind == KB_CODE_SOURCE ? KB_LISTING_SOURCE
                                    : KB_LISTING_SAMPLES;
}

static void take_diff(struct entry *e, const cJSON *event)
{
    const cJSON *document = kb_json_get(event, "document");
    const char *remedy = kb_json_text(event, "remedy", NULL);
    e->diff = cJSON_IsObject(document) ? cJSON_Duplicate(document, true) : NULL;
    e->state = e->diff ? KNOWN : REFUSED;
    if (!e->diff)
        e->reason = kb_format("%s%s%s", kb_json_text(event, "reason", "the comparison failed, without a reason"),
                              remedy ? "; " : "", remedy ? remedy : "");
}

static bool ask_diff(struct kb_code_store *s, struct entry *e, struct kb_session *session)
{
    const struct kb_diff_request request = {.a_variant = e->against,
                                            .a_version = e->request.against_version,
                                            .b_variant = e->variant,
                                            .b_version = e->request.version,
                                            .kind = listing_of(e->request.kind),
                                            .raw = e->request.raw};
    e->state = ASKED;
    e->id = kb_session_diff(session, &request);
    for (int i = 0; i < ANSWERS; i++)
        if (s->early[i] && kb_json_int(s->early[i], "id", 0) == e->id) {
            take_diff(e, s->early[i]);
            return true;
        }
    return false;
}

static bool ask_text(struct entry *e, struct kb_session *session)
{
    e->state = ASKED;
    const char *text = kb_session_listing(session, e->variant, e->request.version, listing_of(e->request.kind));
    if (!text)
        return e->state != ASKED; // refused, or there, meanwhile
    e->text = kb_strdup(text);
    e->size = strlen(text);
    e->state = KNOWN;
    return true;
}

bool kb_code_store_ask(struct kb_code_store *s, struct kb_session *session)
{
    bool came = false;
    for (int i = 0; i < ENTRIES; i++) {
        struct entry *e = &s->entries[i];
        if (!e->variant || e->state != WISHED)
            continue;
        s->edition++;
        came |= e->against ? ask_diff(s, e, session) : ask_text(e, session);
    }
    return came;
}

static void take_listing(struct kb_code_store *s, const cJSON *event)
{
    const char *variant = kb_json_text(event, "variant", ""), *kind = kb_json_text(event, "kind", "");
    for (int i = 0; i < ENTRIES; i++) {
        struct entry *e = &s->entries[i];
        if (e->against || e->state != ASKED || !same_text(e->variant, variant) ||
            e->request.version != kb_json_int(event, "version", 0) ||
            strcmp(kind, kb_listing_name(listing_of(e->request.kind))))
            continue;
        if (kb_json_bool(event, "ready", false)) {
            e->state = WISHED; // it is there now
            continue;
        }
        const char *remedy = kb_json_text(event, "remedy", NULL);
        e->state = REFUSED;
        e->reason = kb_format("%s%s%s", kb_json_text(event, "reason", "not known, without a reason"),
                              remedy ? "; " : "", remedy ? remedy : "");
    }
}

void kb_code_store_event(struct kb_code_store *s, const cJSON *event)
{
    const char *type = kb_json_text(event, "type", "");
    s->edition++;
    if (!strcmp(type, "listing"))
        take_listing(s, event);
    if (strcmp(type, "diff"))
        return;
    int id = (int)kb_json_int(event, "id", 0);
    for (int i = 0; i < ENTRIES; i++) {
        struct entry *e = &s->entries[i];
        if (e->variant && e->against && e->state == ASKED && e->id == id) {
            take_diff(e, event);
            return;
        }
    }
    cJSON **slot = &s->early[s->next_early++ % ANSWERS];
    cJSON_Delete(*slot);
    *slot = cJSON_Duplicate(event, true);
}

void kb_code_store_retry(struct kb_code_store *s)
{
    for (int i = 0; i < ENTRIES; i++)
        if (s->entries[i].variant && s->entries[i].state == REFUSED)
            clear(&s->entries[i]);
    s->edition++;
}
