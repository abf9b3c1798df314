// The dominant limit of a version and what to try, told from its events alone (docs/protocol.md, docs/advice.md).
// Pure: no clock, no disk, no device. Nothing is said without evidence; an unknown limit says what is missing.
#ifndef KB_LOOP_ADVICE_H
#define KB_LOOP_ADVICE_H
#include "base/text.h"
#include "event/event.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

enum kb_limit {
    KB_LIMIT_UNKNOWN,
    KB_LIMIT_MEMORY,     // the bandwidth of DRAM, L2 or local memory
    KB_LIMIT_LATENCY,    // waiting for single results: too little in flight
    KB_LIMIT_ARITHMETIC, // an arithmetic pipe, or lanes of it that idle
    KB_LIMIT_SHARED,     // shared memory and what shares its queue
    KB_LIMIT_LAUNCH,     // launch or tail: the grid doesn't fill the GPU, or the launch costs more than the kernel
    KB_LIMIT_SCHEDULER,  // issue slots
    KB_LIMIT_BARRIER,
    KB_LIMIT_FETCH, // instructions arrive too slowly
    KB_LIMITS
};
enum kb_evidence { // where a number comes from
    KB_EVIDENCE_TIMED = 1,
    KB_EVIDENCE_SAMPLED = 2,  // PC samples
    KB_EVIDENCE_HARDWARE = 4, // hardware counters
    KB_EVIDENCE_COUNTED = 8,  // by the CPU device: exact, but of PTX, and without any time
    KB_EVIDENCE_COMPILED = 16 // resources, launch limits, SASS
};
enum kb_confidence {
    KB_CONFIDENCE_NONE,  // the limit is unknown
    KB_CONFIDENCE_WEAK,  // counted or compiled only: the cause is there, what it costs isn't known
    KB_CONFIDENCE_FAIR,  // one kind of measurement
    KB_CONFIDENCE_STRONG // two kinds of measurement agree
};

// Events (event/table.def), borrowed; NULL where there is none. Of counters and facts there may be several
// (stages, launches); a later known metric wins, counts are added up.
enum { KB_ADVICE_COUNTERS = 4, KB_ADVICE_FACTS = 8 };
struct kb_advice_input {
    const struct kb_ev_counters *counters[KB_ADVICE_COUNTERS];
    const struct kb_ev_facts *facts[KB_ADVICE_FACTS]; // of the headline case
    int counters_count, facts_count;
    const struct kb_ev_sections *sections;
    const struct kb_ev_resources *resources;
    const struct kb_ev_sass *sass;
    const struct kb_ev_timing *timing;
    const struct kb_ev_device *device;
    const struct kb_ev_bench *bench;       // its arguments' types; NULL: unknown
    const char *source;                    // text of the main source, for the place of a double; NULL: unknown
    const char *no_sections, *no_counters; // why there are none, if it was said
    struct kb_events gathered;             // by kb_advice_gather: what the others borrow from
};
enum { KB_ADVICE_STEPS = 2, KB_ADVICE_LIST = 8, KB_ADVICE_NUMBERS = 5 };
struct kb_advice_number {
    const char *name; // static; a share of 1 unless it ends in a unit or counts something
    double value;
};
struct kb_advice_step { // owned texts
    const char *rule;   // static: its name in the table
    char *text;
    char *file;        // NULL without a line
    int line;          // 0: none
    char *instruction; // "LDG", NULL: none
};
struct kb_advice_item {
    const char *rule; // static
    enum kb_limit limit;
    unsigned kinds; // of enum kb_evidence, or-ed
    double score;   // how much of the time it explains, roughly; only the order matters
    char *text;     // owned
    struct kb_advice_number numbers[KB_ADVICE_NUMBERS]; // that the text rests on
    int number_count;
};
struct kb_advice {
    enum kb_limit limit;
    enum kb_confidence confidence;
    struct kb_advice_item list[KB_ADVICE_LIST]; // the evidence, weightiest first; [0] decided the limit
    int list_count;
    struct kb_advice_step steps[KB_ADVICE_STEPS];
    int step_count;
    char *missing; // what would tell more, and why it is not there; NULL: nothing
};

void kb_advice_make(const struct kb_advice_input *, struct kb_advice *out);
void kb_advice_free(struct kb_advice *);
// Sorts the events of one version (the record's results.events, or what a session kept) into an input. device,
// bench and source are the caller's to add.
void kb_advice_gather(const cJSON *events, int headline, struct kb_advice_input *out);
void kb_advice_input_free(struct kb_advice_input *);

// What a step says, for who shows `file:line` before it: without "line 14 " at its begin. Part of text.
const char *kb_step_words(const char *text, int line);
// A counter's metric, of the last event that knows it; NAN where it is unknown.
double kb_metric(const struct kb_advice_input *, const char *name);
// What a counter is; never NULL.
const struct kb_ev_counter *kb_about_counter(const struct kb_ev_counters *, const char *name);
bool kb_is_counted(const char *source); // of sections or counters: by the CPU device, not measured by hardware
const char *kb_limit_name(enum kb_limit);
const char *kb_confidence_name(enum kb_confidence);
void kb_evidence_names(unsigned kinds, struct kb_text *out); // "timed, hardware counters"
// {limit, confidence, evidence:[{rule, limit, score, text, numbers{}, sources[]}], steps:[{rule, text, file, line,
// instruction}], missing}; owned by the caller.
cJSON *kb_advice_json(const struct kb_advice *);

#endif
