"""Whether everything is there, right, and fast."""

import json
import shutil

from gpu_check.common import KERNELS, PYTHON, run, scratch


def check_doctor(check, build, args):
    """What is installed, what is missing."""
    result = run([build / "kbench-tui", "doctor"])
    check.data["output"] = result.stdout
    check.text = " ".join(result.stdout.strip().split("\n")[-1].split())
    if result.returncode:
        check.fail(result.stdout[-400:] + result.stderr[-400:])
    print(result.stdout)


def check_selftest(check, build, args):
    """Fill, poison, hash, guards, inspection, comparison: on the device and as C loops."""
    result = run([build / "kbench-worker", "selftest", "--device", args.device])
    check.data["output"] = result.stdout
    check.text = result.stdout.strip().splitlines()[-1] if result.stdout.strip() else ""
    if result.returncode:
        check.fail(result.stdout[-1500:] + result.stderr[-500:])


def check_programs(check, build, args):
    """The cmocka programs that have something to say on a GPU."""
    tests = build / "tests"
    programs = sorted([*tests.glob("*device_cuda*"), *tests.glob("*on_gpu*"), *tests.glob("gpu_*")])
    failed = []
    for program in programs:
        result = run([program], timeout=200)
        if result.returncode or "on_gpu" in program.name:  # these say what they measured
            check.data[program.name] = (result.stdout + result.stderr)[-6000:]
        if result.returncode:
            failed.append(program.name)
    check.text = f"{len(programs)} programs"
    if failed or not programs:
        check.fail("failed: " + ", ".join(failed) if failed else f"there are none in {tests}: build them")


def check_once(check, build, args):
    """The bundled kernels once: nothing fails; their times."""
    folder = scratch() / "softmax"
    shutil.copytree(KERNELS / "softmax", folder, ignore=shutil.ignore_patterns(".kbench"))
    result = run([build / "kbench-tui", "--once", "--device", args.device, folder])
    print(result.stdout, result.stderr)
    result = run([build / "kbench-tui", "--once", "--json", "--device", args.device, folder])
    document = json.loads(result.stdout)
    check.data["document"] = document
    times = {}
    for variant in document["variants"]:
        failed = [r for r in variant["rungs"] if r["status"] == "fail"]
        if failed:
            check.fail(f"{variant['name']}: {failed[0]['rung']}: {failed[0].get('reason')}")
        times[variant["name"]] = ((variant.get("timing") or {}).get("cold") or {}).get("median_us")
    if check.ok:
        check.text = "cold: " + ", ".join(f"{n} {t:.1f} us" if t else f"{n} not timed" for n, t in times.items())
    if result.returncode:
        check.fail(f"exit {result.returncode}: {check.text}")
    check.data["times"] = times
    shutil.rmtree(folder.parent)


TORCH = r"""
import json, torch
from torch.profiler import profile, ProfilerActivity
x = torch.randn(4096, 4096, device="cuda")
flush = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.int8, device="cuda")
for _ in range(5): torch.softmax(x, 1)
torch.cuda.synchronize()
def kernels(cold):
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        for i in range(40):
            if cold: flush.fill_(i)
            torch.softmax(x, 1)
        torch.cuda.synchronize()
    times = sorted(e.device_time if hasattr(e, "device_time") else e.cuda_time for e in p.events() if "softmax" in e.name.lower())
    return times[len(times) // 2]
print(json.dumps({"torch": torch.__version__, "cold_us": kernels(True), "warm_us": kernels(False)}))
"""


def check_pytorch(check, build, args):
    """PyTorch's softmax on the same shape, its kernel's time from CUPTI records, with the same cold L2."""
    result = run([PYTHON, "-c", TORCH])
    if result.returncode:
        check.fail("PyTorch did not run: " + result.stderr[-300:])
        return
    check.data = json.loads(result.stdout.strip().splitlines()[-1])
    tuned = args.results.get("once", {}).get("times", {}).get("tuned")
    check.text = f"PyTorch {check.data['torch']}: cold {check.data['cold_us']:.1f} us, warm {check.data['warm_us']:.1f} us"
    if tuned:
        check.data["ratio"] = check.data["cold_us"] / tuned
        check.text += f"; tuned is {check.data['ratio']:.2f} x as fast (cold)"
        if check.data["ratio"] < 1.5:
            check.fail(check.text + ", wanted 1.5")
