// The inside of the model, shared by its files. Nobody else includes this.
#ifndef KB_LOOP_MODEL_PARTS_H
#define KB_LOOP_MODEL_PARTS_H
#include <cjson/cJSON.h>

// Takes a `facts` event into what is kept of its case: launches of one run are added up.
void kb_model_add_facts(cJSON **kept, const cJSON *event);

#endif
