#include "both/bundled.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/source.h"
#include "jit/compile.h"
#include "verify/program.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 32 };

struct sources {
    struct kb_compile_file files[MOST_FILES];
    int count;
};

static void add_failure(cJSON *failures, const struct kb_bench *b, const char *variant, const char *label,
                        const char *reason)
{
    cJSON *o = cJSON_CreateObject();
    kb_json_set_text(o, "bench", b ? b->name : NULL);
    kb_json_set_text(o, "variant", variant);
    kb_json_set_text(o, "case", label);
    kb_json_set_text(o, "reason", reason);
    cJSON_AddItemToArray(failures, o);
    printf("%s %s %s: %s\n", b ? b->name : "", variant ? variant : "", label ? label : "", reason);
}

// The sources of a bench's folder; owned by `s`.
static int read_sources(const char *folder, struct sources *s, struct kb_error *e)
{
    *s = (struct sources){0};
    DIR *d = opendir(folder);
    if (!d)
        return kb_fail(e, folder, NULL, "cannot be opened");
    int failed = 0;
    for (struct dirent *entry; !failed && (entry = readdir(d)) && s->count < MOST_FILES;) {
        if (!kb_ends(entry->d_name, ".cu") && !kb_ends(entry->d_name, ".cuh") && !kb_ends(entry->d_name, ".h"))
            continue;
        char *path = kb_path_join(folder, entry->d_name), *text;
        size_t size;
        failed = kb_file_read(path, 1 << 22, &text, &size, e);
        free(path);
        if (!failed)
            s->files[s->count++] = (struct kb_compile_file){kb_strdup(entry->d_name), text, size};
    }
    closedir(d);
    return failed;
}

static void free_sources(struct sources *s)
{
    for (int i = 0; i < s->count; i++) {
        free((char *)s->files[i].name);
        free((char *)s->files[i].data);
    }
}

static int compile(const struct sources *s, const struct kb_variant *v, const char *arch, struct kb_compiled *out,
                   struct kb_error *e)
{
    const char *kernels[16], *defines[32];
    struct kb_compile_request r = {.main = v->source,
                                   .files = s->files,
                                   .file_count = s->count,
                                   .arch = arch,
                                   .compiler = "auto",
                                   .lineinfo = true,
                                   .kernels = kernels,
                                   .defines = defines};
    for (int i = 0; i < v->launch_count && i < 16; i++)
        kernels[r.kernel_count++] = v->launches[i].kernel;
    for (int i = 0; i < v->define_count && i < 32; i++)
        defines[r.define_count++] = kb_format("%s=%s", v->defines[i].name, v->defines[i].value);
    int failed = kb_compile(&r, out, e);
    for (int i = 0; i < r.define_count; i++)
        free((char *)defines[i]);
    if (failed)
        return -1;
    return out->ok ? 0 : kb_fail(e, v->source, NULL, "%s", out->reason);
}

static cJSON *kernel_names(const struct kb_compiled *c)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < c->kernel_count; i++) {
        cJSON *k = cJSON_CreateObject();
        kb_json_set_text(k, "name", c->kernels[i].name);
        kb_json_set_text(k, "lowered", c->kernels[i].lowered);
        cJSON_AddItemToArray(list, k);
    }
    return list;
}

int bundled_reset(struct bundled *x, struct kb_error *e)
{
    const struct kb_device_ops *ops = x->device[1]->ops;
    for (int i = 0; i < x->bench->arg_count; i++) {
        const struct kb_buffer *b = &x->buffer[i];
        if (!b->bytes)
            continue;
        if (ops->to_device(x->device[1], b->address, (const void *)(uintptr_t)x->address[0][i], b->bytes, e))
            return -1;
    }
    return 0;
}

// Before the first run the CPU device's outputs are as verify poisons them, and the second device gets a copy of all.
static int second_buffers(struct bundled *x, struct kb_error *e)
{
    int n = x->bench->arg_count;
    x->buffer = kb_alloc((size_t)n * sizeof *x->buffer);
    x->address[1] = kb_alloc((size_t)n * sizeof **x->address);
    for (int i = 0; i < n; i++) {
        const struct kb_arg *a = &x->bench->args[i];
        if (a->role == KB_SCALAR)
            continue;
        struct kb_buffer_spec spec = {.bytes = (size_t)x->data->elements[i] * kb_dtype_bytes(a->dtype),
                                      .guard_bytes = KB_GUARD_BYTES,
                                      .name = a->name,
                                      .dtype = a->dtype,
                                      .ndim = 1,
                                      .shape = {x->data->elements[i]}};
        if (x->device[1]->ops->alloc(x->device[1], &spec, &x->buffer[i], e))
            return -1;
        x->address[1][i] = x->buffer[i].address;
    }
    return 0;
}

static void close_case(struct bundled *x)
{
    for (int i = 0; x->buffer && i < x->bench->arg_count; i++)
        x->device[1]->ops->free(x->device[1], &x->buffer[i]);
    free(x->buffer);
    free(x->address[0]);
    free(x->address[1]);
    x->buffer = NULL;
    x->address[0] = x->address[1] = NULL;
    kb_plan_free(&x->plan);
}

