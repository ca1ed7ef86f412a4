# SPDX-License-Identifier: MIT
"""The page about trust: equal code, planted slowdowns, the clock, eager calls. From kept sessions,
by the program recorded_pairs, and from records of tests/bench in tests/data."""

import json
import math
import subprocess
import tarfile
from statistics import geometric_mean, median

from recorded import ROOT, archive_of, session_names

DATA = ROOT / "tests" / "data"
PLANTED = (
    "h200_trust_2026-11-28.json", "h200_trust_2026-11-26.json",
    "h200_trust_sustained_2026-11-26.json",
)  # fmt: skip
GAINS = "h200_gains_2026-11-28.json"  # after both causes of scatter were mended
FRESH = "h200_first_calls_2026-11-28.json"
ON_A_CPU = "cpu_trust_2026-11-28.json"
OBJECTIONS = ("absent", "unclear", "left_out")


def record(name):
    """What a script of tests/bench measured: a file of tests/data, or in its archive."""
    if not (DATA / name).is_file():
        with tarfile.open(DATA / "gpu_measurements.tar.gz") as tar:
            return json.load(tar.extractfile(f"gpu_measurements/{name}"))
    return json.loads((DATA / name).read_text())


def where():
    """How pages call those files: by their folder, or by the archive's."""
    packed = (DATA / "gpu_measurements.tar.gz").is_file()
    return "gpu_measurements" if packed else "tests/data"


def pairs_table(build):
    """recorded_pairs of every kept session of a GPU. Raises CalledProcessError."""
    words = [archive_of(name) for name in session_names() if not name.startswith("cpu-")]
    done = subprocess.run([build / "tests" / "bench" / "recorded_pairs", *words],
                          capture_output=True, text=True, check=True)  # fmt: skip
    return "\n".join(line for line in done.stdout.splitlines() if line.startswith("|"))


def planted_rows():
    for name in PLANTED:
        what = record(name)
        equal, planted = what["rows"]["equal"], what["rows"]["planted"]
        told = [row["outcome"] for row in equal]
        false = told.count("faster") + told.count("slower")
        yield (f"| equal code under two names, {what['regime']} | {len(equal)} | "
               f"{told.count('same')} `same`, {told.count('ambiguous')} `ambiguous`, "
               f"{false} false | `{where()}/{name}` |")  # fmt: skip
        for percent in sorted({what["percent"][row["asked"]] for row in planted}, reverse=True):
            rows = [row for row in planted if what["percent"][row["asked"]] == percent]
            found = sum(row["outcome"] == "slower" for row in rows)
            yield (f"| slowdown of {percent:g} % planted, {what['regime']} | {len(rows)} | "
                   f"{found} called `slower` | `{where()}/{name}` |")  # fmt: skip


def cpu_rows():
    what = record(ON_A_CPU)["rows"]
    told = [row["outcome"] for row in what["equal"]]
    false = told.count("faster") + told.count("slower")
    yield (f"| equal code under two names | {len(told)} | {told.count('same')} `same`, "
           f"{told.count('ambiguous')} `ambiguous`, {false} false |")  # fmt: skip
    for part, word, power in (("planted", "slower", -1), ("gains", "faster", 1)):
        for problem in dict.fromkeys(row["asked"] for row in what[part]):
            rows = [row for row in what[part] if row["asked"] == problem]
            us = median(row["against_us" if part == "planted" else "candidate_us"] for row in rows)
            share = median(row["speedup"] ** power for row in rows) - 1
            found = sum(row["outcome"] == word for row in rows)
            name = "slowdown planted" if part == "planted" else "true gain"
            yield (f"| {name} at {us:.0f} us, {share:.0%} as measured | {len(rows)} | "
                   f"{found} called `{word}` |")  # fmt: skip


def is_refused(row):
    """Fresh inputs spoke against it; who leaves out work has no speedup and no state."""
    state = (row["fresh"] or {}).get("state")
    return state in OBJECTIONS or (not row["speedup"] and "fresh inputs" in row["reason"])


def fresh_rows():
    for name in (GAINS, FRESH):
        what = record(name)
        for part, rows in what["rows"].items():
            for percent in sorted({what["percent"][row["asked"]] for row in rows}, reverse=True):
                own = [row for row in rows if what["percent"][row["asked"]] == percent]
                us = median(row["candidate_us"] for row in own)
                told = f"true gain of {percent:g} %" if part == "gains" else (
                    f"1.3x by {part.removeprefix('cheat_')}")  # fmt: skip
                won = sum(row["outcome"] == "faster" for row in own)
                refused = sum(map(is_refused, own))
                yield (f"| {told} at {us:.0f} us | {len(own)} | {won} | {refused} | "
                       f"`{name.removesuffix('.json')}` |")  # fmt: skip


def gains_by_class(name):
    """(all, those not called faster, median half width, median floor), shorter calls first."""
    what = record(name)
    for percent in sorted({what["percent"][row["asked"]] for row in what["rows"]["gains"]})[::-1]:
        rows = [row for row in what["rows"]["gains"] if what["percent"][row["asked"]] == percent]
        halves = [math.log(row["interval"]["high"] / row["interval"]["low"]) / 2 for row in rows]
        floors = [row["noise_floor_frac"] for row in rows]
        yield (
            len(rows),
            [r for r in rows if r["outcome"] != "faster"],
            median(halves),
            median(floors),
        )


