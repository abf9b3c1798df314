// `report`: a variant that is a command times itself on a case of the bench.
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "verify/command.h"
#include "worker/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char **words_of(const cJSON *list)
{
    int n = 0;
    const cJSON *item;
    char **words = kb_alloc(((size_t)cJSON_GetArraySize(list) + 1) * sizeof *words);
    cJSON_ArrayForEach (item, list)
        if (cJSON_IsString(item))
            words[n++] = item->valuestring;
    return words;
}

static struct kb_set *ready_set(struct run_worker *w, struct kb_case_data *c, struct kb_error *e)
{
    bool fresh;
    if (kb_data_prepare(&w->data, c, e))
        return NULL;
    for (int i = 0; i < c->set_count; i++)
        if (c->sets[i].ready)
            return &c->sets[i];
    return kb_data_take(&w->data, c, &fresh, e);
}

static void send_report(struct run_worker *w, const struct kb_frame *f, const struct kb_case_data *c,
                        const struct kb_reported *r)
{
    struct kb_work work = run_work(w, c);
    cJSON *head = kb_frame_head("reported", kb_frame_job(f));
    kb_json_set_number(head, "case", c->index);
    bool wrong = r->compared && !r->right; // has no speed
    char *why = kb_format("its outputs are wrong: %s", r->reason), *clean = kb_cleaned(why);
    kb_json_measured(head, "us", wrong ? NAN : r->us, wrong ? clean : NULL);
    free(why);
    free(clean);
    kb_json_set_text(head, "what", r->what[0] ? r->what : NULL);
    kb_json_set(head, "right", r->compared ? cJSON_CreateBool(r->right) : cJSON_CreateNull());
    kb_worker_set_clean(head, "right_reason", r->reason[0] ? r->reason : NULL, 600);
    kb_json_set(head, "roofline", run_roofline_json(w, &work, wrong ? NAN : r->us, false));
    kb_worker_send(head, NULL, 0);
}

// Runs it if it may; -1 with the error filled, *na: since nobody has allowed it.
static int report(struct run_worker *w, const struct kb_frame *f, struct kb_case_data *c, char *const *words, bool *na,
                  struct kb_error *e)
{
    const char *dir = kb_json_text(f->head, "dir", "");
    struct kb_permission p;
    if (kb_permission_read(dir, words, &p, e))
        return -1;
    *na = !p.given;
    if (*na)
        run_ask_permission(w, dir, words, &p);
    kb_permission_free(&p);
    if (*na)
        return kb_fail(e, NULL, "kbench-tui allow BENCH", "nobody has allowed this command yet");
    struct kb_set *s = ready_set(w, c, e);
    if (!s)
        return -1;
    const struct kb_program_line program = {words, (int)kb_json_int(f->head, "timeout_s", KB_COMMAND_TIMEOUT_S),
                                            kb_json_text(f->head, "name", "the command")};
    struct kb_command before = w->data.command;
    struct kb_reported r;
    w->data.command = run_command_hooks(w, dir);
    int failed = kb_command_report(&w->data, c, s, &program, &r, e);
    before.stopped = w->data.command.stopped;
    w->data.command = before;
    if (!failed)
        send_report(w, f, c, &r);
    return failed;
}

void run_report(struct run_worker *w, const struct kb_frame *f)
{
    struct kb_error error = {0};
    int64_t index = kb_json_int(f->head, "case", -1);
    bool na = false;
    if (!w->has_data || index < 0 || index >= w->data.bench->case_count) {
        run_refuse(w, f, NULL, w->has_data ? "the bench has no case of this number" : "no bench was prepared");
        return;
    }
    char **words = words_of(kb_json_get(f->head, "command"));
    if (!words[0])
        run_refuse(w, f, NULL, "the command is empty");
    else if (!report(w, f, &w->data.cases[index], words, &na, &error))
        run_end(w, f, NULL, "pass", NULL);
    else if (w->data.command.stopped)
        run_end(w, f, NULL, "cancelled", NULL);
    else
        run_end(w, f, NULL, na ? "na" : "fail", kb_error_line(&error));
    w->data.command.stopped = false;
    free(words);
}
