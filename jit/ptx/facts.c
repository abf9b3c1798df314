#include "jit/ptx/facts.h"

#include "base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line_counts {
    struct ptx_place place;
    uint64_t instructions, bytes, sectors, conflicts, divergent, flops;
};

struct sums {
    const struct ptx_thread *total;
    const struct ptx_module *module;
    uint64_t instructions, lanes, by_class[PTX_CLASSES], flops[PTX_FLOPS];
    uint64_t global_load, global_store, shared, local, global_requests, global_sectors, shared_requests, conflicts;
    uint64_t branches, divergent, active_lanes, active_warps;
    struct line_counts *lines;
    size_t line_count, line_cap;
    size_t *line_of_loc; // by location, +1
};

static struct line_counts *line_of(struct sums *s, uint32_t loc)
{
    if (s->line_of_loc[loc])
        return &s->lines[s->line_of_loc[loc] - 1];
    struct ptx_place place = ptx_place_of(s->module, loc);
    size_t i = 0;
    while (i < s->line_count && (s->lines[i].place.line != place.line || strcmp(s->lines[i].place.file, place.file)))
        i++;
    if (i == s->line_count) {
        KB_GROW(s->lines, s->line_count, s->line_cap);
        s->lines[s->line_count++] = (struct line_counts){.place = place};
    }
    s->line_of_loc[loc] = i + 1;
    return &s->lines[i];
}

static void add_memory(struct sums *s, struct line_counts *line, const struct ptx_op *o, const struct ptx_op_count *c,
                       uint64_t lanes)
{
    static const uint8_t element[] = {1, 1, 2, 2, 4, 4, 8};
    static const uint8_t atomic[] = {2, 4, 4, 8, 8, 4, 8, 2, 4, 2, 4, 16};
    bool is_atomic = o->class == PTX_CLASS_ATOMIC;
    uint64_t bytes = lanes * (is_atomic ? atomic[o->elem] : element[o->elem] * o->vec) + c->bytes;
    switch ((enum ptx_space)o->space) {
    case PTX_SPACE_SHARED:
        s->shared += bytes;
        s->shared_requests += c->requests;
        break;
    case PTX_SPACE_LOCAL:
        s->local += bytes;
        break;
    case PTX_SPACE_GENERIC: // what reached global memory cannot be told from sectors alone: all of it, if any did
        if (!c->sectors) {
            s->shared += bytes;
            s->shared_requests += c->requests;
            break;
        }
        __attribute__((fallthrough));
    case PTX_SPACE_GLOBAL:
        s->global_load += !o->write || is_atomic ? bytes : 0;
        s->global_store += o->write ? bytes : 0;
        s->global_requests += c->requests;
        line->bytes += bytes;
        break;
    default:
        break;
    }
    s->global_sectors += c->sectors;
    s->conflicts += c->conflicts;
    line->sectors += c->sectors;
    line->conflicts += c->conflicts;
}

static void add_op(struct sums *s, const struct ptx_op *o, const struct ptx_block_count *b)
{
    const struct ptx_op_count *c = &s->total->ops[o->id];
    uint64_t lanes = b->lanes - c->lanes_off;
    struct line_counts *line = line_of(s, o->loc);
    if (o->counted) {
        s->instructions += b->warps;
        s->lanes += lanes;
        s->by_class[o->class] += b->warps;
        line->instructions += b->warps;
    }
    if (o->flop) {
        s->flops[o->flop] += lanes * o->flops;
        line->flops += lanes * o->flops;
    }
    if (o->vec || c->bytes)
        add_memory(s, line, o, c, lanes);
}

static void add_program(struct sums *s, const struct ptx_program *p)
{
    for (uint32_t i = 0; i < p->block_count; i++) {
        const struct ptx_block *b = &p->blocks[i];
        const struct ptx_block_count *c = &s->total->blocks[b->id];
        if (!c->warps)
            continue;
        for (uint32_t k = 0; k < b->count; k++)
            add_op(s, &p->ops[b->first + k], c);
        s->active_lanes += c->lanes;
        s->active_warps += c->warps;
        if (b->term_counted) {
            struct line_counts *line = line_of(s, b->term_loc);
            s->instructions += c->warps;
            s->lanes += c->lanes;
            s->by_class[b->term_class] += c->warps;
            line->instructions += c->warps;
        }
        if ((b->term == PTX_TERM_BRANCH && b->pred) || b->term == PTX_TERM_INDEXED) {
            s->branches += c->warps;
            s->divergent += c->divergent;
            line_of(s, b->term_loc)->divergent += c->divergent;
        }
    }
}

static int most_instructions(const void *a, const void *b)
{
    const struct line_counts *x = a, *y = b;
    if (x->instructions != y->instructions)
        return x->instructions < y->instructions ? 1 : -1;
    return x->place.line - y->place.line;
}

static void number(cJSON *to, const char *key, uint64_t value)
{
    cJSON_AddNumberToObject(to, key, (double)value);
}

