# SPDX-License-Identifier: MIT
"""Interim GPU driver for kernel work: checks and times compiled variants beside PyTorch's SDPA.

    python3 driver.py --lib NAME=PATH.so ... --suites decode,short --select REGEX
                      [--check-edges] [--no-time] [--json FILE]

Hot plan only: N calls on one buffer set in one CUDA graph, timed replays in ABBA turns over all
subjects, several buffer placements, one process. The figure of a subject is the median over
placements of the median over its turns.

What it does not do (the workbench does): fresh processes per subject, A/A noise floor and
bootstrap intervals, cold and eager plans, burst and sustained regimes, a second witness on the
clock, isolation of the candidate, the Philox inputs of sessions (torch's generator is used), a
verdict on timed outputs. Repeats between processes differ by up to 3 % near 5 us: quote nothing
finer.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys

import abi
import edges
import oracle
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right

TORCH_DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
RIVALS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}
GUARD = 4096  # elements before and after an output that nothing may touch


def make(shape, layout, dtype, generator, magnitude=1.0):
    b, h, s, d = shape
    x = torch.randn(
        (b, s, h, d) if layout == "BSHD" else shape, device="cuda", dtype=dtype, generator=generator
    )
    if magnitude != 1.0:
        x *= magnitude
    return x.transpose(1, 2) if layout == "BSHD" else x


def inputs(p, seed, magnitude=1.0):
    g = torch.Generator(device="cuda").manual_seed(seed)
    dtype, layout = TORCH_DTYPES[p["dtype"]], p.get("layout", "BHSD")
    dv = p.get("Dv", p["D"])
    q = make((p["B"], p["Hq"], p["Sq"], p["D"]), layout, dtype, g, magnitude)
    k = make((p["B"], p["Hkv"], p["Skv"], p["D"]), layout, dtype, g, magnitude)
    v = make((p["B"], p["Hkv"], p["Skv"], dv), layout, dtype, g)
    return q, k, v


def mask_of(p, seed):
    """The problem's mask as its shape says, or None. `empty`: every fifth row keeps nothing."""
    spec = p.get("mask")
    if spec is None:
        return None
    g = torch.Generator(device="cuda").manual_seed(1000 + seed)
    names = spec["shape"].strip("[]").split(",")
    shape = [1 if n == "1" else p[n] for n in names]
    if spec["kind"] == "bool":
        mask = torch.rand(shape, device="cuda", generator=g) < spec.get("keep_frac", 0.7)
        if spec.get("empty"):
            mask[:, :, ::5] = False
        return mask
    mask = torch.randn(shape, device="cuda", generator=g).to(TORCH_DTYPES[p["dtype"]])
    if spec.get("empty"):
        mask[:, :, ::5] = -torch.inf
        mask[:, :, 1::5] = torch.finfo(mask.dtype).min
    return mask


class Output:
    """An output tensor poisoned with random bits between two guards."""

    def __init__(self, q, dv, layout):
        b, h, s, _ = q.shape
        words = torch.int32 if q.dtype == torch.float32 else torch.int16
        limit = torch.iinfo(words)
        self.raw = torch.randint(
            limit.min, limit.max, (2 * GUARD + b * h * s * dv,), device="cuda", dtype=words
        )
        self.before = self.raw.clone()
        body = self.raw[GUARD:-GUARD].view(q.dtype)
        self.out = (
            body.view(b, s, h, dv).transpose(1, 2) if layout == "BSHD" else body.view(b, h, s, dv)
        )

    def guards_intact(self):
        return bool(
            (self.raw[:GUARD] == self.before[:GUARD]).all()
            and (self.raw[-GUARD:] == self.before[-GUARD:]).all()
        )


def scale_of(p):
    return p.get("scale", p["D"] ** -0.5)


