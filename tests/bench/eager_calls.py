#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Eager calls from Python, ours beside PyTorch's in one loop: what programs without graphs see.

    eager_calls.py SDPA_WB --suite n6 [--under 30] [--kernel NAME] [--output FILE.json]

Sessions measure compiled variants from C++ and libraries from Python, so their `eager` figures do
not compare the two. Here both are operators of PyTorch, registered in C++: a variant is judged in a
session, exported (`export --torch`), compiled, and called as a program would. For each problem
(`--suite`, `--problem`) the variant is what the dispatch rules choose (`--kernel`: that one), the
rivals are PyTorch's default and each backend that takes the problem, forced. In each of
`--processes` fresh processes: `--rounds` rounds, forth and back over all of them, each a loop of
calls between two synchronisations; a figure is wall time over calls. Prints a table in Markdown:
per problem the fastest rival, ratios above 1 are ours ahead, with the 99 % interval of Student's t
over the processes' log ratios. `--under N`: only problems whose fastest rival takes less than N us
a call when it is replayed from a graph.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BACKENDS = {
    "torch_flash": "FLASH_ATTENTION",
    "torch_cudnn": "CUDNN_ATTENTION",
    "torch_efficient": "EFFICIENT_ATTENTION",
    "torch_math": "MATH",
}
T_99 = {1: 63.657, 2: 9.925, 3: 5.841, 4: 4.604, 5: 4.032, 6: 3.707, 7: 3.499}


def answer(program, *words):
    told = subprocess.run([program, *words, "--json"], capture_output=True, text=True)
    if told.returncode != 0:
        raise SystemExit(f"eager_calls.py: {words[0]} ended with {told.returncode}: {told.stderr}")
    return json.loads(told.stdout)


def shape_of(problem):
    """The problem's text as a dict. Masks and layouts are not for this bench."""
    words = dict(re.findall(r"(\w+)=(\S+)", problem))
    if "mask" in words or "layout" in words or "scale" in words:
        raise SystemExit(f"eager_calls.py: {problem}: only plain problems")
    shape = {key: int(words[key]) for key in ("B", "Hq", "Sq", "D")}
    shape["Hkv"] = int(words.get("Hkv", shape["Hq"]))
    shape["Skv"] = int(words.get("Skv", shape["Sq"]))
    shape["causal"] = words.get("causal", "none")
    if shape["causal"] == "bottom_right" and shape["Sq"] != shape["Skv"]:
        raise SystemExit(f"eager_calls.py: {problem}: PyTorch's is_causal counts from the top left")
    shape["dtype"] = re.search(r"\b(f16|bf16|f32)\b", problem).group(1)
    return shape


def chosen(program, problem, device, kernel):
    if kernel:
        return kernel
    return answer(program, "best", "--problem", problem, "--device", device)["variant"]


def export(program, folder, kernel, problems):
    """The package of a variant that passed on all the problems, compiled."""
    session, package = folder / f"s_{kernel}", folder / f"p_{kernel}"
    words = ["--start", kernel, "--problem", problems[0], "--rivals", "none", "--effort", "quick"]
    answer(program, "open", "--session", session, *words)
    for problem in problems[1:]:
        verdict = answer(program, "check", kernel, "--problem", problem, "--session", session)
        if not verdict["pass"]:
            raise SystemExit(f"eager_calls.py: {kernel} failed its verdict on {problem}")
    answer(program, "export", kernel, "--session", session, "--torch", "--output", package)
    words = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(words, cwd=package, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"eager_calls.py: {kernel} cannot be compiled:\n{done.stderr}")
    return package, f"{kernel}_op"


