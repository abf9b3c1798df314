"""The CPU device beside the GPU."""

import json
import pathlib
import shutil
import tempfile

from gpu_check.common import ROOT, bench_with, once_variants, run


def both_devices(build, what, options=()):
    """The program that runs the same PTX on both devices: its exit code, what it prints, and its record."""
    with tempfile.TemporaryDirectory(prefix="kbench-check-") as folder:
        target = pathlib.Path(folder) / "record.json"
        result = run([build / "both-devices", *what, *options, "--root", ROOT, "--json", target], timeout=580)
        record = json.loads(target.read_text()) if target.exists() else {}
    print(result.stdout[-12000:], result.stderr)
    return result, record


def check_devices(check, build, args):
    """PTX snippets of all families, then all variants of the bundled kernels on the CPU device and on the GPU with the same
    inputs: bit for bit where the PTX manual defines the result."""
    result, check.data = both_devices(build, ["snippets", "kernels"], ["--device", "cpu"] if args.device == "cpu" else [])
    if "kernels" not in check.data:
        check.fail(f"exit {result.returncode}: {(result.stdout + result.stderr)[-400:]}")
        return
    s, k = check.data["snippets"], check.data["kernels"]
    check.text = (f"{s['ran']} snippets: {s['same_bits']} the same bit for bit, {s['within']} within what is defined, {s['differ']} "
                  f"differ, {s['failed']} failed; {k['runs']} runs of kernels: {100 * k['same_bits'] / max(1, k['elements']):.2f}% of the "
                  f"elements the same bits, at most {k['max_ulp_scaled']:.3g} ulp apart at the output's size")
    if result.returncode:
        check.fail(check.text)


def check_counted(check, build, args):
    """What the CPU device counts against the hardware's counters: the same bench on both, sectors and bank conflicts; then
    probes of known patterns, and all bundled kernels with all their cases in one process."""
    def small(document):
        document["cases"] = [{"rows": 264, "cols": 4096, "time": True}]

    folder = bench_with("softmax", small)
    gpu, cpu = once_variants(build, folder, "--no-history"), once_variants(build, folder, "--device", "cpu", "--no-history")
    shutil.rmtree(folder.parent)
    rows, texts = [], []
    for name in gpu:
        g, c = [(d[name].get("counters") or {}).get("metrics") or {} for d in (gpu, cpu)]
        if g.get("global_load_sectors") is None or c.get("global_sectors") is None:
            check.fail(f"{name}: not counted on both")
            return
        row = {"variant": name, "gpu_sectors": g["global_load_sectors"] + g["global_store_sectors"], "cpu_sectors": c["global_sectors"],
               "gpu_conflicts": g["shared_bank_conflicts"], "gpu_wavefronts": g.get("shared_wavefronts"), "cpu_conflicts": c["shared_bank_conflicts"],
               "gpu_flops": g.get("flops_f32"), "cpu_flops": c.get("flops_f32")}
        rows.append(row)
        apart = row["cpu_sectors"] / row["gpu_sectors"] - 1
        texts.append(f"{name} sectors {100 * apart:+.2f}%, conflicts {row['cpu_conflicts']:.0f} and {row['gpu_conflicts']:.0f}")
        if abs(apart) > 0.005:
            check.fail(f"{name}: {row['cpu_sectors']} sectors counted, {row['gpu_sectors']} by the hardware")
    result, record = both_devices(build, ["counts"])
    check.data = {"rows": rows, "both": record}
    if "counts" not in record:
        check.fail(f"exit {result.returncode}: {(result.stdout + result.stderr)[-400:]}")
        return
    for name, words in (("bundled", "runs of bundled kernels"), ("probe", "probes")):
        c = record["counts"][name]
        texts.append(f"{c['compared']} {words}, sectors apart in {c['sectors_apart']}, conflicts in {c['conflicts_apart']}")
    if result.returncode:
        check.fail("; ".join(texts))
    if check.ok:
        check.text = "; ".join(texts)
