#include "jit/ptx/parse.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ptx_arena_chunk {
    struct ptx_arena_chunk *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

void *ptx_arena_alloc(struct ptx_arena *a, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if (!a->chunk || a->chunk->size - a->chunk->used < bytes) {
        size_t size = bytes > 65536 ? bytes : 65536;
        struct ptx_arena_chunk *c = kb_alloc(sizeof *c + size);
        c->size = size;
        c->next = a->chunk;
        a->chunk = c;
    }
    void *p = a->chunk->bytes + a->chunk->used;
    a->chunk->used += bytes;
    return p;
}

char *ptx_arena_text(struct ptx_arena *a, const char *s, size_t n)
{
    char *copy = ptx_arena_alloc(a, n + 1);
    memcpy(copy, s, n);
    return copy;
}

void ptx_arena_free(struct ptx_arena *a)
{
    while (a->chunk) {
        struct ptx_arena_chunk *next = a->chunk->next;
        free(a->chunk);
        a->chunk = next;
    }
}

void ptx_module_free(struct ptx_module *m)
{
    if (!m)
        return;
    for (struct ptx_func *f = m->funcs; f; f = f->next) {
        free(f->reg_bits);
        free(f->insts);
        free(f->labels);
        free(f->scope_parent);
    }
    free(m->locs);
    free(m->files);
    ptx_arena_free(&m->arena);
    free(m);
}

struct ptx_func *ptx_find_func(const struct ptx_module *m, const char *name)
{
    for (struct ptx_func *f = m->funcs; f; f = f->next)
        if (!strcmp(f->name, name))
            return f;
    return NULL;
}

bool ptx_op_is(const char *op, const char *name)
{
    size_t n = strlen(name);
    return !strncmp(op, name, n) && (!op[n] || op[n] == '.');
}

char *ptx_parse_name(struct ptx_parser *p)
{
    if (p->x.token.kind != PTX_WORD) {
        ptx_lex_fail(&p->x, "a name expected, found '%.*s'", (int)(p->x.token.size > 40 ? 40 : p->x.token.size),
                     p->x.token.start);
        return ptx_arena_text(&p->module->arena, "", 0);
    }
    char *name = ptx_arena_text(&p->module->arena, p->x.token.start, p->x.token.size);
    ptx_next(&p->x);
    return name;
}

static uint64_t take_integer(struct ptx_parser *p)
{
    uint64_t bits = p->x.token.bits;
    if (p->x.token.kind != PTX_INTEGER)
        ptx_lex_fail(&p->x, "a whole number expected, found '%.*s'", (int)(p->x.token.size > 40 ? 40 : p->x.token.size),
                     p->x.token.start);
    else
        ptx_next(&p->x);
    return bits;
}

bool ptx_at_space(const struct ptx_parser *p, enum ptx_space *space)
{
    static const struct {
        const char *word;
        enum ptx_space space;
    } table[] = {
        {".global", PTX_SPACE_GLOBAL}, {".const", PTX_SPACE_CONST}, {".shared", PTX_SPACE_SHARED},
        {".local", PTX_SPACE_LOCAL},   {".param", PTX_SPACE_PARAM},
    };
    for (size_t i = 0; i < KB_COUNT(table); i++)
        if (ptx_is(&p->x, table[i].word)) {
            *space = table[i].space;
            return true;
        }
    return false;
}

int ptx_type_bytes(struct ptx_parser *p)
{
    const struct ptx_token *t = &p->x.token;
    static const struct {
        const char *name;
        int bytes;
    } extra[] = {{".f16x2", 4}, {".bf16x2", 4}, {".bf16", 2}, {".tf32", 4}, {".pred", 0}};
    int bytes = -1;
    for (size_t i = 0; i < KB_COUNT(extra); i++)
        if (ptx_is(&p->x, extra[i].name))
            bytes = extra[i].bytes;
    if (bytes < 0 && t->kind == PTX_WORD && t->size >= 3 && t->size <= 5 && strchr("busf", t->start[1])) {
        int bits = atoi((char[8]){t->start[2], t->size > 3 ? t->start[3] : 0, t->size > 4 ? t->start[4] : 0});
        if (bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128)
            bytes = bits / 8;
    }
    if (bytes < 0)
        ptx_lex_fail(&p->x, "a type expected, found '%.*s'", (int)(t->size > 40 ? 40 : t->size), t->start);
    else
        ptx_next(&p->x);
    return bytes;
}

