// Sectors and bank conflicts that the CPU device counts, against the hardware's counters: probes of known patterns and
// the bundled kernels.
#include "both/bundled.h"
#include "both/probes.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "profiles/ranges.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALLOWED 0.005

#define SECTORS(op) "l1tex__t_sectors_pipe_lsu_mem_global_op_" op ".sum"
#define REQUESTS(op) "l1tex__t_requests_pipe_lsu_mem_global_op_" op ".sum"
#define CONFLICTS(op) "l1tex__data_bank_conflicts_pipe_lsu_mem_shared" op ".sum"
#define WAVEFRONTS(op) "l1tex__data_pipe_lsu_wavefronts_mem_shared" op ".sum"
#define CODE(what) "smsp__sass_l1tex_data_" what ".sum"
static const struct {
    const char *name, *metric;
} metrics[] = {
    {"sectors_ld", SECTORS("ld")},
    {"sectors_st", SECTORS("st")},
    {"sectors_atom", SECTORS("atom")},
    {"sectors_red", SECTORS("red")},
    {"sectors_cp_async", "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum"},
    {"requests_ld", REQUESTS("ld")},
    {"requests_st", REQUESTS("st")},
    {"requests_atom", REQUESTS("atom")},
    {"requests_red", REQUESTS("red")},
    {"conflicts", CONFLICTS("")},
    {"conflicts_ld", CONFLICTS("_op_ld")},
    {"conflicts_st", CONFLICTS("_op_st")},
    {"conflicts_atom", CONFLICTS("_op_atom")},
    {"wavefronts", WAVEFRONTS("")},
    {"wavefronts_ld", WAVEFRONTS("_op_ld")},
    {"wavefronts_st", WAVEFRONTS("_op_st")},
    {"wavefronts_atom", WAVEFRONTS("_op_atom")},
    {"code_wavefronts_ld", CODE("pipe_lsu_wavefronts_mem_shared_op_ld")},
    {"code_wavefronts_st", CODE("pipe_lsu_wavefronts_mem_shared_op_st")},
    {"code_conflicts_ldmatrix", CODE("bank_conflicts_pipe_lsu_mem_shared_op_ldsm")},
    {"code_conflicts_cp_async", CODE("bank_conflicts_pipe_lsu_mem_shared_op_ldgsts")},
    {"shared_loads", "smsp__inst_executed_op_shared_ld.sum"},
    {"shared_stores", "smsp__inst_executed_op_shared_st.sum"},
};
enum { METRICS = KB_COUNT(metrics), MEASUREMENTS = 3 };
static const char *const kinds[2] = {"probe", "bundled"};

struct tally {
    const struct both_options *options;
    cJSON *rows, *failures;
    struct {
        int compared, sectors_apart, conflicts_apart;
    } of[2]; // probes, bundled kernels
};

static double conflicts_of(const struct kb_range_values *v)
{
    for (int i = 0; i < METRICS; i++)
        if (!strcmp(metrics[i].name, "conflicts"))
            return v->value[i];
    return NAN;
}

// The hardware's conflicts include waiting for the data path that global memory uses as well, which comes and goes: of
// a few measurements the one with the fewest says what the kernel itself causes.
static int measure(struct kb_device *d, const struct kb_range_run *run, cJSON *gpu, struct kb_error *e)
{
    const char *list[METRICS];
    struct kb_range_values values;
    for (int i = 0; i < METRICS; i++)
        list[i] = metrics[i].metric;
    if (kb_ranges_measure(d, list, METRICS, run, &values, e))
        return -1;
    for (int i = 1; i < MEASUREMENTS && conflicts_of(&values) > 0; i++) {
        struct kb_range_values again;
        if (kb_ranges_measure(d, list, METRICS, run, &again, e))
            return -1;
        if (conflicts_of(&again) < conflicts_of(&values))
            values = again;
    }
    for (int i = 0; i < METRICS; i++)
        kb_json_measured(gpu, metrics[i].name, values.value[i],
                         isfinite(values.value[i]) ? NULL
                         : values.why[i]           ? values.why[i]
                                                   : "the driver gave no number");
    return 0;
}

static double share(double ours, double theirs, double least)
{
    double d = fabs(ours - theirs), of = fmax(theirs, least);
    return d == 0 ? 0 : of > 0 ? d / of : INFINITY;
}

