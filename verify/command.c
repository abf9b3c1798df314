#include "verify/command.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/spawn.h"
#include "bench/permission.h"
#include "verify/command_cache.h"
#include "verify/npy.h"
#include "verify/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Inputs as files

static int write_array(const char *dir, const struct kb_arg *a, const int64_t *shape, const char *bytes, uint64_t n,
                       struct kb_error *e)
{
    enum kb_dtype type = kb_npy_type(a->dtype);
    size_t head_size, size = kb_dtype_bytes(type), from = kb_dtype_bytes(a->dtype);
    char *head = kb_npy_header(type, a->ndim, shape, &head_size), *name = kb_format("%s/%s.npy", dir, a->name);
    char *file = kb_alloc(head_size + n * size + 8);
    memcpy(file, head, head_size);
    if (type == a->dtype && n)
        memcpy(file + head_size, bytes, n * size);
    for (uint64_t i = 0; type != a->dtype && i < n; i++)
        kbe_store(file + head_size, (int)size, i,
                  kbe_encode((int)type, kbe_decode((int)a->dtype, kbe_load(bytes, (int)from, i))));
    int failed = kb_file_create(name, file, head_size + n * size, e);
    free(file);
    free(head);
    free(name);
    return failed;
}

static int write_inputs(struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, const char *dir,
                        struct kb_error *e)
{
    for (int i = 0; i < d->bench->arg_count; i++) {
        const struct kb_arg *a = &d->bench->args[i];
        const struct kb_buffer *b = &s->input[i];
        if (!kb_arg_is_read(a->role))
            continue;
        char *bytes = kb_alloc(b->bytes + 8);
        int failed = (b->bytes && d->device->ops->to_host(d->device, bytes, b->address, b->bytes, e)) ||
                     write_array(dir, a, c->shape[i], bytes, (uint64_t)c->elements[i], e);
        free(bytes);
        if (failed)
            return -1;
    }
    return 0;
}

static void add_scalars(const struct kb_bench *b, const struct kb_plan *plan, cJSON *out)
{
    for (int i = 0; i < b->arg_count; i++) {
        const struct kb_arg *a = &b->args[i];
        if (a->role != KB_SCALAR)
            continue;
        bool real = kb_dtype_is_float(a->dtype);
        double value = real ? kbe_decode((int)a->dtype, plan->scalars[i]) : (double)(int64_t)plan->scalars[i];
        kb_json_set_number(out, a->name, value);
    }
}

// {bench, case, label, params, scalars, args:[{name, role, dtype, shape}]}; owned text, NULL on failure.
static char *describe(const struct kb_data *d, const struct kb_case_data *c, struct kb_error *e)
{
    const struct kb_bench *b = d->bench;
    struct kb_names names = {0};
    struct kb_plan plan = {0};
    const struct kb_variant none = {0};
    if (kb_case_names(b, c->index, d->on_cpu, NULL, &names, e) ||
        kb_plan_make(b, c->index, d->on_cpu, &none, &plan, e)) {
        kb_names_free(&names);
        return NULL;
    }
    cJSON *o = cJSON_CreateObject();
    kb_json_set_text(o, "bench", b->name);
    kb_json_set_number(o, "case", c->index);
    kb_json_set_text(o, "label", c->label);
    cJSON *params = cJSON_AddObjectToObject(o, "params"), *scalars = cJSON_AddObjectToObject(o, "scalars");
    cJSON *args = cJSON_AddArrayToObject(o, "args");
    for (int i = 0; i < names.count; i++)
        kb_json_set_number(params, names.items[i].name, (double)names.items[i].value);
    add_scalars(b, &plan, scalars);
    for (int i = 0; i < b->arg_count; i++) {
        const struct kb_arg *a = &b->args[i];
        if (a->role == KB_SCALAR || a->role == KB_SCRATCH)
            continue;
        cJSON *item = cJSON_CreateObject(), *shape = cJSON_AddArrayToObject(item, "shape");
        kb_json_set_text(item, "name", a->name);
        kb_json_set_text(item, "role", kb_role_name(a->role));
        kb_json_set_text(item, "dtype", kb_dtype_name(a->dtype));
        for (int k = 0; k < a->ndim; k++)
            cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)c->shape[i][k]));
        cJSON_AddItemToArray(args, item);
    }
    kb_names_free(&names);
    kb_plan_free(&plan);
    char *text = kb_json_line(o);
    cJSON_Delete(o);
    return text;
}