def measure(plan):
    """One process: for each problem {subject: [us a call, by round]} and times by a graph."""
    import contextlib
    import importlib
    import time

    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention as sdpa

    device = plan["device"]
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    rows = []
    for item in plan["items"]:
        shape = item["shape"]
        if item["package"] not in sys.path:
            sys.path.insert(0, item["package"])
        package = importlib.import_module(item["name"])
        dtype = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[shape["dtype"]]
        torch.manual_seed(plan["seed"])

        def tensor(heads, length, shape=shape, dtype=dtype):
            made = torch.randn(shape["B"], heads, length, shape["D"], device=device)
            return made.to(dtype)

        q = tensor(shape["Hq"], shape["Sq"])
        k, v = tensor(shape["Hkv"], shape["Skv"]), tensor(shape["Hkv"], shape["Skv"])
        causal = shape["causal"]
        scale = 1 / math.sqrt(shape["D"])
        gqa = {"enable_gqa": True} if shape["Hq"] != shape["Hkv"] else {}
        forward = getattr(torch.ops, item["name"]).forward

        def theirs(q=q, k=k, v=v, causal=causal, gqa=gqa):
            return sdpa(q, k, v, is_causal=causal != "none", **gqa)

        calls_of = {
            "ours": (contextlib.nullcontext,
                     lambda q=q, k=k, v=v, causal=causal, scale=scale, forward=forward:
                     forward(q, k, v, None, causal, scale)),
            "torch_default": (contextlib.nullcontext, theirs),
        }  # fmt: skip
        for name, word in BACKENDS.items():
            calls_of[name] = (
                lambda word=word: sdpa_kernel(getattr(SDPBackend, word)),
                theirs,
            )
        for name in list(calls_of):  # a backend that does not take the problem says so
            within, call = calls_of[name]
            try:
                with within():
                    call()
                wait()
            except RuntimeError:
                if name == "ours":
                    raise
                del calls_of[name]
        before = package.counts()
        times = {name: [] for name in calls_of}

        def turn(name, calls_of=calls_of):
            within, call = calls_of[name]
            with within():
                for _ in range(10):
                    call()
                wait()
                begin = time.perf_counter()
                for _ in range(plan["calls"]):
                    call()
                wait()
                return (time.perf_counter() - begin) / plan["calls"] * 1e6

        for name in calls_of:
            turn(name)
        for _ in range(plan["rounds"]):
            order = list(calls_of)
            for name in order + order[::-1]:
                times[name].append(turn(name))
        after = package.counts()
        hot = {}
        if device == "cuda":
            for name, (within, call) in calls_of.items():
                with within(), contextlib.suppress(RuntimeError):
                    hot[name] = graph_us(torch, call)
        fell_back = after["fallback"] - before["fallback"]
        rows.append({"problem": item["problem"], "times_us": times, "hot_us": hot,
                     "fell_back": fell_back})  # fmt: skip
    print(json.dumps({"torch": torch.__version__, "rows": rows}))


def graph_us(torch, call, calls=50, replays=20):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in "be")
    graph.replay()
    begin.record()
    for _ in range(replays):
        graph.replay()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1e3 / (calls * replays)


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return (ordered[middle] + ordered[~middle]) / 2


def ratio_of(processes, rival):
    """Geometric mean over the processes' median ratios, with its interval."""
    logs = [
        median([math.log(b / a) for a, b in zip(row["times_us"]["ours"], row["times_us"][rival],
                                                strict=True)])
        for row in processes
    ]  # fmt: skip
    mean, n = sum(logs) / len(logs), len(logs)
    if n < 2:
        return math.exp(mean), None, None
    sd = math.sqrt(sum((x - mean) ** 2 for x in logs) / (n - 1))
    half = T_99[min(n - 1, 7)] * sd / math.sqrt(n)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def summary(processes, kernels, under):
    """One row a problem: the fastest rival and our ratio to it."""
    rows = []
    for place, first in enumerate(processes[0]["rows"]):
        same = [process["rows"][place] for process in processes]
        if any(row["fell_back"] for row in same):
            raise SystemExit(f"eager_calls.py: {first['problem']}: a call of ours fell back")
        rivals = [name for name in first["times_us"] if name != "ours"]
        hot = {name: median([row["hot_us"][name] for row in same])
               for name in rivals if all(name in row["hot_us"] for row in same)}  # fmt: skip
        if under and hot and min(hot.values()) >= under:
            continue
        fastest = min(rivals, key=lambda name: ratio_of(same, name)[0])
        ratio, low, high = ratio_of(same, fastest)
        eager = {name: median([median(row["times_us"][name]) for row in same])
                 for name in first["times_us"]}  # fmt: skip
        rows.append({"problem": first["problem"], "kernel": kernels[first["problem"]],
                     "rival": fastest, "ours_us": eager["ours"], "rival_us": eager[fastest],
                     "ratio": ratio, "low": low, "high": high, "eager_us": eager,
                     "hot_us": hot})  # fmt: skip
    return rows


