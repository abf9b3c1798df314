// What comes before a launch whose time is taken, so that nothing of an earlier one is of use to it: some elements of
// its outputs and of scratch get values that are not the result, and one element of each input another value. Cheap
// enough to come before every one; what is left undone, or taken from what was kept, then shows when results are
// compared with the reference.
#ifndef KB_VERIFY_DISTURB_H
#define KB_VERIFY_DISTURB_H
#include "verify/data.h"

struct kb_nudge {       // of one input
    struct kb_set *set; // whose element is another one; NULL: none is
    uint64_t index;
};
struct kb_disturb { // of one case
    struct kb_data *data;
    struct kb_case_data *c;
    struct kb_nudge *nudges; // by argument
    uint64_t key, counter;   // of what is chosen: from the host's clock, so that nobody can know it
};
void kb_disturb_open(struct kb_data *, struct kb_case_data *, struct kb_disturb *);
void kb_disturb_close(struct kb_disturb *); // inputs are what the sets say again, where the device still works
// Enqueues: inputs as the sets have them; then, if `inputs`, one element of each input of this set is another one (a
// .npy file stays as it is: what it may hold is not known); if `outputs`, some elements of work[run] are spoilt.
int kb_disturb(struct kb_disturb *, struct kb_set *, int run, bool inputs, bool outputs, struct kb_error *);
bool kb_disturb_nudged(const struct kb_disturb *); // an input differs from what its set says

#endif
