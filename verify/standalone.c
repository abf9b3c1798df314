#include "verify/standalone.h"
#include "base/memory.h"
#include "base/text.h"
#include "verify/fill.h"
#include "verify/probe.h"
#include "verify/repeat.h"
#include "verify/rule.h"
#include "verify/standalone_support.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const char kb_embedded_element_h[], kb_embedded_element_fill_h[], kb_embedded_element_compare_h[];

struct writer {
    struct kb_data *d;
    const struct kb_case_data *c;
    const struct kb_set *set;
    const struct kb_standalone *s;
    struct kb_text out;
};

static void add_number(struct kb_text *t, double v)
{
    if (isnan(v))
        kb_text_add(t, "NAN");
    else if (isinf(v))
        kb_text_add(t, v < 0 ? "-INFINITY" : "INFINITY");
    else
        kb_text_addf(t, "%.17g", v);
}

// A comment must not end early, nor go over the line.
static void add_comment(struct kb_text *t, const char *label, const char *text)
{
    char *clean = kb_cleaned(text);
    for (char *p = clean; *p; p++)
        *p = *p == '\\' ? '/' : *p; // at the end of a line it would join the next one
    kb_text_addf(t, "// %s%s\n", label, clean);
    free(clean);
}

// Without its includes of the others.
static void add_embedded(struct kb_text *t, const char *text)
{
    for (const char *line = text, *end; *line; line = end) {
        end = strchrnul(line, '\n');
        end += *end != 0;
        if (strncmp(line, "#include \"", 10))
            kb_text_bytes(t, line, (size_t)(end - line));
    }
}

static void add_head(struct writer *w)
{
    const struct kb_variant *v = w->s->variant;
    add_comment(&w->out, "A failing case of bench ", w->d->bench->name);
    add_comment(&w->out, "variant: ", v->name);
    add_comment(&w->out, "case:    ", w->c->label);
    add_comment(&w->out, "failed:  ", w->s->reason ? w->s->reason : "unknown");
    if (w->s->inputs)
        add_comment(&w->out, "inputs:  ", w->s->inputs);
    else
        kb_text_addf(&w->out, "// inputs:  seed %" PRIu64 ", set %" PRIu64 "\n", w->d->seed, w->set->number);
    kb_text_add(&w->out, "// exit:    0 nothing wrong is seen, 1 something is, 3 CUDA failed\n");
    kb_text_add(&w->out, "#include <cuda_runtime.h>\n#include <math.h>\n#include <stdio.h>\n#include "
                         "<stdlib.h>\n#include <string.h>\n\n");
    for (int i = 0; i < v->define_count; i++)
        kb_text_addf(&w->out, "#define %s %s\n", v->defines[i].name, v->defines[i].value ? v->defines[i].value : "1");
    kb_text_addf(&w->out, "#include \"%s\"\n\n// ---- how inputs are made and outputs are compared\n\n", v->source);
    kb_text_add(&w->out, "#pragma nv_diag_suppress 177 // not all of it is used\n");
    add_embedded(&w->out, kb_embedded_element_h);
    add_embedded(&w->out, kb_embedded_element_fill_h);
    add_embedded(&w->out, kb_embedded_element_compare_h);
    kb_text_add(&w->out, kb_standalone_support);
    kb_text_add(&w->out, "\n// ---- this case\n\n");
}

static void add_words(struct kb_text *t, const char *name, const uint64_t *words, size_t count)
{
    kb_text_addf(t, "static const unsigned long long %s[] = {", name);
    for (size_t i = 0; i < count; i++)
        kb_text_addf(t, "%s0x%" PRIx64 "u,", i % 8 ? " " : "\n    ", words[i]);
    kb_text_add(t, count ? "\n};\n" : "0};\n");
}

// Inputs that no generator makes, as 64-bit words of their bytes.
static int add_data(struct writer *w, int arg, size_t *used, struct kb_error *e)
{
    const struct kb_buffer *b = &w->set->input[arg];
    const char *name = w->d->bench->args[arg].name;
    size_t words = (b->bytes + 7) / 8;
    *used += b->bytes;
    if (*used > KB_STANDALONE_DATA_BYTES)
        return kb_fail(e, name, "choose a smaller case", "%zu bytes of inputs are too many to write out as numbers",
                       *used);
    uint64_t *copy = kb_alloc(words * 8 + 8);
    int failed = b->bytes && w->d->device->ops->to_host(w->d->device, copy, b->address, b->bytes, e);
    char *id = kb_format("kbe_data_%d", arg);
    if (!failed)
        add_words(&w->out, id, copy, words);
    free(id);
    free(copy);
    return failed ? -1 : 0;
}