// One element of an initialiser into data at offset `at`.
static void init_element(struct ptx_parser *p, struct ptx_var *v, uint8_t *data, uint64_t at, uint64_t bytes)
{
    if (at + bytes > v->bytes) {
        ptx_lex_fail(&p->x, "the initialiser of '%s' is longer than its %llu bytes", v->name,
                     (unsigned long long)v->bytes);
        return;
    }
    bool minus = ptx_take(&p->x, "-");
    if (p->x.token.kind == PTX_WORD) {
        bool generic = ptx_take(&p->x, "generic") && ptx_expect(&p->x, "(");
        struct ptx_reloc *r = ptx_arena_alloc(&p->module->arena, sizeof *r);
        *r = (struct ptx_reloc){.at = (uint32_t)at, .bytes = (uint32_t)bytes, .symbol = ptx_parse_name(p)};
        if (ptx_is(&p->x, "("))
            ptx_lex_fail(&p->x, "the operator '%s' in an initialiser is not supported", r->symbol);
        if (generic)
            ptx_expect(&p->x, ")");
        bool down = ptx_is(&p->x, "-");
        if (down || ptx_is(&p->x, "+")) {
            ptx_next(&p->x);
            int64_t add = (int64_t)take_integer(p);
            r->add = down ? -add : add;
        }
        r->next = v->relocs;
        v->relocs = r;
        return;
    }
    uint64_t bits = p->x.token.bits;
    if (p->x.token.kind == PTX_DOUBLE && bytes == 4) {
        double d;
        memcpy(&d, &bits, 8);
        float f = (float)(minus ? -d : d);
        memcpy(&bits, &f, 4);
    } else if (p->x.token.kind == PTX_INTEGER) {
        bits = minus ? -bits : bits;
    } else if (p->x.token.kind != PTX_SINGLE && p->x.token.kind != PTX_DOUBLE) {
        ptx_lex_fail(&p->x, "a value expected in the initialiser of '%s'", v->name);
        return;
    }
    memcpy(data + at, &bits, bytes < 8 ? bytes : 8);
    ptx_next(&p->x);
}

static void init_list(struct ptx_parser *p, struct ptx_var *v, uint8_t *data, uint64_t *at, uint64_t bytes, int depth)
{
    if (!ptx_take(&p->x, "{")) {
        init_element(p, v, data, *at, bytes);
        *at += bytes;
        return;
    }
    if (depth > 8)
        ptx_lex_fail(&p->x, "the initialiser of '%s' is nested too deeply", v->name);
    while (!p->x.failed && !ptx_is(&p->x, "}")) {
        init_list(p, v, data, at, bytes, depth + 1);
        if (!ptx_take(&p->x, ","))
            break;
    }
    ptx_expect(&p->x, "}");
}

enum { LARGEST_VARIABLE = 1 << 30 };

static void parse_dims(struct ptx_parser *p, struct ptx_var *v)
{
    bool open = false;
    while (ptx_take(&p->x, "[")) {
        if (ptx_take(&p->x, "]")) {
            open = true;
            continue;
        }
        uint64_t n = take_integer(p);
        if (n && v->bytes > LARGEST_VARIABLE / n)
            ptx_lex_fail(&p->x, "'%s' has more than %d bytes", v->name, LARGEST_VARIABLE);
        else
            v->bytes *= n;
        ptx_expect(&p->x, "]");
    }
    if (open)
        v->bytes = 0;
}

// ".attribute(.managed)", ".attribute(.unified(1, 2))": the host is the device here.
static void skip_attribute(struct ptx_parser *p)
{
    int depth = 0;
    do {
        if (ptx_take(&p->x, "("))
            depth++;
        else if (ptx_take(&p->x, ")"))
            depth--;
        else if (!depth || p->x.token.kind == PTX_END)
            ptx_lex_fail(&p->x, "an attribute in parentheses expected");
        else
            ptx_next(&p->x);
    } while (depth && !p->x.failed);
}

