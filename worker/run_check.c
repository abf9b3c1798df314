// `check`: takes a version in and holds its launches against what the kernels declare and the device allows.
#include "base/json.h"
#include "base/memory.h"
#include "worker/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct run_version *new_version(struct run_worker *w, const char *key)
{
    struct run_version *v = run_find(w, key);
    if (v)
        run_drop(w, v);
    if (w->version_count == RUN_VERSIONS) {
        struct run_version *oldest = &w->versions[0];
        for (int i = 1; i < w->version_count; i++)
            oldest = w->versions[i].last_used < oldest->last_used ? &w->versions[i] : oldest;
        run_drop(w, oldest);
    }
    v = &w->versions[w->version_count++];
    *v = (struct run_version){.key = kb_strdup(key),
                              .last_used = ++w->uses,
                              .counted = kb_alloc((size_t)w->data.bench->case_count * sizeof *v->counted)};
    return v;
}

static int load(struct run_worker *w, const struct kb_frame *f, struct run_version *v, struct kb_error *e)
{
    double ptx = kb_json_number(f->head, "ptx_bytes", 0), cubin = kb_json_number(f->head, "cubin_bytes", 0);
    if (!(ptx >= 0 && cubin >= 0) || ptx + cubin > (double)f->blob_size)
        return kb_fail(e, NULL, NULL, "the blob is shorter than its parts");
    if (kb_variant_from_json(kb_json_get(f->head, "variant"), &v->variant, e))
        return -1;
    kb_image_set(&v->image, f->blob, (size_t)ptx, f->blob + (size_t)ptx, (size_t)cubin);
    v->compiled = cJSON_Duplicate(kb_json_get(f->head, "kernels"), true);
    return kb_program_load(w->device, v->variant, v->compiled, &v->image, &v->program, e);
}

static int check_launch(struct run_worker *w, struct run_version *v, const struct kb_plan *plan, int launch,
                        struct kb_error *e)
{
    struct kb_kernel_info info;
    struct kb_kernel *kernel = v->program.kernels[launch];
    struct kb_launch_args shape = kb_plan_shape(&plan->launches[launch]);
    w->device->ops->kernel_info(kernel, &info);
    return kb_plan_check_arguments(&info, &plan->launches[launch], w->data.bench, e) ||
           kb_launch_check(kernel, w->device->ops, &w->device->info, &shape, e);
}

static int check_case(struct run_worker *w, struct run_version *v, int index, struct kb_error *e)
{
    struct kb_plan plan;
    struct kb_error inner = {0};
    int failed = kb_plan_make(w->data.bench, index, w->data.on_cpu, v->variant, &plan, &inner);
    if (!failed) {
        for (int i = 0; !failed && i < plan.launch_count; i++)
            failed = check_launch(w, v, &plan, i, &inner);
        kb_plan_free(&plan);
    }
    if (!failed)
        return 0;
    const struct kb_case_data *c = &w->data.cases[index];
    if (w->data.bench->case_count > 1)
        return kb_fail(e, inner.on, inner.remedy, "%s (case %s)", inner.what, c->label);
    *e = inner;
    return -1;
}

static double up_to(double value, double step)
{
    return ceil(value / step) * step;
}

struct limit {
    const char *name, *key; // name NULL: nothing limits
    double blocks;          // resident on one multiprocessor; INFINITY: it limits nothing, or is unknown
};
enum { LIMITS = 4 };

// What each limit of a multiprocessor allows. Registers are given by warp in units of 256, shared memory by block in
// units of 128 bytes (CUDA C++ Programming Guide, compute capabilities).
static void find_limits(const struct kb_device_info *d, const struct kb_kernel_info *k, double threads,
                        double dynamic_shared, struct limit out[LIMITS])
{
    double warp = d->warp_size ? d->warp_size : 32, warps = ceil(threads / warp);
    double shared = (double)k->static_shared + dynamic_shared;
    double registers = up_to(k->registers * warp, 256) * warps, room = d->registers_per_sm;
    out[0] = (struct limit){"threads", "threads",
                            d->max_threads_per_sm ? floor(d->max_threads_per_sm / (warps * warp)) : INFINITY};
    out[1] = (struct limit){"registers", "registers", registers > 0 && room > 0 ? floor(room / registers) : INFINITY};
    out[2] =
        (struct limit){"shared memory", "shared_memory",
                       shared > 0 && d->shared_per_sm
                           ? floor((double)d->shared_per_sm / up_to(shared + (double)d->shared_reserved_per_block, 128))
                           : INFINITY};
    out[3] = (struct limit){"blocks", "blocks", d->max_blocks_per_sm ? d->max_blocks_per_sm : INFINITY};
}

// Which is reached first; of equal ones threads, which cost nothing to name: a full multiprocessor is limited by them.
static struct limit first_limit(const struct limit limits[LIMITS])
{
    size_t least = 0;
    for (size_t i = 1; i < LIMITS; i++)
        if (limits[i].blocks < limits[least].blocks)
            least = i;
    return isfinite(limits[least].blocks) ? limits[least] : (struct limit){NULL, NULL, INFINITY};
}

