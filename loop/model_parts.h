// The inside of the model, shared by its files. Nobody else includes this.
#ifndef KB_LOOP_MODEL_PARTS_H
#define KB_LOOP_MODEL_PARTS_H
#include "event/event.h"
#include "loop/model.h"

// A slot of the model takes the body of an event, or forgets what it has. TYPE: of event/table.def.
#define KB_KEEP(slot, event)                                                                                           \
    do {                                                                                                               \
        kb_record_delete(kb_event_record((event)->type), slot);                                                        \
        (slot) = (event)->body;                                                                                        \
        (event)->body = NULL;                                                                                          \
    } while (0)
#define KB_FORGET(slot, TYPE)                                                                                          \
    do {                                                                                                               \
        kb_record_delete(&kb_record_##TYPE, slot);                                                                     \
        (slot) = NULL;                                                                                                 \
    } while (0)

void kb_model_text(char **slot, const char *); // a copy of a text, or NULL, into a slot

// model_version.c
void kb_version_apply(struct kb_model *, struct kb_model_version *, struct kb_event *); // one that is about a version
void kb_version_clear(struct kb_model_version *, int cases);                            // its results
void kb_version_forget(struct kb_model_version *, int cases);                           // all that the history holds
void kb_version_free(struct kb_model_version *, int cases);                             // what it holds, not itself
void kb_version_free_case(struct kb_model_case *);                                      // likewise

// Takes a `facts` event into what is kept of its case: launches of one run are added up.
void kb_model_add_facts(struct kb_ev_facts **kept, struct kb_event *);

#endif
