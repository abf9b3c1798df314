// A case of the bench at other sizes than its own, for trials that the bench's author did not write down.
#ifndef KB_VERIFY_RESIZED_H
#define KB_VERIFY_RESIZED_H
#include "verify/data.h"

struct kb_resized {
    struct kb_case_data data; // index: of the case
    struct kb_names sizes;    // params, and what they are here
    bool opened;
};

// Whether the bench shows that kernels must take any value: one of its cases has it odd, and value lies within what its
// cases span.
bool kb_param_is_free(const struct kb_data *, const char *param, int64_t value);

// Between these two the bench's case has the sizes; nothing else may ask for the case meanwhile.
struct kb_resized_kept {
    struct kb_names *over, before;
};
struct kb_resized_kept kb_resized_enter(struct kb_data *, const struct kb_resized *);
void kb_resized_leave(struct kb_resized_kept *);

// Opens the case's data at these sizes, if not done; false: they do not suit the bench, or there is no memory.
bool kb_resized_open(struct kb_data *, struct kb_resized *);
void kb_resized_close(struct kb_data *, struct kb_resized *);

// Sizes at which the case takes about `share` of its work or less: free params become smaller, the first (mostly the
// outermost) before the others, none below the smallest that a case has, each with what is left over by 8 as it was.
// False if that is not enough.
bool kb_resized_smaller(const struct kb_data *, int index, double share, struct kb_resized *);

#endif
