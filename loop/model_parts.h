// The inside of the model, shared by its files. Nobody else includes this.
#ifndef KB_LOOP_MODEL_PARTS_H
#define KB_LOOP_MODEL_PARTS_H
#include "event/event.h"

#include <cjson/cJSON.h>

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

// Takes a `facts` event into what is kept of its case: launches of one run are added up.
void kb_model_add_facts(struct kb_ev_facts **kept, struct kb_event *);

#endif
