// A variant on its headline case, to be held against another tool. RUNS launches, each behind a flush of the L2, for a
// profiler to observe; with RUNS 0 it is timed as the run worker does, for 300 ms, and one line of JSON says the
// median.
//
// usage: bench-launch BENCH VARIANT RUNS
#include "base/json.h"
#include "base/memory.h"
#include "profiles/timing.h"
#include "speed/speed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct launched {
    struct speed *speed;
    struct run_version *version;
    struct kb_plan plan;
    struct kb_case_data *data;
    uint64_t *addresses;
};

static int run_once(void *context, int set, struct kb_error *e)
{
    struct launched *l = context;
    const struct kb_data *d = &l->speed->worker.data;
    kb_data_addresses(d, l->data, &l->data->sets[set], 0, l->addresses);
    return kb_plan_launch_all(&l->version->program, &l->plan, l->version->variant, d->bench, l->addresses, e);
}

static void open_version(struct speed *s, struct launched *l)
{
    struct kb_compiled c;
    struct kb_error error = {0};
    struct kb_data *d = &s->worker.data;
    speed_compile(s, s->variant, s->text, &c);
    speed_check(s, &c, "v");
    kb_compiled_free(&c);
    *l = (struct launched){.speed = s,
                           .version = run_find(&s->worker, "v"),
                           .data = &d->cases[kb_bench_headline(d->bench)],
                           .addresses = kb_alloc((size_t)d->bench->arg_count * sizeof(uint64_t))};
    if (!l->version)
        speed_die("the variant does not pass its checks", NULL);
    if (kb_data_prepare(d, l->data, &error) ||
        kb_plan_make(d->bench, l->data->index, false, l->version->variant, &l->plan, &error))
        speed_die("prepare", &error);
}

static void launch_runs(struct launched *l, int runs)
{
    struct kb_device *device = l->speed->worker.device;
    struct kb_error error = {0};
    for (int i = 0; i < runs; i++)
        if (device->ops->flush(device, &error) || run_once(l, 0, &error) || device->ops->sync(device, &error))
            speed_die("launch", &error);
}

static void time_runs(struct launched *l)
{
    struct kb_timing_target target = {run_once, l, l->plan.launch_count};
    struct kb_timing_options options = {.budget_ms = 300, .sets = 1, .cold = true, .warm = true};
    struct kb_timing_result r;
    struct kb_error error = {0};
    if (kb_timing_run(l->speed->worker.device, &target, 1, &options, &r, &error))
        speed_die("timing", &error);
    cJSON *record = cJSON_CreateObject();
    kb_json_set_text(record, "kernel", l->version->variant->launches[0].kernel);
    kb_json_set_number(record, "us", r.launch_us[0]);
    kb_json_set_number(record, "warm_us", r.warm.median);
    kb_json_set_number(record, "events_us", r.events_us);
    kb_json_set_number(record, "samples", r.cold.samples);
    kb_json_set_number(record, "batch", r.batch);
    kb_json_set_number(record, "clock_mhz", r.clock_mhz);
    kb_json_set_text(record, "source", r.source);
    char *line = kb_json_line(record);
    dprintf(l->speed->out, "%s\n", line);
    free(line);
    cJSON_Delete(record);
    kb_timing_result_free(&r);
}

int main(int argc, char **argv)
{
    struct speed s;
    struct launched l;
    if (argc != 4) {
        fprintf(stderr, "usage: bench-launch BENCH VARIANT RUNS\n");
        return 2;
    }
    speed_open(&s, "bench-launch", argv[1], argv[2]);
    open_version(&s, &l);
    if (atoi(argv[3]) > 0)
        launch_runs(&l, atoi(argv[3]));
    else
        time_runs(&l);
    return 0;
}
