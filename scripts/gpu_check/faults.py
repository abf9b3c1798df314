"""Kernels that fail: how it is told, and what comes after."""

import json
import os
import pathlib
import shutil
import signal

from gpu_check.common import KERNELS, Follow, bench_with, is_verdict, run


FAULTS = {
    "never ends": ("    const float *in = x + (size_t)row * cols;",
                   "    while (*(volatile const float *)x != 12345.0f) ;\n    const float *in = x + (size_t)row * cols;"),
    "illegal address": ("    const float *in = x + (size_t)row * cols;",
                        "    y[(size_t)1 << 40] = 1;\n    const float *in = x + (size_t)row * cols;"),
    "assert": ("    const float *in = x + (size_t)row * cols;",
               "    __trap();\n    const float *in = x + (size_t)row * cols;"),
    "past the end": ("        out[c] = expf(in[c] - most) / sum;",
                     "        out[c + 1] = expf(in[c] - most) / sum;"),
    "wrong": ("        sum += expf(in[c] - most);", "        sum += expf(in[c] - most) * 1.001f;"),
    "half written": ("    for (int c = 0; c < cols; c++)\n        out[c]", "    for (int c = 0; c < cols; c += 2)\n        out[c]"),
}


def check_faults(check, build, args):
    """A kernel that hangs, traps, or is wrong fails at a rung with words; the next good save runs clean."""
    session = Follow(build, "softmax", "--device", args.device, "--variant", "naive")
    source = (KERNELS / "softmax" / "naive.cu").read_text()
    rows = []
    try:
        session.wait(is_verdict("naive"))
        session.wait(is_verdict("tuned"))
        for n, (name, (old, new)) in enumerate(FAULTS.items()):
            if old not in source:
                check.fail(f"{name}: the source changed, this check does not fit it")
                return
            start = session.save("naive.cu", source.replace(old, new))
            done = session.wait(is_verdict("naive"), start, 90)
            event = session.events[done]
            took = (event["_at"] - session.saved_at) * 1000
            reason = next((e.get("reason") for e in session.events[start:done + 1]
                           if e["type"] == "rung" and e["status"] == "fail"), None)
            start = session.save("naive.cu", source + f"\n// good again {n}\n")
            good = session.wait(is_verdict("naive"), start, 60)
            recovered = (session.events[good]["_at"] - session.saved_at) * 1000
            rows.append({"fault": name, "rung": event.get("rung"), "reason": reason, "ms": took, "good_again_ms": recovered,
                         "good": session.events[good]["status"]})
            print(f"  {name}: {event['status']} at {event.get('rung')} after {took:.0f} ms ({reason}); good again in {recovered:.0f} ms")
            if event["status"] != "fail" or session.events[good]["status"] != "pass":
                check.fail(f"{name}: {event['status']}, then {session.events[good]['status']}")
        # a worker killed from outside, when nothing more comes of the last version
        session.wait(lambda e: e["type"] == "done" and e.get("variant") == "naive", good)
        pid = next(e["pid"] for e in reversed(session.events) if e["type"] == "worker" and e["role"] == "run" and e.get("pid"))
        os.kill(pid, signal.SIGKILL)
        start = session.save("naive.cu", source + "\n// after the kill\n")
        good = session.wait(is_verdict("naive"), start, 60)
        rows.append({"fault": "killed from outside", "good": session.events[good]["status"],
                     "good_again_ms": (session.events[good]["_at"] - session.saved_at) * 1000})
        if session.events[good]["status"] != "pass":
            check.fail("after a kill from outside: " + json.dumps(session.events[good]))
        check.data["rows"] = rows
        if check.ok:
            check.text = f"{len(rows)} faults; good again in at most {max(r['good_again_ms'] for r in rows):.0f} ms"
    finally:
        session.close()


def check_export(check, build, args):
    """A failing case, written out as a .cu with main(), fails in the same way when nvcc has compiled it."""
    nvcc = shutil.which("nvcc") or next((str(p) for p in [pathlib.Path("/usr/local/cuda/bin/nvcc")] if p.exists()), None)
    if not nvcc:
        check.fail("no nvcc: put it on the PATH")
        return
    source = (KERNELS / "softmax" / "naive.cu").read_text()
    for name in ("wrong", "past the end", "half written", "illegal address"):
        folder = bench_with("softmax", lambda bench: None)
        (folder / "naive.cu").write_text(source.replace(*FAULTS[name]))
        written = run([build / "kbench-tui", "export", folder, "naive", folder / "case.cu"])
        built = run([nvcc, "-arch=native", "-I", folder, folder / "case.cu", "-o", folder / "case"]) if not written.returncode else written
        told = run([folder / "case"]) if not built.returncode else built
        check.data[name] = {"export": written.stdout + written.stderr, "exit": told.returncode, "output": (told.stdout + told.stderr)[-2000:]}
        print(f"  {name}: exit {told.returncode}: {(told.stdout + told.stderr).strip()[-300:]}")
        if built.returncode or told.returncode not in (1, 3):  # 1: something is wrong, 3: CUDA failed
            check.fail(f"{name}: " + (built.stderr[-400:] if built.returncode else "the exported case passes"))
        shutil.rmtree(folder.parent, ignore_errors=True)
    if check.ok:
        check.text = f"{len(check.data)} failing cases fail again as programs of their own"