struct ptx_var *ptx_parse_vars(struct ptx_parser *p, enum ptx_space space, bool is_extern)
{
    uint32_t align = 0, vector = 1;
    for (;;) {
        if (ptx_take(&p->x, ".align"))
            align = (uint32_t)take_integer(p);
        else if (ptx_take(&p->x, ".ptr") || ptx_take(&p->x, ".global") || ptx_take(&p->x, ".managed") ||
                 ptx_take(&p->x, ".const") || ptx_take(&p->x, ".shared") || ptx_take(&p->x, ".local"))
            continue;
        else if (ptx_take(&p->x, ".attribute"))
            skip_attribute(p);
        else if (ptx_take(&p->x, ".v2"))
            vector = 2;
        else if (ptx_take(&p->x, ".v4"))
            vector = 4;
        else if (ptx_is(&p->x, ".texref") || ptx_is(&p->x, ".samplerref") || ptx_is(&p->x, ".surfref"))
            ptx_lex_fail(&p->x, "textures, samplers and surfaces are not supported by the CPU device");
        else
            break;
    }
    uint32_t bytes = (uint32_t)ptx_type_bytes(p);
    // ".param .u64 .ptr .align 1 name" has its attributes behind the type.
    while (ptx_take(&p->x, ".ptr") || ptx_take(&p->x, ".global") || ptx_take(&p->x, ".shared") ||
           ptx_take(&p->x, ".const") || ptx_take(&p->x, ".local"))
        continue;
    if (ptx_take(&p->x, ".align"))
        take_integer(p); // of what the pointer points to
    struct ptx_var *first = NULL, **tail = &first;
    do {
        struct ptx_var *v = ptx_arena_alloc(&p->module->arena, sizeof *v);
        *v = (struct ptx_var){.space = space, .element_bytes = bytes, .is_extern = is_extern};
        v->name = ptx_parse_name(p);
        v->align = align ? align : bytes * vector;
        v->bytes = (uint64_t)bytes * vector;
        if (!v->align || v->align & (v->align - 1) || v->align > 1 << 20)
            ptx_lex_fail(&p->x, "'%s' has an impossible alignment", v->name);
        if (ptx_is(&p->x, "["))
            parse_dims(p, v);
        if (ptx_take(&p->x, "=")) {
            uint8_t *data = ptx_arena_alloc(&p->module->arena, v->bytes + 8);
            uint64_t at = 0;
            init_list(p, v, data, &at, bytes, 0);
            v->init = data;
        }
        *tail = v;
        tail = &v->next;
    } while (!p->x.failed && space != PTX_SPACE_PARAM && ptx_take(&p->x, ","));
    return first;
}

static void parse_loc(struct ptx_parser *p)
{
    struct ptx_loc l = {0};
    l.file = (int)take_integer(p);
    l.line = (int)take_integer(p);
    l.column = (int)take_integer(p);
    while (ptx_take(&p->x, ",")) {
        if (ptx_take(&p->x, "function_name")) {
            ptx_parse_name(p);
            if (ptx_take(&p->x, "+"))
                take_integer(p);
        } else if (ptx_expect(&p->x, "inlined_at")) {
            l.outer_file = (int)take_integer(p);
            l.outer_line = (int)take_integer(p);
            take_integer(p);
        }
    }
    struct ptx_module *m = p->module;
    KB_GROW(m->locs, m->loc_count, m->loc_cap);
    p->loc = m->loc_count;
    m->locs[m->loc_count++] = l;
}

static void parse_file(struct ptx_parser *p)
{
    struct ptx_module *m = p->module;
    KB_GROW(m->files, m->file_count, m->file_cap);
    struct ptx_file *f = &m->files[m->file_count];
    *f = (struct ptx_file){.number = (int)take_integer(p), .name = ""};
    if (p->x.token.kind == PTX_STRING) {
        f->name = ptx_arena_text(&m->arena, p->x.token.start, p->x.token.size);
        ptx_next(&p->x);
    } else {
        ptx_lex_fail(&p->x, "a file name expected");
    }
    m->file_count++;
    while (ptx_take(&p->x, ","))
        take_integer(p);
}

bool ptx_directive(struct ptx_parser *p)
{
    if (ptx_take(&p->x, ".loc")) {
        parse_loc(p);
    } else if (ptx_take(&p->x, ".file")) {
        parse_file(p);
    } else if (ptx_take(&p->x, ".pragma")) {
        while (p->x.token.kind == PTX_STRING || ptx_is(&p->x, ","))
            ptx_next(&p->x);
        ptx_expect(&p->x, ";");
    } else if (ptx_is(&p->x, ".section")) {
        ptx_skip_braces(&p->x);
    } else {
        return false;
    }
    return true;
}

