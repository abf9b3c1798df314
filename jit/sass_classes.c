#include "jit/sass_classes.h"
#include "base/json.h"
#include "base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// An opcode belongs to the first row that it matches. WIDE: bytes a thread matter, and the class says the width.
enum { EXACT = 0, PREFIX = 1, WIDE = 2 };
struct row {
    const char *opcode, *name;
    int how;
};
static const struct row rows[] = {
    {"LDG", "LDG", WIDE},
    {"STG", "STG", WIDE},
    {"LDS", "LDS", WIDE},
    {"STS", "STS", WIDE},
    {"LDL", "LDL", WIDE},
    {"STL", "STL", WIDE},
    {"LDGSTS", "LDGSTS", WIDE},
    {"LD", "LD", WIDE},
    {"ST", "ST", WIDE},
    {"STAS", "STAS", WIDE},
    {"LDSM", "LDSM", EXACT},
    {"STSM", "STSM", EXACT},
    {"LDTM", "LDTM", PREFIX},
    {"STTM", "STTM", PREFIX},
    {"LDC", "LDC", EXACT},
    {"LDCU", "LDC", EXACT},
    {"ULDC", "LDC", EXACT},
    {"UBLKCP", "UBLKCP", EXACT},
    {"UBLK", "UBLK", PREFIX},
    {"UTMALDG", "UTMALDG", EXACT},
    {"UTMASTG", "UTMASTG", EXACT},
    {"UTMA", "UTMA", PREFIX},
    {"FFMA", "FFMA", EXACT},
    {"FFMA32I", "FFMA", EXACT},
    {"FFMA2", "FFMA2", EXACT},
    {"FADD", "FADD", EXACT},
    {"FADD32I", "FADD", EXACT},
    {"FADD2", "FADD2", EXACT},
    {"FMUL", "FMUL", EXACT},
    {"FMUL32I", "FMUL", EXACT},
    {"FMUL2", "FMUL2", EXACT},
    {"HFMA2", "HFMA2", PREFIX},
    {"HADD2", "HADD2", PREFIX},
    {"HMUL2", "HMUL2", PREFIX},
    {"DFMA", "DFMA", EXACT},
    {"DADD", "DADD", EXACT},
    {"DMUL", "DMUL", EXACT},
    {"MUFU", "MUFU", EXACT},
    {"IMAD", "IMAD", EXACT},
    {"IADD3", "IADD3", EXACT},
    {"IADD", "IADD3", PREFIX},
    {"VIADD", "IADD3", EXACT},
    {"IDP", "IDP", EXACT},
    {"HMMA", "HMMA", EXACT},
    {"IMMA", "IMMA", EXACT},
    {"BMMA", "BMMA", EXACT},
    {"DMMA", "DMMA", EXACT},
    {"QMMA", "QMMA", EXACT},
    {"OMMA", "OMMA", EXACT},
    {"HGMMA", "HGMMA", EXACT},
    {"IGMMA", "IGMMA", EXACT},
    {"QGMMA", "QGMMA", EXACT},
    {"BGMMA", "BGMMA", EXACT},
    {"UTCHMMA", "UTCHMMA", EXACT},
    {"UTCIMMA", "UTCIMMA", EXACT},
    {"UTCQMMA", "UTCQMMA", EXACT},
    {"UTCOMMA", "UTCOMMA", EXACT},
    {"UTC", "UTC", PREFIX},
    {"BAR", "BAR", EXACT},
    {"UCGABAR", "CGABAR", PREFIX},
    {"SYNCS", "SYNCS", EXACT},
    {"MEMBAR", "MEMBAR", EXACT},
    {"FENCE", "MEMBAR", EXACT},
    {"SHFL", "SHFL", EXACT},
    {"REDUX", "REDUX", EXACT},
    {"CREDUX", "REDUX", EXACT},
    {"VOTE", "VOTE", PREFIX},
    {"MATCH", "VOTE", EXACT},
    {"ATOMS", "ATOMS", EXACT},
    {"ATOM", "ATOM", PREFIX},
    {"RED", "RED", PREFIX},
    {"DEPBAR", "DEPBAR", EXACT},
    {"LDGDEPBAR", "DEPBAR", EXACT},
    {"WARPGROUP", "WARPGROUP", PREFIX},
    {"BRA", "BRA", EXACT},
    {"BRX", "BRA", PREFIX},
    {"JMP", "BRA", EXACT},
    {"JMX", "BRA", PREFIX},
    {"CALL", "CALL", EXACT},
    {"RET", "CALL", EXACT},
    {"EXIT", "EXIT", EXACT},
    {"BSSY", "BSSY", EXACT},
    {"BSYNC", "BSSY", EXACT},
    {"BREAK", "BSSY", EXACT},
    {"BMOV", "BSSY", EXACT},
    {"WARPSYNC", "BSSY", EXACT},
    {"MOV", "MOV", EXACT},
    {"LOP3", "LOP3", EXACT},
    {"LOP", "LOP3", PREFIX},
    {"SHF", "SHF", EXACT},
    {"SHL", "SHF", EXACT},
    {"SHR", "SHF", EXACT},
    {"LEA", "LEA", EXACT},
    {"PRMT", "PRMT", EXACT},
    {"ISETP", "SETP", EXACT},
    {"FSETP", "SETP", EXACT},
    {"DSETP", "SETP", EXACT},
    {"HSETP2", "SETP", EXACT},
    {"PLOP3", "SETP", EXACT},
    {"PSETP", "SETP", EXACT},
    {"SEL", "SEL", EXACT},
    {"FSEL", "SEL", EXACT},
    {"FMNMX", "MNMX", PREFIX},
    {"IMNMX", "MNMX", EXACT},
    {"VIMNMX", "MNMX", PREFIX},
    {"VIADDMNMX", "MNMX", EXACT},
    {"HMNMX2", "MNMX", EXACT},
    {"I2F", "CVT", PREFIX},
    {"F2I", "CVT", PREFIX},
    {"F2F", "CVT", PREFIX},
    {"I2I", "CVT", PREFIX},
    {"FRND", "CVT", PREFIX},
    {"S2R", "S2R", EXACT},
    {"S2UR", "S2R", EXACT},
    {"CS2R", "S2R", PREFIX},
    {"TEX", "TEX", EXACT},
    {"TLD", "TEX", PREFIX},
    {"SULD", "SULD", EXACT},
    {"SUST", "SUST", EXACT},
    // What else begins with U and a letter computes one value a warp.
    {"UMOV", "UNIFORM", EXACT},
    {"UIADD3", "UNIFORM", EXACT},
    {"UIMAD", "UNIFORM", EXACT},
    {"ULEA", "UNIFORM", EXACT},
    {"ULOP3", "UNIFORM", EXACT},
    {"USHF", "UNIFORM", EXACT},
    {"UISETP", "UNIFORM", EXACT},
    {"USEL", "UNIFORM", EXACT},
    {"UPRMT", "UNIFORM", EXACT},
    {"UPLOP3", "UNIFORM", EXACT},
    {"UFLO", "UNIFORM", EXACT},
    {"UPOPC", "UNIFORM", EXACT},
    {"UVIMNMX", "UNIFORM", EXACT},
    {"R2UR", "UNIFORM", EXACT},
    {"", "other", PREFIX},
};
static const struct {
    const char *modifier, *name;
} widths[] = {{"", "32"},    {"256", "256"}, {"128", "128"}, {"64", "64"}, {"U16", "16"},
              {"S16", "16"}, {"16", "16"},   {"U8", "8"},    {"S8", "8"},  {"8", "8"}};