static bool is_generated(const struct writer *w, int arg)
{
    struct kbe_fill f;
    return kb_set_fill_of(w->d, w->c, w->set, arg, &f);
}

static int add_all_data(struct writer *w, struct kb_error *e)
{
    size_t used = 0;
    for (int i = 0; i < w->d->bench->arg_count; i++)
        if (w->set->input[i].address && !is_generated(w, i) && add_data(w, i, &used, e))
            return -1;
    return 0;
}

// The elements of the output that are compared: some before the first wrong one, more behind it.
static void window(const struct writer *w, uint64_t *first, uint64_t *n)
{
    uint64_t all = (uint64_t)w->c->elements[w->s->arg], before = KB_STANDALONE_WINDOW / 4;
    *first = w->s->first > before ? w->s->first - before : 0;
    *first = *first < all ? *first : 0;
    *n = all - *first < KB_STANDALONE_WINDOW ? all - *first : KB_STANDALONE_WINDOW;
}

static void add_doubles(struct kb_text *t, const char *name, const double *values, uint64_t n)
{
    kb_text_addf(t, "static const double %s[] = {", name);
    for (uint64_t i = 0; i < n; i++) {
        add_number(t, values[i]);
        kb_text_add(t, i % 8 == 7 ? ",\n    " : ", ");
    }
    kb_text_add(t, n ? "};\n" : "0};\n");
}

// A part of a buffer of doubles; zeros where there is none.
static int add_part(struct writer *w, const char *name, const struct kb_buffer *b, uint64_t first, uint64_t n,
                    struct kb_error *e)
{
    double *values = kb_alloc(n * 8 + 8);
    int failed = b && n && w->d->device->ops->to_host(w->d->device, values, b->address + first * 8, n * 8, e);
    if (!failed)
        add_doubles(&w->out, name, values, n);
    free(values);
    return failed ? -1 : 0;
}

static int add_wanted(struct writer *w, uint64_t group, struct kb_error *e)
{
    int arg = w->s->arg;
    bool exact = w->d->bench->tolerance.kind == KB_TOLERANCE_EXACT;
    struct kb_wanted wanted = kb_rule_wanted(w->set, arg, !exact);
    uint64_t first, n, size = kb_dtype_bytes(kb_reference_type(w->d->bench->args[arg].dtype));
    window(w, &first, &n);
    uint64_t first_group = first / group, groups = n ? (first + n - 1) / group - first_group + 1 : 0;
    unsigned char *bytes = kb_alloc(n * size + 8);
    uint64_t *want = kb_alloc(n * 8 + 8);
    int failed = n && w->d->device->ops->to_host(w->d->device, bytes, wanted.ref->address + first * size, n * size, e);
    for (uint64_t i = 0; i < n; i++)
        want[i] = kbe_load(bytes, (int)size, i);
    if (!failed) {
        kb_text_addf(&w->out, "// what the reference has from element %" PRIu64 " of %s on: %s\n", first,
                     w->d->bench->args[arg].name, size == 8 ? "bits" : "values");
        add_words(&w->out, "kbe_want", want, n);
        failed = add_part(w, "kbe_scale", wanted.scale, first_group, groups, e) ||
                 add_part(w, "kbe_condition", wanted.condition, first, n, e);
    }
    free(bytes);
    free(want);
    return failed ? -1 : 0;
}

static void add_arrays(struct writer *w)
{
    for (int i = 0; i < w->d->bench->arg_count; i++) {
        const struct kb_arg *a = &w->d->bench->args[i];
        if (a->role == KB_SCALAR)
            kb_text_addf(&w->out, "    unsigned long long v%d = 0x%" PRIx64 "u; // %s, as bits of %s\n", i,
                         w->s->plan->scalars[i], a->name, kb_dtype_name(a->dtype));
        else
            kb_text_addf(&w->out, "    kbe_array a%d = kbe_new(\"%s\", %d, %zu, %" PRId64 "u);\n", i, a->name,
                         (int)a->dtype, kb_dtype_bytes(a->dtype), w->c->elements[i]);
    }
}