// Sectors of all kinds against the one sum that the CPU device has; conflicts as they are, and where there are none or
// few, against the turns that shared memory took.
static void judge(struct tally *t, int kind, const char *name, cJSON *row, const cJSON *cpu, const cJSON *gpu)
{
    static const char *const parts[] = {"sectors_ld", "sectors_st", "sectors_atom", "sectors_red"};
    double sectors = 0, counted = kb_json_number(cpu, "global_sectors", NAN);
    for (int i = 0; i < 4; i++)
        sectors += kb_json_number(gpu, parts[i], 0);
    double conflicts = kb_json_number(gpu, "conflicts", NAN), own = kb_json_number(cpu, "shared_bank_conflicts", NAN);
    double copies = kb_json_number(gpu, "code_conflicts_cp_async", 0); // the pipe's counter leaves some of these out
    conflicts = fmax(conflicts, copies);
    double waves = kb_json_number(gpu, "wavefronts", 0);
    double a = share(counted, sectors, 0), b = share(own, conflicts, waves);
    kb_json_set_number(row, "sectors", counted);
    kb_json_set_number(row, "gpu_sectors", sectors);
    kb_json_set_number(row, "conflicts", own);
    kb_json_set_number(row, "gpu_conflicts", conflicts);
    bool sectors_apart = !(a <= ALLOWED), conflicts_apart = !(b <= ALLOWED);
    kb_json_set_bool(row, "sectors_apart", sectors_apart);
    kb_json_set_bool(row, "conflicts_apart", conflicts_apart);
    t->of[kind].compared++;
    t->of[kind].sectors_apart += sectors_apart;
    t->of[kind].conflicts_apart += conflicts_apart;
    if (sectors_apart)
        printf("%-50s sectors %.0f, GPU %.0f\n", name, counted, sectors);
    if (conflicts_apart)
        printf("%-50s conflicts %.0f, GPU %.0f (turns %.0f, requests here %.0f)\n", name, own, conflicts, waves,
               kb_json_number(cpu, "shared_requests", NAN));
}

static void add_failure(struct tally *t, const char *name, const struct kb_error *e)
{
    cJSON *o = cJSON_CreateObject();
    kb_json_set_text(o, "name", name);
    kb_json_set_text(o, "reason", kb_error_line(e));
    cJSON_AddItemToArray(t->failures, o);
    printf("%s: %s\n", name, kb_error_line(e));
}

static cJSON *plain_counts(const cJSON *facts)
{
    static const char *const names[] = {"global_requests", "global_sectors", "shared_requests",
                                        "shared_bank_conflicts"};
    cJSON *o = cJSON_CreateObject();
    for (size_t i = 0; i < KB_COUNT(names); i++)
        kb_json_set_number(o, names[i], kb_json_number(facts, names[i], NAN));
    return o;
}

// facts: of the CPU device; gpu: counters, or NULL; taken.
static void add_row(struct tally *t, int kind, const char *name, const cJSON *facts, cJSON *gpu)
{
    cJSON *row = cJSON_CreateObject(), *cpu = plain_counts(facts);
    kb_json_set_text(row, "kind", kinds[kind]);
    kb_json_set_text(row, "name", name);
    kb_json_set(row, "cpu", cpu);
    if (gpu) {
        kb_json_set(row, "gpu", gpu);
        judge(t, kind, name, row, cpu, gpu);
    } else {
        printf("%-50s sectors %.0f of %.0f requests, conflicts %.0f of %.0f\n", name,
               kb_json_number(cpu, "global_sectors", NAN), kb_json_number(cpu, "global_requests", NAN),
               kb_json_number(cpu, "shared_bank_conflicts", NAN), kb_json_number(cpu, "shared_requests", NAN));
    }
    cJSON_AddItemToArray(t->rows, row);
}

struct probe_run {
    struct both_rig *rig;
    struct kb_kernel *kernel;
};

static int launch_probe(void *context, struct kb_error *e)
{
    struct probe_run *p = context;
    struct both_rig *r = p->rig;
    const void *args[] = {&r->in.address, &r->out.address, &r->scratch.address, &r->n};
    struct kb_launch_args a = {
        .grid = {r->n / BOTH_THREADS, 1, 1}, .block = {BOTH_THREADS, 1, 1}, .arg_count = 4, .args = args};
    return r->device->ops->launch(p->kernel, &a, e);
}

static int load_probe(struct both_rig *r, const struct both_snippet *s, struct kb_module **m, struct kb_kernel **k,
                      struct kb_error *e)
{
    char *text = both_module(s);
    const struct kb_device_ops *ops = r->device->ops;
    int failed = ops->load(r->device, text, strlen(text), m, e) || ops->symbol(*m, "k", k, e) ||
                 ops->fill(r->device, r->in.address, 0, r->in.bytes, e) ||
                 ops->fill(r->device, r->out.address, 0, r->out.bytes, e);
    free(text);
    return failed;
}

