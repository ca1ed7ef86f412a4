"""Can `sdpa-wb compare` be believed on this GPU? Real comparisons in fresh processes, plan hot:
equal code under two names, which must not be called faster or slower; a planted slowdown
(planted.py), which must be found; and the same two the other way round (--gains), a true gain,
which has to stand on fresh inputs as well and must be called faster. With --cheats kernels whose
timed calls leave out work that first calls on fresh inputs have to do, and whose gain of 1.3x must
never be called faster. Usage:

  gpu_trust.py SDPA_WB [--pairs 100] [--gains 0] [--seconds 540] [--regime burst] [--out FILE] ...

A pair is one problem in one comparison; a comparison takes all problems of a backend at once. The
parts take turns, so what --seconds allows is spent on both; with --append, FILE of --out is
gone on with, under the delays that it holds. Its rows are on disk after each comparison. On the
CPU backend it shows itself right, with slowdowns that two busy CPUs resolve. Exit status: 0 goals
met by what was measured, 1 missed, 2 a fault of the script or of what it runs, 76 the machine was
too busy to go on, or fewer than half of the pairs of a row have an answer.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import planted

ROOT = Path(__file__).resolve().parents[2]
EXIT_ENVIRONMENT = planted.EXIT_ENVIRONMENT
MOST_BUSY = 3  # comparisons one after the other that the machine refuses
PROBLEMS = {  # by about what a call takes on an H200
    "cuda": {
        "10 us": ["B=4 Hq=8 Sq=512 D=64 bf16", "B=3 Hq=10 Sq=512 D=64 bf16",
                  "B=4 Hq=8 Sq=480 D=64 bf16"],
        "5 us": ["B=1 Hq=8 Sq=512 D=64 bf16", "B=1 Hq=8 Sq=448 D=64 bf16",
                 "B=1 Hq=6 Sq=512 D=64 bf16"],
        "25 us": ["B=8 Hq=12 Sq=512 D=64 bf16", "B=6 Hq=16 Sq=512 D=64 bf16",
                  "B=8 Hq=13 Sq=480 D=64 bf16"],
        "400 us": ["B=6 Hq=32 Sq=2048 D=64 bf16 causal=top_left",
                   "B=8 Hq=26 Sq=2048 D=64 bf16 causal=top_left",
                   "B=6 Hq=30 Sq=2048 D=64 bf16 causal=top_left"],
    },
    "cpu": {
        "20 us": ["B=1 Hq=1 Sq=64 D=32 f32"],
        "100 us": ["B=1 Hq=2 Sq=96 D=32 f32"],
        "400 us": ["B=1 Hq=2 Sq=192 D=64 f32 causal=top_left"],
    },
}  # fmt: skip
SUSTAINED_PAIR_S = 12  # 20 turns of half a second: a guess for the first comparison
LONG_US = 50  # from here on the smaller slowdown is planted
PERCENT = {"cuda": (5.0, 2.0), "cpu": (50.0, 50.0)}  # below and above LONG_US
ENOUGH_EQUAL = 100  # pairs that the goal speaks of
# Of each part of planted pairs: the word that is wanted, in how many of how many.
WANTED = {"planted": ("slower", 19, 20), "gains": ("faster", 49, 50)}
CHEATS = [f"cheat_{name}" for name in planted.CHEATS]
CHEATS_PERCENT = 30


class Bench:
    """Runs sdpa-wb with the kernels of a folder of its own."""

    def __init__(self, options, folder):
        self.backend, self.folder = options.backend, folder
        self.program = Path(options.program).resolve()
        self.cache = Path(options.cache).resolve() if options.cache else folder / "cache"
        self.device = ["--gpu", str(options.gpu)] if options.backend == "cuda" else []

    def argv(self, *words):
        return [
            str(self.program), *map(str, words), *self.device, "--path", str(self.folder),
            "--path", str(ROOT), "--cache", str(self.cache), "--quiet", "--json",
        ]  # fmt: skip

    def start(self, *words):
        return subprocess.Popen(
            self.argv(*words), cwd=self.folder, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *words):
        return subprocess.run(
            self.argv(*words), cwd=self.folder, capture_output=True, text=True, check=True
        )

    def json(self, *words):
        return json.loads(self.run(*words).stdout)


class Part:
    """Pairs of one kind: `candidate` beside `against`, each problem as often as the others."""

    def __init__(self, name, candidate, against, wanted, effort, problems, pair_s):
        self.name, self.kernels, self.problems = name, (candidate, against), problems
        self.wanted, self.effort = wanted, effort
        self.rows, self.pair_s, self.compares = [], pair_s, 0

    def done_frac(self):
        return len(self.rows) / self.wanted if self.wanted else 1.0

    def next_problems(self, batch):
        """Those with the fewest pairs so far, so that a limit cuts all classes alike."""
        counts = {problem: 0 for problem in self.problems}
        for row in self.rows:
            counts[row["asked"]] += 1
        ordered = sorted(self.problems, key=lambda problem: counts[problem])
        return ordered[: min(batch, self.wanted - len(self.rows))]

    def take(self, bench, regime, problems):
        """One comparison. False where the machine was too busy."""
        kernels = self.kernels
        if self.name == "equal" and self.compares % 2:
            kernels = kernels[::-1]  # neither name has a place of its own
        self.compares += 1
        begin = time.monotonic()
        try:
            answer = bench.json(
                "compare", *kernels, "--problem", ";".join(problems), "--regime", regime,
                "--effort", self.effort,
            )  # fmt: skip
        except subprocess.CalledProcessError as failure:
            if failure.returncode == EXIT_ENVIRONMENT:
                print(failure.stderr.strip(), file=sys.stderr, flush=True)
                return False
            raise
        self.pair_s = (time.monotonic() - begin) / len(problems)
        rows = answer["problems"]
        if len(rows) != len(problems):
            raise RuntimeError(f"{len(rows)} answers on {len(problems)} problems")
        for asked, row in zip(problems, rows, strict=True):
            kept = ("outcome", "speedup", "interval", "noise_floor_frac", "candidate_us",
                    "against_us", "reason", "fresh")  # fmt: skip
            self.rows.append({"asked": asked} | {key: row.get(key) for key in kept})
        return True


def class_of(backend, problem):
    classes = PROBLEMS[backend]
    return next((name for name, problems in classes.items() if problem in problems), problem)


def prepare(bench, options, problems, state):
    """The kernels: a twin, and base and slow copies whose delays are measured unless known."""
    source = planted.SOURCES[bench.backend]
    names = [source]
    if options.pairs:
        bench.run("new", "twin", "--from", source, "--in", bench.folder)
        names.append("twin")
    if options.plants or options.gains or options.cheats:
        planted.plant(bench, "planted_base", 0)
        planted.plant(bench, "planted_probe", planted.PROBE_UNITS[bench.backend])
        names += ["planted_base", "planted_probe"]
    planted.build_all(bench, names)
    if not options.plants and not options.gains and not options.cheats:
        return
    if "units" not in state:
        found = planted.calibrate(bench, problems)
        low, high = options.percent or PERCENT[bench.backend]
        percents = [high if us > LONG_US else low for us in found["base_us"]]
        state["calibration"] = found
        state["percent"] = dict(zip(problems, percents, strict=True))
        state["units"] = {
            problem: round(us * percent / 100 / found["unit_us"])
            for problem, us, percent in zip(problems, found["base_us"], percents, strict=True)
        }
    planted.plant(bench, "planted_slow", state["units"])
    made = ["planted_slow"]
    if options.cheats:
        calibration = state["calibration"]
        units = {
            problem: round(us * CHEATS_PERCENT / 100 / calibration["unit_us"])
            for problem, us in zip(problems, calibration["base_us"], strict=True)
        }
        planted.plant(bench, "planted_third", units)
        for name, when in planted.CHEATS.items():
            planted.plant(bench, f"planted_{name}", units, when)
        made += ["planted_third", *(f"planted_{name}" for name in planted.CHEATS)]
    planted.build_all(bench, made)


def answered_of(rows, enough):
    """The rows that have a speedup, whether at least half do, and what else is to be said. A pair
    that failed says "ambiguous" and has none: it is neither a false verdict nor a slowdown missed.
    """
    answered = [row for row in rows if row["speedup"]]
    words = ""
    if len(answered) < len(rows):
        words += f"; {len(rows) - len(answered)} more have no answer"
    if len(answered) < enough:
        words += f"; too few: {enough} are wanted"
    return answered, 2 * len(answered) >= len(rows), words


def summary(parts, state, backend):
    """(Markdown rows, whether all goals are met by the pairs with an answer, and whether at least
    half of each row have one)."""
    lines, met, are_halves = [], True, True
    if parts["equal"].rows:
        equal, is_half, more = answered_of(parts["equal"].rows, ENOUGH_EQUAL)
        false = [row for row in equal if row["outcome"] in ("faster", "slower")]
        most = max(1, len(equal) // 100)
        are_halves &= is_half
        met &= len(false) <= most
        words = {row["outcome"] for row in equal}
        counts = ", ".join(f"{sum(r['outcome'] == w for r in equal)} {w}" for w in sorted(words))
        lines.append(
            f"| {len(equal)} comparisons of equal code under two names, {state['regime']} "
            f"| {most} false verdicts at most | {len(false)} ({counts or 'none'}{more}) |"
        )
    for part, (word, wanted, of) in WANTED.items():
        for name in PROBLEMS[backend]:
            asked = [row for row in parts[part].rows if class_of(backend, row["asked"]) == name]
            if not asked:
                continue
            rows, is_half, more = answered_of(asked, of)
            found = sum(row["outcome"] == word for row in rows)
            least = math.ceil(wanted / of * len(rows)) if len(rows) >= of else len(rows) - 1
            are_halves &= is_half
            met &= not rows or found >= max(least, 1)
            percents = sorted({state["percent"][row["asked"]] for row in asked})
            planted_words = " and ".join(f"{p:g} %" for p in percents)
            where, median = name, ""
            if rows:
                side, power = ("against_us", -1) if part == "planted" else ("candidate_us", 1)
                where = f"{statistics.median(row[side] for row in rows):.3g} us"
                seen = statistics.median(100 * (row["speedup"] ** power - 1) for row in rows)
                median = f", median {seen:.2f} %"
            lines.append(
                f"| {planted_words} {'planted' if part == 'planted' else 'gained'} at {where}, "
                f"{state['regime']} | `{word}` in {wanted} of {of} "
                f"| {found} of {len(rows)}{median}{more} |"
            )
    for part in (part for part in CHEATS if part in parts):
        for name in PROBLEMS[backend]:
            asked = [row for row in parts[part].rows if class_of(backend, row["asked"]) == name]
            if not asked:
                continue
            # One that is refused has no speedup, and has not won either.
            won = sum(row["outcome"] == "faster" for row in asked)
            caught = sum("fresh inputs" in (row["reason"] or "") for row in asked)
            met &= won == 0
            lines.append(
                f"| 1.3x by {part.removeprefix('cheat_')} at {name}, {state['regime']} "
                f"| never `faster` | {won} of {len(asked)}; fresh inputs named in {caught} |"
            )
    return lines, met, are_halves


def save(options, parts, state):
    state["rows"] = {name: part.rows for name, part in parts.items()}
    state["seconds_a_pair"] = {name: part.pair_s for name, part in parts.items()}
    if options.out:
        whole = Path(options.out)
        fresh = whole.with_suffix(".tmp")
        fresh.write_text(json.dumps(state, indent=1) + "\n")
        fresh.rename(whole)


def measure(bench, options, parts, state, deadline):
    """Until every part is whole, the time is up or (then False) the machine was busy too often."""
    busy = 0
    while busy < MOST_BUSY:
        part = min(parts.values(), key=Part.done_frac)
        if part.done_frac() >= 1:
            break
        problems = part.next_problems(options.batch)
        left_s = deadline - time.monotonic()
        if left_s <= 0 or (part.pair_s and part.pair_s * len(problems) > left_s):
            print(f"time is up: {left_s:.0f} s are left", flush=True)
            break
        busy = 0 if part.take(bench, state["regime"], problems) else busy + 1
        save(options, parts, state)
        done = ", ".join(f"{p.name} {len(p.rows)} of {p.wanted}" for p in parts.values())
        print(f"{done}; {part.pair_s or 0:.1f} s a pair of the last", flush=True)
    return busy < MOST_BUSY


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split("Usage")[0])
    parser.add_argument("program", metavar="SDPA_WB")
    parser.add_argument("--backend", choices=PROBLEMS, default="cuda")
    parser.add_argument("--gpu", type=int, default=0, metavar="N")
    parser.add_argument("--regime", choices=["burst", "sustained"], default="burst")
    parser.add_argument("--pairs", type=int, default=100, metavar="N", help="of equal code")
    parser.add_argument("--plants", type=int, default=20, metavar="N", help="a class of problems")
    parser.add_argument("--gains", type=int, default=0, metavar="N", help="a class of problems")
    parser.add_argument("--cheats", type=int, default=0, metavar="N",
                        help="of each kind, a class of problems")  # fmt: skip
    parser.add_argument("--classes", nargs="+", metavar="NAME", help="of problems (all)")
    parser.add_argument("--percent", type=float, nargs=2, metavar="P",
                        help=f"planted below and above {LONG_US} us")  # fmt: skip
    parser.add_argument("--seconds", type=float, default=540, metavar="S", help="builds included")
    parser.add_argument("--batch", type=int, metavar="N",
                        help="problems of one comparison (all; sustained: 3)")  # fmt: skip
    parser.add_argument("--effort", default="quick", help="of pairs of equal code")
    parser.add_argument(
        "--plant-effort", help="of planted pairs and gains (standard; sustained: quick)"
    )
    parser.add_argument("--cache", metavar="DIR", help="of built kernels (default: none is kept)")
    parser.add_argument("--out", metavar="FILE.json")
    parser.add_argument("--append", action="store_true", help="to what is in FILE.json")
    options = parser.parse_args()
    if options.append and not options.out:
        parser.error("--append needs the FILE.json of --out")
    is_sustained = options.regime == "sustained"
    options.batch = options.batch or (3 if is_sustained else 100)
    options.plant_effort = options.plant_effort or ("quick" if is_sustained else "standard")
    return options


def run_all(options):
    """The exit status."""
    begin = time.monotonic()
    state = {"backend": options.backend, "regime": options.regime}
    if options.append and Path(options.out).exists():
        state = json.loads(Path(options.out).read_text())
        if (state["backend"], state["regime"]) != (options.backend, options.regime):
            raise RuntimeError(f"{options.out} is of another backend or regime")
    classes = PROBLEMS[options.backend]
    if options.classes:
        classes = {name: classes[name] for name in options.classes}
    # One of each class, then the next: a small batch has all classes.
    longest = max(map(len, classes.values()))
    problems = [group[i] for i in range(longest) for group in classes.values() if i < len(group)]
    pair_s = SUSTAINED_PAIR_S if options.regime == "sustained" else None
    more = {"problems": problems, "pair_s": pair_s}
    equal = ("equal", "twin", planted.SOURCES[options.backend], options.pairs, options.effort)
    slow = ("planted", "planted_slow", "planted_base", options.plants * len(classes))
    fast = ("gains", "planted_base", "planted_slow", options.gains * len(classes))
    parts = {
        "equal": Part(*equal, **more),
        "planted": Part(*slow, options.plant_effort, **more),
        "gains": Part(*fast, options.plant_effort, **more),
    }
    for part, name in zip(CHEATS, planted.CHEATS, strict=True):
        cheat = (part, f"planted_{name}", "planted_third", options.cheats * len(classes))
        parts[part] = Part(*cheat, options.effort, **more)
    for name, rows in state.get("rows", {}).items():
        parts[name].rows = rows
    with tempfile.TemporaryDirectory(prefix="sdpa_wb_trust_") as name:
        bench = Bench(options, Path(name))
        prepare(bench, options, problems, state)
        print(f"kernels stand after {time.monotonic() - begin:.0f} s", flush=True)
        was_quiet = measure(bench, options, parts, state, begin + options.seconds)
    save(options, parts, state)
    lines, met, are_halves = summary(parts, state, options.backend)
    print("\n".join(["", "| what | goal | measured |", "|---|---|---|", *lines]))
    print(f"{time.monotonic() - begin:.0f} s in all")
    rows = [row for part in parts.values() for row in part.rows]
    for reason in sorted({row["reason"] for row in rows if not row["speedup"]}):
        print(f"no answer: {reason}")
    if not met:
        return 1
    return 0 if was_quiet and are_halves and rows else EXIT_ENVIRONMENT


def main():
    options = read_options()
    try:
        return run_all(options)
    except subprocess.CalledProcessError as failure:
        print(f"gpu_trust.py: {failure}\n{failure.stderr or failure.output or ''}", file=sys.stderr)
        # 76 is the machine's fault, while calibrating too; all else is ours.
        return EXIT_ENVIRONMENT if failure.returncode == EXIT_ENVIRONMENT else 2
    except Exception as fault:
        traceback.print_exc()
        print(f"gpu_trust.py: {fault}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
