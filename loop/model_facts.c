// What the CPU device counted of a run with several launches, as one: sums, and the lines of all kernels.
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "loop/model.h"
#include "loop/model_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_number(cJSON *to, const cJSON *from)
{
    double before = kb_json_number(to, from->string, 0);
    kb_json_set_number(to, from->string, before + from->valuedouble);
}

static void add_numbers(cJSON *to, const cJSON *from)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, from)
        if (cJSON_IsNumber(item))
            add_number(to, item);
}

static cJSON *same_line(cJSON *lines, const cJSON *line)
{
    cJSON *item;
    cJSON_ArrayForEach (item, lines) {
        if (kb_json_int(item, "line", -1) == kb_json_int(line, "line", -2) &&
            !strcmp(kb_json_text(item, "file", ""), kb_json_text(line, "file", "")))
            return item;
    }
    return NULL;
}

static void add_lines(cJSON *to, const cJSON *from)
{
    const cJSON *line, *number;
    cJSON_ArrayForEach (line, from) {
        cJSON *known = same_line(to, line);
        if (!known)
            cJSON_AddItemToArray(to, cJSON_Duplicate(line, true));
        cJSON_ArrayForEach (number, line)
            if (known && cJSON_IsNumber(number) && strcmp(number->string, "line") != 0)
                add_number(known, number);
    }
}

static void add_all(cJSON *to, const cJSON *from)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, from)
        cJSON_AddItemToArray(to, cJSON_Duplicate(item, true));
}

static cJSON *member(cJSON *object, const char *key, bool array)
{
    cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!item) {
        item = array ? cJSON_CreateArray() : cJSON_CreateObject();
        cJSON_AddItemToObject(object, key, item);
    }
    return item;
}

static void join(cJSON *to, const cJSON *from)
{
    static const char *const groups[] = {"by_class", "flops", "bytes"};
    char *kernels = kb_format("%s, %s", kb_json_text(to, "kernel", "?"), kb_json_text(from, "kernel", "?"));
    add_numbers(to, from);
    for (size_t i = 0; i < KB_COUNT(groups); i++)
        add_numbers(member(to, groups[i], false), kb_json_get(from, groups[i]));
    add_lines(member(to, "lines", true), kb_json_get(from, "lines"));
    add_all(member(to, "reports", true), kb_json_get(from, "reports"));
    kb_json_set_text(to, "kernel", kernels);
    double instructions = kb_json_number(to, "instructions", 0);
    double lanes = kb_json_number(to, "thread_instructions", NAN) / instructions;
    kb_json_measured(to, "average_active_lanes", lanes, instructions > 0 ? NULL : "nothing was executed");
    free(kernels);
}

void kb_model_add_facts(cJSON **kept, const cJSON *event)
{
    cJSON *before = *kept ? cJSON_GetObjectItemCaseSensitive(*kept, "facts") : NULL;
    if (before && kb_json_int(event, "launch", 0) > kb_json_int(*kept, "launch", 0)) {
        join(before, kb_json_get(event, "facts"));
        kb_json_set_number(*kept, "launch", kb_json_number(event, "launch", 0));
        return;
    }
    cJSON_Delete(*kept); // the first launch of another run
    *kept = cJSON_Duplicate(event, true);
}
