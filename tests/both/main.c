// Runs generated PTX snippets, the bundled kernels and counting probes on the CPU device and on a GPU with the same
// inputs, and compares. Without a GPU the CPU device is held against itself and against C.
//
// usage: both-devices [snippets|kernels|counts ...] [--device cuda|cpu] [--only TEXT] [-n THREADS] [--json FILE]
//                     [--ptx FILE] [--list] [--probes]
// --device cpu: no GPU. --ptx: writes all snippets (--probes: all probes) as one module, for ptxas. Exit: 0 no
// difference (among counts: of the bundled kernels), 1 some, 2 usage, 3 no device.
#include "both/both.h"
#include "both/probes.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void fill_table(struct both_table *t)
{
    both_integers(t);
    both_floats_arith(t);
    both_compares(t);
    both_converts(t);
    both_warps(t);
    both_memories(t);
    both_atomics(t);
    both_matrices(t);
}

struct job {
    const struct both_table *table;
    const struct both_options *options;
    struct both_result *results; // shared with the process that runs
    int *at;                     // the snippet at hand, or where to go on
};

static void fail(struct both_result *r, int on, bool refused, const struct kb_error *e)
{
    r->status = BOTH_FAILED;
    r->on = on;
    r->refused = refused;
    snprintf(r->reason, sizeof r->reason, "%s", kb_error_line(e));
}

static void compare_expected(const struct both_snippet *s, int n, const uint64_t *in, const uint64_t *out,
                             struct both_result *r)
{
    struct both_snippet first = *s;
    first.out[1] = 0;
    for (int i = 0; i < n; i++) {
        uint64_t triple[3] = {0}, want;
        for (int k = 0; k < 3 && s->in[k]; k++)
            triple[k] = in[k * n + i];
        if (!both_expected(s, triple, &want))
            return;
        struct both_result one = {0};
        both_compare(&first, 1, &want, &out[i], NULL, NULL, &one);
        r->expected = true;
        r->expected_wrong += one.wrong;
    }
}

struct memory {
    uint64_t *in, *out[2];
    uint8_t *scratch[2];
};

static void one_snippet(const struct both_snippet *s, struct both_rig *rigs, int n, struct memory *m,
                        struct both_result *r)
{
    for (int k = 0; s->in[k]; k++)
        for (int i = 0; i < n; i++)
            m->in[k * n + i] = both_value(s->in, k, i, n);
    for (int d = 0; d < 2; d++) {
        struct kb_error e = {0};
        bool refused = false;
        if (both_rig_run(&rigs[d], s, m->in, m->out[d], m->scratch[d], &refused, &e)) {
            fail(r, d, refused, &e);
            return;
        }
    }
    both_compare(s, n, m->out[0], m->out[1], m->scratch[0], m->scratch[1], r);
    compare_expected(s, n, m->in, m->out[0], r);
}

// Runs from *at on until the end, or until a device is lost.
static int run_from(const struct job *j)
{
    int n = j->options->n;
    struct both_rig rigs[2];
    struct kb_error e = {0};
    for (int d = 0; d < 2; d++)
        if (both_rig_open(&rigs[d], d && j->options->second ? j->options->second : "cpu", n, &e)) {
            fprintf(stderr, "both-devices: %s\n", kb_error_line(&e));
            return 3;
        }
    struct memory m = {.in = kb_alloc((size_t)n * BOTH_SLOTS * 8)};
    for (int d = 0; d < 2; d++) {
        m.out[d] = kb_alloc((size_t)n * BOTH_RESULTS * 8);
        m.scratch[d] = kb_alloc(rigs[d].scratch.bytes);
    }
    bool lost = false;
    for (; *j->at < j->table->count && !lost; ++*j->at) {
        const struct both_snippet *s = &j->table->items[*j->at];
        if (j->options->only && !strstr(s->name, j->options->only) && !strstr(s->family, j->options->only))
            continue;
        alarm(60); // a kernel that never ends is killed with this process
        one_snippet(s, rigs, n, &m, &j->results[*j->at]);
        alarm(0);
        lost = rigs[1].device->fault.kind == KB_FAULT_POISONED || rigs[1].device->fault.kind == KB_FAULT_LOST;
    }
    for (int d = 0; d < 2; d++) {
        both_rig_close(&rigs[d]);
        free(m.out[d]);
        free(m.scratch[d]);
    }
    free(m.in);
    return 0;
}

// In processes of their own: a fault of the GPU takes the whole process's context with it.
static int run_all(const struct job *j)
{
    int rounds = 0;
    while (*j->at < j->table->count) {
        int from = *j->at, status = 0;
        fflush(NULL);
        pid_t pid = fork();
        if (pid < 0)
            return 3;
        if (!pid)
            _exit(run_from(j));
        if (waitpid(pid, &status, 0) < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 3) || ++rounds > 40)
            return 3;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        struct both_result *r = &j->results[*j->at];
        r->status = BOTH_FAILED;
        r->on = -1;
        snprintf(r->reason, sizeof r->reason, "the process ended with status 0x%x", (unsigned)status);
        if (++*j->at == from)
            return 3;
    }
    return 0;
}

