#include "jit/sass_operands.h"
#include "base/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// FNV-1a over the text that stays.
static void mix(uint64_t *hash, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *hash = (*hash ^ (unsigned char)s[i]) * 0x100000001b3u;
}

static void mix_char(uint64_t *hash, char c)
{
    mix(hash, &c, 1);
}

static bool one_of(const struct kb_sass_instruction *i, const char *const *names, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (kb_sass_is(i, names[k]))
            return true;
    return false;
}

static const char *const jumps[] = {"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "RET", "EXIT", "KILL", "BREAK"};
static const char *const to_code[] = {"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "RET", "CALL", "BSSY"};
// Name registers first that they only read.
static const char *const readers[] = {"BRA",  "BRX",   "BRXU",  "JMX",       "JMXU",  "RET",
                                      "CALL", "BSYNC", "BREAK", "WARPSYNC",  "EXIT",  "NANOSLEEP",
                                      "BAR",  "R2P",   "CCTL",  "WARPGROUP", "DEPBAR"};

bool kb_sass_branches(const struct kb_sass_instruction *i)
{
    return one_of(i, jumps, KB_COUNT(jumps));
}

bool kb_sass_always(const struct kb_sass_instruction *i)
{
    if ((*i->predicate && strcmp(i->predicate, "@PT")) || kb_sass_is(i, "BREAK"))
        return false;
    bool asks = (kb_sass_is(i, "BRA") || kb_sass_is(i, "EXIT")) && strpbrk(i->operands, "PR");
    return kb_sass_branches(i) && (!asks || i->operands[0] == '`');
}

static const char *modifiers(const struct kb_sass_instruction *i)
{
    return i->opcode + i->base;
}

static bool has(const struct kb_sass_instruction *i, const char *modifier)
{
    size_t n = strlen(modifier);
    for (const char *s = modifiers(i); (s = strstr(s, modifier)); s += n)
        if (!s[n] || s[n] == '.')
            return true;
    return false;
}

// "64x128x16": a tile's columns.
static int tile_columns(const struct kb_sass_instruction *i)
{
    const char *x = strchr(modifiers(i), 'x');
    return x ? (int)strtol(x + 1, NULL, 10) : 0;
}

static int matrix_width(const struct kb_sass_instruction *i)
{
    bool halves = has(i, ".F16"), small = has(i, ".8816") || has(i, ".884");
    if (strstr(i->opcode, "GMMA")) {
        int width = tile_columns(i) / (halves ? 4 : 2);
        return width > 0 && width <= 128 ? width : 1;
    }
    return halves || (small && !kb_sass_is(i, "DMMA")) ? 2 : 4;
}

static bool is_matrix(const struct kb_sass_instruction *i)
{
    return i->base >= 4 && !strncmp(i->opcode + i->base - 3, "MMA", 3);
}

// Registers in a row that a result takes, or a source. Where it isn't known: one.
static int data_width(const struct kb_sass_instruction *i, bool defines)
{
    static const char *const moves[] = {"ULDC", "ATOM", "ATOMG", "MOV", "UMOV", "IADD", "UIADD", "RED", "REDG"};
    static const char *const doubles[] = {"DFMA", "DADD", "DMUL"};
    static const char *const results[] = {"FFMA2", "FADD2", "FMUL2"};
    if (is_matrix(i))
        return defines ? matrix_width(i) : 1;
    if (kb_sass_is(i, "LDSM"))
        return defines && has(i, ".4") ? 4 : defines && has(i, ".2") ? 2 : 1;
    if (kb_starts(modifiers(i), ".F64") || one_of(i, results, KB_COUNT(results)) || has(i, ".WIDE"))
        return defines ? 2 : 1;
    if (kb_sass_is(i, "CS2R"))
        return has(i, ".32") ? 1 : 2;
    if (one_of(i, doubles, KB_COUNT(doubles)))
        return 2;
    bool sized = i->opcode[0] == 'L' || kb_starts(i->opcode, "ST") || one_of(i, moves, KB_COUNT(moves));
    return !sized ? 1 : has(i, ".256") ? 8 : has(i, ".128") ? 4 : has(i, ".64") ? 2 : 1;
}

struct scan {
    const struct kb_sass_instruction *i;
    struct kb_sass_operands *out;
    bool code;     // numbers are addresses
    int depth;     // of brackets
    int operand;   // counts up at each comma outside brackets
    bool settled;  // no more results
    bool had_data; // a register that is no predicate was among them
};

// Results stand first: predicates, one register, predicates (carries). Compares have two predicates and no register.
static bool may_define(struct scan *s, bool predicate)
{
    if (s->settled || s->depth)
        return false;
    const char *base = s->i->opcode;
    size_t n = (size_t)s->i->base;
    bool compare = (n > 4 && (memmem(base, n, "SETP", 4) || memmem(base, n, "PLOP3", 5)));
    bool vote = memmem(base, n, "VOTE", 4) != NULL;
    if (compare && !(predicate && s->operand < 2))
        return false;
    if (vote && s->had_data && s->operand > 1)
        return false;
    if ((kb_sass_is(s->i, "FCHK") || (vote && predicate && !s->had_data)) && s->operand > 0)
        return false;
    if (predicate)
        return true;
    s->settled = s->had_data; // a second register is the first source
    s->had_data = true;
    return !s->settled;
}

static void add_ref(struct scan *s, int slot, bool predicate, int width, bool defines)
{
    if (s->out->ref_count < KB_SASS_REFS_MOST)
        s->out->refs[s->out->ref_count++] =
            (struct kb_sass_ref){(uint16_t)slot, (uint8_t)(predicate ? 1 : width), defines};
}

// "R12", "UR4", "P0", "UP1", "B6" at s: the length, else 0.
static int register_at(const char *s, int *slot, char *kind)
{
    static const struct {
        const char *prefix;
        int slot, count;
        char kind;
    } kinds[] = {{"UR", KB_SLOT_UR, 256, 'U'},
                 {"UP", KB_SLOT_UP, 16, 'Q'},
                 {"R", KB_SLOT_R, 255, 'R'},
                 {"P", KB_SLOT_P, 16, 'P'},
                 {"B", KB_SLOT_B, 32, 'B'}};
    for (size_t k = 0; k < KB_COUNT(kinds); k++) {
        size_t n = strlen(kinds[k].prefix);
        if (strncmp(s, kinds[k].prefix, n) || !isdigit((unsigned char)s[n]))
            continue;
        char *end;
        long number = strtol(s + n, &end, 10);
        if (number >= kinds[k].count || isalnum((unsigned char)*end) || *end == '_')
            return 0;
        *slot = kinds[k].slot + (int)number;
        *kind = kinds[k].kind;
        return (int)(end - s);
    }
    return 0;
}

static const char *take_register(struct scan *s, const char *at, int slot, char kind)
{
    bool predicate = kind == 'P' || kind == 'Q';
    bool defines = kind == 'B' ? kb_sass_is(s->i, "BSSY") : may_define(s, predicate);
    int width = s->depth ? (kb_starts(at, ".64") ? 2 : 1) : data_width(s->i, defines);
    mix_char(&s->out->shape, kind);
    add_ref(s, slot, predicate, width, defines);
    return at;
}

static const char *take_word(struct scan *s, const char *at)
{
    size_t n = 0;
    while (isalnum((unsigned char)at[n]) || at[n] == '_' || at[n] == '$')
        n++;
    int slot = 0;
    char kind = 0;
    int length = register_at(at, &slot, &kind);
    if (length && (size_t)length == n)
        return take_register(s, at + n, slot, kind);
    bool number = isdigit((unsigned char)*at);
    bool hole =
        !s->depth && !number && n <= 3 && (at[n - 1] == 'Z' || at[n - 1] == 'T'); // RZ, PT: a result that is dropped
    if (hole)
        may_define(s, at[n - 1] == 'T');
    else if (!s->depth)
        s->settled = true;
    if (number && s->code) {
        if (s->out->address < 0)
            s->out->address = strtoll(at, NULL, 0);
        mix_char(&s->out->shape, 'N');
    } else {
        mix(&s->out->shape, at, n);
    }
    return at + n;
}

// "c[0x0][0x210]" and "c[0x0][R4+0x10]": the bank stays, the offset goes into the constant's key.
static const char *take_constant(struct scan *s, const char *at)
{
    const char *second = strchr(at, ']'), *open = second ? second + 1 + strspn(second + 1, " ") : NULL;
    const char *end = open && *open == '[' ? strchr(open, ']') : NULL;
    if (!end)
        return take_word(s, at);
    uint64_t key = s->out->constant ? s->out->constant : 0xcbf29ce484222325u;
    mix(&s->out->shape, "c", 1);
    s->depth++;
    for (const char *p = at + 1; p <= end;) {
        bool offset = p > second && isdigit((unsigned char)*p);
        size_t n = offset ? strspn(p, "0123456789abcdefxABCDEF") : 0;
        if (offset) {
            mix(&key, p, n);
            mix_char(&s->out->shape, 'o');
            p += n;
        } else if (isalnum((unsigned char)*p) && p > at + 1) {
            if (p < second)
                mix(&key, p, strspn(p, "0123456789abcdefxABCDEF"));
            p = take_word(s, p);
        } else if (*p == ' ') {
            p++;
        } else {
            mix_char(&s->out->shape, *p++);
        }
    }
    s->depth--;
    s->settled = true;
    s->out->constant = key;
    return end + 1;
}

static void add_target(struct scan *s, const char *name, size_t n)
{
    if (s->out->target_count == KB_SASS_TARGETS_MOST)
        return;
    s->out->targets[s->out->target_count] = name;
    s->out->target_lengths[s->out->target_count++] = (int)n;
}

// "`(.L_x_2)"
static const char *take_label(struct scan *s, const char *at)
{
    size_t n = strcspn(at + 2, ")");
    add_target(s, at + 2, n);
    mix_char(&s->out->shape, 'L');
    s->settled = true;
    return at + 2 + n + (at[2 + n] == ')');
}

// (*"BRANCH_TARGETS .L_x_58,.L_x_59"*)
static const char *take_targets(struct scan *s, const char *at)
{
    const char *end = strstr(at, "\"*)");
    at += strcspn(at, " ");
    while (*at && (!end || at < end)) {
        at += strspn(at, " ,");
        size_t n = strcspn(at, " ,\"");
        if (!n)
            break;
        add_target(s, at, n);
        at += n;
    }
    return end ? end + 3 : at + strlen(at);
}

static const char *take_mark(struct scan *s, const char *at)
{
    if (*at == '[')
        s->settled |= s->depth++ == 0;
    else if (*at == ']')
        s->depth -= s->depth > 0;
    else if (*at == ',' && !s->depth)
        s->operand++;
    else if (*at == '-' && s->code)
        return at + 1;
    if (*at != ' ')
        mix_char(&s->out->shape, *at);
    return at + 1;
}

static void take_operands(struct scan *s, const char *at)
{
    while (*at) {
        if (kb_starts(at, ".reuse"))
            at += strlen(".reuse");
        else if (kb_starts(at, "`("))
            at = take_label(s, at);
        else if (kb_starts(at, "(*\""))
            at = take_targets(s, at);
        else if (*at == 'c' && (at[1] == '[' || (at[1] == 'x' && at[2] == '[')))
            at = take_constant(s, at + (at[1] == 'x'));
        else if (*at == '.' && isalpha((unsigned char)at[1])) {
            size_t n = 1 + strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
            mix(&s->out->shape, at, n);
            at += n;
        } else if (isalnum((unsigned char)*at) || *at == '_')
            at = take_word(s, at);
        else
            at = take_mark(s, at);
    }
}

void kb_sass_read_operands(const struct kb_sass_instruction *i, bool address, struct kb_sass_operands *out)
{
    out->shape = 0xcbf29ce484222325u;
    out->constant = 0;
    out->ref_count = out->target_count = 0;
    out->address = -1;
    struct scan s = {.i = i, .out = out, .settled = true};
    take_operands(&s, i->predicate); // "@!P0": a register that is read
    mix_char(&out->shape, ' ');
    mix(&out->shape, i->opcode, strlen(i->opcode));
    mix_char(&out->shape, ' ');
    s.settled = one_of(i, readers, KB_COUNT(readers));
    s.code = address || one_of(i, to_code, KB_COUNT(to_code));
    s.operand = 0;
    take_operands(&s, i->operands);
}