def steadiness_sentence():
    (_, _, short, short_floor), (_, _, long, long_floor) = gains_by_class(GAINS)
    (_, _, old_short, old_short_floor), (_, _, old_long, old_long_floor) = gains_by_class(FRESH)
    return (f"The median interval went from ±{old_short:.2%} to ±{short:.2%} at 13 us and from "
            f"±{old_long:.2%} to ±{long:.2%} at 376 us, the noise floor from {old_short_floor:.2%} "
            f"to {short_floor:.2%} and from {old_long_floor:.2%} to {long_floor:.2%}.")  # fmt: skip


def missed_sentence():
    missed = [row for _, rows, _, _ in gains_by_class(GAINS) for row in rows]
    each = [f"{row['speedup']:.3f} [{row['interval']['low']:.3f}, {row['interval']['high']:.3f}]"
            for row in missed]  # fmt: skip
    return f"Not called `faster`: {', '.join(each)}."


def cause_rows():
    for row in record(GAINS)["causes"]["rows"]:
        if row["first_of_comparison"]:
            us = 13 if row["problem"].startswith("B=4 ") else 376
            yield (f"| {row['change']} | {us} | {row['speedup']:.3f} "
                   f"[{row['low']:.3f}, {row['high']:.3f}] | `{row['outcome']}` |")  # fmt: skip


def torch_rows():
    for row in record(FRESH)["beside_torch"]:
        fresh = row["fresh"]
        low, high = fresh["interval"]["low"], fresh["interval"]["high"]
        told = f"{fresh['speedup']:.3f} [{low:.3f}, {high:.3f}] | `{row['outcome']}` |"
        yield (f"| {row['problem']} | {row['against']} | {row['candidate_us']:.2f} | "
               f"{row['against_us']:.2f} | {row['speedup']:.3f} | {told}")  # fmt: skip


def truth_table():
    lines = [
        "| problem | median, us | CUPTI, us | traced | untraced |",
        "|---|---:|---:|---:|---:|",
    ]
    for row in record("h200_truth_2026-11-23.json")["problems"]:
        traced, untraced = row["deviation_frac"], row["untraced_deviation_frac"]
        lines.append(f"| {row['problem']} | {row['hot_us']:.2f} | {row['cupti_us']:.2f} | "
                     f"{traced:+.2%} | {untraced:+.2%} |")  # fmt: skip
    return "\n".join(lines)


def eager_sentence():
    rows = record("h200_eager_2026-11-25.json")["rows"]
    lowest = min(rows, key=lambda row: row["ratio"])
    mean = geometric_mean(row["ratio"] for row in rows)
    return (f"Geometric mean of {len(rows)} problems {mean:.3f}, the lowest {lowest['ratio']:.2f} "
            f"[{lowest['low']:.2f}, {lowest['high']:.2f}] (`{lowest['problem']}`).")  # fmt: skip


RULE = """The rule of [comparison](../contracts/measurement.md#comparison) on simulated machines.
`tests/unit/measure/simulation_test.cpp` runs it, and `unit_measure "[table]"` prints the table
again.

- The machines have a bias per process (uniform within ±3 %, or normal with standard deviation 3
  %), 1 % per placement, up to 5 % of linear drift, 0.5 % of sample noise, 3 % outlier samples
  (1.2 to 3 times) and 2 % outlier turns (1.1 to 1.5 times).
- Effort = instances × placements × rounds. Columns with a figure are shares of `faster` for that
  true speedup. False wins, `same` and the truth are over 10,000 comparisons of equal code.
- Noise floors are of ten interleaved processes of one placement and two rounds. (A session's are
  of five pairs one after the other, with the placements and rounds of its confirmations, so drift
  widens them.)

| bias | effort | false wins | equal same | holds truth | 1.05 | 1.10 | 1.20 | 1.50 | resolution |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
| ±3 % | 1 × 1 × 2 | 0.09 % | 4 % | 99.7 % | 5 % | 32 % | 85 % | 100 % | 14 % |
| ±3 % | 2 × 1 × 2 | 0.05 % | 31 % | 99.8 % | 8 % | 47 % | 97 % | 100 % | 11 % |
| ±3 % | 5 × 3 × 1 | 0.04 % | 89 % | 99.7 % | 25 % | 94 % | 100 % | 100 % | 6 % |
| ±3 % | 8 × 3 × 2 | 0.04 % | 99 % | 99.6 % | 75 % | 99 % | 100 % | 100 % | 4 % |
| normal 3 % | 1 × 1 × 2 | 0.15 % | 0 % | 99.4 % | 2 % | 9 % | 56 % | 99 % | 20 % |
| normal 3 % | 2 × 1 × 2 | 0.08 % | 5 % | 99.8 % | 2 % | 13 % | 73 % | 100 % | 17 % |
| normal 3 % | 5 × 3 × 1 | 0.03 % | 51 % | 99.6 % | 4 % | 47 % | 98 % | 100 % | 11 % |
| normal 3 % | 8 × 3 × 2 | 0.03 % | 96 % | 99.6 % | 18 % | 92 % | 100 % | 100 % | 7 % |

With processes 0.35 % apart (a large problem), 5 × 3 × 1 resolves 1.5 %: a true 2 % is found in 91
of 100 cases, and equal code is called `same` in 87. Where processes lie 3 % apart equal code is
seldom `same` by one or two processes a side: their interval reaches beyond a tenth, and says no
more than `ambiguous`. So: for small gains on small problems raise the number of processes, not of
rounds.
"""


