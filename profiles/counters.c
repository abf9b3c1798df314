#include "profiles/counters.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define SASS(op) "smsp__sass_thread_inst_executed_op_" op "_pred_on.sum"
#define GLOBAL(what, op) "l1tex__t_" what "_pipe_lsu_mem_global_op_" op ".sum"

// Names of the perfworks metrics of compute capability 7.0 and later; those that a chip lacks are null with a reason.
// Chips name some differently: rows of one name follow each other, and the first that can be computed is taken.
// FLOPs: adds and multiplications 1, fused ones 2, of threads whose predicate was true.
const struct kb_counter kb_counters[] = {
    {"dram_read_bytes",
     "byte",
     KB_COUNTER_BYTES,
     "dram_bytes_per_s",
     0,
     "read from DRAM",
     {{"dram__bytes_read.sum", 1}},
     NULL},
    {"dram_read_bytes",
     "byte",
     KB_COUNTER_BYTES,
     "dram_bytes_per_s",
     0,
     "read from DRAM",
     {{"dram__bytes_op_read.sum", 1}},
     NULL},
    {"dram_write_bytes",
     "byte",
     KB_COUNTER_BYTES,
     "dram_bytes_per_s",
     0,
     "written to DRAM during the run; what stays dirty in the L2 is written later",
     {{"dram__bytes_write.sum", 1}},
     NULL},
    {"dram_write_bytes",
     "byte",
     KB_COUNTER_BYTES,
     "dram_bytes_per_s",
     0,
     "written to DRAM during the run; what stays dirty in the L2 is written later",
     {{"dram__bytes_op_write.sum", 1}},
     NULL},
    {"dram_bytes",
     "byte",
     KB_COUNTER_BYTES,
     "dram_bytes_per_s",
     0,
     "read from and written to DRAM",
     {{"dram__bytes_read.sum", 1}, {"dram__bytes_write.sum", 1}},
     NULL},
    {"dram_bytes",
     "byte",
     KB_COUNTER_BYTES,
     "dram_bytes_per_s",
     0,
     "read from and written to DRAM",
     {{"dram__bytes_op_read.sum", 1}, {"dram__bytes_op_write.sum", 1}},
     NULL},
    {"l2_bytes", "byte", KB_COUNTER_BYTES, "l2_bytes_per_s", 0, "requested of the L2", {{"lts__t_bytes.sum", 1}}, NULL},
    {"l1_bytes", "byte", KB_COUNTER_BYTES, NULL, 0, "requested of the L1", {{"l1tex__t_bytes.sum", 1}}, NULL},
    {"duration_us",
     "us",
     KB_COUNTER_BYTES,
     NULL,
     0,
     "of the profiled run: longer than a plain one",
     {{"gpu__time_duration.sum", 1e-3}},
     NULL},

    {"instructions",
     "warp instruction",
     KB_COUNTER_HARDWARE,
     NULL,
     0,
     "executed by warps",
     {{"smsp__inst_executed.sum", 1}},
     NULL},
    {"threads_per_instruction",
     "thread",
     KB_COUNTER_HARDWARE,
     NULL,
     32,
     "active in a warp's instruction",
     {{"smsp__thread_inst_executed.sum", 1}},
     "smsp__inst_executed.sum"},
    {"tensor_instructions",
     "warp instruction",
     KB_COUNTER_HARDWARE,
     NULL,
     0,
     "of the tensor cores",
     {{"sm__inst_executed_pipe_tensor.sum", 1}},
     NULL},
    {"tensor_active",
     "%",
     KB_COUNTER_HARDWARE,
     NULL,
     100,
     "of the cycles, the tensor cores were busy",
     {{"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", 1}},
     NULL},
    {"global_load_sectors",
     "sector",
     KB_COUNTER_HARDWARE,
     NULL,
     0,
     "32-byte sectors of global loads",
     {{GLOBAL("sectors", "ld"), 1}},
     NULL},
    {"global_store_sectors",
     "sector",
     KB_COUNTER_HARDWARE,
     NULL,
     0,
     "32-byte sectors of global stores",
     {{GLOBAL("sectors", "st"), 1}},
     NULL},
    {"sectors_per_request_load",
     "sector",
     KB_COUNTER_HARDWARE,
     NULL,
     0,
     "of a warp's global load: 4 for 4 bytes a thread side by side, 16 for 16 bytes",
     {{GLOBAL("sectors", "ld"), 1}},
     GLOBAL("requests", "ld")},
    {"sectors_per_request_store",
     "sector",
     KB_COUNTER_HARDWARE,
     NULL,
     0,
     "of a warp's global store: 4 for 4 bytes a thread side by side, 16 for 16 bytes",
     {{GLOBAL("sectors", "st"), 1}},
     GLOBAL("requests", "st")},
    {"shared_wavefronts",
     "wavefront",
     KB_COUNTER_HARDWARE,
     NULL,
     0,
     "turns that shared memory took",
     {{"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 1}},
     NULL},
    {"shared_bank_conflicts",
     "conflict",
     KB_COUNTER_HARDWARE,
     NULL,
     0,
     "extra turns by bank conflicts",
     {{"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 1}},
     NULL},
    {"l1_hit_rate",
     "%",
     KB_COUNTER_HARDWARE,
     NULL,
     100,
     "of the sectors asked of the L1 were there",
     {{"l1tex__t_sector_hit_rate.pct", 1}},
     NULL},
    {"l2_hit_rate",
     "%",
     KB_COUNTER_HARDWARE,
     NULL,
     100,
     "of the sectors asked of the L2 were there",
     {{"lts__t_sector_hit_rate.pct", 1}},
     NULL},
    {"occupancy_achieved",
     "%",
     KB_COUNTER_HARDWARE,
     NULL,
     100,
     "of the warps that fit were active",
     {{"sm__warps_active.avg.pct_of_peak_sustained_active", 1}},
     NULL},
    {"issue_active",
     "%",
     KB_COUNTER_HARDWARE,
     NULL,
     100,
     "of the cycles, a scheduler issued",
     {{"smsp__issue_active.avg.pct_of_peak_sustained_active", 1}},
     NULL},
    {"eligible_warps",
     "warp",
     KB_COUNTER_HARDWARE,
     NULL,
     0,
     "ready to issue, a scheduler and cycle",
     {{"smsp__warps_eligible.avg.per_cycle_active", 1}},
     NULL},
    {"flops_tensor",
     "flop",
     KB_COUNTER_HARDWARE,
     "f16_tensor_flops",
     0,
     "of the tensor cores on fp16, bf16, tf32 and fp8",
     {{"sm__ops_path_tensor_src_fp16.sum", 1},
      {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", 1},
      {"sm__ops_path_tensor_src_tf32_dst_fp32.sum", 1},
      {"sm__ops_path_tensor_src_fp8.sum", 1}},
     NULL},
    {"flops_tensor",
     "flop",
     KB_COUNTER_HARDWARE,
     "f16_tensor_flops",
     0,
     "of the tensor cores on fp16, bf16, tf32 and fp8",
     {{"sm__ops_path_tensor_src_fp16_dst_fp16.sum", 1},
      {"sm__ops_path_tensor_src_fp16_dst_fp32.sum", 1},
      {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", 1},
      {"sm__ops_path_tensor_src_tf32_dst_fp32.sum", 1},
      {"sm__ops_path_tensor_src_fp8.sum", 1}},
     NULL},
    {"flops_tensor",
     "flop",
     KB_COUNTER_HARDWARE,
     "f16_tensor_flops",
     0,
     "of the tensor cores on fp16, bf16 and tf32",
     {{"sm__ops_path_tensor_src_fp16_dst_fp16.sum", 1},
      {"sm__ops_path_tensor_src_fp16_dst_fp32.sum", 1},
      {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", 1},
      {"sm__ops_path_tensor_src_tf32_dst_fp32.sum", 1}},
     NULL},

    {"flops_f32",
     "flop",
     KB_COUNTER_CODE,
     "fp32_flops",
     0,
     "single precision",
     {{SASS("fadd"), 1}, {SASS("fmul"), 1}, {SASS("ffma"), 2}},
     NULL},
    {"flops_f64",
     "flop",
     KB_COUNTER_CODE,
     "fp64_flops",
     0,
     "double precision",
     {{SASS("dadd"), 1}, {SASS("dmul"), 1}, {SASS("dfma"), 2}},
     NULL},
    {"flops_f16",
     "flop",
     KB_COUNTER_CODE,
     NULL,
     0,
     "half precision, as the hardware counts packed pairs",
     {{SASS("hadd"), 1}, {SASS("hmul"), 1}, {SASS("hfma"), 2}},
     NULL},
    {"shared_bytes",
     "byte",
     KB_COUNTER_CODE,
     NULL,
     0,
     "asked of shared memory",
     {{"smsp__sass_data_bytes_mem_shared.sum", 1}},
     NULL},
};
const int kb_counter_count = KB_COUNT(kb_counters);

static int place_of(const char *metric, const char *const *metrics, int count)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(metrics[i], metric))
            return i;
    return -1;
}

int kb_counter_metrics(enum kb_counter_stage stage, const char **out, int most)
{
    int n = 0;
    for (int i = 0; i < kb_counter_count; i++) {
        const struct kb_counter *c = &kb_counters[i];
        for (int k = 0; c->stage == stage && k <= KB_COUNTER_TERMS; k++) {
            const char *metric = k < KB_COUNTER_TERMS ? c->terms[k].metric : c->divisor;
            if (metric && place_of(metric, out, n) < 0 && n < most)
                out[n++] = metric;
        }
    }
    return n;
}

double kb_counter_value(const struct kb_counter *c, const char *const *metrics, const double *values,
                        const char *const *why, int count, const char **reason)
{
    double sum = 0, divisor = 1;
    *reason = NULL;
    for (int k = 0; k <= KB_COUNTER_TERMS; k++) {
        const char *metric = k < KB_COUNTER_TERMS ? c->terms[k].metric : c->divisor;
        if (!metric)
            continue;
        int at = place_of(metric, metrics, count);
        if (at < 0 || isnan(values[at])) {
            *reason = at < 0 ? "not measured" : why[at] ? why[at] : "the counter gave no number";
            return NAN;
        }
        if (k < KB_COUNTER_TERMS)
            sum += c->terms[k].weight * values[at];
        else
            divisor = values[at];
    }
    if (divisor != 0)
        return sum / divisor;
    *reason = "there was none";
    return NAN;
}
