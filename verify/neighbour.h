// Sizes next to those that are timed: one more and one less of each param that the bench's own cases show to be free,
// since one of them has it odd, within what its cases span. A kernel that is right for the sizes that are timed, and
// for small ones, but not between, shows there.
#ifndef KB_VERIFY_NEIGHBOUR_H
#define KB_VERIFY_NEIGHBOUR_H
#include "verify/resized.h"

#define KB_NEIGHBOUR_INPUTS "next to a timed size" // kb_trial.inputs of such a trial
enum { KB_MOST_NEIGHBOURS = 4 };                   // of all timed cases together
// Which of them a version meets: on the CPU device all, on a GPU one, by turns, since it comes before the first
// verdict.
bool kb_neighbour_has_turn(const struct kb_data *, int index, uint64_t turn);
// Lists them; nothing is allocated on the device.
void kb_neighbours_find(struct kb_data *);
void kb_neighbours_close(struct kb_data *);
// Makes one's outputs and its set, if not there. *why: static text if it cannot be had. -1: the device failed.
int kb_neighbour_prepare(struct kb_data *, struct kb_resized *, const char **why, struct kb_error *);
// The launches of a variant for this size.
int kb_neighbour_plan(struct kb_data *, struct kb_resized *, const struct kb_variant *, struct kb_plan *,
                      struct kb_error *);

#endif
