"""The kernels of tests/cheats on the device: wrong ones are found, right ones pass.

What a kernel's first lines say counts here as it does in tests/loop/test_cheats.c (which see for "variant:"), but for the
rung, which may be another one: hardware loses other races, and lets other accesses pass. Two further lines are read:

// gpu: hangs               never ends; at most two of these are tried, which show that the deadline is kept
// gpu: may pass: REASON    nothing that is looked at on a GPU has to find this one"""

import json
import re
import shutil
import subprocess
import time

from gpu_check.common import ROOT, once_variants, scratch

CHEATS = ROOT / "tests" / "cheats"
HANGS = 2         # kernels that may use up the whole deadline of a rung, 20 s
LIMIT_S = 150     # of one run over a bench
TOGETHER_S = 240  # no further bench is begun after that


def line_of(text, key):
    found = re.search(rf"^// {key}: (.*)$", text, re.MULTILINE)
    return found.group(1) if found else None


def variant_of(pattern, name, text):
    """As in test_cheats.c: the first variant of bench.json with another source, and what the file itself says."""
    variant = {**pattern, "name": name, "source": name + ".cu"}
    own = json.loads(line_of(text, "variant") or "{}")
    if "launches" in own:
        variant.pop("kernel"), variant.pop("launch")
    return {**variant, **own}


def read_bench(bench):
    """The document, and of each kernel what is expected: {name: {right, gpu, rung, variant}}."""
    document = json.loads((CHEATS / bench / "bench.json").read_text())
    kernels = {}
    for path in sorted((CHEATS / bench).glob("*.cu")):
        if path.name == "reference.cu":
            continue
        text = path.read_text()
        expect = line_of(text, "expect")
        kernels[path.stem] = {"right": expect == "pass", "rung": expect.removeprefix("fail at "), "gpu": line_of(text, "gpu") or "",
                              "variant": variant_of(document["variants"][0], path.stem, text)}
    return document, kernels


def run_bench(build, bench, document, variants, *options):
    """What --once says of these variants, in a copy of the bench in a folder of its own."""
    folder = scratch() / bench
    try:
        shutil.copytree(CHEATS / bench, folder, ignore=shutil.ignore_patterns(".kbench"))
        (folder / "bench.json").write_text(json.dumps({**document, "variants": variants}))
        # KB_PTX_BUDGET: what counts as endless on the CPU device, as in the test
        return once_variants(build, folder, "--no-history", *options, timeout=LIMIT_S, KB_PTX_BUDGET=4000000)
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)


def outcome(variant):
    """The rung that failed and why; else "pass" if verify passed, else "nowhere"."""
    rungs = {r["rung"]: r for r in variant["rungs"]}
    for rung in variant["rungs"]:
        if rung["status"] == "fail":
            return rung["rung"], rung["reason"]
    verify = rungs.get("verify", {"status": "none", "reason": "no rung verify"})
    return ("pass" if verify["status"] == "pass" else "nowhere"), verify["reason"]


def try_bench(build, bench, device, hangs):
    """The kernels of a bench with what became of them; hangs: how many of those that never end are tried."""
    document, kernels = read_bench(bench)
    endless = [name for name, kernel in kernels.items() if kernel["gpu"] == "hangs"]
    for name in endless[hangs:]:
        del kernels[name]
    said = run_bench(build, bench, document, [k["variant"] for k in kernels.values()], "--device", device, "--no-profile")
    for name, kernel in kernels.items():
        kernel["got"], kernel["reason"] = outcome(said[name])
    slipped = [k["variant"] for k in kernels.values() if not k["right"] and k["got"] == "pass"]
    said = run_bench(build, bench, document, slipped, "--device", device) if slipped else {}
    for name, variant in said.items():
        kernels[name]["got"], kernels[name]["reason"] = outcome(variant)
    return [{"kernel": f"{bench}/{name}", "looked_at_twice": name in said,
             **{key: kernel[key] for key in ("right", "rung", "gpu", "got", "reason")}} for name, kernel in kernels.items()]


def check_cheats(check, build, args):
    """Some 150 wrong kernels and 50 right ones that look unusual: wrong ones fail somewhere before or behind the verdict,
    right ones pass. First all without what lies behind the verdict; then those that should have failed, with races."""
    begun, rows, problems, seconds = time.monotonic(), [], [], {}
    hangs = HANGS if args.device == "cuda" else 1000
    for bench in sorted(p.parent.name for p in CHEATS.glob("*/bench.json")):
        at = time.monotonic()
        if at - begun > TOGETHER_S:
            problems.append(f"{bench} was not tried, those before it took {at - begun:.0f} s")
            continue
        try:
            tried = try_bench(build, bench, args.device, hangs)
        except subprocess.TimeoutExpired:
            problems.append(f"{bench} did not end within {LIMIT_S} s")
            continue
        seconds[bench] = round(time.monotonic() - at, 1)
        hangs -= sum(row["gpu"] == "hangs" for row in tried)
        print(f"  {bench}: {len(tried)} kernels, {sum(row['looked_at_twice'] for row in tried)} of them again with races, "
              f"{seconds[bench]} s", flush=True)
        rows += tried
    check.data["seconds"] = seconds
    judge(check, rows, problems, args.device == "cuda")


def judge(check, rows, problems, on_gpu):
    elsewhere, passed = [], []
    for row in rows:
        may_pass = on_gpu and row["gpu"].startswith("may pass")
        words = f"{row['kernel']}: {row['got']}: {row['reason']}"
        if row["got"] == "pass" and not row["right"] and may_pass:
            passed.append(row["kernel"])
            print(f"  passes, as may be: {row['kernel']} ({row['gpu']})")
        elif row["got"] == "nowhere" or (row["got"] == "pass") != row["right"]:
            problems.append(f"{row['kernel']}: {row['got']}")
            print(f"  UNEXPECTED {words} (on the CPU device: {row['rung']})")
        elif row["got"] != row["rung"]:
            elsewhere.append(row["kernel"])
            print(f"  found, but not at {row['rung']} as on the CPU device: {words}")
    wrong = [r for r in rows if not r["right"]]
    endless = [r["kernel"] for r in rows if "never end" in (r["reason"] or "")]
    at = {rung: sum(r["got"] == rung for r in wrong) for rung in ("compile", "check", "run", "verify", "time", "races")}
    check.data.update(rows=rows, problems=problems, at_another_rung=elsewhere, passed_as_may_be=passed, endless=endless)
    check.text = (f"{len(wrong)} wrong kernels: " + ", ".join(f"{n} found at {rung}" for rung, n in at.items() if n)
                  + (f", {len(passed)} pass, as may be ({', '.join(passed)})" if passed else "")
                  + (f", without an end: {', '.join(endless)}" if endless else "")
                  + f"; {len(rows) - len(wrong)} right ones; {len(elsewhere)} found at another rung than on the CPU device")
    if problems:
        check.fail(f"{len(problems)} unexpected: {', '.join(problems)}; {check.text}")
