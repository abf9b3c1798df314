// The bench's contract, from all that the session has read: what the reference and its compile opened, data, compilers.
#include "base/file.h"
#include "bench/permission.h"
#include "loop/io.h"
#include "loop/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parts {
    struct kb_contract_part *list;
    int count, capacity;
};

static void add(struct parts *p, const char *name, const void *data, size_t size)
{
    KB_GROW(p->list, p->count, p->capacity);
    p->list[p->count++] = (struct kb_contract_part){name, data, size};
}

static void add_text(struct parts *p, const char *name, const char *text)
{
    if (text && *text)
        add(p, name, text, strlen(text));
}

// Headers by their last name: the same bench elsewhere has the same contract.
static void add_source(struct parts *p, const struct kb_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->file_count; i++)
        add(p, kb_path_base(snapshot->files[i].path), snapshot->files[i].data, snapshot->files[i].size);
}

static int by_path(const void *a, const void *b)
{
    return strcmp((*(struct kb_session_file *const *)a)->path, (*(struct kb_session_file *const *)b)->path);
}

static void add_data(struct parts *p, const struct kb_session *s)
{
    struct kb_session_file **data = kb_alloc(((size_t)s->watched_count + 1) * sizeof *data);
    int count = 0;
    for (int i = 0; i < s->watched_count; i++)
        if (s->watched[i]->data && s->watched[i]->latest)
            data[count++] = s->watched[i];
    if (count)
        qsort(data, (size_t)count, sizeof *data, by_path);
    for (int i = 0; i < count; i++)
        add_text(p, kb_path_base(data[i]->path), data[i]->latest->snapshot.hash.hex);
    free(data);
}

// NVRTC's version, as the compile worker's hello names it; NULL: not known (yet).
static const char *nvrtc_version(const cJSON *libs)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, libs)
        if (!strcmp(kb_json_text(item, "name", ""), "nvrtc"))
            return kb_json_text(item, "version", NULL);
    return NULL;
}

// nvcc tells its version in what it compiled; NULL: it did not compile this reference.
static const char *nvcc_version(const struct kb_session *s)
{
    const cJSON *compiled = s->programs[KB_PROGRAM_REFERENCE].compiled;
    bool nvcc = compiled && !strcmp(kb_json_text(compiled, "compiler", ""), "nvcc");
    return nvcc ? kb_json_text(compiled, "compiler_version", "unknown") : NULL;
}

// Whether it is another one than before.
static bool take_contract(struct kb_session *s)
{
    const struct kb_reference *reference = &s->bench->reference;
    bool kernel = reference->kind == KB_REFERENCE_KERNEL;
    struct parts parts = {0};
    cJSON *libs = kernel && s->compile_libs ? cJSON_Parse(s->compile_libs) : NULL;
    if (s->reference && s->reference->latest)
        add_source(&parts, &s->reference->latest->snapshot);
    add_data(&parts, s);
    bool only_nvcc = kernel && reference->program.compiler && !strcmp(reference->program.compiler, "nvcc");
    if (kernel && !only_nvcc)
        add_text(&parts, "compiler", nvrtc_version(libs));
    if (kernel)
        add_text(&parts, "nvcc", nvcc_version(s));
    if (reference->kind == KB_REFERENCE_COMMAND)
        add_text(&parts, "command", s->reads.hex);
    if (kernel && kb_may_use_nvcc(&reference->program))
        add_text(&parts, "flags", s->nvcc_flags);
    struct kb_hash hash = kb_bench_contract(s->bench, parts.list, parts.count);
    cJSON_Delete(libs);
    free(parts.list);
    bool changed = strcmp(hash.hex, s->contract) != 0;
    if (changed) {
        memcpy(s->contract, hash.hex, sizeof s->contract);
        s->bench_generation++;
    }
    return changed;
}

bool kb_contract_compute(struct kb_session *s)
{
    struct kb_program *p = &s->programs[KB_PROGRAM_REFERENCE];
    bool changed = take_contract(s);
    if (changed)
        p->ready = p->failed = p->asked = p->allowed = false;
    p->wanted = s->bench->reference.kind == KB_REFERENCE_KERNEL;
    return changed;
}

void kb_contract_compiled(struct kb_session *s)
{
    struct kb_program *p = &s->programs[KB_PROGRAM_REFERENCE];
    if (!p->ready || !take_contract(s))
        return;
    p->generation = s->bench_generation; // it is what the new contract is about
    kb_sources_announce(s);
    kb_consider_all(s);
}

// What the reference's command reads

static void set_reads(struct kb_session *s, const char *hash, char **names)
{
    kb_reads_free(s);
    snprintf(s->reads.hex, sizeof s->reads.hex, "%s", hash);
    s->read_names = names;
}

void kb_reads_free(struct kb_session *s)
{
    kb_free_list(s->read_names);
    s->read_names = NULL;
    s->reads.hex[0] = 0;
}

void kb_reads_open(struct kb_session *s)
{
    struct kb_permission p;
    if (s->bench->reference.kind != KB_REFERENCE_COMMAND ||
        kb_permission_read(s->bench_dir, s->bench->reference.command, &p, NULL))
        return;
    char **names = kb_alloc(((size_t)p.file_count + (size_t)p.data_count + 1) * sizeof *names);
    for (int i = 0; i < p.file_count; i++)
        names[i] = kb_strdup(p.files[i].name);
    for (int i = 0; i < p.data_count; i++)
        names[p.file_count + i] = kb_strdup(p.data[i]);
    set_reads(s, p.reads.hex, names);
    kb_permission_free(&p);
}

void kb_reads_ask(struct kb_session *s)
{
    if (s->io && s->bench->reference.kind == KB_REFERENCE_COMMAND)
        s->reads_token = kb_io_ask(s->io, s->bench_dir, s->bench->reference.command);
}

void kb_reads_answered(struct kb_session *s, const cJSON *what)
{
    const cJSON *list = kb_json_get(what, "names"), *item;
    char **names = kb_alloc(((size_t)cJSON_GetArraySize(list) + 1) * sizeof *names);
    int n = 0;
    s->reads_token = 0;
    cJSON_ArrayForEach (item, list)
        names[n++] = kb_strdup(item->valuestring);
    set_reads(s, kb_json_text(what, "reads", ""), names);
    kb_sources_watch(s);
    kb_sources_decided(s);
}