// Running

static void say_output(const struct kb_command *command, const struct kb_capture *ran)
{
    if (command->say && ran->out.size)
        command->say(command->context, ran->out.data, ran->out.size);
    if (command->say && ran->err.size)
        command->say(command->context, ran->err.data, ran->err.size);
}

// The last line that says something; owned.
static char *last_line(const struct kb_capture *ran)
{
    const struct kb_text *t = ran->err.size ? &ran->err : &ran->out;
    size_t end = t->size;
    while (end && strchr(" \t\r\n", t->data[end - 1]))
        end--;
    size_t start = end;
    while (start && t->data[start - 1] != '\n')
        start--;
    char *raw = kb_strndup(end ? t->data + start : "", end - start), *clean = kb_cleaned(raw);
    free(raw);
    return clean;
}

static int judge(struct kb_data *d, const struct kb_program_line *p, const struct kb_capture *ran, struct kb_error *e)
{
    static const char by_hand[] = "what it printed is in the log; mend it and save, or restart the workers";
    const char *name = p->name;
    d->command.stopped = ran->stopped;
    if (ran->stopped)
        return kb_fail(e, name, NULL, "it was ended: something else goes first");
    if (ran->timed_out)
        return kb_fail(e, name, "make it quicker, or its cases smaller, or set its timeout_s",
                       "it did not end within %d s", p->timeout_s);
    if (ran->cut)
        return kb_fail(e, name, "let it print less: results belong into files",
                       "it printed more than %d KiB, and was ended", KB_COMMAND_OUTPUT_BYTES >> 10);
    if (!ran->signal && !ran->exit_code)
        return 0;
    char *line = last_line(ran);
    if (ran->signal)
        kb_fail(e, name, by_hand, "it was ended by signal %d (%s)%s%s", ran->signal, strsignal(ran->signal),
                *line ? ": " : "", line);
    else
        kb_fail(e, name, by_hand, "it ended with exit code %d%s%s", ran->exit_code, *line ? ": " : "", line);
    free(line);
    return -1;
}

static int check_program(const struct kb_data *d, const struct kb_program_line *p, struct kb_error *e)
{
    const char *program = p->argv[0];
    char *beside = strchr(program, '/') ? kb_path_join(d->command.dir, program) : NULL;
    char *found = kb_which(beside ? beside : program);
    free(beside);
    bool there = found != NULL;
    free(found);
    if (there)
        return 0;
    return kb_fail(e, p->name,
                   strchr(program, '/') ? "paths are relative to the bench's folder; chmod +x it"
                                        : "install it, or name it with its path",
                   "there is no program \"%s\"", program);
}

// What is told by the environment goes in front, through env(1): this process keeps its own as it is.
static char **arguments(char *const *command, const char *in, const char *out, const char *description)
{
    int n = 0, words = 0;
    while (command[words])
        words++;
    char **argv = kb_alloc(((size_t)words + 10) * sizeof *argv);
    argv[n++] = kb_strdup("env");
    argv[n++] = kb_strdup("PYTHONDONTWRITEBYTECODE=1"); // compiled code that was not looked at is not run
    argv[n++] = kb_format("PYTHONPYCACHEPREFIX=%s", out);
    argv[n++] = kb_format("KBENCH_IN=%s", in);
    argv[n++] = kb_format("KBENCH_OUT=%s", out);
    argv[n++] = kb_format("KBENCH_CASE=%s", description);
    for (int i = 0; i < words; i++)
        argv[n++] = kb_strdup(command[i]);
    return argv;
}

