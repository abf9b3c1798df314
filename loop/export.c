// A failing case as a .cu with a main(): which case of which build, what the worker is asked, where the file goes. What
// makes a failure happen again came with its `case` event, so that any run worker can write it: the one that the kernel
// took with it need not be there any more, and the kernel is not run again.
#include "base/file.h"
#include "bench/permission.h"
#include "loop/parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// What timing does to a kernel that is right at first cannot be told exactly; so many calls in a row stand for it.
enum { CALLS_OF_TIMING = 64 };

static void forget(struct kb_export *x)
{
    kb_build_unref(x->build);
    cJSON_Delete(x->failure);
    free(x->label);
    free(x->file);
    free(x->reason);
    *x = (struct kb_export){0};
}

void kb_export_free(struct kb_session *s)
{
    forget(&s->export);
}

static void answer(struct kb_session *s, const struct kb_build *b, int index, const char *label, const char *path,
                   const char *command, const char *reason, const char *remedy)
{
    cJSON *event = b ? kb_build_event(b, "exported") : kb_event("exported");
    kb_json_set_number(event, "case", index);
    kb_json_set_text(event, "label", label);
    kb_json_set_text(event, "path", path);
    kb_json_set_text(event, "compile", command);
    kb_json_set_text(event, "reason", reason);
    kb_json_set_text(event, "remedy", remedy && *remedy ? remedy : NULL);
    kb_emit(s, event);
    if (path)
        kb_status_line(s, "info", command, "the failing case is in %s", path);
    else
        kb_status_line(s, "warning", remedy, "no case was written: %s", reason);
}

static void refuse(struct kb_session *s, const struct kb_build *b, int index, const char *remedy, const char *reason)
{
    answer(s, b, index, NULL, NULL, NULL, reason, remedy);
}

// Which case

// The last failure of this case, or the first of all.
static const cJSON *failed_case(const struct kb_build *b, int index)
{
    const cJSON *event, *found = NULL;
    cJSON_ArrayForEach (event, b->results) {
        bool failed = !strcmp(kb_json_text(event, "type", ""), "case") && cJSON_IsObject(kb_json_get(event, "failure"));
        if (failed && (index < 0 ? !found : kb_json_int(event, "case", -1) == index))
            found = event;
    }
    return found;
}

static double elements_of(const struct kb_session *s, int index)
{
    struct kb_names names = {0};
    double sum = 0;
    int64_t shape[KB_MAX_DIMS], n;
    if (!kb_case_names(s->bench, index, kb_on_cpu(s), NULL, &names, NULL))
        for (int i = 0; i < s->bench->arg_count; i++)
            if (s->bench->args[i].role != KB_SCALAR && !kb_shape_eval(&s->bench->args[i], &names, shape, &n, NULL))
                sum += (double)n;
    kb_names_free(&names);
    return sum;
}

// Whether a `case` event of this rung came; index -1: of any case, status NULL: of any.
static bool told(const struct kb_build *b, const char *rung, int index, const char *status)
{
    const cJSON *event;
    cJSON_ArrayForEach (event, b->results) {
        if (!strcmp(kb_json_text(event, "type", ""), "case") && !strcmp(kb_json_text(event, "rung", ""), rung) &&
            (index < 0 || kb_json_int(event, "case", -1) == index) &&
            (!status || !strcmp(kb_json_text(event, "status", ""), status)))
            return true;
    }
    return false;
}

// A kernel that never ended, or that took the worker with it, has no `case` event: it was in the first case that has
// none. `verify` takes them in order; `run` takes the smallest one, then the headline.
static int silent_case(const struct kb_session *s, const struct kb_build *b, enum kb_rung rung)
{
    int headline = kb_bench_headline(s->bench), best = 0;
    for (int i = 0; i < s->bench->case_count; i++) // could not be tried at all: the worker says again why
        if (told(b, kb_rungs[rung].name, i, "fail"))
            return i;
    if (rung == KB_RUNG_TIME || (rung == KB_RUNG_RUN && told(b, "run", -1, NULL)))
        return headline;
    for (int i = 0; rung == KB_RUNG_VERIFY && i < s->bench->case_count; i++)
        if (!told(b, "verify", i, NULL))
            return i;
    for (int i = 1; i < s->bench->case_count; i++)
        if (elements_of(s, i) < elements_of(s, best))
            best = i;
    return best;
}