def table(rows):
    lines = ["| problem | kernel | us a call | fastest rival | us a call | ratio (99 %) |",
             "|---|---|---:|---|---:|---:|"]  # fmt: skip
    for row in rows:
        span = "" if row["low"] is None else f" ({row['low']:.2f} to {row['high']:.2f})"
        lines.append(f"| {row['problem']} | {row['kernel']} | {row['ours_us']:.1f} | {row['rival']}"
                     f" | {row['rival_us']:.1f} | {row['ratio']:.2f}{span} |")  # fmt: skip
    if rows:
        mean = math.exp(sum(math.log(row["ratio"]) for row in rows) / len(rows))
        lowest = min(row["ratio"] for row in rows)
        lines += ["", f"{len(rows)} problems: geometric mean {mean:.3f}, lowest {lowest:.3f}"]
    return "\n".join(lines)


def main():
    if sys.argv[1:2] == ["--measure"]:
        measure(json.loads(Path(sys.argv[2]).read_text()))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--suite", nargs="+", default=[])
    parser.add_argument("--problem", nargs="+", default=[])
    parser.add_argument("--kernel")
    parser.add_argument("--device", default="NVIDIA H200", help="as the dispatch rules name it")
    parser.add_argument("--under", type=float, help="us a call of the fastest rival, from a graph")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    problems = list(given.problem)
    for suite in given.suite:
        for found in answer(given.program, "suites", suite)["suites"]:
            problems += [problem["problem"] for problem in found["problems"]]
    problems = list(dict.fromkeys(problems))
    if not problems:
        parser.error("name a suite or a problem")
    kernels = {p: chosen(given.program, p, given.device, given.kernel) for p in problems}
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def made(kernel):
            return export(
                given.program, folder, kernel, [p for p in problems if kernels[p] == kernel]
            )

        with ThreadPoolExecutor(4) as pool:
            names = sorted(set(kernels.values()))
            packages = dict(zip(names, pool.map(made, names), strict=True))
        items = [{"problem": p, "shape": shape_of(p), "package": str(packages[kernels[p]][0]),
                  "name": packages[kernels[p]][1]} for p in problems]  # fmt: skip
        processes = []
        for seed in range(given.processes):
            plan = {"device": device, "items": items, "rounds": given.rounds,
                    "calls": given.calls, "seed": seed}  # fmt: skip
            (folder / "plan.json").write_text(json.dumps(plan))
            done = subprocess.run(
                [sys.executable, __file__, "--measure", folder / "plan.json"],
                capture_output=True, text=True, env=os.environ,
            )  # fmt: skip
            if done.returncode != 0:
                raise SystemExit(f"eager_calls.py: a process failed:\n{done.stderr}")
            processes.append(json.loads(done.stdout.splitlines()[-1]))
    rows = summary(processes, kernels, given.under)
    if given.output:
        given.output.write_text(json.dumps({"torch": processes[0]["torch"], "rows": rows,
                                            "processes": processes}, indent=1))  # fmt: skip
    print(table(rows))
    if not rows:
        raise SystemExit("eager_calls.py: no problem is left")


if __name__ == "__main__":
    main()
