// What a session tells: events (event/table.def) as structs. Texts belong to their record; kb_record_free frees all.
#ifndef KB_EVENT_EVENT_H
#define KB_EVENT_EVENT_H
#include "event/record.h"

#include <stdbool.h>
#include <stdint.h>

#define RECORD(r, about) struct kb_ev_##r;
#include "event/table.def"

#define RECORD(r, about) struct kb_ev_##r {
#define END(r)                                                                                                         \
    }                                                                                                                  \
    ;
#define TEXT(r, f, about) char *f;
#define VALUE(r, f, about) char *f;
#define NUM(r, f, about) double f;
#define MEAS(r, f, about)                                                                                              \
    double f;                                                                                                          \
    char *f##_reason;
#define WHY(r, f) char *f##_reason;
#define INT(r, f, otherwise, about) int64_t f;
#define FLAG(r, f, about) bool f;
#define TRI(r, f, about) enum kb_tri f;
#define REC(r, f, sub, about) struct kb_ev_##sub *f;
#define LIST(r, f, sub, about)                                                                                         \
    struct kb_ev_##sub *f;                                                                                             \
    int f##_count;
#define TEXTS(r, f, about)                                                                                             \
    char **f;                                                                                                          \
    int f##_count;
#define NUMS(r, f, about)                                                                                              \
    double *f;                                                                                                         \
    int f##_count;
#define NAMED(r, f, about)                                                                                             \
    struct kb_named *f;                                                                                                \
    int f##_count;
#include "event/table.def"

#define RECORD(r, about) extern const struct kb_record kb_record_##r;
#include "event/table.def"
// One of which nothing is known, for who reads fields of what may be NULL: (x ?: &kb_unknown_TYPE)->field.
#define RECORD(r, about) extern const struct kb_ev_##r kb_unknown_##r;
#include "event/table.def"
// A record within another, either of which may be NULL: never NULL.
#define KB_WITHIN(record, field, sub) ((record) && (record)->field ? (record)->field : &kb_unknown_##sub)
// A measured field and its reason, as arguments.
#define KB_MEASURED(record, field) (record)->field, (record)->field##_reason

enum kb_event_type {
#define EVENT(r, about) KB_EVENT_##r,
#include "event/table.def"
    KB_EVENT_TYPES
};

struct kb_event {
    enum kb_event_type type;
    bool again;    // `bench` of a session, `done` of a verdict: the second name of the same fields
    int64_t t_ms;  // since the session began
    char *variant; // NULL: of none
    int version;   // 0: of none, or not final
    void *body;    // struct kb_ev_TYPE
};
const struct kb_record *kb_event_record(enum kb_event_type);
const char *kb_event_name(enum kb_event_type, bool again);
// -1: no event that this table knows. What is missing or has another type is unknown, what is more is ignored.
int kb_event_read(const cJSON *, struct kb_event *);
int64_t kb_event_case(const struct kb_event *); // which case it is about; -1: of none
cJSON *kb_event_write(const struct kb_event *); // owned
void kb_event_free(struct kb_event *);

struct kb_events {
    struct kb_event *items;
    int count;
};
void kb_events_read(const cJSON *array, struct kb_events *); // those that this table knows
void kb_events_free(struct kb_events *);

#endif
