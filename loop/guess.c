// What a bench made from a bare .cu may say of a version. Its roles, sizes and launch are guesses, so a failure that a
// wrong guess can cause is a question to whoever wrote the kernel, never a verdict.
#include "base/file.h"
#include "loop/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "perhaps the guess: ";

// Compilers name template arguments that do not fit in these words, or end at them; what else they say is about the
// code.
static bool is_about_instance(const char *reason)
{
    static const char *const words[] = {"cannot be named", "is no __global__ function", "the compiler broke off",
                                        "bytes of static shared memory", "during instantiation"};
    for (size_t i = 0; reason && i < KB_COUNT(words); i++)
        if (strstr(reason, words[i]))
            return true;
    return false;
}

bool kb_guess_doubts(const struct kb_session *s, const struct kb_build *b, enum kb_rung rung, const char *reason)
{
    if (!s->inferred || rung >= KB_RUNGS_DECIDING)
        return false;
    if (b->fault_of) // the bench's own: inputs of the guessed sizes could not be made
        return !strcmp(b->fault_of, "bench");
    if (rung == KB_RUNG_COMPILE)
        return s->guess.instance && is_about_instance(reason);
    return rung == KB_RUNG_CHECK ? b->set_up_refused : rung >= KB_RUNG_RUN;
}

char *kb_guess_words(const struct kb_session *s, const char *reason)
{
    bool refused = reason && strstr(reason, "the CPU device does not run"); // whatever the guess is
    if (reason && (refused || kb_starts(reason, prefix)))
        return kb_strdup(reason);
    return kb_format("%s%s; write bench.json beside %s to say what is right", prefix, reason ? reason : "it failed",
                     kb_path_base(s->bench_path));
}

static void doubt_case(const struct kb_session *s, cJSON *event)
{
    cJSON *output;
    if (strcmp(kb_json_text(event, "status", ""), "fail"))
        return;
    char *words = kb_guess_words(s, kb_json_text(event, "reason", NULL));
    kb_json_set_text(event, "status", "na");
    kb_json_set_text(event, "reason", words);
    cJSON_ArrayForEach (output, kb_json_get(event, "outputs")) {
        if (!strcmp(kb_json_text(output, "status", ""), "fail"))
            kb_json_set_text(output, "status", "na");
    }
    free(words);
}

static void doubt_findings(cJSON *event)
{
    cJSON *item;
    cJSON_ArrayForEach (item, kb_json_get(event, "findings")) {
        if (!kb_json_bool(item, "fails", true))
            continue;
        char *text = kb_format("%s%s", prefix, kb_json_text(item, "text", ""));
        kb_json_set_bool(item, "fails", false);
        kb_json_set_text(item, "text", text);
        free(text);
    }
}

static void keep_extent(struct kb_session *s, const char *arg, int64_t elements)
{
    int i = 0;
    while (i < s->extent_count && strcmp(s->extents[i].arg, arg))
        i++;
    if (i == s->extent_count) {
        s->extents = kb_realloc(s->extents, sizeof *s->extents * (size_t)(i + 1));
        s->extents[s->extent_count++] = (struct kb_guess_extent){kb_strdup(arg), 0};
    }
    s->extents_new = s->extents_new || s->extents[i].elements != elements;
    s->extents[i].elements = elements;
}

// A result of which just the beginning is written has that size, as far as this launch goes.
static void note_extents(struct kb_session *s, const cJSON *event)
{
    const cJSON *output;
    cJSON_ArrayForEach (output, kb_json_get(event, "outputs")) {
        int64_t elements = kb_json_int(output, "elements", 0), rows = 0, rest = 0;
        int64_t written = elements - kb_json_int(kb_json_get(output, "metrics"), "unwritten", 0);
        const char *at = strstr(kb_json_text(output, "reason", ""), "first at [");
        int read = at ? sscanf(at, "first at [%" SCNd64 ", %" SCNd64 "]", &rows, &rest) : 0;
        bool whole = read == 1 && rows == written;
        bool in_rows = read == 2 && !rest && rows > 0 && written % rows == 0 && elements % (written / rows) == 0;
        if (written > 0 && written < elements && (whole || in_rows))
            keep_extent(s, kb_json_text(output, "arg", ""), written);
    }
}