// printed: what it wrote to its standard output; NULL: that is not wanted.
static int run(struct kb_data *d, const struct kb_program_line *p, const char *in, const char *out,
               const char *description, struct kb_text *printed, struct kb_error *e)
{
    struct kb_capture ran;
    struct kb_error inner = {0};
    if (check_program(d, p, e))
        return -1;
    char **argv = arguments(p->argv, in, out, description);
    int failed = kb_capture_while(argv, d->command.dir, p->timeout_s * 1000, KB_COMMAND_OUTPUT_BYTES, d->command.stop,
                                  d->command.context, &ran, &inner);
    kb_free_list(argv);
    if (failed)
        return kb_fail(e, p->name, inner.remedy, "it cannot be started: %s", inner.what);
    if (!ran.stopped)
        say_output(&d->command, &ran);
    failed = judge(d, p, &ran, e);
    if (!failed && printed)
        kb_text_bytes(printed, ran.out.data ? ran.out.data : "", ran.out.size);
    kb_capture_free(&ran);
    return failed;
}

// Results

static bool is_precise_enough(enum kb_dtype wanted, enum kb_dtype found)
{
    if (!kb_dtype_is_float(wanted))
        return found == wanted;
    return kb_dtype_is_float(found) && (found == KB_F64 || (wanted != KB_F64 && (found == KB_F32 || wanted != KB_F32)));
}

// One output, as elements of `type`. One that is to decide what is right (in doubles) must have the digits for it.
static int read_output(const struct kb_data *d, const struct kb_case_data *c, int arg, const char *dir,
                       enum kb_dtype type, char *to, struct kb_error *e)
{
    const struct kb_arg *a = &d->bench->args[arg];
    char *name = kb_format("%s.npy", a->name), *path = kb_path_join(dir, name), *bytes = NULL;
    size_t size = 0, limit = (size_t)c->elements[arg] * 8 + (1 << 16);
    struct kb_npy npy;
    int failed;
    if (!kb_is_file(path))
        failed = kb_fail(e, name, "numpy.save(os.environ[\"KBENCH_OUT\"] + \"/NAME.npy\", array) for each output",
                         "the command did not write it into the folder $KBENCH_OUT");
    else
        failed = kb_file_read(path, limit, &bytes, &size, e) || kb_npy_parse(bytes, size, name, &npy, e) ||
                 kb_npy_fits(&npy, a->ndim, c->shape[arg], name, e);
    bool decides = type == kb_reference_type(a->dtype) && kb_dtype_is_float(type);
    if (!failed && (decides || !kb_dtype_is_float(type)) && !is_precise_enough(a->dtype, npy.dtype))
        failed = kb_fail(e, name,
                         kb_dtype_is_float(a->dtype) ? "write it as float64: array.astype(\"float64\")"
                                                     : "write it in the output's own type",
                         "the command wrote %s, which cannot stand for %s", kb_dtype_name(npy.dtype),
                         kb_dtype_name(a->dtype));
    failed = failed || kb_npy_convert(&npy, type, to, name, e);
    free(bytes);
    free(path);
    free(name);
    return failed ? -1 : 0;
}

static size_t result_bytes(const struct kb_data *d, const struct kb_case_data *c)
{
    size_t bytes = 0;
    for (int i = 0; i < d->bench->arg_count; i++)
        if (kb_arg_is_written(d->bench->args[i].role))
            bytes += (size_t)c->elements[i] * kb_dtype_bytes(kb_reference_type(d->bench->args[i].dtype));
    return bytes;
}

static int read_outputs(const struct kb_data *d, const struct kb_case_data *c, const char *dir, char *to,
                        struct kb_error *e)
{
    for (int i = 0; i < d->bench->arg_count; i++) {
        const struct kb_arg *a = &d->bench->args[i];
        if (!kb_arg_is_written(a->role))
            continue;
        if (read_output(d, c, i, dir, kb_reference_type(a->dtype), to, e))
            return -1;
        to += (size_t)c->elements[i] * kb_dtype_bytes(kb_reference_type(a->dtype));
    }
    return 0;
}

