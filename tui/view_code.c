// The pane of machine code over a session: what is asked of it, and what is shown meanwhile. Drawing a listing or a
// diff is view_sass.c's work.
#include "base/memory.h"
#include "tui/evidence.h"
#include "tui/view.h"

#include <stdlib.h>
#include <string.h>

struct subject {
    struct kb_code_request request;
    struct kb_code_answer answer;
    char *name_a, *name_b;
    const struct kb_samples *samples; // of the instructions; NULL: none
    const char *nothing;              // why there is nothing to compare with
};

static const struct kb_model_version *version_before(const struct kb_app *a, const struct kb_model_version *v)
{
    const struct kb_model_variant *variant = &a->model->variants[a->variant];
    const struct kb_model_version *before = NULL;
    for (int i = 0; i < variant->version_count; i++) {
        const struct kb_model_version *other = &variant->versions[i];
        bool built = other->number > 0 && !other->superseded && other->rungs[KB_RUNG_COMPILE].status != KB_STATUS_FAIL;
        if (built && other->number < v->number && (!before || other->number > before->number))
            before = other;
    }
    return before;
}

static const char *against_previous(const struct kb_app *a, const struct kb_model_version *v, struct kb_code_request *r)
{
    const struct kb_model_version *before = version_before(a, v);
    if (!before)
        return "there is no version before this one that was compiled";
    r->against = r->variant;
    r->against_version = before->number;
    return NULL;
}

static const char *against_pinned(const struct kb_app *a, struct kb_code_request *r)
{
    const struct kb_model *m = a->model;
    if (!m->pin_variant || m->pin_version < 1)
        return "no baseline is pinned: b pins the version shown";
    if (!strcmp(m->pin_variant, r->variant) && m->pin_version == r->version)
        return "this is the pinned baseline itself";
    r->against = m->pin_variant;
    r->against_version = m->pin_version;
    return NULL;
}

static const char *against_variant(const struct kb_app *a, struct kb_code_request *r)
{
    const struct kb_model *m = a->model;
    for (int k = 1; k < m->variant_count; k++) {
        int i = (a->variant + k) % m->variant_count;
        const struct kb_model_version *good = kb_last_good(m, i);
        if (!good)
            continue;
        r->against = m->variants[i].name;
        r->against_version = good->number;
        return NULL;
    }
    return "no other variant has a good version";
}

static const char *ask_against(const struct kb_app *a, const struct kb_model_version *v, struct kb_code_request *r)
{
    switch (a->against) {
    case KB_AGAINST_PREVIOUS:
        return against_previous(a, v, r);
    case KB_AGAINST_PINNED:
        return against_pinned(a, r);
    case KB_AGAINST_VARIANT:
        return against_variant(a, r);
    default:
        return NULL;
    }
}

static void subject_of(const struct kb_app *a, struct subject *s)
{
    const struct kb_model_version *v = kb_app_version(a);
    *s = (struct subject){.request = {.kind = a->code_kind, .raw = a->sass.raw}};
    if (!v || a->variant >= a->model->variant_count || v->number < 1) {
        s->answer.reason = "nothing was compiled yet";
        return;
    }
    s->request.variant = a->model->variants[a->variant].name;
    s->request.version = v->number;
    s->nothing = ask_against(a, v, &s->request);
    s->name_b = kb_format("%s v%d", s->request.variant, v->number);
    if (s->request.against)
        s->name_a = kb_format("%s v%d", s->request.against, s->request.against_version);
    s->answer.reason = s->nothing;
    if (!s->nothing && a->driver.code)
        a->driver.code(a->driver.context, &s->request, &s->answer);
    else if (!s->nothing)
        s->answer.reason = "code is not part of a recording: it is shown in a living session";
}

static void subject_free(struct subject *s)
{
    free(s->name_a);
    free(s->name_b);
}

// Only versions that were sampled have any.
static void read_samples(const struct kb_app *a, struct subject *s)
{
    const struct kb_model_version *v = kb_app_version(a);
    struct kb_code_request request = {
        .kind = KB_CODE_SAMPLES, .variant = s->request.variant, .version = s->request.version};
    struct kb_code_answer answer = {0};
    if (!v || !v->sections || kb_is_counted(v->sections->source) || !a->driver.code)
        return;
    a->driver.code(a->driver.context, &request, &answer);
    s->samples = answer.samples;
}

static const char *line_of_source(void *context, const char *file, int line)
{
    const struct kb_app *a = context;
    return a->driver.source_line ? a->driver.source_line(a->driver.context, file + (*file == '/'), line) : NULL;
}

