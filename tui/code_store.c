#include "tui/code_store.h"
#include "base/memory.h"
#include "tui/code_read.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 12, ANSWERS = 4 };
enum state {
    WISHED,
    ASKED,   // of the session
    ARRIVED, // a diff: to be fetched
    READING,
    KNOWN,
    REFUSED
};

struct entry {
    struct kb_code_request request; // its texts are owned
    char *variant, *against;
    enum state state;
    int id;          // of a diff that was asked for
    unsigned serial; // of its contents
    char *text;      // as it is; NULL: it has to be read
    size_t size;
    struct kb_code_read read;
    char *reason;
    unsigned used;
};
struct kb_code_store {
    struct entry entries[ENTRIES];
    struct kb_background *background;
    unsigned clock, serial;
    struct kb_ev_diff *early[ANSWERS]; // diffs that came before their id was known
    int next_early;
};

struct kb_code_store *kb_code_store_new(struct kb_background *background)
{
    struct kb_code_store *s = kb_alloc(sizeof *s);
    s->background = background;
    return s;
}

static void clear(struct entry *e)
{
    free(e->variant);
    free(e->against);
    free(e->text);
    free(e->reason);
    kb_code_read_free(&e->read);
    *e = (struct entry){0};
}

void kb_code_store_free(struct kb_code_store *s)
{
    if (!s)
        return;
    for (int i = 0; i < ENTRIES; i++)
        clear(&s->entries[i]);
    for (int i = 0; i < ANSWERS; i++)
        kb_record_delete(&kb_record_diff, s->early[i]);
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
    oldest->request = *r;
    oldest->variant = kb_strdup(r->variant);
    oldest->against = r->against ? kb_strdup(r->against) : NULL;
    return oldest;
}

void kb_code_store_get(struct kb_code_store *s, const struct kb_code_request *r, struct kb_code_answer *out)
{
    struct entry *e = find(s, r);
    e->used = ++s->clock;
    *out =
        (struct kb_code_answer){e->text, e->size, e->read.listing, e->read.samples, e->read.diff, e->serial, e->reason};
    if (e->state == WISHED || e->state == ASKED)
        out->reason = r->against ? "being compared" : "on its way";
    else if (e->state == ARRIVED || e->state == READING)
        out->reason = "being read";
}

static enum kb_listing listing_of(enum kb_code_kind kind)
{
    return kind == KB_CODE_SASS     ? KB_LISTING_SASS
           : kind == KB_CODE_PTX    ? KB_LISTING_PTX
           : kind == KB_CODE_SOURCE ? KB_LISTING_SOURCE
                                    : KB_LISTING_SAMPLES;
}

struct reading {
    struct kb_job job;
    struct kb_code_store *asker;
    unsigned serial; // of the entry that waits for it
    struct kb_code_read read;
};

static void run(struct kb_job *job)
{
    kb_code_parse(&((struct reading *)job)->read);
}

static void drop(struct kb_job *job)
{
    kb_code_read_free(&((struct reading *)job)->read);
    free(job);
}

static void finish(struct kb_job *job)
{
    struct reading *r = (struct reading *)job;
    for (int i = 0; i < ENTRIES; i++) {
        struct entry *e = &r->asker->entries[i];
        if (e->state != READING || e->serial != r->serial)
            continue;
        e->state = r->read.reason ? REFUSED : KNOWN;
        e->reason = r->read.reason;
        r->read.reason = NULL;
        e->read = r->read;
        r->read = (struct kb_code_read){0};
    }
    drop(job);
}

// Has it read in the background. Takes text.
static void read_it(struct kb_code_store *s, struct entry *e, enum kb_code_form form, char *text, size_t size)
{
    struct reading *r = kb_alloc(sizeof *r);
    *r = (struct reading){.job = {.run = run, .finish = finish, .drop = drop},
                          .asker = s,
                          .serial = e->serial = ++s->serial,
                          .read = {.form = form, .text = text, .size = size}};
    e->state = READING;
    kb_background_ask(s->background, &r->job);
}

