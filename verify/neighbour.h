// Sizes next to those that are timed: one more and one less of each param that the bench's own cases show to be free,
// since one of them has it odd, within what its cases span; three less where one more lies beyond, since that leaves
// the same rest by 2 and by 4. A kernel that is right for the sizes that are timed, and for small ones, but not
// between, shows there.
#ifndef KB_VERIFY_NEIGHBOUR_H
#define KB_VERIFY_NEIGHBOUR_H
#include "verify/resized.h"

// kb_trial.inputs of such trials: on inputs as the bench has them, on hard ones.
#define KB_NEIGHBOUR_INPUTS "next to a timed size"
#define KB_NEIGHBOUR_HARD KB_NEIGHBOUR_INPUTS ", hard rows"
enum { KB_MOST_NEIGHBOURS = 4 }; // of all timed cases together
// Which of them a version meets: on the CPU device all, on a GPU one, by turns, since it comes before the first
// verdict.
bool kb_neighbour_has_turn(const struct kb_data *, int index, uint64_t turn);
// Lists them; nothing is allocated on the device.
void kb_neighbours_find(struct kb_data *);
void kb_neighbours_close(struct kb_data *);
// Hard rows at this size: whether a version meets them, by turns as above.
bool kb_neighbour_meets(const struct kb_data *, const struct kb_resized *, enum kb_stress, uint64_t turn);
// Makes one's outputs and its set, if not there. *why: static text if it cannot be had. -1: the device failed.
int kb_neighbour_prepare(struct kb_data *, struct kb_resized *, const char **why, struct kb_error *);
// The launches of a variant for this size.
int kb_neighbour_plan(struct kb_data *, struct kb_resized *, const struct kb_variant *, struct kb_plan *,
                      struct kb_error *);

#endif