static int open_case(struct bundled *x, struct kb_data *d, int index, struct kb_error *e)
{
    struct kb_case_data *c = &d->cases[index];
    bool fresh;
    struct kb_set *set = kb_data_take(d, c, &fresh, e);
    x->data = c;
    x->case_index = index;
    x->plan = (struct kb_plan){0};
    if (!set || kb_plan_make(d->bench, index, true, x->variant, &x->plan, e) || kb_data_reset(d, c, set, 0, e))
        return -1;
    x->address[0] = kb_alloc((size_t)d->bench->arg_count * sizeof **x->address);
    kb_data_addresses(d, c, set, 0, x->address[0]);
    return second_buffers(x, e) || bundled_reset(x, e) ? -1 : 0;
}

static void add_numbers(cJSON *to, const cJSON *from)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, from) {
        cJSON *at = cJSON_GetObjectItemCaseSensitive(to, item->string);
        if (cJSON_IsNumber(item) && at)
            cJSON_SetNumberHelper(at, at->valuedouble + item->valuedouble);
        else if (cJSON_IsNumber(item))
            kb_json_set_number(to, item->string, item->valuedouble);
    }
}

int bundled_run_cpu(struct bundled *x, cJSON **facts, struct kb_error *e)
{
    cJSON *sum = cJSON_CreateObject();
    int failed = 0;
    for (int i = 0; !failed && i < x->plan.launch_count; i++) {
        failed = kb_plan_launch_one(&x->program[0], &x->plan, x->variant, x->bench, x->address[0], i, e) ||
                 x->device[0]->ops->sync(x->device[0], e);
        cJSON *one = failed ? NULL : x->device[0]->ops->facts(x->device[0]);
        add_numbers(sum, one);
        cJSON_Delete(one);
    }
    if (facts && !failed)
        *facts = sum;
    else
        cJSON_Delete(sum);
    return failed ? -1 : 0;
}

struct walk {
    const struct both_options *options;
    struct kb_device *const *device;
    bundled_use use;
    void *context;
    cJSON *failures;
};

static void all_cases(const struct walk *w, struct bundled *x, struct kb_data *d)
{
    for (int i = 0; i < d->bench->case_count; i++) {
        struct kb_error e = {0};
        if (open_case(x, d, i, &e))
            add_failure(w->failures, d->bench, x->variant->name, d->cases[i].label, kb_error_line(&e));
        else
            w->use(x, w->context);
        close_case(x);
    }
}

static int load_both(struct bundled *x, const struct kb_compiled *c, struct kb_error *e)
{
    cJSON *names = kernel_names(c);
    struct kb_image image;
    int failed = 0;
    kb_image_set(&image, c->ptx, c->ptx_size, NULL, 0); // PTX for both: the driver compiles it
    for (int k = 0; !failed && k < 2; k++)
        failed = kb_program_load(x->device[k], x->variant, names, &image, &x->program[k], e);
    kb_image_free(&image);
    cJSON_Delete(names);
    return failed;
}

static void one_variant(const struct walk *w, struct kb_data *d, const struct sources *s, int index)
{
    struct kb_error e = {0};
    struct kb_source scanned = {0};
    struct kb_variant *v = NULL;
    struct kb_compiled compiled = {0};
    const struct kb_variant *plain = &d->bench->variants[index];
    const struct kb_compile_file *file = NULL;
    for (int i = 0; i < s->count; i++)
        if (plain->source && !strcmp(s->files[i].name, plain->source))
            file = &s->files[i];
    if (!file)
        return; // a library or a command
    struct bundled x = {.bench = d->bench, .device = {w->device[0], w->device[1]}};
    int failed = kb_source_scan(file->data, file->size, file->name, &scanned, &e) ||
                 kb_variant_resolve(d->bench, index, &scanned, &v, &e) ||
                 compile(s, v, w->device[1]->info.arch[0] ? w->device[1]->info.arch : "sm_90", &compiled, &e);
    x.variant = v;
    if (!failed && !(failed = load_both(&x, &compiled, &e)))
        all_cases(w, &x, d);
    if (failed)
        add_failure(w->failures, d->bench, plain->name, NULL, kb_error_line(&e));
    for (int k = 0; k < 2; k++)
        kb_program_unload(&x.program[k]);
    kb_compiled_free(&compiled);
    kb_variant_free(v);
    kb_source_free(&scanned);
}

static void one_bench(const struct walk *w, const char *folder)
{
    struct kb_error e = {0};
    struct kb_data_request request = {.seed = 1, .sets = 1};
    struct kb_data d;
    struct sources s = {0};
    if (kb_bench_load(folder, &request.bench, &e) || read_sources(folder, &s, &e) ||
        kb_data_open(w->device[0], &request, &d, &e)) {
        add_failure(w->failures, NULL, folder, NULL, kb_error_line(&e));
        free_sources(&s);
        return;
    }
    for (int i = 0; i < d.bench->variant_count; i++)
        one_variant(w, &d, &s, i);
    kb_data_close(&d);
    free_sources(&s);
}

static int is_bench(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

int bundled_each(const struct both_options *o, struct kb_device *const device[2], bundled_use use, void *context,
                 cJSON *failures)
{
    struct walk w = {.options = o, .device = device, .use = use, .context = context, .failures = failures};
    char *root = kb_path_join(o->root, "kernels");
    struct dirent **list;
    int n = scandir(root, &list, is_bench, alphasort);
    for (int i = 0; i < n; i++) {
        char *folder = kb_path_join(root, list[i]->d_name), *file = kb_path_join(folder, "bench.json");
        FILE *f = fopen(file, "r");
        if (f) {
            fclose(f);
            if (!o->only || strstr(list[i]->d_name, o->only))
                one_bench(&w, folder);
        }
        free(folder);
        free(file);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    free(root);
    return n < 0 ? -1 : 0;
}