static void limits_json(const struct limit limits[LIMITS], const char *why, cJSON *o)
{
    struct limit first = why ? (struct limit){0} : first_limit(limits);
    kb_json_set_text(o, "limited_by", first.name);
    if (!first.name)
        kb_json_set_text(o, "limited_by_reason", why ? why : "the limits of a multiprocessor are unknown");
    cJSON *all = cJSON_AddObjectToObject(o, "limits");
    for (size_t i = 0; i < LIMITS; i++) {
        double blocks = isfinite(limits[i].blocks) ? limits[i].blocks : NAN;
        kb_json_measured(all, limits[i].key, blocks, isfinite(blocks) ? NULL : "it limits nothing, or is unknown");
    }
}

static void copy_known(cJSON *to, const cJSON *from, const char *key)
{
    const cJSON *value = kb_json_get(from, key);
    if (cJSON_IsNumber(value))
        kb_json_set_number(to, key, value->valuedouble);
    else
        kb_json_measured(to, key, NAN, "the compiler did not say");
}

static void occupancy_json(struct run_worker *w, struct kb_kernel *kernel, const struct kb_kernel_info *info,
                           const struct kb_plan_launch *l, cJSON *o)
{
    const struct kb_device_info *d = &w->device->info;
    double threads = (double)l->dims.block[0] * (double)l->dims.block[1] * (double)l->dims.block[2];
    struct kb_error error = {0};
    int blocks = 0;
    bool known = w->device->ops->occupancy &&
                 !w->device->ops->occupancy(kernel, (int)threads, (size_t)l->dims.shared, &blocks, &error);
    const char *why = known ? NULL : error.what[0] ? error.what : "the device has no occupancy calculator";
    double warp = d->warp_size ? d->warp_size : 32;
    struct limit limits[LIMITS];
    find_limits(d, info, threads, (double)l->dims.shared, limits);
    double least = first_limit(limits).blocks;
    if (known && least < blocks && d->kind == KB_DEVICE_CPU) // which knows no registers; the compiler does
        blocks = (int)least;
    kb_json_measured(o, "blocks_per_sm", blocks, why);
    kb_json_measured(o, "occupancy",
                     d->max_threads_per_sm ? blocks * up_to(threads, warp) / d->max_threads_per_sm : NAN,
                     why                     ? why
                     : d->max_threads_per_sm ? NULL
                                             : "the limits of a multiprocessor are unknown");
    limits_json(limits, why, o);
}

static cJSON *kernel_json(struct run_worker *w, struct run_version *v, const struct kb_plan *plan, int launch)
{
    static const char *const from_compiler[] = {"spill_store_bytes", "spill_load_bytes", "shared_bytes", "stack_bytes"};
    const char *name = v->variant->launches[launch].kernel;
    const cJSON *compiled = kb_program_compiled(v->compiled, name, NULL);
    const struct kb_plan_launch *l = &plan->launches[launch];
    struct kb_kernel_info info;
    cJSON *o = cJSON_CreateObject();
    w->device->ops->kernel_info(v->program.kernels[launch], &info);
    kb_json_set_text(o, "name", name);
    if (!info.registers) // the CPU device has none; the compiler knows what the GPU would
        info.registers = (int)kb_json_int(compiled, "registers", 0);
    kb_json_measured(o, "registers", info.registers, info.registers ? NULL : "the compiler did not say");
    for (size_t i = 0; i < KB_COUNT(from_compiler); i++)
        copy_known(o, compiled, from_compiler[i]);
    kb_json_set_number(o, "dynamic_shared_bytes", (double)l->dims.shared);
    kb_json_set_number(o, "block_threads", (double)(l->dims.block[0] * l->dims.block[1] * l->dims.block[2]));
    kb_json_set_number(o, "blocks", (double)l->dims.grid[0] * (double)l->dims.grid[1] * (double)l->dims.grid[2]);
    occupancy_json(w, v->program.kernels[launch], &info, l, o);
    return o;
}

static void send_resources(struct run_worker *w, const struct kb_frame *f, struct run_version *v)
{
    struct kb_plan plan;
    if (kb_plan_make(w->data.bench, kb_bench_headline(w->data.bench), w->data.on_cpu, v->variant, &plan, NULL))
        return;
    cJSON *head = kb_frame_head("resources", kb_frame_job(f)), *kernels = cJSON_CreateArray();
    kb_json_set_text(head, "version", v->key);
    for (int i = 0; i < plan.launch_count; i++)
        cJSON_AddItemToArray(kernels, kernel_json(w, v, &plan, i));
    kb_json_set(head, "kernels", kernels);
    kb_worker_send(head, NULL, 0);
    kb_plan_free(&plan);
}

void run_check(struct run_worker *w, const struct kb_frame *f)
{
    const char *key = kb_json_text(f->head, "version", "");
    struct kb_error error = {0};
    if (!w->has_data) {
        run_refuse(w, f, "check", "no bench was prepared");
        return;
    }
    struct run_version *v = new_version(w, key);
    int failed = load(w, f, v, &error);
    bool loaded = !failed;
    failed = failed || run_check_types(w, v, &error);
    for (int i = 0; !failed && i < w->data.bench->case_count; i++)
        failed = check_case(w, v, i, &error);
    if (failed && loaded) // how it is launched, not what it is
        kb_worker_send(kb_frame_head("refused", kb_frame_job(f)), NULL, 0);
    if (!failed)
        send_resources(w, f, v);
    if (failed)
        run_drop(w, v);
    run_end(w, f, "check", failed ? "fail" : "pass", failed ? kb_error_line(&error) : NULL);
}