static unsigned mixed(unsigned hash, const char *text, int number)
{
    for (; text && *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return (hash ^ (unsigned)number) * 16777619u;
}

static unsigned edition_of(const struct subject *s)
{
    const struct kb_code_request *r = &s->request;
    unsigned hash = mixed(2166136261u, r->variant, r->version);
    hash = mixed(hash, r->against, r->against_version);
    hash = mixed(hash, s->answer.reason, (int)s->answer.edition);
    return mixed(hash, "", (int)r->kind * 2 + r->raw);
}

// What view_sass.c needs; points into the subject and the app.
static struct kb_sass_view_input input_of(struct kb_app *a, const struct subject *s)
{
    struct kb_sass_view_input in = {.name_a = s->name_a, .name_b = s->name_b, .context = a};
    in.source_line = line_of_source;
    in.samples = s->samples;
    if (a->against) {
        in.diff = s->answer.diff;
        in.raw_diff = s->request.raw ? s->answer.diff : NULL;
        in.diff_reason = s->answer.reason;
    } else {
        in.listing_reason = s->answer.reason;
        in.listing = s->answer.listing;
    }
    in.edition = edition_of(s);
    return in;
}

// PTX or source as it is: only the lines in sight are looked at.
static void draw_text(struct kb_app *a, const struct kb_canvas *c, const struct kb_code_answer *answer)
{
    const char *at = answer->text, *end = at ? at + answer->size : NULL;
    int lines = 0;
    for (const char *p = at; p && p < end; lines++) {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : end;
    }
    a->sass.rows = lines;
    a->sass.page = c->area.h;
    kb_sass_view_scroll(&a->sass, 0);
    for (int n = 0; at && at < end && n < a->sass.top + c->area.h; n++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        if (n >= a->sass.top) {
            size_t size = (size_t)(stop - at) < 1000 ? (size_t)(stop - at) : 1000;
            char *row = kb_format("%.*s", (int)size, at);
            kb_put_cut(c, 0, n - a->sass.top, c->area.w, KB_STYLE_SOURCE, row);
            free(row);
        }
        at = stop + 1;
    }
}

static bool as_text(const struct kb_app *a)
{
    return a->code_kind != KB_CODE_SASS && !a->against;
}

// What is known of a version's machine code without its listing.
static void add_summary(const struct kb_app *a, int width, struct kb_lines *out)
{
    const struct kb_model_version *v = kb_app_version(a);
    const struct kb_ev_sass *sass = v && v->sass ? v->sass : &kb_unknown_sass;
    for (int i = 0; i < sass->kernels_count; i++) {
        const struct kb_ev_sass_kernel *kernel = &sass->kernels[i];
        struct kb_line line = {.ascii = a->ascii};
        kb_lines_add(out);
        kb_span(&line, KB_STYLE_TITLE, kernel->name ?: "?");
        kb_spanf(&line, KB_STYLE_DIM, "  %.0f instructions", kernel->instructions);
        if (kernel->live_registers_peak > 0)
            kb_spanf(&line, KB_STYLE_DIM, ", at most %.0f registers live", kernel->live_registers_peak);
        for (int k = 0; k < kernel->by_class_count; k++)
            kb_spanf(&line, KB_STYLE_TEXT, "  %s %.0f", kernel->by_class[k].name, kernel->by_class[k].value);
        kb_lines_wrap(out, &line, width, 2, 0);
        kb_line_free(&line);
    }
}

// In full length: why there is nothing to see.
static void draw_reason(struct kb_app *a, const struct kb_canvas *c, const char *reason)
{
    struct kb_lines lines = {.ascii = a->ascii};
    kb_lines_text(&lines, KB_STYLE_DIM, c->area.w, 0, reason);
    if (a->code_kind == KB_CODE_SASS && !a->against)
        add_summary(a, c->area.w, &lines);
    for (int y = 0; y < lines.count; y++)
        kb_line_draw(c, 0, y, c->area.w, &lines.items[y]);
    kb_lines_free(&lines);
    a->sass.rows = a->sass.page = a->sass.top = 0;
}

static void draw(struct kb_app *a, const struct kb_canvas *c)
{
    struct subject s;
    subject_of(a, &s);
    if (a->code_kind == KB_CODE_SASS && !a->against && s.answer.listing)
        read_samples(a, &s);
    a->sass.mode = a->against ? KB_SASS_DIFF : KB_SASS_LISTING;
    if (!s.answer.text && !s.answer.listing && !s.answer.diff) {
        draw_reason(a, c, s.answer.reason ? s.answer.reason : "not at hand yet");
    } else if (as_text(a)) {
        draw_text(a, c, &s.answer);
    } else {
        struct kb_sass_view_input in = input_of(a, &s);
        kb_sass_view_draw(&in, &a->sass, c);
    }
    a->code_width = c->area.w;
    a->lines[KB_PANE_SASS] = a->sass.rows;
    a->page[KB_PANE_SASS] = a->sass.page;
    a->top[KB_PANE_SASS] = a->sass.top;
    subject_free(&s);
}

static void move(struct kb_app *a, int by)
{
    kb_sass_view_scroll(&a->sass, by);
}

void kb_code_jump(struct kb_app *a, int by)
{
    struct subject s;
    subject_of(a, &s);
    if (!as_text(a)) {
        struct kb_sass_view_input in = input_of(a, &s);
        kb_sass_view_jump(&in, &a->sass, a->code_width, by);
    }
    subject_free(&s);
}

static void note(const struct kb_app *a, struct kb_text *out)
{
    struct subject s;
    subject_of(a, &s);
    kb_text_addf(out, "%s: ", kb_code_kind_name(a->code_kind));
    if (a->against && s.name_a)
        kb_text_addf(out, "%s against %s%s", s.name_b, s.name_a, a->sass.raw ? ", as written" : "");
    else if (s.name_b)
        kb_text_addf(out, "%s", s.name_b);
    if (s.answer.listing && s.answer.listing->arch[0])
        kb_text_addf(out, " %s", s.answer.listing->arch);
    subject_free(&s);
}

const struct kb_view kb_view_code = {"sass", 0, NULL, draw, note, NULL, move};