enum { WIDTHS = 10 };
_Static_assert(KB_COUNT(widths) == WIDTHS, "one id a width");

static bool matches(const struct row *r, const char *opcode, size_t n)
{
    size_t length = strlen(r->opcode);
    return !strncmp(r->opcode, opcode, length) && (n == length || (r->how == PREFIX && n > length));
}

// The first modifier that is a width. Memory instructions without one move 32 bits.
static int width_of(const char *modifiers)
{
    while (*modifiers == '.') {
        size_t n = strcspn(++modifiers, ".");
        for (int i = 1; i < WIDTHS; i++)
            if (strlen(widths[i].modifier) == n && !strncmp(modifiers, widths[i].modifier, n)) {
                while (strcmp(widths[i].name, widths[i - 1].name) == 0)
                    i--; // one id for U16, S16 and 16
                return i;
            }
        modifiers += n;
    }
    return 0;
}

_Static_assert(KB_COUNT(rows) + 11 * WIDTHS < KB_SASS_CLASSES_MOST, "ids are below");

// Ids follow the order of the table: a wide row takes WIDTHS of them. A later row of the same class gives the first's.
int kb_sass_class(const char *opcode)
{
    size_t n = strcspn(opcode, ".");
    const char *name = NULL;
    size_t hit = 0;
    while (!matches(&rows[hit], opcode, n))
        hit++;
    name = rows[hit].name;
    int id = 0;
    for (size_t i = 0; i < hit && strcmp(rows[i].name, name); i++)
        id += rows[i].how == WIDE ? WIDTHS : 1;
    return id + (rows[hit].how == WIDE ? width_of(opcode + n) : 0);
}