static cJSON *silent_failure(enum kb_rung rung)
{
    cJSON *failure = cJSON_CreateObject();
    bool timed = rung == KB_RUNG_TIME;
    kb_json_set_text(failure, "set", timed ? "32" : "1");
    kb_json_set_text(failure, "inputs", NULL);
    kb_json_set_number(failure, "calls", timed ? CALLS_OF_TIMING : 1);
    kb_json_set_text(failure, "arg", NULL);
    kb_json_set_text(failure, "index", "0");
    return failure;
}

int kb_failing_case(const struct kb_session *s, const struct kb_build *b, enum kb_rung rung, const cJSON **failure)
{
    const cJSON *event = failed_case(b, -1);
    *failure = kb_json_get(event, "failure");
    return event ? (int)kb_json_int(event, "case", 0) : silent_case(s, b, rung);
}

static enum kb_rung failed_rung(const struct kb_build *b)
{
    for (int i = 0; i < KB_RUNG_LATE; i++)
        if (b->rungs[i] == KB_STATUS_FAIL)
            return (enum kb_rung)i;
    return KB_RUNGS;
}

// Fills what is to be written; false: why not was said.
static bool choose(struct kb_session *s, struct kb_build *b, int index, struct kb_export *x)
{
    enum kb_rung rung = failed_rung(b);
    const cJSON *event = failed_case(b, index);
    if (!event && rung < KB_RUNG_RUN) {
        char *reason = kb_format("it failed at %s, before it ran", kb_rungs[rung].name);
        refuse(s, b, index, NULL, reason);
        free(reason);
        return false;
    }
    bool passed =
        rung > KB_RUNG_TIME || (index >= 0 && rung != KB_RUNG_TIME && told(b, kb_rungs[rung].name, index, "pass"));
    if (!event && passed && b->rungs[KB_RUNG_RACES] == KB_STATUS_FAIL) {
        refuse(s, b, index, NULL, "its outputs are right; what the rung races found names kernel, threads and lines");
        return false;
    }
    if (!event && passed) {
        refuse(s, b, index, index >= 0 ? "choose one that failed" : NULL,
               index >= 0 ? "this case has not failed" : "no case of this version has failed");
        return false;
    }
    x->index = event ? (int)kb_json_int(event, "case", 0) : index >= 0 ? index : silent_case(s, b, rung);
    x->failure = event ? cJSON_Duplicate(kb_json_get(event, "failure"), true) : silent_failure(rung);
    x->reason = kb_strdup(event ? kb_json_text(event, "reason", "") : b->failed_rung_reason);
    x->label = event ? kb_strdup(kb_json_text(event, "label", "")) : kb_case_label(s->bench, x->index, kb_on_cpu(s));
    return true;
}

void kb_session_export(struct kb_session *s, const char *variant, int index, const char *file)
{
    int slot = variant ? kb_bench_find_variant(s->bench, variant) : -1;
    struct kb_build *b = slot >= 0 ? s->slots[slot].current : NULL;
    const char *why = slot < 0                           ? "the bench has no such variant"
                      : !b                               ? "it was not built yet"
                      : s->export.build                  ? "another case is being written"
                      : !b->finished                     ? "its verdict is not known yet"
                      : strcmp(b->contract, s->contract) ? "the bench has changed since: rerun it first"
                      : kb_no_device(s)                  ? "there is no device that makes its inputs"
                      : !file && s->options.no_history   ? "nothing is written beside the bench: name a file"
                      : index >= s->bench->case_count    ? "the bench has no such case"
                                                         : NULL;
    s->again = true;
    if (why) {
        refuse(s, b, index, NULL, why);
        return;
    }
    if (!choose(s, b, index, &s->export))
        return;
    s->export.build = kb_build_ref(b);
    s->export.file = file ? kb_path_clean(file) : NULL;
}

// Asking the worker

bool kb_export_due(const struct kb_session *s)
{
    return s->export.build && !s->export.writing && s->run.request != KB_REQUEST_EXPORT;
}