static cJSON *lines_json(struct sums *s)
{
    cJSON *list = cJSON_CreateArray();
    if (s->line_count)
        qsort(s->lines, s->line_count, sizeof *s->lines, most_instructions);
    for (size_t i = 0; i < s->line_count; i++) {
        const struct line_counts *l = &s->lines[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddNumberToObject(item, "line", l->place.line);
        cJSON_AddStringToObject(item, "file", l->place.file);
        number(item, "instructions", l->instructions);
        number(item, "bytes", l->bytes);
        number(item, "sectors", l->sectors);
        number(item, "conflicts", l->conflicts);
        number(item, "divergent", l->divergent);
        number(item, "flops", l->flops);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static void add_place(cJSON *to, int line, const char *file)
{
    cJSON_AddNumberToObject(to, "line", line);
    cJSON_AddStringToObject(to, "file", file);
}

static void add_report(cJSON *list, const struct ptx_report *r)
{
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "kind", r->kind);
    cJSON_AddStringToObject(item, "text", r->text);
    add_place(item, r->line, r->file);
    if (r->caller_line)
        add_place(cJSON_AddObjectToObject(item, "called_at"), r->caller_line, r->caller_file);
    number(item, "count", r->count);
    cJSON_AddItemToArray(list, item);
}

// The fault that ended the launch.
static void add_fault(cJSON *list, const struct ptx_launch *l)
{
    const struct ptx_place *place = &l->fault_place;
    struct ptx_report r = {.kind = "launch_failed", .count = 1, .line = place->line, .caller_line = place->caller_line};
    const char *prefix = "CUDA_ERROR_";
    if (l->fault_name && !strncmp(l->fault_name, prefix, strlen(prefix))) {
        size_t n = 0;
        for (const char *c = l->fault_name + strlen(prefix); *c && n + 1 < sizeof r.kind; c++)
            r.kind[n++] = (char)tolower((unsigned char)*c);
        r.kind[n] = 0;
    }
    snprintf(r.text, sizeof r.text, "%s", l->fault.what);
    snprintf(r.file, sizeof r.file, "%s", place->file ? place->file : "");
    snprintf(r.caller_file, sizeof r.caller_file, "%s", place->caller_line ? place->caller_file : "");
    add_report(list, &r);
}

static cJSON *reports_json(const struct ptx_launch *l)
{
    cJSON *list = cJSON_CreateArray();
    if (l->failed && !l->refused) // that says nothing about the kernel
        add_fault(list, l);
    for (int i = 0; i < l->report_count; i++)
        add_report(list, &l->reports[i]);
    return list;
}

static void counts_json(cJSON *o, const struct sums *s)
{
    static const char *const flop_names[PTX_FLOPS] = {NULL, "f32", "f64", "f16", "tensor"};
    number(o, "instructions", s->instructions);
    number(o, "thread_instructions", s->lanes);
    cJSON *classes = cJSON_AddObjectToObject(o, "by_class");
    for (int i = 0; i < PTX_CLASSES; i++)
        if (s->by_class[i])
            number(classes, ptx_class_names[i], s->by_class[i]);
    cJSON *flops = cJSON_AddObjectToObject(o, "flops");
    for (int i = 1; i < PTX_FLOPS; i++)
        number(flops, flop_names[i], s->flops[i]);
    cJSON *bytes = cJSON_AddObjectToObject(o, "bytes");
    number(bytes, "global_load", s->global_load);
    number(bytes, "global_store", s->global_store);
    number(bytes, "shared", s->shared);
    number(bytes, "local", s->local);
    number(o, "global_requests", s->global_requests);
    number(o, "global_sectors", s->global_sectors);
    number(o, "shared_requests", s->shared_requests);
    number(o, "shared_bank_conflicts", s->conflicts);
    number(o, "branches", s->branches);
    number(o, "divergent_branches", s->divergent);
    if (s->active_warps)
        cJSON_AddNumberToObject(o, "average_active_lanes", (double)s->lanes / (double)s->instructions);
}

cJSON *ptx_facts(const struct ptx_launch *l, const struct ptx_thread *total)
{
    struct sums s = {.total = total, .module = l->module};
    s.line_of_loc = kb_alloc((l->module->loc_count + 1) * sizeof *s.line_of_loc);
    for (const struct ptx_func *f = l->module->funcs; f; f = f->next)
        if (f->program)
            add_program(&s, f->program);
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "kernel", l->func->name);
    counts_json(o, &s);
    number(o, "barriers", total->barriers);
    number(o, "atomics", total->atomics);
    number(o, "blocks", l->ctas);
    number(o, "threads", l->ctas * l->threads);
    cJSON_AddItemToObject(o, "lines", lines_json(&s));
    cJSON_AddItemToObject(o, "reports", reports_json(l));
    number(o, "reports_cut", l->reports_cut);
    free(s.lines);
    free(s.line_of_loc);
    return o;
}
