#include "tui/code.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void kb_code_cache_free(struct kb_code_cache *c)
{
    if (c->listing)
        kb_sass_free(c->listing);
    free(c->reason);
    free(c->variant);
    *c = (struct kb_code_cache){0};
}

const struct kb_sass_listing *kb_code_cache_listing(struct kb_code_cache *c, const struct kb_code_request *r,
                                                    const struct kb_code_answer *answer)
{
    if (c->variant && !strcmp(c->variant, r->variant) && c->version == r->version && c->size == answer->size)
        return c->listing;
    struct kb_error e = {0};
    kb_code_cache_free(c);
    c->variant = kb_strdup(r->variant);
    c->version = r->version;
    c->size = answer->size;
    if (kb_sass_parse(answer->text, answer->size, &c->listing, &e)) {
        c->listing = NULL;
        c->reason = kb_strdup(kb_error_line(&e));
    }
    return c->listing;
}

const char *kb_code_kind_name(enum kb_code_kind kind)
{
    static const char *const names[KB_CODE_KINDS] = {"machine code", "PTX", "source"};
    return names[kind];
}