static const char *const status_names[] = {"not run", "same", "differ", "failed"};
static const char *const how_names[] = {"exact", "exact but for NaN", "ulp", "relative", "absolute", "relative to 1"};

static void print_differences(const struct job *j, int index, const char *names[2])
{
    const struct both_snippet *s = &j->table->items[index];
    const struct both_result *r = &j->results[index];
    if (r->status == BOTH_FAILED) {
        printf("%s  [%s]\n    %s: %s\n", s->name, s->family, r->on < 0 ? "both" : names[r->on], r->reason);
        return;
    }
    if (r->expected_wrong)
        printf("%s  [%s]\n    %" PRIu64 " results of %s are not what C computes\n", s->name, s->family,
               r->expected_wrong, names[0]);
    if (r->status != BOTH_DIFFER)
        return;
    printf("%s  [%s, %s %g]\n    %" PRIu64 " of %" PRIu64 " differ beyond that, at most by %g\n", s->name, s->family,
           how_names[s->how], s->bound, r->wrong, r->values, r->worst);
    for (int i = 0; i < r->sample_count; i++) {
        const struct both_difference *x = &r->samples[i];
        printf("    thread %d", x->index);
        for (int k = 0; s->in[k] && k < 4; k++)
            printf(" %016" PRIx64, both_value(s->in, k, x->index, j->options->n));
        if (x->result < 0)
            printf(": scratch word %d", -1 - x->result);
        else
            printf(": result %d", x->result);
        printf(" %s %016" PRIx64 ", %s %016" PRIx64 "\n", names[0], x->first, names[1], x->second);
    }
}

static cJSON *samples_json(const struct both_snippet *s, const struct both_result *r, int n)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < r->sample_count; i++) {
        const struct both_difference *x = &r->samples[i];
        cJSON *item = cJSON_CreateObject(), *in = cJSON_AddArrayToObject(item, "inputs");
        char text[40];
        for (int k = 0; s->in[k]; k++) {
            snprintf(text, sizeof text, "%016" PRIx64, both_value(s->in, k, x->index, n));
            cJSON_AddItemToArray(in, cJSON_CreateString(text));
        }
        kb_json_set_number(item, "thread", x->index);
        kb_json_set_number(item, "result", x->result);
        snprintf(text, sizeof text, "%016" PRIx64, x->first);
        kb_json_set_text(item, "cpu", text);
        snprintf(text, sizeof text, "%016" PRIx64, x->second);
        kb_json_set_text(item, "gpu", text);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

// Snippets that are the same bit for bit are counted; the others are listed.
static cJSON *result_json(const struct both_snippet *s, const struct both_result *r, int n)
{
    cJSON *o = cJSON_CreateObject();
    kb_json_set_text(o, "snippet", s->name);
    kb_json_set_text(o, "family", s->family);
    kb_json_set_text(o, "status", status_names[r->status]);
    kb_json_set_text(o, "compared", how_names[s->how]);
    if (s->how >= BOTH_ULP) {
        kb_json_set_number(o, "bound", s->bound);
        kb_json_set_number(o, "worst", r->worst);
    }
    kb_json_set_number(o, "values", (double)r->values);
    kb_json_set_number(o, "bits_differ", (double)r->bits_differ);
    kb_json_set_number(o, "nan_differ", (double)r->nan_differ);
    kb_json_set_number(o, "wrong", (double)r->wrong);
    if (r->status == BOTH_FAILED)
        kb_json_set_text(o, "reason", r->reason);
    if (r->expected)
        kb_json_set_number(o, "not_as_in_c", (double)r->expected_wrong);
    if (r->sample_count)
        kb_json_set(o, "samples", samples_json(s, r, n));
    return o;
}

static int report(const struct job *j, cJSON *record)
{
    const char *names[2] = {"cpu", j->options->second ? j->options->second : "cpu again"};
    cJSON *all = cJSON_CreateArray();
    int counts[4] = {0}, bits = 0, ran = 0, c_wrong = 0, c_known = 0;
    uint64_t values = 0, differ = 0;
    for (int i = 0; i < j->table->count; i++) {
        const struct both_result *r = &j->results[i];
        counts[r->status]++;
        if (r->status == BOTH_NOT_RUN)
            continue;
        ran++;
        bits += r->status == BOTH_SAME && !r->bits_differ;
        values += r->values;
        differ += r->bits_differ;
        c_known += r->expected;
        c_wrong += r->expected_wrong > 0;
        print_differences(j, i, names);
        if (r->status != BOTH_SAME || r->bits_differ || r->expected_wrong)
            cJSON_AddItemToArray(all, result_json(&j->table->items[i], r, j->options->n));
    }
    printf("snippets: %d ran, %d the same bit for bit, %d more within what is defined, %d differ, %d failed; %" PRIu64
           " values, %" PRIu64 " with other bits; %d held against C, %d wrong\n",
           ran, bits, counts[BOTH_SAME] - bits, counts[BOTH_DIFFER], counts[BOTH_FAILED], values, differ, c_known,
           c_wrong);
    cJSON *o = cJSON_AddObjectToObject(record, "snippets");
    kb_json_set_text(o, "devices", j->options->second ? "cpu and GPU" : "cpu twice");
    kb_json_set_number(o, "threads", j->options->n);
    kb_json_set_number(o, "ran", ran);
    kb_json_set_number(o, "same_bits", bits);
    kb_json_set_number(o, "within", counts[BOTH_SAME] - bits);
    kb_json_set_number(o, "differ", counts[BOTH_DIFFER]);
    kb_json_set_number(o, "failed", counts[BOTH_FAILED]);
    kb_json_set_number(o, "values", (double)values);
    kb_json_set_number(o, "values_with_other_bits", (double)differ);
    kb_json_set_number(o, "held_against_c", c_known);
    kb_json_set_number(o, "not_as_in_c", c_wrong);
    kb_json_set(o, "not_the_same", all);
    return !ran || counts[BOTH_DIFFER] || counts[BOTH_FAILED] || c_wrong ? 1 : 0;
}

static void *shared_memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        perror("both-devices: mmap");
        exit(3);
    }
    return p;
}

