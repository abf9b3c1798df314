"""The time from a save to its verdict."""

import json
import random
import statistics
import time

from gpu_check.common import KERNELS, Follow, is_verdict, percentile, run, settled


def check_latency(check, build, args):
    """From the editor's rename to the first verdict and to the settled one, over many saves of tuned.cu."""
    session = Follow(build, "softmax", "--variant", "tuned")
    source = (KERNELS / "softmax" / "tuned.cu").read_text()
    try:
        for variant in ("naive", "coalesced", "shared", "tuned"):
            session.wait(is_verdict(variant))
        session.wait(settled("tuned"))
        first, whole, behind, parts, verdicts, sets, slow = [], [], [], {}, [], [], []
        for i in range(args.saves):
            time.sleep(random.uniform(0.5, 2.5))  # a quick hand on a keyboard; pool, sections and counters go on meanwhile
            start = session.save("tuned.cu", source + f"\n// save {i}\n")
            done = session.wait(is_verdict("tuned"), start)
            first.append((session.events[done]["_at"] - session.saved_at) * 1000)
            verdicts.append(session.events[done].get("first_verdict_ms"))
            compiled = session.wait(lambda e: e["type"] == "rung" and e["rung"] == "compile" and e["status"] == "pass", start)
            behind.append((session.events[done]["_at"] - session.events[compiled]["_at"]) * 1000)
            if behind[-1] > 1.5 * min(behind):  # what happened meanwhile
                slow.append([{k: e.get(k) for k in ("type", "t_ms", "rung", "status", "ms", "role", "state")}
                             for e in session.events[max(0, start - 8):done + 1]])
            at = session.wait(settled("tuned"), start)
            whole.append((session.events[at]["_at"] - session.saved_at) * 1000)
            for event in session.events[start:done + 1]:
                if event["type"] == "rung" and event["status"] == "pass" and event.get("variant") == "tuned":
                    parts.setdefault(event["rung"], []).append(event.get("ms") or 0)
                if event["type"] == "case" and event.get("rung") == "verify" and event.get("case") == 0:
                    sets.append(event.get("set"))
            if session.events[done]["status"] != "pass":
                check.fail("a save failed: " + json.dumps(session.events[done]))
                return
        check.data = {"first_ms": first, "settled_ms": whole, "behind_compile_ms": behind, "slow": slow, "parts_ms": parts, "own_first_verdict_ms": verdicts,
                      "sets": {s: sets.count(s) for s in set(sets)}}
        middle = {rung: statistics.median(values) for rung, values in parts.items()}
        check.text = (f"{len(first)} saves: first verdict median {statistics.median(first):.0f} ms, p95 {percentile(first, .95):.0f} ms; "
                      f"behind the end of its compile {statistics.median(behind):.1f} and {percentile(behind, .95):.1f} ms; "
                      f"settled median {statistics.median(whole):.0f} ms, p95 {percentile(whole, .95):.0f} ms; "
                      + ", ".join(f"{rung} {ms:.1f}" for rung, ms in middle.items()))
    finally:
        session.close()


def check_steps(check, build, args):
    """Where the time of the rungs behind the verdict goes: the first version, later ones, and how long a save that cuts
    counters short waits for its own first verdict."""
    session = Follow(build, "softmax", "--variant", "tuned")
    source = (KERNELS / "softmax" / "tuned.cu").read_text()
    counted = lambda stage: lambda e: e["type"] == "counters" and e.get("variant") == "tuned" and e.get("stage") == stage
    ended = lambda e: e["type"] == "rung" and e.get("variant") == "tuned" and e["rung"] == "counters" and e["status"] in ("pass", "na")
    try:
        steps, sections = {"bytes": [], "rest": []}, []
        sampled = lambda e: e["type"] == "rung" and e.get("variant") == "tuned" and e["rung"] == "sections" and e["status"] == "pass"
        for i in range(8):
            start = session.save("tuned.cu", source + f"\n// steps {i}\n") if i else 0
            end = session.events[session.wait(ended, start)]
            if end["status"] != "pass" or end.get("reason"):
                check.fail("no counters: " + str(end.get("reason")))
                return
            sections.append(session.events[session.wait(sampled, start)]["ms"])
            for stage, rows in steps.items():
                rows.append(session.events[session.wait(counted(stage), start)]["steps_ms"])
        waits = {}
        for stage in ("sections", "counters"):
            waits[stage] = []
            for i in range(6):
                start = session.save("tuned.cu", source + f"\n// before {stage} {i}\n")
                session.wait(lambda e: e["type"] == "rung" and e.get("variant") == "tuned" and e["rung"] == stage and e["status"] == "running", start)
                time.sleep(0.01 + 0.03 * i)
                start = session.save("tuned.cu", source + f"\n// after {stage} {i}\n")
                waits[stage].append((session.events[session.wait(is_verdict("tuned"), start)]["_at"] - session.saved_at) * 1000)
        check.text = f"sections: first {sections[0]:.0f} ms, later {statistics.median(sections[1:]):.0f}; "
        check.data = {"sections_ms": sections, "steps_ms": steps, "first_verdict_ms_of_a_save_in": waits}
        for stage, rows in steps.items():
            first, later = rows[0], {k: statistics.median(r[k] for r in rows[1:]) for k in rows[0]}
            check.text += f"{stage}: first {sum(first.values()):.0f} ms, later {sum(later.values()):.0f} (" + ", ".join(
                f"{k} {first[k]:.1f} -> {later[k]:.1f}" for k in first) + "); "
        check.text += "; ".join(f"verdict of a save during {k}: " + ", ".join(f"{x:.0f}" for x in v) + " ms" for k, v in waits.items())
    finally:
        session.close()


def check_floor(check, build, args):
    """The same compile and the same device work in one bare process; the ratio of the loop to it."""
    result = run([build / "bench-floor", KERNELS / "softmax", "tuned", str(args.saves), "1500"])
    if result.returncode:
        check.fail(result.stderr[-500:])
        return
    check.data = json.loads(result.stdout)
    times = check.data["first_ms"]
    check.text = f"one bare process: median {statistics.median(times):.0f} ms, p95 {percentile(times, .95):.0f} ms"
    first = args.results.get("latency", {}).get("first_ms")
    if first:
        check.data["ratio"] = statistics.median(first) / statistics.median(times)
        check.data["ratio_p95"] = percentile(first, .95) / percentile(times, .95)
        check.text += f"; loop / floor = {check.data['ratio']:.2f} (p95 {check.data['ratio_p95']:.2f})"