static void refuse(struct entry *e, const char *reason)
{
    e->state = REFUSED;
    e->reason = kb_strdup(reason);
}

static void take_diff(struct entry *e, const struct kb_ev_diff *diff)
{
    e->state = ARRIVED;
    if (!diff->ready)
        refuse(e, diff->reason ?: "the comparison failed, without a reason");
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
        if (s->early[i] && s->early[i]->id == e->id) {
            take_diff(e, s->early[i]);
            return true;
        }
    return false;
}

static bool ask_text(struct kb_code_store *s, struct entry *e, struct kb_session *session)
{
    e->state = ASKED;
    const char *text = kb_session_listing(session, e->variant, e->request.version, listing_of(e->request.kind));
    if (!text)
        return e->state != ASKED; // refused, or there, meanwhile
    size_t size = strlen(text);
    if (e->request.kind == KB_CODE_SASS || e->request.kind == KB_CODE_SAMPLES) {
        read_it(s, e, e->request.kind == KB_CODE_SASS ? KB_FORM_LISTING : KB_FORM_SAMPLES, kb_strndup(text, size),
                size);
        return false;
    }
    e->text = kb_strndup(text, size);
    e->size = size;
    e->serial = ++s->serial;
    e->state = KNOWN;
    return true;
}

bool kb_code_store_ask(struct kb_code_store *s, struct kb_session *session)
{
    bool came = false;
    for (int i = 0; i < ENTRIES; i++) {
        struct entry *e = &s->entries[i];
        size_t size;
        if (e->variant && e->state == WISHED)
            came |= e->against ? ask_diff(s, e, session) : ask_text(s, e, session);
        if (e->state != ARRIVED)
            continue;
        char *text = kb_session_take_diff(session, e->id, &size);
        if (text)
            read_it(s, e, KB_FORM_DIFF, text, size);
        else
            e->state = WISHED; // others came so fast that it was dropped
    }
    return came;
}

static void take_listing(struct kb_code_store *s, const struct kb_event *event)
{
    const struct kb_ev_listing *listing = event->body;
    for (int i = 0; i < ENTRIES; i++) {
        struct entry *e = &s->entries[i];
        if (e->against || e->state != ASKED || !same_text(e->variant, event->variant ?: "") ||
            e->request.version != event->version ||
            strcmp(listing->kind ?: "", kb_listing_name(listing_of(e->request.kind))))
            continue;
        if (listing->ready)
            e->state = WISHED; // it is there now
        else
            refuse(e, listing->reason ?: "not known, without a reason");
    }
}

// It was sampled again: what is shown is not the last word.
static void forget_samples(struct kb_code_store *s, const struct kb_event *event)
{
    for (int i = 0; i < ENTRIES; i++) {
        struct entry *e = &s->entries[i];
        if (e->request.kind == KB_CODE_SAMPLES && same_text(e->variant, event->variant ?: "") &&
            e->request.version == event->version)
            clear(e);
    }
}

static void diff_came(struct kb_code_store *s, const struct kb_ev_diff *diff)
{
    for (int i = 0; i < ENTRIES; i++) {
        struct entry *e = &s->entries[i];
        if (e->variant && e->against && e->state == ASKED && e->id == diff->id) {
            take_diff(e, diff);
            return;
        }
    }
    struct kb_ev_diff **slot = &s->early[s->next_early++ % ANSWERS];
    kb_record_delete(&kb_record_diff, *slot);
    *slot = kb_record_dup(&kb_record_diff, diff);
}

void kb_code_store_event(struct kb_code_store *s, const struct kb_event *e)
{
    if (e->type == KB_EVENT_listing)
        take_listing(s, e);
    else if (e->type == KB_EVENT_sections)
        forget_samples(s, e);
    else if (e->type == KB_EVENT_diff)
        diff_came(s, e->body);
}

void kb_code_store_retry(struct kb_code_store *s)
{
    for (int i = 0; i < ENTRIES; i++)
        if (s->entries[i].variant && s->entries[i].state == REFUSED)
            clear(&s->entries[i]);
}