def check(variant, p):
    """Three seeds and a large-magnitude draw; every plan runs twice to show it leaves its
    workspace as it found it. Returns (state, worst use of the budget, text)."""
    worst, layout = 0.0, p.get("layout", "BHSD")
    for seed, magnitude in ((1, 1.0), (2, 1.0), (3, 1.0), (4, 4.0)):
        q, k, v = inputs(p, seed, magnitude)
        mask = mask_of(p, seed)
        first = None
        for lse_wanted in (True, False, True):
            place = Output(q, v.shape[3], layout)
            lse = torch.full(q.shape[:3], float("nan"), device="cuda") if lse_wanted else None
            if first is None:
                try:
                    plan = abi.Plan(
                        variant, q, k, v, place.out, lse, p["causal"], scale_of(p), mask
                    )
                except abi.Unsupported as why:
                    return "unsupported", None, str(why)
            else:
                plan.args.out = place.out.data_ptr()
                plan.args.lse = lse.data_ptr() if lse_wanted else None
            if lse_wanted:
                plan()
                torch.cuda.synchronize()
            else:
                continue
            if not place.guards_intact():
                return "wrong", worst, "wrote outside the output"
            if first is None:
                first = place.out.clone()
                ok, use, text = oracle.judge(
                    place.out, lse, q, k, v, p["causal"], scale_of(p), mask
                )
                worst = max(worst, use)
                if not ok:
                    return "wrong", worst, f"seed {seed} x{magnitude}: {text}"
            elif not torch.equal(first, place.out):
                return "wrong", worst, "two calls on the same inputs differ"
        plan.close()
    return "ok", worst, ""


def rival_call(p, backend, q, k, v, mask):
    gqa = p["Hq"] != p["Hkv"]
    causal = p["causal"] == "top_left"
    if mask is not None and p["causal"] != "none":
        raise ValueError("a mask under a causal rule is checked, not timed")
    if p["causal"] == "bottom_right":
        if backend == "flash":
            mask = causal_lower_right(p["Sq"], p["Skv"])
        else:
            mask = oracle.keep_mask("bottom_right", p["Sq"], p["Skv"], "cuda")

    def call():
        with sdpa_kernel(RIVALS[backend]):
            return F.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, is_causal=causal, scale=scale_of(p), enable_gqa=gqa
            )

    return call


def capture(call, calls):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
        call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    return graph


def replay_us(graph, calls, replays):
    times = []
    for _ in range(replays):
        a, b = torch.cuda.Event(True), torch.cuda.Event(True)
        a.record()
        graph.replay()
        b.record()
        b.synchronize()
        times.append(a.elapsed_time(b) * 1e3 / calls)
    return statistics.median(times)


def time_placement(p, variants, seed, rounds):
    """us per subject: {name: [turn medians]} for one set of buffers."""
    q, k, v = inputs(p, seed)
    mask = mask_of(p, seed)
    layout = p.get("layout", "BHSD")
    calls = {}
    for variant in variants:
        try:
            place = Output(q, v.shape[3], layout)
            calls[variant.name] = abi.Plan(
                variant, q, k, v, place.out, None, p["causal"], scale_of(p), mask
            )
        except abi.Unsupported:
            pass
    for backend in RIVALS:
        calls[backend] = rival_call(p, backend, q, k, v, mask)
    graphs, counts, guess = {}, {}, {}
    for name, call in calls.items():
        try:
            one = capture(call, 2)
            one.replay()
            guess[name] = replay_us(one, 2, 3)
            counts[name] = max(2, min(100, int(1000 / guess[name])))
            graphs[name] = capture(call, counts[name]) if counts[name] > 2 else one
        except Exception as why:  # a backend that refuses the problem
            if name not in RIVALS:
                raise
            calls[name] = None
            torch.cuda.synchronize()
            del why
    fastest = min(guess.values())
    names = [n for n in graphs if guess[n] < 6 * fastest or n not in RIVALS]
    turns = {n: [] for n in graphs}
    for n in graphs:
        if n not in names:
            turns[n] = [guess[n]]
    for turn in range(rounds):
        for name in names if turn % 2 == 0 else reversed(names):
            per_replay = counts[name] * guess[name]
            replay_us(graphs[name], counts[name], max(2, int(2500 / per_replay)))
            turns[name].append(
                replay_us(graphs[name], counts[name], max(3, min(25, int(5000 / per_replay))))
            )
    for plan in calls.values():
        if isinstance(plan, abi.Plan):
            plan.close()
    return turns