static struct ptx_var *parse_params(struct ptx_parser *p, bool is_entry)
{
    struct ptx_var *first = NULL, **tail = &first;
    ptx_expect(&p->x, "(");
    while (!p->x.failed && !ptx_is(&p->x, ")")) {
        bool in_register = !is_entry && ptx_take(&p->x, ".reg");
        if (in_register && ptx_is(&p->x, ".pred"))
            ptx_lex_fail(&p->x, "predicates as parameters are not supported by the CPU device");
        if (!in_register)
            ptx_expect(&p->x, ".param");
        *tail = ptx_parse_vars(p, PTX_SPACE_PARAM, false);
        if (in_register && ((*tail)->bytes < 1 || (*tail)->bytes > 8))
            ptx_lex_fail(&p->x, "the parameter '%s' in .reg has %llu bytes, 1 to 8 are supported", (*tail)->name,
                         (unsigned long long)(*tail)->bytes);
        (*tail)->in_register = in_register;
        tail = &(*tail)->next;
        if (!ptx_take(&p->x, ","))
            break;
    }
    ptx_expect(&p->x, ")");
    return first;
}

// .maxntid and the like, up to the body or the ';'.
static void performance_directives(struct ptx_parser *p, struct ptx_func *f)
{
    bool clustered = false;
    int64_t cluster = 0; // blocks of one, if the kernel says
    while (!p->x.failed && !ptx_is(&p->x, "{") && !ptx_is(&p->x, ";")) {
        bool max = ptx_is(&p->x, ".maxntid"), exact = ptx_is(&p->x, ".reqntid");
        bool blocks = ptx_is(&p->x, ".reqnctapercluster");
        clustered |= ptx_is(&p->x, ".explicitcluster");
        if (p->x.token.kind != PTX_WORD || p->x.token.start[0] != '.') {
            ptx_lex_fail(&p->x, "'{' or ';' expected after the head of '%s'", f->name);
            return;
        }
        ptx_next(&p->x);
        int64_t product = 1;
        for (int i = 0; p->x.token.kind == PTX_INTEGER; i++) {
            int n = (int)(p->x.token.bits > 65536 ? 65536 : p->x.token.bits);
            if (exact && i < 3)
                f->required[i] = n;
            product = product * n > 1 << 30 ? 1 << 30 : product * n;
            ptx_next(&p->x);
            if (!ptx_take(&p->x, ","))
                break;
        }
        if (exact)
            for (int i = 0; i < 3; i++)
                f->required[i] = f->required[i] ? f->required[i] : 1;
        if (max || exact)
            f->max_threads = (int)product;
        if (blocks)
            cluster = product;
        if (p->x.token.kind == PTX_STRING)
            ptx_next(&p->x);
    }
    f->cluster = cluster > 1 || (clustered && !cluster);
}

static void add_func(struct ptx_module *m, struct ptx_func *f)
{
    struct ptx_func **tail = &m->funcs;
    while (*tail)
        tail = &(*tail)->next;
    *tail = f;
}

static void name_params(struct ptx_parser *p, struct ptx_var *v)
{
    for (; v; v = v->next)
        if (v->in_register)
            ptx_name_reg_param(p, v);
        else
            ptx_name_var(p, v);
}

static void parse_func(struct ptx_parser *p, bool is_entry, bool is_extern)
{
    struct ptx_module *m = p->module;
    struct ptx_func head = {.is_entry = is_entry, .is_extern = is_extern, .text_line = p->x.line};
    if (!is_entry && ptx_is(&p->x, "("))
        head.results = parse_params(p, false);
    head.name = ptx_parse_name(p);
    if (ptx_is(&p->x, "("))
        head.params = parse_params(p, is_entry);
    performance_directives(p, &head);
    // A declaration may come before its definition; calls found so far point to the first of the two.
    struct ptx_func *f = ptx_find_func(m, head.name);
    if (!f) {
        f = ptx_arena_alloc(&m->arena, sizeof *f);
        *f = head;
        f->is_extern = true;
        add_func(m, f);
    }
    if (ptx_take(&p->x, ";"))
        return;
    if (f->inst_count || !f->is_extern) {
        ptx_lex_fail(&p->x, "'%s' is defined twice", f->name);
        return;
    }
    struct ptx_func *next = f->next;
    *f = head;
    f->next = next;
    f->is_extern = false;
    p->func = f;
    p->local_tail = &f->locals;
    p->loc = 0;
    ptx_enter_scope(p);
    name_params(p, f->params);
    name_params(p, f->results);
    ptx_parse_body(p);
    ptx_leave_scope(p);
    p->func = NULL;
    p->loc = 0;
}