bool kb_guess_learn(struct kb_session *s, struct kb_build *b)
{
    enum { MOST_ROUNDS = 4 };
    if (!s->inferred || !s->extents_new || s->extent_rounds == MOST_ROUNDS)
        return false;
    char contract[sizeof s->contract];
    memcpy(contract, s->contract, sizeof contract);
    s->extents_new = false;
    s->extent_rounds++;
    kb_guess_again(s, &b->source->snapshot);
    return memcmp(contract, s->contract, sizeof contract) != 0; // then kb_sources_accept has begun it again
}

void kb_guess_soften(struct kb_session *s, cJSON *event)
{
    const char *type = kb_json_text(event, "type", "");
    if (s->inferred && !strcmp(type, "case"))
        note_extents(s, event);
    if (s->inferred && !strcmp(type, "case"))
        doubt_case(s, event);
    else if (s->inferred && !strcmp(type, "findings"))
        doubt_findings(event);
}

// The bench, again: from what a file says now and what a compile said of its kernel

static struct kb_guess_text *texts_of(const struct kb_snapshot *snapshot)
{
    struct kb_guess_text *texts = kb_alloc(sizeof *texts * (size_t)snapshot->file_count);
    for (int i = 1; i < snapshot->file_count; i++)
        texts[i - 1] =
            (struct kb_guess_text){snapshot->files[i].path, snapshot->files[i].data, snapshot->files[i].size};
    return texts;
}

static struct kb_guess_source source_of(const struct kb_session *s, const struct kb_snapshot *snapshot,
                                        const struct kb_guess_text *texts)
{
    return (struct kb_guess_source){.path = s->bench_path,
                                    .text = snapshot->files[0].data,
                                    .size = snapshot->files[0].size,
                                    .headers = texts,
                                    .header_count = snapshot->file_count - 1,
                                    .kernel = s->used_kernel,
                                    .uses = s->uses,
                                    .use_count = s->use_count,
                                    .extents = s->extents,
                                    .extent_count = s->extent_count,
                                    .max_threads = s->used_threads,
                                    .wanted = s->wanted_kernel,
                                    .include_dirs = (const char *const *)s->project.include_dirs,
                                    .include_dir_count = s->project.include_dir_count,
                                    .defines = (const char *const *)s->project.defines,
                                    .define_count = s->project.define_count,
                                    .options = (const char *const *)s->project.options,
                                    .option_count = s->project.option_count};
}

static int guess_from(struct kb_session *s, const struct kb_snapshot *snapshot, struct kb_bench **out,
                      struct kb_guess *guess, struct kb_error *e)
{
    struct kb_guess_text *texts = texts_of(snapshot);
    struct kb_guess_source source = source_of(s, snapshot, texts);
    int status = kb_bench_guess(&source, out, guess, e);
    free(texts);
    return status;
}

// -1: which of the file's kernels is for whoever started this to say.
static int ask_which(struct kb_session *s, const struct kb_snapshot *snapshot, struct kb_error *e)
{
    struct kb_guess_choices *choices = s->options.choices;
    if (!choices || s->wanted_kernel)
        return 0;
    struct kb_guess_text *texts = texts_of(snapshot);
    struct kb_guess_source source = source_of(s, snapshot, texts);
    int status = kb_bench_guess_choices(&source, choices, e);
    free(texts);
    if (!status && choices->kernels > 1)
        return kb_fail(e, s->bench_path, "name one with --kernel", "it holds %d kernels", choices->kernels);
    kb_guess_choices_free(choices);
    return status;
}

int kb_guess_open(struct kb_session *s, struct kb_error *e)
{
    struct kb_snapshot snapshot;
    struct kb_reach reach = {.include_dirs = (const char *const *)s->include_dirs,
                             .include_dir_count = s->options.include_dir_count,
                             .defines = (const char *const *)s->defines,
                             .define_count = s->options.define_count};
    kb_project_read(s->bench_path, &reach, &s->project);
    if (kb_project_snapshot(s->bench_path, &reach, &s->project, &snapshot, e))
        return -1;
    int status = ask_which(s, &snapshot, e) || guess_from(s, &snapshot, &s->bench, &s->guess, e) ? -1 : 0;
    kb_snapshot_free(&snapshot);
    s->inferred = status == 0;
    return status;
}