static int upload(struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, const char *from,
                  struct kb_error *e)
{
    for (int i = 0; i < d->bench->arg_count; i++) {
        const struct kb_arg *a = &d->bench->args[i];
        size_t bytes = (size_t)c->elements[i] * kb_dtype_bytes(kb_reference_type(a->dtype));
        if (!kb_arg_is_written(a->role))
            continue;
        if (bytes && d->device->ops->to_device(d->device, s->ref[i].address, from, bytes, e))
            return -1;
        from += bytes;
    }
    return 0;
}

struct job { // one run: what of, and what is done with the folder that it wrote to
    struct kb_data *d;
    struct kb_case_data *c;
    struct kb_set *set;
    const struct kb_program_line *program;
    const char *description;
    struct kb_text *printed;
    int (*take)(struct job *, const char *dir, struct kb_error *);
    void *result;
};

static int run_in(struct job *j, const char *dir, struct kb_error *e)
{
    char *in = kb_path_join(dir, "in"), *out = kb_path_join(dir, "out");
    int failed = kb_make_dirs(in, e) || kb_make_dirs(out, e) || write_inputs(j->d, j->c, j->set, in, e) ||
                 run(j->d, j->program, in, out, j->description, j->printed, e) || j->take(j, out, e);
    free(in);
    free(out);
    return failed ? -1 : 0;
}

