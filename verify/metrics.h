// From the sums of a comparison to the classic metrics and a judgement.
#ifndef KB_VERIFY_METRICS_H
#define KB_VERIFY_METRICS_H
#include "verify/tolerance.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

// NAN where a metric has no value; the reason stands beside it (static text, NULL where there is a value).
// Over the pairs in which both are numbers: mse, rmse, cosine; psnr_db = 20 log10(max|ref| / rmse).
struct kb_metrics {
    double max_abs, max_rel, mse, rmse, psnr_db, cosine, scaled, max_ulp;
    const char *no_errors, *no_max_rel, *no_psnr, *no_cosine; // no_errors: for max_abs, mse, rmse, scaled, max_ulp
    double rms_ref;
    bool exact;    // every element has the bits of the reference rounded to the output's type
    bool constant; // the reference has one value throughout (more than one element): it proves nothing
};
void kb_metrics_of(const struct kbe_part *, uint64_t elements, struct kb_metrics *);

struct kb_judgement {
    bool pass;
    char reason[256]; // what decided if not pass, else a remark or ""
};
void kb_judge(const struct kb_bound *, const struct kbe_part *, const struct kb_metrics *, uint64_t elements,
              struct kb_judgement *);
// Only that there is no NaN or infinity where the reference is a number.
void kb_judge_finite(const struct kbe_part *, uint64_t elements, struct kb_judgement *);

// How much of its bound an output uses, from 0 to 1 where it passes: the largest share over all that it is judged by.
// NAN where a bound is no distance (bit for bit, no comparison), with the reason.
double kb_margin(const struct kb_bound *, const struct kb_metrics *, const struct kbe_part *, const char **why);

// {metrics} of a `case` event without unwritten, guard_bytes_changed and first_bad; owned by the caller.
cJSON *kb_metrics_json(const struct kb_metrics *, const struct kbe_part *);
// The digits of map.cells: 0 no wrong element, f all, 1 to e between.
char kb_map_digit(uint64_t wrong, uint64_t all);

#endif