static void one_probe(struct tally *t, const struct both_snippet *s, struct both_rig *cpu, struct both_rig *gpu)
{
    struct kb_module *module[2] = {NULL};
    struct probe_run probe[2] = {{.rig = cpu}, {.rig = gpu}};
    struct kb_range_run run = {.run = launch_probe, .context = &probe[1]};
    cJSON *counters = gpu ? cJSON_CreateObject() : NULL;
    struct kb_error e = {0};
    if (load_probe(cpu, s, &module[0], &probe[0].kernel, &e) ||
        (gpu && load_probe(gpu, s, &module[1], &probe[1].kernel, &e)) || launch_probe(&probe[0], &e) ||
        cpu->device->ops->sync(cpu->device, &e) || (gpu && measure(gpu->device, &run, counters, &e))) {
        add_failure(t, s->name, &e);
        cJSON_Delete(counters);
    } else {
        cJSON *facts = cpu->device->ops->facts(cpu->device);
        add_row(t, 0, s->name, facts, counters);
        cJSON_Delete(facts);
    }
    for (int k = 0; k < 2; k++)
        if (module[k])
            probe[k].rig->device->ops->unload(probe[k].rig->device, module[k]);
}

static int before_bundled(void *context, struct kb_error *e)
{
    return bundled_reset(context, e);
}

static int run_bundled(void *context, struct kb_error *e)
{
    struct bundled *x = context;
    return kb_plan_launch_all(&x->program[1], &x->plan, x->variant, x->bench, x->address[1], e);
}

// The GPU first: it starts from what is in the CPU device's buffers, which the run there changes.
static void count_bundled(struct bundled *x, void *context)
{
    struct tally *t = context;
    char *name = kb_format("%s %s, %s", x->bench->name, x->variant->name, x->data->label);
    struct kb_range_run run = {.before = before_bundled, .run = run_bundled, .context = x};
    cJSON *facts = NULL, *counters = t->options->second ? cJSON_CreateObject() : NULL;
    struct kb_error e = {0};
    if ((counters && measure(x->device[1], &run, counters, &e)) || bundled_run_cpu(x, &facts, &e)) {
        add_failure(t, name, &e);
        cJSON_Delete(counters);
    } else {
        add_row(t, 1, name, facts, counters);
    }
    cJSON_Delete(facts);
    free(name);
}

static void count_probes(struct tally *t, struct both_rig *cpu, struct both_rig *gpu)
{
    struct both_table table = {0};
    both_probes(&table, t->options->only != NULL);
    for (int i = 0; i < table.count; i++)
        if (!t->options->only || strstr(table.items[i].name, t->options->only))
            one_probe(t, &table.items[i], cpu, gpu);
    both_table_free(&table);
}

int both_run_counts(const struct both_options *options, cJSON *record)
{
    struct both_rig cpu, gpu = {0};
    struct kb_error e = {0};
    if (both_rig_open(&cpu, "cpu", options->n, &e) ||
        (options->second && both_rig_open(&gpu, options->second, options->n, &e))) {
        fprintf(stderr, "both-devices: %s\n", kb_error_line(&e));
        return 3;
    }
    cJSON *top = cJSON_AddObjectToObject(record, "counts");
    struct tally t = {.options = options,
                      .rows = cJSON_AddArrayToObject(top, "rows"),
                      .failures = cJSON_AddArrayToObject(top, "failures")};
    struct kb_device *const device[2] = {cpu.device, options->second ? gpu.device : cpu.device};
    count_probes(&t, &cpu, options->second ? &gpu : NULL);
    bundled_each(options, device, count_bundled, &t, t.failures);
    int failures = cJSON_GetArraySize(t.failures), rows = cJSON_GetArraySize(t.rows);
    for (int k = 0; k < 2; k++) {
        cJSON *o = cJSON_AddObjectToObject(top, kinds[k]);
        kb_json_set_number(o, "compared", t.of[k].compared);
        kb_json_set_number(o, "sectors_apart", t.of[k].sectors_apart);
        kb_json_set_number(o, "conflicts_apart", t.of[k].conflicts_apart);
        printf("counts: of %d %s compared, sectors of %d and bank conflicts of %d are apart by more than %g%%\n",
               t.of[k].compared, k ? "runs of bundled kernels" : "probes", t.of[k].sectors_apart,
               t.of[k].conflicts_apart, 100 * ALLOWED);
    }
    if (failures)
        printf("counts: %d failed\n", failures);
    both_rig_close(&cpu);
    both_rig_close(&gpu);
    return failures || t.of[1].sectors_apart || t.of[1].conflicts_apart || !rows ? 1 : 0;
}
