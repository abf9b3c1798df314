#include "tui/code_read.h"
#include "base/memory.h"

#include <stdlib.h>

void kb_code_read_free(struct kb_code_read *r)
{
    free(r->text);
    kb_sass_free(r->listing);
    kb_samples_free(r->samples);
    cJSON_Delete(r->diff);
    free(r->reason);
    *r = (struct kb_code_read){0};
}

void kb_code_parse(struct kb_code_read *r)
{
    struct kb_error e = {0};
    if (r->form == KB_FORM_LISTING) {
        if (kb_sass_parse(r->text, r->size, &r->listing, &e))
            r->reason = kb_strdup(kb_error_line(&e));
    } else {
        cJSON *json = cJSON_ParseWithLength(r->text, r->size);
        if (r->form == KB_FORM_SAMPLES) {
            r->samples = kb_samples_make(json);
            cJSON_Delete(json);
            r->reason = r->samples ? NULL : kb_strdup("there are no samples by instruction");
        } else if (cJSON_IsObject(json)) {
            r->diff = json;
        } else {
            cJSON_Delete(json);
            r->reason = kb_strdup("the comparison could not be read");
        }
    }
    free(r->text);
    r->text = NULL;
    r->size = 0;
}
