#include "loop/advice.h"
#include "base/json.h"
#include "base/memory.h"
#include "loop/advice_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FOUND = 32 };

struct found {
    const struct kb_rule *rule;
    double score;
    struct kb_finding finding;
};

static int by_score(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->rule < y->rule ? -1 : x->rule > y->rule;
}

static int find(const struct kb_figures *f, struct found *out)
{
    int n = 0;
    for (int i = 0; i < kb_rule_count && n < MOST_FOUND; i++) {
        double score = kb_rules[i].test(f);
        if (!(score > 0))
            continue;
        out[n] = (struct found){.rule = &kb_rules[i], .score = score};
        kb_rules[i].build(f, &out[n++].finding);
    }
    qsort(out, (size_t)n, sizeof *out, by_score);
    return n;
}

static int kinds_in(unsigned kinds)
{
    return __builtin_popcount(kinds & (KB_EVIDENCE_TIMED | KB_EVIDENCE_SAMPLED | KB_EVIDENCE_HARDWARE));
}

static void take_evidence(struct kb_advice *out, struct found *found, int n)
{
    unsigned kinds = 0;
    for (int i = 0; i < n; i++) {
        struct found *one = &found[i];
        if (one->rule->limit == out->limit)
            kinds |= one->finding.kinds;
        if (out->list_count == KB_ADVICE_LIST) {
            free(one->finding.evidence);
            continue;
        }
        struct kb_advice_item *item = &out->list[out->list_count++];
        *item = (struct kb_advice_item){
            one->rule->name, one->rule->limit,         one->finding.kinds, one->score, one->finding.evidence,
            {{0}},           one->finding.number_count};
        memcpy(item->numbers, one->finding.numbers, sizeof item->numbers);
    }
    int measured = kinds_in(kinds);
    out->confidence = measured >= 2 ? KB_CONFIDENCE_STRONG : measured == 1 ? KB_CONFIDENCE_FAIR : KB_CONFIDENCE_WEAK;
}

static void take_steps(struct kb_advice *out, struct found *found, int n)
{
    for (int i = 0; i < n; i++) {
        struct kb_finding *from = &found[i].finding;
        if (!from->step || out->step_count == KB_ADVICE_STEPS) {
            free(from->step);
            continue;
        }
        out->steps[out->step_count++] = (struct kb_advice_step){.rule = found[i].rule->name,
                                                                .text = from->step,
                                                                .file = from->line ? kb_strdup(from->file) : NULL,
                                                                .line = from->line,
                                                                .instruction = kb_strdup(from->instruction)};
    }
}

static void lacks(struct kb_text *out, const char *what, const char *why)
{
    kb_text_addf(out, "%s%s", out->size ? "; " : "", what);
    if (why)
        kb_text_addf(out, " (%s)", why);
}

static char *missing(const struct kb_figures *f)
{
    const struct kb_advice_input *in = f->in;
    struct kb_text out = {0};
    if (isnan(f->time_us)) {
        const char *why = in->timing ? in->timing->cold_reason : NULL;
        bool impossible = KB_WITHIN(in->timing, roofline, roofline)->impossible;
        lacks(&out, "a measured time", impossible ? "the one there is impossible" : why);
    }
    if (!(f->samples > 0))
        lacks(&out, "PC samples", in->no_sections);
    if (!in->counters_count)
        lacks(&out, "hardware counters", in->no_counters);
    if (!in->resources)
        lacks(&out, "resources of the compiled kernel", NULL);
    return out.size ? kb_text_take(&out) : NULL;
}

void kb_advice_make(const struct kb_advice_input *in, struct kb_advice *out)
{
    struct kb_figures figures;
    struct found found[MOST_FOUND];
    *out = (struct kb_advice){.limit = KB_LIMIT_UNKNOWN, .confidence = KB_CONFIDENCE_NONE};
    kb_figures_make(in, &figures);
    out->missing = missing(&figures);
    int n = find(&figures, found);
    if (!n)
        return;
    out->limit = found[0].rule->limit;
    take_evidence(out, found, n);
    take_steps(out, found, n);
}

void kb_advice_free(struct kb_advice *a)
{
    for (int i = 0; i < a->list_count; i++)
        free(a->list[i].text);
    for (int i = 0; i < a->step_count; i++) {
        free(a->steps[i].text);
        free(a->steps[i].file);
        free(a->steps[i].instruction);
    }
    free(a->missing);
    *a = (struct kb_advice){0};
}

// A stage that was measured again replaces what it measured before.
static void add_counters(struct kb_advice_input *in, const struct kb_ev_counters *event)
{
    for (int i = 0; i < in->counters_count; i++) {
        if (!strcmp(in->counters[i]->stage ?: "", event->stage ?: "")) {
            in->counters[i] = event;
            return;
        }
    }
    if (in->counters_count < KB_ADVICE_COUNTERS)
        in->counters[in->counters_count++] = event;
}

static void add_facts(struct kb_advice_input *in, const struct kb_ev_facts *event)
{
    for (int i = 0; i < in->facts_count; i++) {
        if (in->facts[i]->launch == event->launch) {
            in->facts[i] = event;
            return;
        }
    }
    if (in->facts_count < KB_ADVICE_FACTS)
        in->facts[in->facts_count++] = event;
}

