// Samples by instruction, in order, so that a row finds its own at once.
#ifndef KB_TUI_SAMPLES_H
#define KB_TUI_SAMPLES_H
#include <cjson/cJSON.h>
#include <stdint.h>

struct kb_samples;
// Of the JSON that jit/sass_samples.h reads; nothing of it is kept. NULL: it holds none. Owned by the caller.
struct kb_samples *kb_samples_make(const cJSON *);
void kb_samples_free(struct kb_samples *);
// At this offset of the kernel, 0: none; most: of any of its instructions.
double kb_samples_at(const struct kb_samples *, const char *kernel, uint32_t offset, double *most);

#endif