// Two calls on each set, the last two on the one that failed; sets are numbered in the order of their use.
static void add_keys(struct writer *w, int arg)
{
    int sets = w->s->same ? 1 : (w->s->calls + 1) / 2;
    kb_text_addf(&w->out, "        static const kbe_u64 kbe_keys_%d[][2] = {", arg);
    for (int i = 0; i < sets; i++) {
        struct kbe_fill f;
        uint64_t number = w->set->number - (uint64_t)(sets - 1 - i);
        uint64_t base = sets > 1 ? (kb_repeat_kind(i) == KB_REPEAT_TOUCHED ? number - 1 : 0) : w->set->base;
        kb_fill_of(w->d, w->c, number, base, arg, &f);
        kb_text_addf(&w->out, "{0x%llxu, 0x%llxu}, ", f.key, f.other);
    }
    kb_text_add(&w->out, "};\n");
}

static void add_fill(struct writer *w, int arg)
{
    struct kbe_fill f;
    if (!is_generated(w, arg)) {
        kb_text_addf(&w->out,
                     "        KBE_TRY(cudaMemcpy(a%d.data, kbe_data_%d, a%d.bytes, cudaMemcpyHostToDevice));\n", arg,
                     arg, arg);
        return;
    }
    kb_set_fill_of(w->d, w->c, w->set, arg, &f);
    add_keys(w, arg);
    kb_text_addf(&w->out, "        kbe_fill f%d = {kbe_keys_%d[%s][0], %lluu, %lluu, ", arg, arg,
                 w->s->same ? "0" : "call / 2", f.inner, f.rows);
    add_number(&w->out, f.a);
    kb_text_add(&w->out, ", ");
    add_number(&w->out, f.b);
    kb_text_addf(&w->out, ", %d, %d, kbe_keys_%d[%s][1], %d, %d, ", f.kind, f.dtype, arg, w->s->same ? "0" : "call / 2",
                 f.hard, f.shift);
    add_number(&w->out, f.large);
    kb_text_add(&w->out, ", ");
    add_number(&w->out, f.small);
    kb_text_addf(&w->out, ", %d};\n        kbe_fill_all<<<1024, 128>>>(f%d, a%d.data, a%d.n);\n", f.infinite, arg, arg,
                 arg);
}

static void add_poison(struct writer *w, int arg)
{
    if (w->s->calls > 1 && !w->s->same)
        kb_text_addf(&w->out, "        if (call / 2 %% %d == %d) // else as the call before left it\n    ",
                     KB_REPEAT_KINDS, KB_REPEAT_FRESH);
    kb_text_addf(&w->out, "        kbe_poison_all<<<1024, 128>>>(a%d.dtype, call & 1, a%d.data, a%d.n);\n", arg, arg,
                 arg);
}

static void add_preparing(struct writer *w)
{
    for (int i = 0; i < w->d->bench->arg_count; i++) {
        enum kb_role role = w->d->bench->args[i].role;
        if (kb_arg_is_read(role))
            add_fill(w, i);
        if (role == KB_INPUT)
            kb_text_addf(&w->out, "        kbe_keep(&a%d);\n", i);
        if (role == KB_OUTPUT || role == KB_SCRATCH)
            add_poison(w, i);
    }
}

static void add_launch(struct writer *w, int index)
{
    const struct kb_plan_launch *l = &w->s->plan->launches[index];
    const struct kb_dims *d = &l->dims;
    kb_text_addf(&w->out, "        void *p%d[] = {", index);
    for (int i = 0; i < l->arg_count; i++)
        kb_text_addf(&w->out,
                     w->d->bench->args[l->args[i]].role == KB_SCALAR ? "%s(void *)&v%d" : "%s(void *)&a%d.data",
                     i ? ", " : "", l->args[i]);
    kb_text_addf(&w->out, "};\n        const void *k%d = (const void *)%s;\n", index,
                 w->s->variant->launches[index].kernel);
    if (d->shared > 48 << 10)
        kb_text_addf(&w->out,
                     "        KBE_TRY(cudaFuncSetAttribute(k%d, cudaFuncAttributeMaxDynamicSharedMemorySize, %" PRId64
                     "));\n",
                     index, d->shared);
    kb_text_addf(&w->out,
                 "        KBE_TRY(cudaLaunch%sKernel(k%d, dim3(%" PRId64 ", %" PRId64 ", %" PRId64 "), dim3(%" PRId64
                 ", %" PRId64 ", %" PRId64 "), p%d, %" PRId64 ", 0));\n",
                 d->cooperative ? "Cooperative" : "", index, d->grid[0], d->grid[1], d->grid[2], d->block[0],
                 d->block[1], d->block[2], index, d->shared);
}

