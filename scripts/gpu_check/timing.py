"""Whether times and verdicts can be trusted."""

import csv
import json
import shutil
import statistics
import time

from gpu_check.common import KERNELS, Follow, bench_with, run, settled


def check_controls(check, build, args):
    """A changed comment gives the same machine code: SAME CODE, never FASTER; after five of these the noise floor is known."""
    session = Follow(build, "softmax", "--variant", "tuned")
    source = (KERNELS / "softmax" / "tuned.cu").read_text()
    try:
        session.wait(settled("tuned"))
        rows = []
        for i in range(6):
            start = session.save("tuned.cu", source + f"\n// comment {i}\n")
            at = session.wait(lambda e: e["type"] == "versus" and e.get("variant") == "tuned" and e.get("stage") == "settled"
                              and (e.get("baseline") or {}).get("variant") == "tuned", start)
            rows.append({k: session.events[at].get(k) for k in ("verdict", "same_code", "ratio", "low", "high", "noise", "us", "others")})
        timing = session.events[session.wait(settled("tuned"), start)]
        check.data = {"rows": rows, "timing": timing}
        words = {row["verdict"] for row in rows}
        off = statistics.median(abs(row["ratio"] - 1) for row in rows)
        noise = rows[-1]["noise"]
        check.text = (f"{len(rows)} changed comments: {', '.join(sorted(words))}, ratio off by {100 * off:.2f}%, noise floor "
                      + (f"{100 * noise:.2f}%" if noise is not None else "not known")
                      + f"; an empty kernel takes {timing.get('method_overhead_us')} us, clock {timing.get('clock_mhz')} MHz")
        if words != {"SAME CODE"}:
            check.fail(check.text)
    finally:
        session.close()


def check_verdicts(check, build, args):
    """Designed for 1% false verdicts: at most 10 of 200 pairs of identical code may be called FASTER or SLOWER, and 1%
    more rows must be found in 95 of 100 runs of 300 ms."""
    result = run([build / "tests" / "profiles_test_timing_on_gpu", 200, 100, 300], timeout=400)
    output = result.stdout + result.stderr
    tallies = {t["what"]: t for t in (json.loads(line[6:]) for line in output.splitlines() if line.startswith("tally "))}
    check.data = {"tallies": tallies, "output": output[-60000:]}
    if result.returncode or len(tallies) != 2:
        check.fail(f"exit {result.returncode}, {len(tallies)} tallies: {output[-500:]}")
        return
    same, more = tallies["identical"], tallies["more"]
    false = same["faster"] + same["slower"]
    check.text = (f"identical code: {false} of {same['runs']} called different, {same['same']} SAME, ratio off by {100 * same['off']:.2f}% "
                  f"± {100 * same['half_width']:.2f}%; 1% more rows ({more['us']:.1f} us): {more['slower']} of {more['runs']} SLOWER")
    if false > 10 or more["slower"] < 95 or more["us"] < 30:
        check.fail(check.text)


def ncu_values(ncu, cache, metrics, kernel, command):
    """Medians of metrics of the kernel as Nsight Compute sees them, clocks left alone; the program flushes the L2 itself
    before each launch."""
    result = run([ncu, "--clock-control", "none", "--cache-control", cache, "--metrics", ",".join(metrics), "--kernel-name", kernel,
                  "--launch-skip", "3", "--launch-count", "30", "--csv", "--page", "raw", "--print-units", "base", *command, 35])
    table = [r for r in csv.DictReader(line for line in result.stdout.splitlines() if line.startswith('"')) if r.get("ID", "").strip()]
    if not table:
        raise RuntimeError("ncu gave no values: " + (result.stdout + result.stderr).strip()[-300:])
    return {m: statistics.median(float(r[m].replace(",", "")) for r in table) for m in metrics}


def find_ncu():
    return shutil.which("ncu") or shutil.which("ncu", path="/usr/local/cuda/bin")


def check_ncu(check, build, args):
    """Our cold median of a kernel against gpu__time_duration of Nsight Compute, behind the same flush, each less what the
    method shows for an empty kernel. With ncu's own cache control ("all") no written lines are left to be written back,
    which is shown beside it."""
    duration = "gpu__time_duration.sum"

    def add_empty(document):
        document["variants"].append({"name": "empty", "source": "empty.cu", "kernel": "softmax_empty", "launch": {"grid": [1], "block": [32]}})

    folder = bench_with("softmax", add_empty, [("empty.cu", 'extern "C" __global__ void softmax_empty(const float *x, float *y, int rows, int cols) {}\n')])
    rows, texts, ncu = {}, [], find_ncu()
    for variant in ["empty", "tuned", "shared", "coalesced"]:
        command = [build / "bench-launch", folder, variant]
        own = run([*command, 0])
        if own.returncode:
            check.fail("bench-launch: " + own.stderr[-300:])
            return
        row = rows[variant] = json.loads(own.stdout)
        text = f"{variant} {row['us']:.2f} us"
        if ncu:
            for cache in ("none", "all"):
                row["ncu_" + cache + "_us"] = ncu_values(ncu, cache, [duration], row["kernel"], command)[duration] / 1000
            text += f" (ncu {row['ncu_none_us']:.2f}; {row['ncu_all_us']:.2f} with its own cache control)"
        texts.append(text)
    shutil.rmtree(folder.parent)
    check.data = {"rows": rows}
    check.text = ", ".join(texts)
    if not ncu:
        check.text = "not compared, there is no ncu here; " + check.text
        return
    empty = rows.pop("empty")
    for variant, row in rows.items():
        ours, theirs = row["us"] - empty["us"], row["ncu_none_us"] - empty["ncu_none_us"]
        row["apart_us"], row["apart"] = ours - theirs, ours / theirs - 1
        if abs(row["apart_us"]) > max(1, 0.03 * theirs):
            check.fail(f"{check.text}: {variant} is {100 * row['apart']:.1f}% apart")
    check.text += "; less the empty kernel apart by " + ", ".join(f"{100 * r['apart']:+.1f}%" for r in rows.values())


def check_company(check, build, args):
    """The same timing with the profile worker alive and without it: it must not change what is measured."""
    medians = {}
    for name, options in (("with", []), ("without", ["--no-profile"])):
        session = Follow(build, "softmax", "--variant", "tuned", *options)
        source = (KERNELS / "softmax" / "tuned.cu").read_text()
        try:
            session.wait(settled("tuned"))
            times = []
            for i in range(15):
                time.sleep(1.3)
                start = session.save("tuned.cu", source + f"\n// {name} {i}\n")
                event = session.events[session.wait(settled("tuned"), start)]
                times.append(event["cold"]["median_us"])
            medians[name] = times
        finally:
            session.close()
    middle = {name: statistics.median(times) for name, times in medians.items()}
    spread = max(max(t) - min(t) for t in medians.values())
    check.data = medians
    check.text = f"tuned cold: {middle['with']:.2f} us with, {middle['without']:.2f} us without; spread {spread:.2f} us"
    if abs(middle["with"] - middle["without"]) > max(spread, 0.005 * middle["without"]):
        check.fail(check.text)