static void add_rung(struct kb_advice_input *in, const struct kb_ev_rung *r)
{
    const char *reason = strcmp(r->status ?: "", "pass") ? r->reason : NULL;
    if (!strcmp(r->rung ?: "", "sections"))
        in->no_sections = reason;
    else if (!strcmp(r->rung ?: "", "counters"))
        in->no_counters = reason;
}

static void add_event(struct kb_advice_input *in, const struct kb_event *e, int headline)
{
    const struct kb_ev_timing *timing = e->body;
    const struct kb_ev_facts *facts = e->body;
    if (e->type == KB_EVENT_counters)
        add_counters(in, e->body);
    else if (e->type == KB_EVENT_sections)
        in->sections = e->body;
    else if (e->type == KB_EVENT_resources)
        in->resources = e->body;
    else if (e->type == KB_EVENT_sass)
        in->sass = e->body;
    else if (e->type == KB_EVENT_rung)
        add_rung(in, e->body);
    else if (e->type == KB_EVENT_timing && (timing->index == headline || timing->index < 0))
        in->timing = timing;
    else if (e->type == KB_EVENT_facts && (facts->index == headline || facts->index < 0))
        add_facts(in, facts);
}

void kb_advice_gather(const cJSON *events, int headline, struct kb_advice_input *out)
{
    *out = (struct kb_advice_input){0};
    kb_events_read(events, &out->gathered);
    for (int i = 0; i < out->gathered.count; i++)
        add_event(out, &out->gathered.items[i], headline);
}

void kb_advice_input_free(struct kb_advice_input *in)
{
    kb_events_free(&in->gathered);
    *in = (struct kb_advice_input){0};
}

const char *kb_limit_name(enum kb_limit limit)
{
    static const char *const names[KB_LIMITS] = {
        [KB_LIMIT_UNKNOWN] = "unknown",         [KB_LIMIT_MEMORY] = "memory",
        [KB_LIMIT_LATENCY] = "latency",         [KB_LIMIT_ARITHMETIC] = "arithmetic",
        [KB_LIMIT_SHARED] = "shared memory",    [KB_LIMIT_LAUNCH] = "launch or tail",
        [KB_LIMIT_SCHEDULER] = "scheduler",     [KB_LIMIT_BARRIER] = "barrier",
        [KB_LIMIT_FETCH] = "instruction fetch",
    };
    return names[limit];
}

const char *kb_confidence_name(enum kb_confidence confidence)
{
    static const char *const names[] = {"none", "weak", "fair", "strong"};
    return names[confidence];
}

static const struct {
    enum kb_evidence kind;
    const char *name;
} kind_names[] = {{KB_EVIDENCE_TIMED, "timed"},
                  {KB_EVIDENCE_SAMPLED, "PC samples"},
                  {KB_EVIDENCE_HARDWARE, "hardware counters"},
                  {KB_EVIDENCE_COUNTED, "counted on the CPU"},
                  {KB_EVIDENCE_COMPILED, "compiled code"}};

void kb_evidence_names(unsigned kinds, struct kb_text *out)
{
    const char *separator = "";
    for (size_t i = 0; i < KB_COUNT(kind_names); i++) {
        if (!(kinds & kind_names[i].kind))
            continue;
        kb_text_addf(out, "%s%s", separator, kind_names[i].name);
        separator = ", ";
    }
}

static cJSON *item_json(const struct kb_advice_item *item)
{
    cJSON *o = cJSON_CreateObject(), *sources = cJSON_CreateArray();
    kb_json_set_text(o, "rule", item->rule);
    kb_json_set_text(o, "limit", kb_limit_name(item->limit));
    kb_json_set_number(o, "score", item->score);
    kb_json_set_text(o, "text", item->text);
    cJSON *numbers = cJSON_AddObjectToObject(o, "numbers");
    for (int i = 0; i < item->number_count; i++)
        kb_json_set_number(numbers, item->numbers[i].name, item->numbers[i].value);
    for (size_t i = 0; i < KB_COUNT(kind_names); i++)
        if (item->kinds & kind_names[i].kind)
            cJSON_AddItemToArray(sources, cJSON_CreateString(kind_names[i].name));
    kb_json_set(o, "sources", sources);
    return o;
}

static cJSON *step_json(const struct kb_advice_step *step)
{
    cJSON *o = cJSON_CreateObject();
    kb_json_set_text(o, "rule", step->rule);
    kb_json_set_text(o, "text", step->text);
    kb_json_set_text(o, "file", step->file);
    if (!step->file)
        kb_json_set_text(o, "file_reason", "no one line");
    kb_json_measured(o, "line", step->line ? step->line : NAN, step->line ? NULL : "no one line");
    kb_json_set_text(o, "instruction", step->instruction);
    return o;
}

cJSON *kb_advice_json(const struct kb_advice *a)
{
    cJSON *o = cJSON_CreateObject(), *list = cJSON_CreateArray(), *steps = cJSON_CreateArray();
    kb_json_set_text(o, "limit", kb_limit_name(a->limit));
    kb_json_set_text(o, "confidence", kb_confidence_name(a->confidence));
    for (int i = 0; i < a->list_count; i++)
        cJSON_AddItemToArray(list, item_json(&a->list[i]));
    for (int i = 0; i < a->step_count; i++)
        cJSON_AddItemToArray(steps, step_json(&a->steps[i]));
    kb_json_set(o, "evidence", list);
    kb_json_set(o, "steps", steps);
    kb_json_set_text(o, "missing", a->missing);
    return o;
}