static void add_rule(struct writer *w, const struct kbe_rule *r)
{
    const double bounds[] = {r->max_abs, r->max_rel, r->max_ulp, r->scaled, r->allowance, r->fallback};
    kb_text_add(&w->out, "    kbe_rule rule = {");
    for (size_t i = 0; i < KB_COUNT(bounds); i++) {
        add_number(&w->out, bounds[i]);
        kb_text_add(&w->out, ", ");
    }
    kb_text_addf(&w->out, "%lluu, %d, %d};\n", r->group, r->dtype, r->exact);
}

// What needs no reference: writes beside arrays and into inputs, elements that were never written.
static void add_inspecting(struct writer *w)
{
    kb_text_add(&w->out, "    int wrong = 0;\n");
    for (int i = 0; i < w->d->bench->arg_count; i++) {
        enum kb_role role = w->d->bench->args[i].role;
        if (role != KB_SCALAR)
            kb_text_addf(&w->out, "    wrong |= kbe_guards(&a%d);\n", i);
        if (role == KB_INPUT)
            kb_text_addf(&w->out, "    wrong |= kbe_changed(&a%d);\n", i);
        if (role == KB_OUTPUT && kb_dtype_is_float(w->d->bench->args[i].dtype)) // an integer may happen to look so
            kb_text_addf(&w->out, "    wrong |= kbe_unwritten(&a%d, %d);\n", i, (w->s->calls - 1) & 1);
    }
}

static void add_comparing(struct writer *w, const struct kb_bound *b)
{
    uint64_t first, n;
    window(w, &first, &n);
    kb_text_addf(&w->out, "    // tolerance: %s\n", b->why);
    add_rule(w, &b->rule);
    kb_text_addf(&w->out,
                 "    kbe_u64 *want;\n    double *scale, *condition;\n    kbe_seen *seen;\n"
                 "    KBE_TRY(cudaMallocManaged(&want, sizeof kbe_want));\n"
                 "    KBE_TRY(cudaMallocManaged(&scale, sizeof kbe_scale));\n"
                 "    KBE_TRY(cudaMallocManaged(&condition, sizeof kbe_condition));\n"
                 "    KBE_TRY(cudaMallocManaged(&seen, %d * sizeof *seen));\n"
                 "    memcpy(want, kbe_want, sizeof kbe_want);\n    memcpy(scale, kbe_scale, sizeof kbe_scale);\n"
                 "    memcpy(condition, kbe_condition, sizeof kbe_condition);\n"
                 "    kbe_look<<<1, 128>>>(rule, a%d.data, want, scale, condition, %" PRIu64 "u, %" PRIu64
                 "u, %d, seen);\n"
                 "    KBE_TRY(cudaDeviceSynchronize());\n"
                 "    wrong |= kbe_report(seen, %" PRIu64 "u, %" PRIu64 "u);\n",
                 KB_STANDALONE_WINDOW, w->s->arg, first, n, (w->s->calls - 1) & 1, first, n);
}

static void add_main(struct writer *w, const struct kb_bound *b)
{
    kb_text_add(&w->out, "\nint main()\n{\n");
    add_arrays(w);
    kb_text_addf(&w->out, "    for (int call = 0; call < %d; call++) {\n", w->s->calls);
    add_preparing(w);
    for (int i = 0; i < w->s->plan->launch_count; i++)
        add_launch(w, i);
    kb_text_add(&w->out, "        KBE_TRY(cudaDeviceSynchronize());\n    }\n");
    add_inspecting(w);
    if (w->d->has_reference)
        add_comparing(w, b);
    kb_text_add(&w->out, "    puts(wrong ? \"WRONG\" : \"nothing wrong is seen\");\n    return wrong;\n}\n");
}

char *kb_standalone_text(struct kb_data *d, struct kb_case_data *c, struct kb_set *set, const struct kb_standalone *s,
                         struct kb_error *e)
{
    struct writer w = {.d = d, .c = c, .set = set, .s = s};
    struct kb_bound bound;
    if (d->has_reference && kb_probe_condition(d, c, set, e))
        return NULL;
    kb_rule_for(d, c, set, s->arg, &bound);
    add_head(&w);
    if (add_all_data(&w, e) || (d->has_reference && add_wanted(&w, bound.rule.group, e))) {
        kb_text_free(&w.out);
        return NULL;
    }
    add_main(&w, &bound);
    return kb_text_take(&w.out);
}