struct kb_sass_class_name kb_sass_class_name(int id)
{
    struct kb_sass_class_name out = {"other"};
    int at = 0;
    for (size_t i = 0; i < KB_COUNT(rows); i++) {
        int ids = rows[i].how == WIDE ? WIDTHS : 1;
        if (id < at + ids) {
            if (rows[i].how == WIDE)
                snprintf(out.s, sizeof out.s, "%s.%s", rows[i].name, widths[id - at].name);
            else
                snprintf(out.s, sizeof out.s, "%s", rows[i].name);
            return out;
        }
        at += ids;
    }
    return out;
}

// A kernel has a few dozen different opcodes: the last of each hash is remembered.
void kb_sass_count(const struct kb_sass_kernel *k, int *counts)
{
    enum { REMEMBERED = 512 };
    struct {
        const char *opcode;
        int id;
    } last[REMEMBERED] = {{NULL, 0}};
    for (int i = 0; i < k->count; i++) {
        const char *opcode = k->instructions[i].opcode;
        unsigned hash = 0;
        for (const char *s = opcode; *s; s++)
            hash = hash * 31 + (unsigned char)*s;
        hash = (hash ^ hash >> 9) % REMEMBERED;
        if (!last[hash].opcode || strcmp(last[hash].opcode, opcode)) {
            last[hash].opcode = opcode;
            last[hash].id = kb_sass_class(opcode);
        }
        counts[last[hash].id]++;
    }
}

cJSON *kb_sass_by_class(const int *counts)
{
    cJSON *object = cJSON_CreateObject();
    for (int id = 0; id < KB_SASS_CLASSES_MOST; id++)
        if (counts[id])
            kb_json_set_number(object, kb_sass_class_name(id).s, counts[id]);
    return object;
}

static cJSON *kernel_item(const struct kb_sass_kernel *k)
{
    int counts[KB_SASS_CLASSES_MOST] = {0};
    char *name = kb_cleaned(k->name);
    cJSON *item = cJSON_CreateObject();
    kb_sass_count(k, counts);
    kb_json_set_text(item, "name", name);
    kb_json_set_number(item, "instructions", k->count);
    kb_json_set(item, "by_class", kb_sass_by_class(counts));
    kb_json_measured(item, "live_registers_peak", k->live_peak,
                     k->live_peak < 0 ? "the listing has no live registers" : NULL);
    free(name);
    return item;
}

cJSON *kb_sass_summary(const struct kb_sass_listing *l, size_t most, int *left_out)
{
    cJSON *list = cJSON_CreateArray();
    size_t used = 0;
    *left_out = 0;
    for (int i = 0; i < l->kernel_count; i++) {
        cJSON *item = kernel_item(&l->kernels[i]);
        char *line = kb_json_line(item);
        size_t bytes = strlen(line);
        free(line);
        if (used + bytes > most) {
            cJSON_Delete(item);
            ++*left_out;
            continue;
        }
        used += bytes;
        cJSON_AddItemToArray(list, item);
    }
    return list;
}
