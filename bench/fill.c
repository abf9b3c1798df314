// How the elements of an input are chosen.
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/bench_internal.h"

#include <stdlib.h>
#include <string.h>

// Which numbers each kind takes.
enum { MEAN = 1, STD = 2, LOW = 4, HIGH = 8, VALUE = 16, PATH = 32 };
static const struct {
    const char *name;
    int takes;
    double low, high;
} kinds[KB_FILLS] = {
    [KB_FILL_NORMAL] = {"normal", MEAN | STD, 0, 0},
    [KB_FILL_UNIFORM] = {"uniform", LOW | HIGH, -1, 1},
    [KB_FILL_LOGNORMAL] = {"lognormal", MEAN | STD, 0, 0},
    [KB_FILL_INTEGERS] = {"integers", LOW | HIGH, -8, 8},
    [KB_FILL_CONSTANT] = {"constant", VALUE, 0, 0},
    [KB_FILL_ZEROS] = {"zeros", 0, 0, 0},
    [KB_FILL_CANCELLATION] = {"cancellation", MEAN | STD, 0, 0},
    [KB_FILL_NEG_INF_ROWS] = {"neg_inf_rows", MEAN | STD, 0, 0},
    [KB_FILL_DENORMALS] = {"denormals", 0, 0, 0},
    [KB_FILL_FILE] = {"file", PATH, 0, 0},
};

const char *kb_fill_name(enum kb_fill_kind k)
{
    return k < KB_FILLS ? kinds[k].name : "";
}

static struct kb_fill of_kind(enum kb_fill_kind kind, enum kb_dtype dtype)
{
    struct kb_fill fill = {.kind = kind, .low = kinds[kind].low, .high = kinds[kind].high, .std = 1};
    if (dtype == KB_U8 && kind == KB_FILL_INTEGERS)
        fill.low = 0;
    return fill;
}

struct kb_fill kb_fill_default(enum kb_dtype dtype)
{
    return of_kind(kb_dtype_is_float(dtype) ? KB_FILL_NORMAL : KB_FILL_INTEGERS, dtype);
}

static int read_kind(const struct kb_document *doc, const cJSON *item, enum kb_dtype dtype, struct kb_fill *fill)
{
    const char *names[KB_FILLS];
    for (int k = 0; k < KB_FILLS; k++) {
        names[k] = kinds[k].name;
        if (strcmp(item->valuestring, names[k]))
            continue;
        *fill = of_kind((enum kb_fill_kind)k, dtype);
        return 0;
    }
    return kb_document_unknown(doc, item, "fill", item->valuestring, names, KB_FILLS);
}

// The numbers of an object, where its kind takes them.
static int read_members(const struct kb_document *doc, const cJSON *item, struct kb_fill *fill)
{
    static const struct {
        const char *name;
        int bit;
    } members[] = {{"mean", MEAN}, {"std", STD}, {"low", LOW}, {"high", HIGH}, {"value", VALUE}, {"file", PATH}};
    double *places[] = {&fill->mean, &fill->std, &fill->low, &fill->high, &fill->value};
    for (size_t i = 0; i < KB_COUNT(members); i++) {
        const cJSON *member = kb_json_get(item, members[i].name);
        if (!member)
            continue;
        if (!(kinds[fill->kind].takes & members[i].bit))
            return kb_document_fail(doc, member, NULL, "means nothing for the fill \"%s\"", kinds[fill->kind].name);
        if (members[i].bit == PATH)
            fill->file = kb_strdup(member->valuestring);
        else
            *places[i] = member->valuedouble;
    }
    if (fill->low > fill->high)
        return kb_document_fail(doc, item, NULL, "low %g is above high %g", fill->low, fill->high);
    if (fill->std < 0)
        return kb_document_fail(doc, kb_json_get(item, "std"), NULL, "std %g is negative", fill->std);
    return 0;
}

static int read_object(const struct kb_document *doc, const cJSON *item, enum kb_dtype dtype, struct kb_fill *fill)
{
    static const struct kb_key keys[] = {
        {"kind", KB_JSON_TEXT | KB_JSON_REQUIRED},
        {"low", KB_JSON_NUMBER},
        {"high", KB_JSON_NUMBER},
        {"mean", KB_JSON_NUMBER},
        {"std", KB_JSON_NUMBER},
        {"value", KB_JSON_NUMBER},
        {"file", KB_JSON_TEXT},
    };
    if (kb_document_keys(doc, item, keys, KB_COUNT(keys), "a fill") ||
        read_kind(doc, kb_json_get(item, "kind"), dtype, fill))
        return -1;
    int status = read_members(doc, item, fill);
    if (!status && fill->kind == KB_FILL_FILE && !fill->file)
        status = kb_document_fail(doc, item, NULL, "a fill of kind \"file\" needs the key \"file\": a .npy");
    if (!status && fill->kind == KB_FILL_CONSTANT && !kb_json_get(item, "value"))
        status = kb_document_fail(doc, item, NULL, "a fill of kind \"constant\" needs the key \"value\": a number");
    if (status) {
        free(fill->file);
        fill->file = NULL;
    }
    return status;
}

int kb_fill_read(const struct kb_document *doc, const cJSON *item, enum kb_dtype dtype, struct kb_fill *fill)
{
    if (kb_document_type(doc, item, KB_JSON_TEXT | KB_JSON_OBJECT))
        return -1;
    if (cJSON_IsObject(item))
        return read_object(doc, item, dtype, fill);
    if (kb_ends(item->valuestring, ".npy")) {
        *fill = of_kind(KB_FILL_FILE, dtype);
        fill->file = kb_strdup(item->valuestring);
        return 0;
    }
    if (read_kind(doc, item, dtype, fill))
        return -1;
    if (fill->kind == KB_FILL_FILE || fill->kind == KB_FILL_CONSTANT)
        return kb_document_fail(doc, item, "write {\"kind\": \"constant\", \"value\": 1} or \"x.npy\"",
                                "the fill \"%s\" needs more than its name", item->valuestring);
    return 0;
}