static int run_snippets(const struct both_table *t, const struct both_options *options, cJSON *record)
{
    size_t bytes = (size_t)t->count * sizeof(struct both_result);
    struct job j = {.table = t, .options = options, .results = shared_memory(bytes), .at = shared_memory(sizeof *j.at)};
    int status = run_all(&j);
    if (!status)
        status = report(&j, record);
    munmap(j.results, bytes);
    munmap(j.at, sizeof *j.at);
    return status;
}

static int write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) {
        perror(path);
        return 3;
    }
    return 0;
}

static int write_ptx(const struct both_table *t, const char *path)
{
    struct kb_text all = {0};
    kb_text_add(&all, both_head);
    for (int i = 0; i < t->count; i++) {
        char name[32];
        snprintf(name, sizeof name, "k%d", i);
        char *kernel = both_kernel(&t->items[i], name);
        kb_text_addf(&all, "// %s\n%s\n", t->items[i].name, kernel);
        free(kernel);
    }
    int status = write_file(path, all.data);
    kb_text_free(&all);
    return status;
}

struct command {
    struct both_options options;
    const char *json, *ptx, *what[4];
    int what_count;
    bool list, probes; // probes: --list and --ptx are about the probes of `counts`
};

static bool wanted(const struct command *c, const char *what)
{
    for (int i = 0; i < c->what_count; i++)
        if (!strcmp(c->what[i], what))
            return true;
    return !c->what_count;
}

static int usage(void)
{
    fputs("usage: both-devices [snippets|kernels|counts ...] [--device cuda|cpu] [--only TEXT] [-n THREADS] "
          "[--json FILE] [--ptx FILE] [--list] [--probes]\n",
          stderr);
    return 2;
}

static int parse(int argc, char **argv, struct command *c)
{
    *c = (struct command){.options = {.second = "cuda", .n = 4096, .root = KB_SOURCE_DIR}};
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (a[0] != '-' && c->what_count < 4) {
            c->what[c->what_count++] = a;
            continue;
        }
        if (!strcmp(a, "--list") || !strcmp(a, "--probes")) {
            c->list |= a[2] == 'l';
            c->probes |= a[2] == 'p';
            continue;
        }
        if (!value)
            return usage();
        i++;
        if (!strcmp(a, "--device"))
            c->options.second = strcmp(value, "cpu") ? value : NULL;
        else if (!strcmp(a, "--only"))
            c->options.only = value;
        else if (!strcmp(a, "--root"))
            c->options.root = value;
        else if (!strcmp(a, "--json"))
            c->json = value;
        else if (!strcmp(a, "--ptx"))
            c->ptx = value;
        else if (!strcmp(a, "-n"))
            c->options.n = atoi(value) / BOTH_THREADS * BOTH_THREADS;
        else
            return usage();
    }
    return c->options.n > 0 ? 0 : usage();
}

int main(int argc, char **argv)
{
    struct command c;
    struct both_table table = {0};
    int status = parse(argc, argv, &c);
    if (status)
        return status;
    if (c.probes)
        both_probes(&table, true);
    else
        fill_table(&table);
    cJSON *record = cJSON_CreateObject();
    if (c.list)
        for (int i = 0; i < table.count; i++)
            printf("%4d  %-20s %s\n", i, table.items[i].family, table.items[i].name);
    else if (c.ptx)
        status = write_ptx(&table, c.ptx);
    else {
        if (wanted(&c, "snippets"))
            status = run_snippets(&table, &c.options, record);
        if (wanted(&c, "kernels"))
            status |= both_run_kernels(&c.options, record);
        if (wanted(&c, "counts"))
            status |= both_run_counts(&c.options, record);
    }
    if (c.json) {
        char *text = cJSON_Print(record);
        int written = write_file(c.json, text);
        status = status ? status : written;
        free(text);
    }
    cJSON_Delete(record);
    both_table_free(&table);
    return status;
}
