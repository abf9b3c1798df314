// The outputs of the bundled kernels on both devices: how many are the same bit for bit, and how far the others are.
#include "both/bundled.h"

#include "base/json.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// In units of the last place of the type, at the larger of the value and the root mean square of its output: what
// approximate functions of single precision (2 units each) and sums of their results may add up to.
#define ALLOWED_ULP 64.0

struct apart {
    uint64_t elements, same_bits, not_finite_differ;
    double max_ulp;    // at the value itself
    double max_scaled; // at the larger of the value and the root mean square
};
struct outcome {
    cJSON *rows, *failures;
    int runs, same, wrong;
    uint64_t elements, same_bits;
    double max_ulp, max_scaled;
};

static int digits(enum kb_dtype t)
{
    switch (t) {
    case KB_F64:
        return 53;
    case KB_F32:
        return 24;
    case KB_TF32:
    case KB_F16:
        return 11;
    case KB_BF16:
        return 8;
    case KB_E4M3:
        return 4;
    default:
        return 3;
    }
}

static double element(const uint8_t *p, uint64_t i, enum kb_dtype t)
{
    size_t bytes = kb_dtype_bytes(t);
    uint64_t code = 0;
    memcpy(&code, p + i * bytes, bytes);
    return kbe_decode((int)t, code);
}

static double ulps(double a, double b, double scale, int precision)
{
    int exponent;
    double most = fmax(fmax(fabs(a), fabs(b)), scale);
    if (a == b || most == 0)
        return 0;
    frexp(most, &exponent);
    return fabs(a - b) / ldexp(1, exponent - precision);
}

static struct apart compare(const uint8_t *a, const uint8_t *b, uint64_t n, enum kb_dtype t)
{
    struct apart r = {.elements = n};
    size_t bytes = kb_dtype_bytes(t);
    double squares = 0;
    for (uint64_t i = 0; i < n; i++) {
        r.same_bits += !memcmp(a + i * bytes, b + i * bytes, bytes);
        double x = kb_dtype_is_float(t) ? element(a, i, t) : 0;
        squares += isfinite(x) ? x * x : 0;
    }
    double scale = n ? sqrt(squares / (double)n) : 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!memcmp(a + i * bytes, b + i * bytes, bytes))
            continue;
        double x = kb_dtype_is_float(t) ? element(a, i, t) : NAN, y = kb_dtype_is_float(t) ? element(b, i, t) : 0;
        if (!isfinite(x) || !isfinite(y)) {
            r.not_finite_differ += !(isnan(x) && isnan(y));
            continue;
        }
        r.max_ulp = fmax(r.max_ulp, ulps(x, y, 0, digits(t)));
        r.max_scaled = fmax(r.max_scaled, ulps(x, y, scale, digits(t)));
    }
    return r;
}

static void add_row(struct outcome *o, const struct bundled *x, int arg, const struct apart *r)
{
    bool wrong = r->not_finite_differ || r->max_scaled > ALLOWED_ULP;
    cJSON *row = cJSON_CreateObject();
    kb_json_set_text(row, "bench", x->bench->name);
    kb_json_set_text(row, "variant", x->variant->name);
    kb_json_set_text(row, "case", x->data->label);
    kb_json_set_text(row, "arg", x->bench->args[arg].name);
    kb_json_set_number(row, "elements", (double)r->elements);
    kb_json_set_number(row, "same_bits", (double)r->same_bits);
    kb_json_set_number(row, "max_ulp", r->max_ulp);
    kb_json_set_number(row, "max_ulp_scaled", r->max_scaled);
    kb_json_set_number(row, "not_finite_differ", (double)r->not_finite_differ);
    cJSON_AddItemToArray(o->rows, row);
    printf("%-10s %-10s %-34s %-6s %9" PRIu64
           " elements, %6.2f%% same bits, max %.3g ulp (%.3g at the output's size)%s\n",
           x->bench->name, x->variant->name, x->data->label, x->bench->args[arg].name, r->elements,
           r->elements ? 100.0 * (double)r->same_bits / (double)r->elements : 100, r->max_ulp, r->max_scaled,
           wrong ? "  DIFFERS" : "");
    o->wrong += wrong;
    o->elements += r->elements;
    o->same_bits += r->same_bits;
    o->max_ulp = fmax(o->max_ulp, r->max_ulp);
    o->max_scaled = fmax(o->max_scaled, r->max_scaled);
}

