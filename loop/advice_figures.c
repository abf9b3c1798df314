// The figures that rules test, taken out of the events.
#include "base/memory.h"
#include "loop/advice_parts.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const kb_wait_names[KB_WAITS] = {
    [KB_WAIT_MEMORY] = "memory",           [KB_WAIT_SHARED] = "shared memory",
    [KB_WAIT_BARRIER] = "barrier",         [KB_WAIT_ARITHMETIC] = "arithmetic pipe",
    [KB_WAIT_LATENCY] = "fixed latency",   [KB_WAIT_TENSOR] = "tensor",
    [KB_WAIT_FETCH] = "instruction fetch", [KB_WAIT_NOT_SELECTED] = "not selected",
    [KB_WAIT_DISPATCH] = "dispatch",       [KB_WAIT_CONSTANT] = "constant cache",
};

double kb_metric(const struct kb_advice_input *in, const char *name)
{
    double value = NAN, next;
    for (int i = 0; i < in->counters_count; i++) {
        next = kb_named_value(in->counters[i]->metrics, in->counters[i]->metrics_count, name);
        value = isnan(next) ? value : next;
    }
    return value;
}

const struct kb_ev_counter *kb_about_counter(const struct kb_ev_counters *c, const char *name)
{
    for (int i = 0; i < c->about_count; i++)
        if (!strcmp(c->about[i].name, name))
            return &c->about[i];
    return &kb_unknown_counter;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

static double positive(double x)
{
    return x > 0 && isfinite(x) ? x : NAN;
}

static int wait_of(const char *group)
{
    for (int i = 0; i < KB_WAITS; i++)
        if (!strcmp(kb_wait_names[i], group))
            return i;
    return -1;
}

static double or_none(double x)
{
    return isnan(x) ? 0 : x;
}

// The sections hold all samples where the source is divided into sections; else the functions do.
static void read_waits(struct kb_figures *f)
{
    const struct kb_ev_sections *s = f->in->sections ?: &kb_unknown_sections;
    bool divided = s->sections_count > 0;
    double sums[KB_WAITS] = {0}, samples = 0;
    for (int i = 0; i < KB_WAITS; i++)
        f->waits[i] = NAN;
    for (int i = 0; i < (divided ? s->sections_count : s->functions_count); i++) {
        const struct kb_ev_section *row = divided ? &s->sections[i] : &s->functions[i];
        samples += or_none(row->samples);
        for (int k = 0; k < row->stalls_count; k++) {
            int wait = wait_of(row->stalls[k].group ?: "");
            if (wait >= 0)
                sums[wait] += or_none(row->samples) * or_none(row->stalls[k].share);
        }
    }
    f->samples = samples;
    for (int i = 0; i < KB_WAITS && samples > 0; i++)
        f->waits[i] = sums[i] / samples;
}

static void read_time(struct kb_figures *f)
{
    const struct kb_ev_timing *timing = f->in->timing ?: &kb_unknown_timing;
    const struct kb_ev_roofline *roofline = KB_WITHIN(timing, roofline, roofline);
    const char *bound = roofline->bound ?: "";
    f->time_us = roofline->impossible ? NAN : positive(KB_WITHIN(timing, cold, interval)->median_us);
    f->call_us = positive(timing->call_us);
    f->share = roofline->impossible ? NAN : roofline->share;
    f->memory_bound = !strcmp(bound, "memory");
    f->compute_bound = !strcmp(bound, "compute");
    f->work_bytes = strcmp(roofline->source ?: "", "declared") ? NAN : positive(roofline->bytes);
}

static double peak_of(const struct kb_advice_input *in, const char *key)
{
    const struct kb_ev_peaks *own = KB_WITHIN(in->device, peak, peaks);
    double value = kb_record_number(&kb_record_peaks, own, key);
    for (int i = 0; i < in->counters_count; i++) {
        const struct kb_ev_peaks *peaks = in->counters[i]->peaks ?: &kb_unknown_peaks;
        double next = kb_record_number(&kb_record_peaks, peaks, key);
        value = isnan(next) ? value : next;
    }
    return positive(value);
}

static double rate_of(const struct kb_figures *f, const char *metric)
{
    return ratio(1e6 * kb_metric(f->in, metric), f->time_us);
}

static void read_counters(struct kb_figures *f)
{
    const struct kb_advice_input *in = f->in;
    f->dram_bytes = kb_metric(in, "dram_bytes");
    f->dram_rate = rate_of(f, "dram_bytes");
    f->dram_peak = peak_of(in, "dram_bytes_per_s");
    f->dram_share = ratio(f->dram_rate, f->dram_peak);
    f->l2_rate = rate_of(f, "l2_bytes");
    f->l2_peak = peak_of(in, "l2_bytes_per_s");
    f->l2_share = ratio(f->l2_rate, f->l2_peak);
    f->fp32_peak = peak_of(in, "fp32_flops");
    f->fp64_peak = peak_of(in, "fp64_flops");
    f->f32_share = ratio(rate_of(f, "flops_f32"), f->fp32_peak);
    f->f64_share = ratio(rate_of(f, "flops_f64"), f->fp64_peak);
    f->tensor_share = kb_metric(in, "tensor_active") / 100;
    f->load_sectors = kb_metric(in, "sectors_per_request_load");
    f->store_sectors = kb_metric(in, "sectors_per_request_store");
    f->lanes = kb_metric(in, "threads_per_instruction");
    f->conflicts = kb_metric(in, "shared_bank_conflicts");
    f->wavefronts = kb_metric(in, "shared_wavefronts");
    f->issue_active = kb_metric(in, "issue_active") / 100;
    f->occupancy_achieved = kb_metric(in, "occupancy_achieved") / 100;
    f->flops_f32 = kb_metric(in, "flops_f32");
    f->flops_f64 = kb_metric(in, "flops_f64");
}

static void read_resources(struct kb_figures *f)
{
    const struct kb_ev_resources *r = f->in->resources ?: &kb_unknown_resources;
    f->occupancy = f->registers = f->shared_bytes = f->block_threads = f->blocks_per_sm = NAN;
    f->spill_bytes = f->stack_bytes = f->blocks = NAN;
    for (int i = 0; i < r->kernels_count; i++) {
        const struct kb_ev_kernel_resources *k = &r->kernels[i];
        f->spill_bytes = fmax(k->spill_store_bytes + k->spill_load_bytes, f->spill_bytes);
        f->stack_bytes = fmax(k->stack_bytes, f->stack_bytes);
        if (!isnan(f->occupancy) && !(k->occupancy < f->occupancy))
            continue;
        f->occupancy = k->occupancy;
        f->registers = k->registers;
        f->shared_bytes = k->shared_bytes + or_none(k->dynamic_shared_bytes);
        f->block_threads = k->block_threads;
        f->blocks_per_sm = k->blocks_per_sm;
        f->limited_by = k->limited_by;
        f->blocks = r->kernels_count == 1 ? k->blocks : NAN;
    }
}

// Classes of SASS are named "LDG.128": the bits a thread moves.
static double class_bytes(const char *name, const char *base)
{
    size_t n = strlen(base);
    return !strncmp(name, base, n) && name[n] == '.' ? strtod(name + n + 1, NULL) / 8 : NAN;
}

static void read_sass(struct kb_figures *f)
{
    const struct kb_ev_sass *s = f->in->sass ?: &kb_unknown_sass;
    f->load_bytes = f->store_bytes = NAN;
    f->local_instructions = s->kernels_count ? 0 : NAN;
    for (int i = 0; i < s->kernels_count; i++)
        for (int k = 0; k < s->kernels[i].by_class_count; k++) {
            const struct kb_named *class = &s->kernels[i].by_class[k];
            f->load_bytes = fmax(f->load_bytes, class_bytes(class->name, "LDG"));
            f->store_bytes = fmax(f->store_bytes, class_bytes(class->name, "STG"));
            if (!isnan(class_bytes(class->name, "LDL")) || !isnan(class_bytes(class->name, "STL")))
                f->local_instructions += class->value;
        }
}

static void read_facts(struct kb_figures *f)
{
    struct kb_counted *c = &f->counted;
    for (int i = 0; i < f->in->facts_count; i++) {
        const struct kb_ev_counts *one = f->in->facts[i]->facts;
        if (!one)
            continue;
        const struct kb_ev_asked_bytes *bytes = one->bytes ?: &kb_unknown_asked_bytes;
        const struct kb_ev_by_type *flops = one->flops ?: &kb_unknown_by_type;
        f->has_facts = true;
        c->bytes += or_none(bytes->global_load) + or_none(bytes->global_store);
        c->local_bytes += or_none(bytes->local);
        c->sectors += or_none(one->global_sectors);
        c->requests += or_none(one->global_requests);
        c->conflicts += or_none(one->shared_bank_conflicts);
        c->shared_requests += or_none(one->shared_requests);
        c->instructions += or_none(one->instructions);
        c->lanes += or_none(one->thread_instructions);
        c->flops_f32 += or_none(flops->f32);
        c->flops_f64 += or_none(flops->f64);
    }
}

bool kb_is_counted(const char *source)
{
    return source && kb_starts(source, "counted");
}

// The facts say the same more exactly; what was counted must not pass for a measurement.
static void leave_counted_out(struct kb_advice_input *in)
{
    static const char none[] = "the CPU device has none";
    int kept = 0;
    for (int i = 0; i < in->counters_count; i++)
        if (!kb_is_counted(in->counters[i]->source))
            in->counters[kept++] = in->counters[i];
    in->no_counters = kept < in->counters_count ? none : in->no_counters;
    in->counters_count = kept;
    if (!in->sections || !kb_is_counted(in->sections->source))
        return;
    in->sections = NULL;
    in->no_sections = none;
}

void kb_figures_make(const struct kb_advice_input *in, struct kb_figures *f)
{
    *f = (struct kb_figures){.own = *in};
    f->in = &f->own;
    leave_counted_out(&f->own);
    const struct kb_ev_device *device = in->device ?: &kb_unknown_device;
    f->cuda = !strcmp(device->kind ?: "", "cuda");
    f->sms = positive(device->sm_count);
    read_time(f);
    read_waits(f);
    read_counters(f);
    read_resources(f);
    read_sass(f);
    read_facts(f);
}

const struct kb_ev_line_counts *kb_hot_line(const struct kb_figures *f, enum kb_wait wait)
{
    const struct kb_ev_sections *s = f->in->sections ?: &kb_unknown_sections;
    const struct kb_ev_line_counts *best = NULL;
    double most = 0;
    for (int i = 0; i < s->lines_count; i++) {
        const struct kb_ev_line_counts *line = &s->lines[i];
        for (int k = 0; k < line->stalls_count; k++) {
            double n = line->samples * line->stalls[k].share;
            if (n > most && line->line > 0 && !strcmp(line->stalls[k].group ?: "", kb_wait_names[wait])) {
                best = line;
                most = n;
            }
        }
    }
    return best;
}

static double field_of(const struct kb_ev_line_counts *line, size_t field)
{
    return *(const double *)(const void *)((const char *)line + field);
}

const struct kb_ev_line_counts *kb_counted_line_by(const struct kb_figures *f, size_t field)
{
    const struct kb_ev_line_counts *best = &kb_unknown_line_counts;
    for (int i = 0; i < f->in->facts_count; i++) {
        const struct kb_ev_counts *c = KB_WITHIN(f->in->facts[i], facts, counts);
        for (int k = 0; k < c->lines_count; k++)
            if (c->lines[k].line > 0 && or_none(field_of(&c->lines[k], field)) > or_none(field_of(best, field)))
                best = &c->lines[k];
    }
    return best;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// A constant like 1.0, 2. or 1e-5 without f behind it, from its first digit. *end: behind it.
static bool double_constant(const char *s, const char **end)
{
    bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    const char *p = s + (hex ? 2 : 0);
    bool real = false;
    for (; is_word(*p) || *p == '.'; p++) {
        real = real || *p == '.' || (!hex && (*p == 'e' || *p == 'E'));
        if ((*p == 'e' || *p == 'E') && !hex && (p[1] == '-' || p[1] == '+'))
            p++;
    }
    *end = p;
    return real && !hex && p[-1] != 'f' && p[-1] != 'F' && p[-1] != 'h';
}

static bool line_is_double(const char *s, const char *end, bool *comment)
{
    for (const char *p = s; p < end;) {
        const char *next = p + 1;
        if (*comment) {
            *comment = strncmp(p, "*/", 2) != 0;
            p += *comment ? 1 : 2;
            continue;
        }
        if (!strncmp(p, "//", 2) || *p == '#')
            return false;
        if (!strncmp(p, "/*", 2))
            *comment = true;
        if (*p == '"') { // what is printed is not computed
            for (p++; p < end && *p != '"'; p++)
                p += *p == '\\' && p + 1 < end;
            p++;
            continue;
        }
        bool starts = p == s || !is_word(p[-1]);
        if (starts && !strncmp(p, "double", 6) && !is_word(p[6]))
            return true;
        if (starts && (isdigit((unsigned char)*p) || (*p == '.' && isdigit((unsigned char)p[1]))) &&
            double_constant(p, &next))
            return true;
        p = next;
    }
    return false;
}

int kb_double_line(const char *source)
{
    bool comment = false;
    int n = 1;
    for (const char *s = source; s && *s; n++) {
        const char *end = s + strcspn(s, "\n");
        if (line_is_double(s, end, &comment))
            return n;
        s = *end ? end + 1 : end;
    }
    return 0;
}
