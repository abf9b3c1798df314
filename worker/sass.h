// Listings of machine code, made by nvdisasm, and what changed between two.
#ifndef KB_WORKER_SASS_H
#define KB_WORKER_SASS_H
#include "bench/frame.h"

// Answers a `sass` request: `sass` with the listing, then `done`; "na" where there is no nvdisasm.
void kb_sass_job(const struct kb_frame *f);
// Answers a `diff` request: `diff` with the document, then `done`; "na" where nvdisasm is needed and absent.
void kb_diff_job(const struct kb_frame *f);

#endif
