// Plays a recorded session (.kbench/sessions/*.jsonl, or what --follow printed) into a model, without a session.
#ifndef KB_TUI_REPLAY_H
#define KB_TUI_REPLAY_H
#include "base/error.h"
#include "loop/model.h"
#include "tui/keys.h"

struct kb_replay;
// Reads the whole file. Lines that are no events are left out and counted; a file without any event is an error.
int kb_replay_open(const char *path, struct kb_replay **, struct kb_error *);
void kb_replay_free(struct kb_replay *);
const struct kb_model *
kb_replay_model(const struct kb_replay *); // stays the same object; events rebuild it when going back
// Goes on by the time since the last call, times the speed. True if the model changed.
bool kb_replay_step(struct kb_replay *, int64_t now_us);
int kb_replay_wait_ms(const struct kb_replay *); // until the next event; -1: stopped or at the end
int64_t kb_replay_time_ms(const struct kb_replay *);
void kb_replay_seek(struct kb_replay *, int64_t t_ms); // clamped; any direction
void kb_replay_seek_end(struct kb_replay *);
bool kb_replay_act(struct kb_replay *, enum kb_action);     // keys of the replay group; true if taken
const char *kb_replay_text(struct kb_replay *, bool ascii); // "> 2x 0:12 / 1:40", valid until the next call

#endif