static int run_fresh(struct job *j, struct kb_error *e)
{
    const char *temporary = getenv("TMPDIR");
    char *dir = kb_format("%s/kbench-command-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    int failed = 0;
    if (!mkdtemp(dir)) // for this user alone
        failed = kb_fail(e, dir, "set TMPDIR to a folder with room", "the inputs cannot be written: no folder");
    if (!failed) {
        failed = run_in(j, dir, e);
        kb_remove_tree(dir);
    }
    free(dir);
    return failed;
}

// What is allowed is looked at right before it runs. p is to be freed also on failure.
static int check_permission(const struct kb_data *d, const struct kb_program_line *program, struct kb_permission *p,
                            struct kb_error *e)
{
    *p = (struct kb_permission){0};
    if (!d->command.dir)
        return kb_fail(e, program->name, "kbench-tui allow BENCH", "nobody has allowed it");
    if (kb_permission_read(d->command.dir, program->argv, p, e))
        return -1;
    return p->given ? 0
                    : kb_fail(e, program->name, "look at it, then kbench-tui allow BENCH",
                              "what it would run has changed since it was allowed");
}

static int take_reference(struct job *j, const char *dir, struct kb_error *e)
{
    return read_outputs(j->d, j->c, dir, j->result, e);
}

static void say_foreign(struct kb_data *d)
{
    static const char text[] = "results of reference.command that were kept in the cache were changed by somebody "
                               "else: they are ignored, and computed again\n";
    if (d->command.say)
        d->command.say(d->command.context, text, sizeof text - 1);
}

int kb_command_reference(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, struct kb_error *e)
{
    const struct kb_program_line program = {d->bench->reference.command, d->bench->reference.timeout_s,
                                            "reference.command"};
    struct kb_permission permission;
    d->command.stopped = false;
    char *description = check_permission(d, &program, &permission, e) ? NULL : describe(d, c, e);
    int failed = description ? 0 : -1;
    if (!failed) {
        size_t bytes = result_bytes(d, c);
        char *results = kb_alloc(bytes + 8), *key = kb_command_key(d, s, &permission, description);
        struct job job = {d, c, s, &program, description, NULL, take_reference, results};
        double us = 0;
        bool foreign;
        if (!kb_command_cached(key, results, bytes, &us, &foreign)) {
            if (foreign)
                say_foreign(d);
            double start = kb_spent_us(d);
            failed = run_fresh(&job, e);
            us = kb_spent_us(d) - start;
            if (!failed)
                kb_command_keep(key, results, bytes, us);
        }
        c->reference_us = c->reference_spent_us = us;
        failed = failed || upload(d, c, s, results, e);
        free(results);
        free(key);
    }
    free(description);
    kb_permission_free(&permission);
    return failed ? -1 : 0;
}

// A variant that times itself

// The last line that is an object with a time above zero.
static bool find_time(const struct kb_text *printed, struct kb_reported *r)
{
    const char *at = printed->data ? printed->data : "";
    for (bool more = true; more;) {
        size_t n = strcspn(at, "\n");
        cJSON *line = cJSON_ParseWithLength(at, n);
        double us = kb_json_number(line, "us", NAN);
        if (cJSON_IsObject(line) && us > 0 && isfinite(us)) {
            char *what = kb_cleaned(kb_json_text(line, "what", ""));
            r->us = us;
            snprintf(r->what, sizeof r->what, "%.199s", what);
            free(what);
        }
        cJSON_Delete(line);
        more = at[n] != 0;
        at += n + more;
    }
    return r->us > 0;
}

static bool wrote_any(const struct kb_data *d, const char *dir)
{
    bool any = false;
    for (int i = 0; i < d->bench->arg_count; i++) {
        char *name = kb_format("%s/%s.npy", dir, d->bench->args[i].name);
        any = any || (kb_arg_is_written(d->bench->args[i].role) && kb_is_file(name));
        free(name);
    }
    return any;
}

// Its outputs take the place of a kernel's.
static int place_outputs(struct kb_data *d, struct kb_case_data *c, const struct kb_set *s, const char *dir,
                         struct kb_error *e)
{
    if (kb_data_reset(d, c, s, 0, e))
        return -1;
    for (int i = 0; i < d->bench->arg_count; i++) {
        const struct kb_arg *a = &d->bench->args[i];
        size_t bytes = (size_t)c->elements[i] * kb_dtype_bytes(a->dtype);
        if (!kb_arg_is_written(a->role))
            continue;
        char *values = kb_alloc(bytes + 8);
        int failed = read_output(d, c, i, dir, a->dtype, values, e) ||
                     (bytes && d->device->ops->to_device(d->device, c->work[0][i].address, values, bytes, e));
        free(values);
        if (failed)
            return -1;
    }
    return 0;
}

static int take_report(struct job *j, const char *dir, struct kb_error *e)
{
    struct kb_reported *r = j->result;
    struct kb_trial t = {0};
    struct kb_error why = {0};
    if (!find_time(j->printed, r))
        return kb_fail(e, j->program->name, "print a line such as {\"us\": 34.1, \"what\": \"torch.softmax\"}",
                       "it printed no time");
    if (!j->set->has_reference || !wrote_any(j->d, dir)) {
        snprintf(r->reason, sizeof r->reason, "%s",
                 j->set->has_reference ? "it wrote no outputs" : "there is no reference to compare with");
        return 0;
    }
    int failed = place_outputs(j->d, j->c, j->set, dir, &why) || kb_trial_compare(j->d, j->c, j->set, 0, &t, &why);
    r->compared = true;
    r->right = !failed && t.pass;
    if (failed)
        snprintf(r->reason, sizeof r->reason, "%.398s", kb_error_line(&why));
    else if (!t.pass)
        snprintf(r->reason, sizeof r->reason, "%.398s", t.reason);
    kb_trial_free(&t);
    return failed && kb_device_is_lost(j->d->device) ? kb_fail(e, NULL, NULL, "%s", r->reason) : 0;
}

int kb_command_report(struct kb_data *d, struct kb_case_data *c, struct kb_set *s,
                      const struct kb_program_line *program, struct kb_reported *r, struct kb_error *e)
{
    struct kb_permission permission;
    struct kb_text printed = {0};
    *r = (struct kb_reported){0};
    d->command.stopped = false;
    char *description = check_permission(d, program, &permission, e) ? NULL : describe(d, c, e);
    struct job job = {d, c, s, program, description, &printed, take_report, r};
    int failed = !description || run_fresh(&job, e);
    free(description);
    kb_text_free(&printed);
    kb_permission_free(&permission);
    return failed ? -1 : 0;
}
