"""Commands of a bench: a reference in NumPy, and PyTorch and Triton as variants (docs/examples/softmax)."""

import json
import shutil

from gpu_check.common import KERNELS, PYTHON, ROOT, bench_with, once_document, run, scratch
from gpu_check.faults import FAULTS
from gpu_check.schema import faults

EXAMPLE = ROOT / "docs" / "examples" / "softmax"
APART = 0.15  # of what a rival reports from what the check "pytorch" measured
RUNGS = ("scan", "compile", "check", "run", "verify", "time")


def with_python(command):
    return [PYTHON if word == "python3" else word for word in command]


def softmax_bench(change):
    """The bundled kernels and a wrong one, which both references have to find."""
    def add(document):
        wrong = {**next(v for v in document["variants"] if v["name"] == "naive"), "name": "wrong", "source": "wrong.cu"}
        document["variants"].append(wrong)
        change(document)

    source = (KERNELS / "softmax" / "naive.cu").read_text()
    old, new = FAULTS["wrong"]
    if old not in source:
        raise RuntimeError("naive.cu changed, this check does not fit it")
    return bench_with("softmax", add, [("wrong.cu", source.replace(old, new))])


def commands_of(example):
    """(change of a document, sources): the example's reference and rivals in another bench of the same operator."""
    def change(document):
        document["reference"] = {"command": with_python(example["reference"]["command"])}
        document["variants"] += [{**v, "command": with_python(v["command"])} for v in example["variants"] if v.get("kind") == "command"]

    return change, {path.name: path.read_text() for path in EXAMPLE.glob("*.py")}


def verdicts(document):
    """{variant: [status of each rung up to the verdict]} of what is built."""
    return {v["name"]: [r["status"] for r in v["rungs"] if r["rung"] in RUNGS] for v in document["variants"] if v["source"]}


def check_rivals(check, document, args):
    """What PyTorch and Triton report: right, and PyTorch as fast as its kernel's own records say."""
    measured, texts = args.results.get("pytorch", {}).get("cold_us"), []
    for variant in document["variants"]:
        for said in variant.get("reported", []):
            name, us = variant["name"], said["us"]
            check.data.setdefault("rivals", {})[name] = said
            if us is None or said.get("right") is not True:
                check.fail(f"{name}: {said.get('us_reason') or said.get('right_reason') or 'its outputs were not compared'}")
                return
            texts.append(f"{name} {us:.1f} us")
            if name == "torch" and measured:
                texts[-1] += f", {100 * (us / measured - 1):+.1f}% from the check pytorch"
                if abs(us / measured - 1) > APART:
                    check.fail(f"{texts[-1]}: more than {100 * APART:.0f}% apart")
                    return
    if len(texts) != 2:
        check.fail(f"{len(texts)} rivals reported a time and not 2")
        return
    check.text += "; " + ", ".join(texts) + ("" if measured else " (not compared: the check pytorch did not run)")


def check_commands(check, build, args):
    """A reference in NumPy gives the same verdicts as the kernel in double precision; PyTorch and Triton as variants are right,
    and report what the check pytorch measures. Nothing runs before it was allowed."""
    example, schema = json.loads((EXAMPLE / "bench.json").read_text()), json.loads((ROOT / "docs" / "once.schema.json").read_text())
    change, scripts = commands_of(example)
    by_kernel, by_command = softmax_bench(lambda document: None), softmax_bench(change)
    for name, text in scripts.items():
        (by_command / name).write_text(text)
    own = scratch()
    options = ["--device", args.device, "--no-profile", "--no-history", "--seed", "20261130"]
    once = lambda folder: once_document(build, folder, *options, XDG_STATE_HOME=own / "state", KB_CACHE=own / "cache")
    try:
        documents = {"kernel": once(by_kernel), "not allowed": once(by_command)}
        allowed = run([build / "kbench-tui", "allow", by_command], XDG_STATE_HOME=own / "state")
        if allowed.returncode:
            check.fail("allow: " + allowed.stderr.strip()[-400:])
            return
        documents["command"] = once(by_command)
    finally:
        for folder in (by_kernel.parent, by_command.parent, own):
            shutil.rmtree(folder, ignore_errors=True)
    check.data["verdicts"] = said = {name: verdicts(document) for name, document in documents.items()}
    for name, document in documents.items():
        unfit = faults(document, schema, schema)
        if unfit:
            check.fail(f"{name}: the document does not fit its schema: {'; '.join(unfit[:3])}")
            return
    ran = [v["name"] for v in documents["not allowed"]["variants"] if any(r["us"] for r in v.get("reported", []))]
    if ran or any(rungs[RUNGS.index("verify")] != "na" for rungs in said["not allowed"].values()):
        check.fail("something ran before it was allowed: " + json.dumps(said["not allowed"]))
        return
    if said["command"] != said["kernel"] or "fail" not in said["command"]["wrong"]:
        check.fail(f"other verdicts: with the kernel {json.dumps(said['kernel'])}, with the command {json.dumps(said['command'])}")
        return
    check.text = f"{len(said['command'])} kernels, the same verdicts with NumPy's reference; documents fit the schema"
    if args.device == "cuda":
        check_rivals(check, documents["command"], args)