static void parse_global(struct ptx_parser *p)
{
    bool is_extern = false;
    for (;;) {
        if (ptx_take(&p->x, ".visible") || ptx_take(&p->x, ".weak") || ptx_take(&p->x, ".common"))
            continue;
        if (!ptx_take(&p->x, ".extern"))
            break;
        is_extern = true;
    }
    enum ptx_space space;
    if (ptx_take(&p->x, ".entry")) {
        parse_func(p, true, is_extern);
    } else if (ptx_take(&p->x, ".func")) {
        while (ptx_take(&p->x, ".attribute")) {
            ptx_expect(&p->x, "(");
            while (!p->x.failed && p->x.token.kind != PTX_END && !ptx_is(&p->x, ")"))
                ptx_next(&p->x);
            ptx_expect(&p->x, ")");
        }
        parse_func(p, false, is_extern);
    } else if (ptx_at_space(p, &space)) {
        ptx_next(&p->x);
        struct ptx_var **tail = &p->module->vars;
        while (*tail)
            tail = &(*tail)->next;
        *tail = ptx_parse_vars(p, space, is_extern);
        ptx_expect(&p->x, ";");
    } else {
        ptx_lex_fail(&p->x, "a directive expected, found '%.*s'", (int)(p->x.token.size > 40 ? 40 : p->x.token.size),
                     p->x.token.start);
    }
}

static void parse_target(struct ptx_parser *p)
{
    const struct ptx_token *t = &p->x.token;
    if (t->kind == PTX_WORD && t->size > 3 && !memcmp(t->start, "sm_", 3)) {
        p->module->target = 0; // the last of several holds
        for (size_t i = 3; i < t->size && i < 6 && t->start[i] >= '0' && t->start[i] <= '9'; i++)
            p->module->target = p->module->target * 10 + t->start[i] - '0';
    } else {
        ptx_lex_fail(&p->x, "a target such as sm_90 expected");
    }
    ptx_next(&p->x);
    while (ptx_take(&p->x, ","))
        ptx_parse_name(p);
}

static void parse_module(struct ptx_parser *p)
{
    ptx_expect(&p->x, ".version");
    double version = 0;
    if (p->x.token.kind == PTX_DOUBLE)
        memcpy(&version, &p->x.token.bits, sizeof version);
    else if (p->x.token.kind == PTX_INTEGER)
        version = (double)p->x.token.bits;
    p->module->version = version > 0 && version < 100 ? (int)(version * 10 + 0.5) : 0;
    if (!p->module->version)
        ptx_lex_fail(&p->x, "a version such as 9.0 expected");
    ptx_next(&p->x);
    while (!p->x.failed && p->x.token.kind != PTX_END) {
        if (ptx_take(&p->x, ".target")) {
            parse_target(p);
        } else if (ptx_take(&p->x, ".address_size")) {
            if (p->x.token.bits != 64)
                ptx_lex_fail(&p->x, "only 64-bit addresses are supported");
            take_integer(p);
        } else if (!ptx_directive(p)) {
            parse_global(p);
        }
    }
    if (!p->x.failed && !p->module->target)
        ptx_lex_fail(&p->x, "no .target was given");
}

int ptx_parse(const char *text, size_t size, struct ptx_module **out, struct kb_error *e)
{
    struct kb_error ignored;
    struct ptx_parser p = {.module = kb_alloc(sizeof(struct ptx_module))};
    struct ptx_module *m = p.module;
    KB_GROW(m->locs, m->loc_count, m->loc_cap);
    m->locs[m->loc_count++] = (struct ptx_loc){0};
    ptx_lex_start(&p.x, text, size, e ? e : &ignored);
    parse_module(&p);
    while (p.scope)
        ptx_leave_scope(&p);
    if (p.x.failed) {
        ptx_module_free(m);
        *out = NULL;
        return -1;
    }
    *out = m;
    return 0;
}

const char *ptx_file_name(const struct ptx_module *m, int number)
{
    for (int i = 0; i < m->file_count; i++)
        if (m->files[i].number == number)
            return m->files[i].name;
    return "";
}