def page(build):
    return f"""# Trust

## Equal code in recorded sessions

Each baseline and each `compare` times one subject in two processes of every instance, for the
noise floor. Those two, compared with each other as [sessions
compare](../contracts/measurement.md#comparison), must not be told apart. All kept sessions of an
H200, plan hot; most of the subjects are PyTorch's:

{pairs_table(build)}

A false verdict says `faster` or `slower` of equal code; at 99 % about one in a hundred may, and
the program names each. Sessions of a CPU are left out: their processes lie far apart, and their
pairs are `ambiguous`.

```sh
build/release/tests/bench/recorded_pairs sessions/h200-part2-gqa
```

## Equal code and slowdowns on purpose

Comparisons of equal code under two names, and of a kernel that was made slower by a known share;
H200, driver 580, quick effort, `tests/bench/gpu_trust.py`.

| what | comparisons | answers | record |
|---|---:|---|---|
{chr(10).join(planted_rows())}

On a CPU (an Intel Xeon virtual machine of 16 CPUs, four comparisons at once on 4 CPUs each; calls
of 30 to 102 us; record `{where()}/{ON_A_CPU}`):

| what | comparisons | answers |
|---|---:|---|
{chr(10).join(cpu_rows())}

```sh
tests/bench/gpu_trust.py SDPA_WB --backend cpu --pairs 150 --plants 5 --gains 13 \\
  --plant-effort quick
```

## Gains on fresh inputs

What is called `faster` has to stand on [fresh inputs](../contracts/measurement.md#fresh-inputs),
too. Comparisons of a kernel with a copy that was made slower by a known share, and of kernels
whose timed calls leave out a delay that calls on fresh inputs have: `memory` where the inputs are
those of the call before, `pause` where another call came right before. H200, driver 580, nvcc
13.0, quick effort, `tests/bench/gpu_trust.py`; records in `{where()}`.

| what | comparisons | called `faster` | refused on fresh inputs | record |
|---|---:|---:|---:|---|
{chr(10).join(fresh_rows())}

The goal is `faster` for 49 of 50 gains, and for no cheat. {missed_sentence()}

The 60 gains of `h200_first_calls` were taken before two causes of scatter were mended, both of the
workbench's own:

- *A process that makes its context.* The worker started the process of the next load beside the
  first turns of each comparison. Until it had its context, calls of 13 us took 15 to 25. Turns wait
  for it now ([subjects](../contracts/worker_protocol.md#subjects)).
- *A copy that came late.* Figures were held to the supervisor's clock until the judge had copied
  the output. Where that message came late, a turn's last block, which is always judged, read 2 to
  12 % too long: one of eight did, and next to none of the first blocks. It is in no figure now
  ([the figure of a block](../contracts/measurement.md#the-figure-of-a-block)).

{steadiness_sentence()} What was tried before, on the first problem of a comparison (same record):

| changed | us | speedup, 99 % | answer |
|---|---:|---:|---|
{chr(10).join(cause_rows())}

A pause serves as well as calls, so it was not the clock (1,980 MHz in each reading), and 0.3 s of
calls of 376 us reach the power limit of 700 W, where times differ by a tenth. Tried in vain against
late blocks: 2 to 20 ms of rest before them, more readings of the device, settling again, judging
each or none of the blocks before the last.

Beside PyTorch, whose process is of another kind; times in us:

| problem | against | ours | its | timed calls | fresh inputs, 99.8 % | answer |
|---|---|---:|---:|---:|---:|---|
{chr(10).join(torch_rows())}

## The clock

Hot medians beside CUPTI's kernel durations (`sm80_mma_flash`, H200, 2026-11-23). Traced: the
median with CUPTI attached, less the gap between kernels, against the mean of the kernels; the
goal is 5 % from 10 us and 2 % from 100 us on. Untraced: the session's own median. The longer
calls run at the power limit, where clocks of two runs differ. Made again by `sdpa-wb-gpu-test
"[truth]"`.

{truth_table()}

## Eager calls from a program

Both sides as operators of PyTorch, called in one loop by a Python program, ours from `sdpa-wb
export --torch`: problems of n6, short, iteration3 and v3 whose fastest backend takes less than
30 us (H200, PyTorch 2.11, 2026-11-25). {eager_sentence()}

```sh
tests/bench/eager_calls.py SDPA_WB --suite n6 short iteration3 v3 --under 30
```

## Known truth

{RULE}"""
