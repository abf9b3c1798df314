// What ptxas says about each kernel with -v:
//   ptxas info    : Compiling entry function 'K' for 'sm_90'
//   ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 12 registers, used 1 barriers, 512 bytes smem
#include "jit/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool entry_name(const char *line, char *name, size_t size)
{
    const char *p = strstr(line, "Compiling entry function '");
    if (!p)
        return false;
    p += strlen("Compiling entry function '");
    snprintf(name, size, "%.*s", (int)strcspn(p, "'\n"), p);
    return true;
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

void kb_log_resources(const char *log, struct kb_compiled_kernel *kernels, int count)
{
    char line[4096], name[2048];
    struct kb_compiled_kernel *k = NULL;
    while (*log) {
        log = copy_line(log, line, sizeof line);
        if (strncmp(line, "ptxas", 5))
            continue;
        if (entry_name(line, name, sizeof name))
            k = find(kernels, count, name);
        if (!k)
            continue;
        long value;
        if (number_before(line, " bytes stack frame", &value))
            k->stack_bytes = value;
        if (number_before(line, " bytes spill stores", &value))
            k->spill_store_bytes = value;
        if (number_before(line, " bytes spill loads", &value))
            k->spill_load_bytes = value;
        if (number_before(line, " registers", &value)) {
            k->registers = (int)value;
            k->shared_bytes = number_before(line, " bytes smem", &value) ? value : 0;
        }
    }
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
