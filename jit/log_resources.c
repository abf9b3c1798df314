// What ptxas says with -v about each kernel, and about each function that was not inlined (nvcc leaves out the ptxas in
// front of the second line; the last one only comes with a kernel):
//   ptxas info    : Compiling entry function 'K' for 'sm_90'
//   ptxas info    : Function properties for K
//   ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 12 registers, used 1 barriers, 16 bytes cumulative stack size, 512 bytes smem
#include "jit/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool name_behind(const char *line, const char *words, char *name, size_t size)
{
    const char *p = strncmp(line, "ptxas", 5) ? NULL : strstr(line, words);
    if (!p)
        return false;
    p += strlen(words);
    snprintf(name, size, "%.*s", (int)strcspn(p, "'\n"), p);
    return true;
}

static bool entry_name(const char *line, char *name, size_t size)
{
    return name_behind(line, "Compiling entry function '", name, size);
}

// The number in front of unit, as in "512 bytes smem".
static bool number_before(const char *line, const char *unit, long *value)
{
    const char *p = strstr(line, unit);
    if (!p)
        return false;
    const char *digits = p;
    while (digits > line && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    if (digits == p)
        return false;
    *value = strtol(digits, NULL, 10);
    return true;
}

static struct kb_compiled_kernel *find(struct kb_compiled_kernel *kernels, int count, const char *lowered)
{
    for (int i = 0; i < count; i++)
        if (kernels[i].lowered && !strcmp(kernels[i].lowered, lowered))
            return &kernels[i];
    return NULL;
}

static const char *copy_line(const char *log, char *line, size_t size)
{
    size_t n = strcspn(log, "\n");
    snprintf(line, size, "%.*s", (int)(n < size ? n : size - 1), log);
    return log + n + (log[n] == '\n');
}

struct properties { // of a kernel or another function
    char name[2048];
    long stack, spill_stores, spill_loads;
};

// The next function's, with *log behind them.
static bool next_properties(const char **log, struct properties *p)
{
    char line[4096];
    p->name[0] = 0;
    while (**log) {
        *log = copy_line(*log, line, sizeof line);
        if (entry_name(line, p->name, sizeof p->name) ||
            name_behind(line, "Function properties for ", p->name, sizeof p->name))
            continue;
        if (p->name[0] && number_before(line, " bytes stack frame", &p->stack) &&
            number_before(line, " bytes spill stores", &p->spill_stores) &&
            number_before(line, " bytes spill loads", &p->spill_loads))
            return true;
    }
    return false;
}

static void take_own(const char *log, struct kb_compiled_kernel *kernels, int count)
{
    struct properties p;
    while (next_properties(&log, &p)) {
        struct kb_compiled_kernel *k = find(kernels, count, p.name);
        if (!k)
            continue;
        k->stack_bytes = p.stack;
        k->spill_store_bytes = p.spill_stores;
        k->spill_load_bytes = p.spill_loads;
    }
}

static void add_called(const char *log, struct kb_compiled_kernel *kernels, int count, const struct kb_log_calls *calls)
{
    struct properties p;
    while (next_properties(&log, &p)) {
        if (find(kernels, count, p.name))
            continue;
        for (int i = 0; i < count; i++) {
            struct kb_compiled_kernel *k = &kernels[i];
            if (!k->lowered || k->spill_store_bytes < 0 || !calls->calls(calls->context, k->lowered, p.name))
                continue;
            k->spill_store_bytes += p.spill_stores;
            k->spill_load_bytes += p.spill_loads;
        }
    }
}

static void take_usage(const char *log, struct kb_compiled_kernel *kernels, int count)
{
    char line[4096], name[2048];
    struct kb_compiled_kernel *k = NULL;
    while (*log) {
        long value;
        log = copy_line(log, line, sizeof line);
        if (entry_name(line, name, sizeof name))
            k = find(kernels, count, name);
        if (!k || strncmp(line, "ptxas", 5) || !number_before(line, " registers", &value))
            continue;
        k->registers = (int)value;
        k->shared_bytes = number_before(line, " bytes smem", &value) ? value : 0;
        if (number_before(line, " bytes cumulative stack size", &value) && value > k->stack_bytes)
            k->stack_bytes = value;
    }
}

void kb_log_resources(const char *log, struct kb_compiled_kernel *kernels, int count, const struct kb_log_calls *calls)
{
    take_own(log, kernels, count);
    if (calls)
        add_called(log, kernels, count, calls);
    take_usage(log, kernels, count);
}

bool kb_log_largest_shared(const char *log, char *name, size_t size, long *bytes)
{
    char line[4096], current[2048] = "";
    *bytes = 0;
    while (*log) {
        log = copy_line(log, line, sizeof line);
        long value;
        entry_name(line, current, sizeof current);
        if (current[0] && number_before(line, " bytes smem", &value) && value > *bytes) {
            *bytes = value;
            snprintf(name, size, "%s", current);
        }
    }
    return *bytes > 0;
}
