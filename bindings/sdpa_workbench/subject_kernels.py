# SPDX-License-Identifier: MIT
"""The kernels that one call launches on a GPU, by torch.profiler: evidence, never a timed figure.

Loaded by the loop of Python subjects on a GPU (subject_gpu.py) when its supervisor asks `profile`.
CUPTI, which the profiler uses, stays attached to the process and slows its launches from then on:
the supervisor neither judges nor times anything more in a process that was asked.
"""

import json
import os
import tempfile

MOST_LAUNCHES = 32  # listed one by one: an answer must fit into one message
MOST_NAME_CHARS = 300
TRIES = 2  # CUPTI starts with the first range that it looks at, and may come too late for it


def launches_of(torch, call, finish):
    """Runs `call` and `finish` (which waits for the device) under the profiler.

    Returns {"launches": [{"kernel", "grid", "block", "share_frac"}], "launched": how many there
    were} in the order in which they began, share_frac of the kernels' time in that call; or
    {"reason": why that is unknown}. Whatever fails here is no fault of the subject's: it was called
    without the profiler before.
    """
    reason = ""
    for _ in range(TRIES):
        try:
            kernels = trace_of(torch, call, finish)
        except Exception as fault:
            words = " ".join(f"{type(fault).__name__}: {fault}".split())
            reason = f"torch.profiler failed: {words[:MOST_NAME_CHARS]}"
            continue
        if kernels:
            return told(kernels)
        reason = "torch.profiler saw no kernel: the call launched none, or CUPTI is blocked or busy"
    return {"reason": reason}


def trace_of(torch, call, finish):
    """The kernels' events of a trace of one call, by their begin. The file is the profiler's own
    documented form, where its objects change from release to release."""
    profiler = torch.profiler
    with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as profile:
        call()
        finish()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path, encoding="utf-8", errors="replace") as file:
            events = json.load(file)["traceEvents"]
    kernels = [event for event in events if event.get("cat") == "kernel"]
    return sorted(kernels, key=lambda event: event["ts"])


def told(kernels):
    total_us = sum(event.get("dur", 0) for event in kernels)
    launches = [
        {
            "kernel": str(event["name"])[:MOST_NAME_CHARS],
            "grid": size_of(event, "grid"),
            "block": size_of(event, "block"),
            "share_frac": event.get("dur", 0) / total_us if total_us > 0 else 0.0,
        }
        for event in kernels[:MOST_LAUNCHES]
    ]
    return {"launches": launches, "launched": len(kernels)}


def size_of(event, name):
    """A size as ncu prints it: "(32, 8, 1)"."""
    sizes = event.get("args", {}).get(name, [])
    return "(" + ", ".join(str(size) for size in sizes[:3]) + ")"
