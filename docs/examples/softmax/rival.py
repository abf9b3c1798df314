"""For variants of kind "command" that use PyTorch: inputs in, outputs out, and the time of a call on a cold L2, as
kbench-tui times kernels. Copy it beside your bench.json."""
import json
import os
import statistics

import numpy
import torch

CASE = json.loads(os.environ["KBENCH_CASE"])  # {"params": {"rows": 4096, ...}, "scalars": ..., "args": ...}


def inputs():
    """The arrays of this case on the GPU, by their names: what they are before the call. Types that NumPy does not have,
    such as bf16, come as float32: x.to(torch.bfloat16) loses nothing."""
    return {arg["name"]: torch.from_numpy(numpy.load(f"{os.environ['KBENCH_IN']}/{arg['name']}.npy")).cuda()
            for arg in CASE["args"] if arg["role"] in ("input", "inout")}


def cold_us(call, samples=100):
    """The median time of call() in microseconds. The L2 is overwritten before each, which also gives the host time to
    send the call before the GPU comes to it: no launch latency is in the time, but for what lies between two kernels of
    one call. An event's own time, one or two microseconds, is."""
    flush = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.int8, device="cuda")
    for _ in range(5):  # compiled, autotuned, memory found
        call()
    pairs = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(samples)]
    for i, (start, end) in enumerate(pairs):
        flush.fill_(i % 128)
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(1000 * start.elapsed_time(end) for start, end in pairs)


def finish(us, what, **outputs):
    """Prints the time, and writes the outputs to be compared: finish(34.1, "torch.softmax", y=y)."""
    for name, value in outputs.items():
        value = value.float() if value.dtype == torch.bfloat16 else value
        numpy.save(f"{os.environ['KBENCH_OUT']}/{name}.npy", value.cpu().numpy())
    print(json.dumps({"us": us, "what": what}))
