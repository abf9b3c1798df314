#include "tui/once.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "loop/model.h"
#include "loop/report.h"
#include "loop/svg.h"
#include "tui/replay.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FDS = 64 };

static volatile sig_atomic_t stopped;

static void on_signal(int signal_number)
{
    stopped = signal_number;
}

int kb_stopped_by(void)
{
    return stopped;
}

void kb_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < KB_COUNT(signals); i++)
        sigaction(signals[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

bool kb_locale_is_utf8(void)
{
    setlocale(LC_CTYPE, "");
    return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

void kb_session_options_from(const struct kb_options *o, struct kb_session_options *out)
{
    *out = (struct kb_session_options){.bench_path = o->bench,
                                       .device = o->device,
                                       .variant = o->variant,
                                       .kernel = o->kernel,
                                       .baseline = o->baseline,
                                       .arch = o->arch,
                                       .like = o->like,
                                       .check = o->check,
                                       .seed = o->seed,
                                       .include_dirs = o->include_dirs,
                                       .include_dir_count = o->include_dir_count,
                                       .defines = o->defines,
                                       .define_count = o->define_count,
                                       .no_history = o->no_history,
                                       .no_profile = o->no_profile,
                                       .seeds = o->seeds,
                                       .require_proof = o->require_proof,
                                       .worker = o->worker};
}

static void complain(const struct kb_error *e)
{
    struct kb_text clean = {0};
    const char *line = kb_error_line(e);
    kb_clean(&clean, line, strlen(line), false);
    fprintf(stderr, "kbench-tui: %s\n", clean.data);
    kb_text_free(&clean);
}

void kb_print_choices(const struct kb_guess_choices *choices)
{
    for (int i = 0; i < choices->count; i++) {
        const struct kb_guess_choice *c = &choices->list[i];
        bool plain = !strpbrk(c->kernel, "<> *&");
        char *line = kb_format("  --kernel %s%s%s", plain ? "" : "'", c->kernel, plain ? "" : "'");
        struct kb_text clean = {0};
        kb_clean(&clean, line, strlen(line), false);
        fprintf(stderr, "%s\n", clean.data);
        kb_text_free(&clean);
        free(line);
    }
}

bool kb_wait_and_step(struct kb_session *s, int input)
{
    struct pollfd fds[MOST_FDS];
    int n = kb_session_fds(s, fds, MOST_FDS - 1);
    if (input >= 0)
        fds[n++] = (struct pollfd){input, POLLIN, 0};
    if (poll(fds, (nfds_t)n, kb_session_wait_ms(s)) < 0 && errno != EINTR)
        return false;
    kb_session_step(s);
    if (input < 0 || !fds[n - 1].revents)
        return !stopped;
    char ignored[512];
    return !stopped && read(input, ignored, sizeof ignored) > 0;
}

int kb_case_named(const struct kb_model *m, const char *wanted, struct kb_error *e)
{
    char *end = NULL;
    long n = wanted ? strtol(wanted, &end, 10) : -1;
    if (!wanted || (!*end && end != wanted && n >= 0 && n < m->case_count))
        return (int)n;
    struct kb_text known = {0};
    kb_text_add(&known, "it is one of");
    for (int i = 0; i < m->case_count; i++) {
        const char *label = kb_model_case(m, i)->label ?: "", *name = kb_model_case_name(m, i);
        if (!strcmp(label, wanted) || !strcmp(name, wanted)) {
            kb_text_free(&known);
            return i;
        }
        kb_text_addf(&known, "%s %d: %s", i ? "," : "", i, name);
    }
    kb_fail(e, NULL, known.data, "no case is called \"%s\"", wanted);
    kb_text_free(&known);
    return -2;
}

static int print(const char *text, size_t size)
{
    return fwrite(text, 1, size, stdout) == size && fflush(stdout) == 0 ? 0 : -1;
}

static int print_results(const struct kb_options *o, const struct kb_model *model)
{
    struct kb_text out = {0};
    if (o->json) {
        cJSON *document = kb_model_document(model);
        char *text = kb_json_line(document);
        kb_text_addf(&out, "%s\n", text);
        free(text);
        cJSON_Delete(document);
    } else {
        kb_report_table(model, o->ascii || !kb_locale_is_utf8(), &out);
    }
    int status = print(out.data, out.size);
    kb_text_free(&out);
    return status;
}

static int export_roofline(const struct kb_options *o, const struct kb_model *model)
{
    struct kb_text svg = {0};
    struct kb_error error = {0};
    kb_svg_roofline(model, &svg);
    int status = kb_file_replace(o->export_path, svg.data, svg.size, &error);
    if (status)
        complain(&error);
    kb_text_free(&svg);
    return status;
}

int kb_run_export_replay(const struct kb_options *o)
{
    struct kb_replay *replay;
    struct kb_error error = {0};
    if (kb_replay_open(o->replay, &replay, &error)) {
        complain(&error);
        return KB_EXIT_USAGE;
    }
    kb_replay_seek_end(replay);
    int status = export_roofline(o, kb_replay_model(replay));
    kb_replay_free(replay);
    return status ? KB_EXIT_USAGE : KB_EXIT_PASS;
}

int kb_run_once(const struct kb_options *o)
{
    struct kb_session_options options;
    struct kb_session *session = NULL;
    struct kb_error error = {0};
    kb_session_options_from(o, &options);
    struct kb_guess_choices choices = {0};
    options.once = true;
    options.choices = &choices;
    kb_catch_signals();
    if (kb_session_new(&options, &session, &error)) {
        complain(&error);
        kb_print_choices(&choices);
        kb_guess_choices_free(&choices);
        return KB_EXIT_USAGE;
    }
    while (!kb_session_ended(session) && kb_wait_and_step(session, -1))
        ;
    int code = kb_session_exit_code(session);
    bool ended = kb_session_ended(session);
    if (ended && print_results(o, kb_session_model(session)))
        code = KB_EXIT_USAGE;
    if (ended && o->export_path && export_roofline(o, kb_session_model(session)))
        code = KB_EXIT_USAGE;
    kb_session_free(session);
    if (!ended) {
        fprintf(stderr, "kbench-tui: stopped before every variant had its verdict\n");
        code = 128 + (stopped ? stopped : SIGTERM);
    }
    return code;
}

static void print_event(void *context, const struct kb_event *e, const cJSON *event)
{
    (void)e;
    bool *broken = context;
    char *line = kb_json_line(event);
    if (!*broken && (fputs(line, stdout) < 0 || putchar('\n') < 0 || fflush(stdout)))
        *broken = true;
    free(line);
}

int kb_run_follow(const struct kb_options *o)
{
    struct kb_session_options options;
    struct kb_session *session = NULL;
    struct kb_error error = {0};
    bool broken = false;
    kb_session_options_from(o, &options);
    struct kb_guess_choices choices = {0};
    options.choices = &choices;
    options.on_event = print_event;
    options.context = &broken;
    kb_catch_signals();
    if (kb_session_new(&options, &session, &error)) {
        complain(&error);
        kb_print_choices(&choices);
        kb_guess_choices_free(&choices);
        return KB_EXIT_USAGE;
    }
    // A program that started this one ends it by closing its input; a terminal or /dev/null says nothing.
    struct pollfd hangup = {STDIN_FILENO, POLLIN, 0};
    char nothing;
    bool dead_input = isatty(STDIN_FILENO) || (poll(&hangup, 1, 0) == 1 && read(STDIN_FILENO, &nothing, 1) <= 0);
    while (!broken && kb_wait_and_step(session, dead_input ? -1 : STDIN_FILENO))
        ;
    int code = kb_session_exit_code(session);
    kb_session_free(session);
    return code;
}
