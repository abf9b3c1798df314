"""Counters and spans."""

import json
import shutil

from gpu_check.common import KERNELS, bench_with, once_variants, run, scratch
from gpu_check.timing import find_ncu, ncu_values


# Our counter: Nsight Compute's metric and the share by which they may differ.
COUNTERS = {"instructions": ("smsp__inst_executed.sum", 0.005),
            "global_load_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 0.005),
            "global_store_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", 0.005),
            "dram_read_bytes": ("dram__bytes_read.sum", 0.05), "dram_write_bytes": ("dram__bytes_write.sum", 0.05)}


def check_counters(check, build, args):
    """Counters of the four softmax kernels against Nsight Compute, each launch behind the same flush."""
    ncu = find_ncu()
    folder = bench_with("softmax", lambda document: None)
    variants = once_variants(build, folder)
    rows, worst = [], {}
    for name, variant in variants.items():
        ours = (variant.get("counters") or {}).get("metrics") or {}
        theirs = ncu_values(ncu, "none", [m for m, _ in COUNTERS.values()], "softmax_" + name, [build / "bench-launch", folder, name]) if ncu else {}
        for counter, (metric, allowed) in COUNTERS.items():
            row = {"variant": name, "counter": counter, "ours": ours.get(counter), "ncu": theirs.get(metric)}
            rows.append(row)
            if row["ours"] is None:
                check.fail(f"{name}: no {counter}: {ours.get(counter + '_reason')}")
                return
            if ncu:
                row["apart"] = row["ours"] / row["ncu"] - 1 if row["ncu"] else 0
                worst[counter] = max(worst.get(counter, 0), abs(row["apart"]))
                if abs(row["apart"]) > allowed:
                    check.fail(f"{name}: {counter} {row['ours']:.4g}, ncu {row['ncu']:.4g}")
    shutil.rmtree(folder.parent)
    check.data = {"rows": rows}
    if check.ok:
        check.text = "at most apart: " + ", ".join(f"{c} {100 * w:.2f}%" for c, w in worst.items()) if ncu else "there is no ncu here"


# Shared memory keeps it to one block a multiprocessor, two warps a scheduler: with sixteen, schedulers serve the oldest
# warps first, and the youngest spend up to twice the wanted time in their first part (the timeline shows it).
TRACED = {
    "bench.json": """{ "kbench": 1, "name": "parts", "params": { "n": 76800, "unit": 1000 },
  "args": [ { "name": "out", "role": "output", "dtype": "f32", "shape": ["n"] },
    { "name": "unit", "role": "scalar", "dtype": "i64" } ],
  "cases": [ { "time": true } ],
  "reference": { "source": "reference.cu", "kernel": "ones", "launch": { "grid": ["ceil_div(n,256)"], "block": [256] } },
  "variants": [ { "name": "parts", "source": "parts.cu", "kernel": "parts", "launch": { "grid": ["n/256"], "block": [256], "shared": 120000 } },
    { "name": "whole", "source": "whole.cu", "kernel": "parts", "launch": { "grid": ["n/256"], "block": [256], "shared": 120000 } } ] }
""",
    "reference.cu": """extern "C" __global__ void ones(double *out, long long unit)
{ out[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
""",
    "parts.cu": """__device__ __forceinline__ float spin(long long cycles, float x)
{
    long long start = clock64();
    while (clock64() - start < cycles)
        for (int i = 0; i < 64; i++) x = __fmaf_rn(x, 1.01f, 0.5f);
    return x;
}
extern "C" __global__ void parts(float *out, long long unit)
{
    //kb: section half
    float x = spin(50 * unit, threadIdx.x);
    //kb: section third
    x = spin(30 * unit, x);
    //kb: section rest
    x = spin(20 * unit, x);
    out[blockIdx.x * blockDim.x + threadIdx.x] = x == 1.5f ? 2 : 1;
}
"""}


def traced(build, folder, variant):
    done = run([str(build / "kbench-tui"), "--no-history", "--json", "trace", str(folder), variant])
    if done.returncode or not done.stdout:
        raise RuntimeError(f"trace {folder.name} {variant}: exit {done.returncode}: {done.stderr.strip()[:300]}")
    return json.loads(done.stdout)


def check_trace(check, build, args):
    """The tracer: shares of a kernel whose parts take 50, 30 and 20%, clocks, and what tracing costs other kernels."""
    folder = scratch() / "parts"
    folder.mkdir()
    for name, text in TRACED.items():
        (folder / name).write_text(text)
    (folder / "whole.cu").write_text("".join(line for line in TRACED["parts.cu"].splitlines(True) if "//kb:" not in line))
    words, wrong = [], []
    event = traced(build, folder, "parts")
    shares = {s["name"]: 100 * s["share"] for s in event["sections"]}
    launch = event["launches"][0]
    check.data["parts"] = {key: event[key] for key in event if key != "rows"}
    for name, want in (("half", 50), ("third", 30), ("rest", 20)):
        if abs(shares.get(name, 0) - want) > 3:
            wrong.append(f"{name} {shares.get(name, 0):.1f}% and not {want}%")
    if event["emulated"] or not event["right"] or launch["lost_events"] or launch["unfinished_warps"]:
        wrong.append("emulated, wrong, lost events or warps without an end")
    if not event["aligned"] or not 300 < (event["ticks_per_us"] or 0) < 4000:
        wrong.append(f"clocks: aligned {event['aligned']}, {event['ticks_per_us']} MHz")
    if launch["recorded"] != launch["blocks"] or not launch["waves"] or launch["tail_share"] is None:
        wrong.append(f"launch: {launch['which']}, waves {launch['waves']}, tail {launch['tail_share']}")
    words.append(f"50/30/20: {shares['half']:.1f}/{shares['third']:.1f}/{shares['rest']:.1f}, "
                 f"{event['slowdown']['ratio']:.3f} x, {event['ticks_per_us']:.0f} MHz, timer step {event['timer_step_ns']} ns, "
                 f"{launch['waves']:.2f} waves, tail {100 * launch['tail_share']:.1f}%")
    whole = traced(build, folder, "whole")
    check.data["whole"] = {key: whole[key] for key in whole if key != "rows"}
    words.append(f"without markers {whole['slowdown']['ratio']:.3f} x")
    shutil.rmtree(folder.parent)
    for variant in ("naive", "coalesced", "shared", "tuned"):
        event = traced(build, KERNELS / "softmax", variant)
        check.data[f"softmax {variant}"] = {key: event[key] for key in event if key != "rows"}
        slow = event["slowdown"]
        words.append(f"softmax {variant} {slow['plain']:.1f} -> {slow['traced']:.1f} us, {slow['ratio']:.2f} x")
        if event["right"] is False:
            wrong.append(f"softmax {variant}: {event['wrong']}")
    check.text = "; ".join(wrong + words)
    check.ok = not wrong