def time_problem(p, variants, placements, rounds):
    size = 2 if p["dtype"] != "f32" else 4
    if 2 * p["B"] * p["Hkv"] * p["Skv"] * p["D"] * size > 1e9:
        placements = 1
    seen = {}
    keep = []  # holds earlier placements' memory so that the next one lands elsewhere
    for i in range(placements):
        for name, turns in time_placement(p, variants, 100 + i, rounds).items():
            seen.setdefault(name, []).append(statistics.median(turns))
        keep.append(torch.empty(3_000_000 + 700_000 * i, dtype=torch.uint8, device="cuda"))
    return {
        n: {"us": statistics.median(x), "low_us": min(x), "high_us": max(x)}
        for n, x in seen.items()
    }


def environment():
    query = "name,driver_version,clocks.sm,clocks.mem,power.draw,temperature.gpu"
    smi = subprocess.run(
        ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "gpu": smi,
    }


def print_row(name, row, variants):
    rivals = {n: row[n]["us"] for n in RIVALS if n in row}
    best = min(rivals, key=rivals.get) if rivals else None
    text = f"{name:26s} best {best or '-':9s} {rivals.get(best, float('nan')):8.2f} |"
    for v in variants:
        if v.name in row:
            us = row[v.name]["us"]
            text += f" {v.name} {us:8.2f} {rivals[best] / us if best else 0:5.2f}x"
        else:
            text += f" {v.name}        -      "
    others = " ".join(f"{n} {us:.1f}" for n, us in rivals.items() if n != best)
    print(text + " | " + others, flush=True)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--lib", action="append", default=[], help="NAME=PATH of a compiled variant")
    ap.add_argument("--suites", default="")
    ap.add_argument("--select", default=".")
    ap.add_argument("--check-edges", action="store_true")
    ap.add_argument("--edge-select", default=".", help="REGEX over the edge problems' text")
    ap.add_argument("--no-check", action="store_true")
    ap.add_argument("--no-time", action="store_true")
    ap.add_argument("--placements", type=int, default=3)
    ap.add_argument("--rounds", type=int, default=6)
    ap.add_argument("--json")
    opt = ap.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    variants = [abi.Variant(*lib.split("=", 1)) for lib in opt.lib]
    root = pathlib.Path(__file__).resolve().parents[3]
    suites = json.loads((root / "kernels" / "suites.json").read_text())["suites"]
    record = {"environment": environment(), "problems": {}, "edges": {}, "wrong": []}
    print(record["environment"], flush=True)
    if opt.check_edges:
        for p in edges.problems():
            if not re.search(opt.edge_select, edges.text(p)):
                continue
            for v in variants:
                state, use, text = check(v, p)
                record["edges"].setdefault(v.name, {}).setdefault(state, []).append(edges.text(p))
                if state == "wrong":
                    record["wrong"].append([v.name, edges.text(p), text])
                    print("WRONG", v.name, edges.text(p), text, flush=True)
        for v in variants:
            print("edges", v.name, {s: len(x) for s, x in record["edges"][v.name].items()})
    done = set()
    for suite in filter(None, opt.suites.split(",")):
        for p in suites[suite]["problems"]:
            if p["name"] in done or not re.search(opt.select, p["name"]):
                continue
            done.add(p["name"])
            verdicts = {}
            for v in variants if not opt.no_check else []:
                state, use, text = check(v, p)
                verdicts[v.name] = [state, use]
                if state == "wrong":
                    record["wrong"].append([v.name, p["name"], text])
                    print("WRONG", v.name, p["name"], text, flush=True)
            right = [v for v in variants if verdicts.get(v.name, ["ok"])[0] == "ok"]
            row = {"suite": suite, "verdicts": verdicts}
            if not opt.no_time:
                row["subjects"] = time_problem(p, right, opt.placements, opt.rounds)
                print_row(p["name"], row["subjects"], variants)
            record["problems"][p["name"]] = row
            torch.cuda.empty_cache()
    record["environment_after"] = environment()
    print(record["environment_after"]["gpu"], "wrong:", len(record["wrong"]))
    if opt.json:
        pathlib.Path(opt.json).write_text(json.dumps(record, separators=(",", ":")))
    return 1 if record["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