cJSON *kb_export_fields(struct kb_session *s, cJSON *head)
{
    struct kb_export *x = &s->export;
    x->asked = true;
    kb_json_set(head, "variant", kb_variant_to_json(x->build->resolved));
    kb_json_set_number(head, "case", x->index);
    kb_json_set_text(head, "reason", x->reason);
    kb_json_set(head, "failure", cJSON_Duplicate(x->failure, true));
    return head;
}

void kb_export_refuse(struct kb_session *s, const char *reason)
{
    struct kb_export *x = &s->export;
    if (!x->build || x->writing)
        return;
    refuse(s, x->build, x->index, NULL, reason);
    forget(x);
}

// The file may be written, and another case asked for, before the request that made the text ends.
void kb_export_end(struct kb_session *s, const char *reason)
{
    if (s->export.asked)
        kb_export_refuse(s, reason ? reason : "the worker sent no text");
}

// Writing

static void add_word(struct kb_text *out, const char *word)
{
    char *quoted = kb_command_line((char *const[]){(char *)word, NULL});
    kb_text_addf(out, " %s", quoted);
    free(quoted);
}

// How it is compiled and run, whatever folder the shell is in; path NULL: for a comment in the file itself. Owned.
static char *command_of(struct kb_session *s, const char *path)
{
    const struct kb_variant *v = s->export.build->resolved;
    struct kb_text out = {0};
    int count;
    char **dirs = kb_include_dirs(s, &count);
    kb_text_addf(&out, "nvcc -g -lineinfo -arch=%s -I", s->arch);
    add_word(&out, s->bench_dir);
    for (int i = 0; i < count; i++) {
        kb_text_add(&out, " -I");
        add_word(&out, dirs[i]);
        free(dirs[i]);
    }
    free(dirs);
    for (int i = 0; i < v->option_count; i++)
        add_word(&out, v->options[i]);
    char *program = !path                  ? kb_strdup("./a.out")
                    : kb_ends(path, ".cu") ? kb_strndup(path, strlen(path) - 3)
                                           : kb_format("%s.out", path);
    if (path)
        kb_text_add(&out, " -o");
    if (path)
        add_word(&out, program);
    add_word(&out, path ? path : "THIS_FILE");
    kb_text_add(&out, " &&");
    add_word(&out, program);
    free(program);
    char *clean = kb_cleaned(out.data);
    kb_text_free(&out);
    return clean;
}

static char *default_path(const struct kb_session *s)
{
    const struct kb_export *x = &s->export;
    struct kb_text name = {0};
    kb_text_addf(&name, "%s-v%d-%s", x->build->name, x->build->version, x->label);
    size_t n = 0;
    for (size_t i = 0; i < name.size; i++) {
        char c = isalnum((unsigned char)name.data[i]) || strchr("._-", name.data[i]) ? name.data[i] : '-';
        if (c != '-' || !n || name.data[n - 1] != '-')
            name.data[n++] = c;
    }
    name.data[n] = 0;
    char *path = kb_format("%s/.kbench/failing/%.150s.cu", s->bench_dir, name.data);
    kb_text_free(&name);
    return path;
}

void kb_export_text(struct kb_session *s, const char *text)
{
    struct kb_export *x = &s->export;
    if (!x->build || x->writing || !text)
        return;
    bool numbered = !x->file;
    if (!x->file)
        x->file = default_path(s);
    char *command = command_of(s, NULL), *source = kb_cleaned(x->build->resolved->source);
    char *whole = kb_format("// v%d of %s. It includes %s as that file is when this one is compiled:\n// %s\n//\n%s",
                            x->build->version, x->build->name, source, command, text);
    x->writing = true;
    kb_records_create(s, x->file, whole, numbered);
    free(command);
    free(source);
    free(whole);
}

void kb_export_written(struct kb_session *s, const char *path, const struct kb_error *error)
{
    struct kb_export *x = &s->export;
    if (!x->build)
        return;
    if (path) {
        char *command = command_of(s, path), *clean = kb_cleaned(path);
        answer(s, x->build, x->index, x->label, clean, command, NULL, NULL);
        free(command);
        free(clean);
    } else {
        char *reason = kb_format("%s: %s", error->on, error->what), *clean = kb_cleaned(reason);
        refuse(s, x->build, x->index, error->remedy, clean);
        free(reason);
        free(clean);
    }
    forget(x);
}