static void failed(struct outcome *o, const struct bundled *x, const struct kb_error *e)
{
    cJSON *item = cJSON_CreateObject();
    kb_json_set_text(item, "bench", x->bench->name);
    kb_json_set_text(item, "variant", x->variant->name);
    kb_json_set_text(item, "case", x->data->label);
    kb_json_set_text(item, "reason", kb_error_line(e));
    cJSON_AddItemToArray(o->failures, item);
    printf("%s %s %s: %s\n", x->bench->name, x->variant->name, x->data->label, kb_error_line(e));
}

static void use(struct bundled *x, void *context)
{
    struct outcome *o = context;
    struct kb_error e = {0};
    if (kb_plan_launch_all(&x->program[1], &x->plan, x->variant, x->bench, x->address[1], &e) ||
        x->device[1]->ops->sync(x->device[1], &e) || bundled_run_cpu(x, NULL, &e)) {
        failed(o, x, &e);
        return;
    }
    o->runs++;
    for (int i = 0; i < x->bench->arg_count; i++) {
        if (!kb_arg_is_written(x->bench->args[i].role))
            continue;
        uint8_t *second = kb_alloc(x->buffer[i].bytes + 1);
        if (x->device[1]->ops->to_host(x->device[1], second, x->buffer[i].address, x->buffer[i].bytes, &e)) {
            failed(o, x, &e);
        } else {
            struct apart r = compare((const uint8_t *)(uintptr_t)x->address[0][i], second,
                                     (uint64_t)x->data->elements[i], x->bench->args[i].dtype);
            add_row(o, x, i, &r);
        }
        free(second);
    }
}

int both_run_kernels(const struct both_options *options, cJSON *record)
{
    struct kb_device *device[2];
    struct kb_device_request cpu = {.kind = "cpu"}, second = {.kind = options->second ? options->second : "cpu"};
    struct kb_error e = {0};
    if (kb_device_open(&cpu, &device[0], &e) || kb_device_open(&second, &device[1], &e)) {
        fprintf(stderr, "both-devices: %s\n", kb_error_line(&e));
        return 3;
    }
    cJSON *top = cJSON_AddObjectToObject(record, "kernels");
    struct outcome o = {.rows = cJSON_AddArrayToObject(top, "rows"),
                        .failures = cJSON_AddArrayToObject(top, "failures")};
    bundled_each(options, device, use, &o, o.failures);
    int failures = cJSON_GetArraySize(o.failures);
    printf("kernels: %d runs, %d failed, %.3f%% of %" PRIu64 " elements the same bit for bit, at most %.3g ulp apart "
           "(%.3g at the output's size), %d differ beyond %g\n",
           o.runs, failures, o.elements ? 100.0 * (double)o.same_bits / (double)o.elements : 0, o.elements, o.max_ulp,
           o.max_scaled, o.wrong, ALLOWED_ULP);
    kb_json_set_number(top, "runs", o.runs);
    kb_json_set_number(top, "elements", (double)o.elements);
    kb_json_set_number(top, "same_bits", (double)o.same_bits);
    kb_json_set_number(top, "max_ulp", o.max_ulp);
    kb_json_set_number(top, "max_ulp_scaled", o.max_scaled);
    kb_json_set_number(top, "wrong", o.wrong);
    for (int k = 0; k < 2; k++)
        device[k]->ops->close(device[k]);
    return !o.runs || failures || o.wrong ? 1 : 0;
}
