"""What the checks share."""

import atexit
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KERNELS = ROOT / "kernels"
PYTHON = shutil.which(os.environ.get("KB_PYTHON", "python3")) or "python3"


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def scratch():
    """A folder of its own, which is gone when the program ends, whatever becomes of the check."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kbench-check-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


class Check:
    """One row of the table: name, pass or FAIL, and what was measured in words."""

    def __init__(self, name):
        self.name, self.ok, self.text, self.data = name, True, "", {}

    def fail(self, text):
        self.ok, self.text = False, text


class Follow:
    """kbench-tui --follow on a copy of a bench, with its events."""

    def __init__(self, build, bench, *options):
        self.folder = scratch() / bench
        shutil.copytree(KERNELS / bench, self.folder, ignore=shutil.ignore_patterns(".kbench"))
        self.process = subprocess.Popen([str(build / "kbench-tui"), "--follow", *options, str(self.folder)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.events, self.rest = [], ""

    def pump(self):
        try:
            data = os.read(self.process.stdout.fileno(), 1 << 20).decode(errors="replace")
        except BlockingIOError:
            return False
        lines = (self.rest + data).split("\n")
        self.rest = lines.pop()
        for line in lines:
            event = json.loads(line)
            event["_at"] = time.monotonic()
            self.events.append(event)
        return bool(data)

    def wait(self, wanted, start=0, timeout=60):
        """The index of the first event from start on for which wanted(event) holds."""
        end, at = time.monotonic() + timeout, start
        while time.monotonic() < end:
            self.pump()
            while at < len(self.events):
                if wanted(self.events[at]):
                    return at
                at += 1
            if self.process.poll() is not None:
                raise RuntimeError("kbench-tui ended: " + self.process.stderr.read()[-2000:])
            time.sleep(0.001)
        tail = "\n".join(json.dumps(e)[:300] for e in self.events[-12:])
        raise RuntimeError(f"no such event within {timeout} s; the last ones:\n{tail}")

    def save(self, name, text):
        """As an editor does: a new file renamed over the old one. Returns where the events of this save begin."""
        self.pump()
        start = len(self.events)
        temporary = self.folder / ("." + name + ".new")
        temporary.write_text(text)
        self.saved_at = time.monotonic()
        os.replace(temporary, self.folder / name)
        return start

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.folder.parent, ignore_errors=True)


def is_verdict(variant):
    return lambda e: e["type"] == "verdict" and e.get("variant") == variant


def settled(variant):
    return lambda e: e["type"] == "timing" and e.get("variant") == variant and e.get("stage") == "settled"


def run(command, timeout=300, **environment):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", timeout=timeout,
                          env={**os.environ, **{name: str(value) for name, value in environment.items()}})


def bench_with(name, change, sources=()):
    """A copy of a bundled bench in a folder of its own, its document changed by change(document)."""
    folder = scratch() / name
    shutil.copytree(KERNELS / name, folder, ignore=shutil.ignore_patterns(".kbench"))
    document = json.loads((folder / "bench.json").read_text())
    change(document)
    (folder / "bench.json").write_text(json.dumps(document))
    for file, text in sources:
        (folder / file).write_text(text)
    return folder


def once_document(build, folder, *options, timeout=300, **environment):
    """What --once --json says."""
    result = run([build / "kbench-tui", "--once", "--json", *options, folder], timeout, **environment)
    if not result.stdout:
        raise RuntimeError(f"--once on {folder.name}: exit {result.returncode}: {result.stderr.strip()[-600:]}")
    return json.loads(result.stdout)


def once_variants(build, folder, *options, **more):
    """What --once --json says of each variant, by its name."""
    return {v["name"]: v for v in once_document(build, folder, *options, **more)["variants"]}