void kb_guess_again(struct kb_session *s, const struct kb_snapshot *snapshot)
{
    struct kb_bench *next = NULL;
    struct kb_guess guess;
    if (!s->inferred || guess_from(s, snapshot, &next, &guess, NULL))
        return; // the build says what is wrong with it
    kb_guess_free(&s->guess);
    s->guess = guess;
    if (cJSON_Compare(next->json, s->bench->json, true))
        kb_bench_free(next);
    else
        kb_sources_accept(s, next);
}

static void take_use(struct kb_param_use *use, const cJSON *param)
{
    const cJSON *item = kb_json_get(param, "use");
    *use = (struct kb_param_use){.bytes = (int)kb_json_int(param, "bytes", 0),
                                 .known = cJSON_IsObject(item),
                                 .loads = kb_json_bool(item, "loads", false),
                                 .stores = kb_json_bool(item, "stores", false),
                                 .atomics = kb_json_bool(item, "atomics", false),
                                 .width = (int)kb_json_int(item, "width", 0)};
    snprintf(use->type, sizeof use->type, "%s", kb_json_text(item, "type", ""));
}

void kb_guess_compiled(struct kb_session *s, struct kb_build *b)
{
    const cJSON *kernel = cJSON_GetArrayItem(kb_json_get(b->compiled, "kernels"), 0);
    const cJSON *params = kb_json_get(kernel, "params"), *param;
    if (!s->inferred || b->dead)
        return;
    s->compiled_once = true;
    if (!cJSON_IsArray(params))
        return;
    free(s->uses);
    s->uses = kb_alloc(sizeof *s->uses * (size_t)(cJSON_GetArraySize(params) + 1));
    s->use_count = 0;
    cJSON_ArrayForEach (param, params)
        take_use(&s->uses[s->use_count++], param);
    s->used_threads = (int)kb_json_int(kernel, "max_threads", 0);
    free(s->used_kernel);
    const char *name = kb_json_text(kernel, "name", "");
    s->used_kernel = kb_strndup(name, strcspn(name, "<"));
    kb_guess_again(s, &b->source->snapshot);
    if (!b->dead) // what follows is asked of the new bench
        memcpy(b->contract, s->contract, sizeof b->contract);
}

// What the project around it said, for people.
static void tell_project(struct kb_session *s)
{
    const struct kb_project *p = &s->project;
    if (p->commands)
        kb_status_line(s, "info", NULL, "compiled with the flags of %s", p->commands);
    if (p->found)
        kb_status_line(s, "info", "-I names a folder", "no flag says where these headers lie; found: %s", p->found);
}

void kb_guess_offer(struct kb_session *s)
{
    kb_status_line(s, "info",
                   "on the screen s writes it as bench.json; or save the skeleton in the log, and add a reference",
                   "no bench lists %s: GUESSED %s; without a reference nothing is verified",
                   kb_path_base(s->bench_path), s->guess.headline);
    if (s->guess.skeleton)
        kb_emit_log(s, "session", NULL, s->guess.skeleton, 0);
    tell_project(s);
}

int kb_session_keep(const struct kb_session *s, struct kb_guess_kept *out, struct kb_error *e)
{
    return s->inferred ? kb_guess_keep(s->bench, s->bench_path, out, e)
                       : kb_fail(e, s->bench_path, NULL, "nothing is guessed here: bench.json says it all");
}

const char *kb_guess_arch(const struct kb_session *s, const char *device)
{
    const char *arch = s->project.arch;
    return s->inferred && device && arch[0] && atoi(arch + 3) == atoi(device + (kb_starts(device, "sm_") ? 3 : 0))
               ? arch
               : device;
}

void kb_guess_drop(struct kb_session *s)
{
    kb_guess_free(&s->guess);
    kb_project_free(&s->project);
    for (int i = 0; i < s->extent_count; i++)
        free(s->extents[i].arg);
    free(s->extents);
    free(s->uses);
    free(s->used_kernel);
}
