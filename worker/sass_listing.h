// A cubin's listing, made by nvdisasm or taken from the cache, for the requests `sass` and `diff`.
#ifndef KB_WORKER_SASS_LISTING_H
#define KB_WORKER_SASS_LISTING_H
#include "jit/sass_parse.h"

struct kb_sass_made {
    struct kb_text text;             // with source lines and, where they could be had, live registers
    struct kb_sass_listing *listing; // the same, read; NULL if it could not be (unreadable says why)
    char *unreadable;
    char *incomplete; // why the listing is not whole, NULL if it is
    char *no_live;    // why there are no live registers, NULL if there are
    char *tool, *version;
    bool cached;
    bool absent; // on failure: there is no nvdisasm at all
};
// -1 with the error filled where nothing could be listed (made->absent tells the one case that is nobody's fault).
// timeout_ms bounds each run of the tool. Release with kb_sass_made_free, also on failure.
int kb_sass_make(const void *cubin, size_t size, int timeout_ms, struct kb_sass_made *, struct kb_error *);
// The same from a listing that exists already.
int kb_sass_take(const char *text, size_t size, struct kb_sass_made *, struct kb_error *);
void kb_sass_made_free(struct kb_sass_made *);

#endif
