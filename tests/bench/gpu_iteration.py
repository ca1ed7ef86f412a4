"""Latency of one iteration on one small problem with cached builds, and where it goes.

Two sessions: in the first every iteration is a command of its own, which starts a worker; in the
second one playbook makes them all, and only the first starts one. Confirmation is left out. A row
an iteration, in ms:

  command    wall time of the command, session one only
  iteration  iteration_opened to iteration_committed in the log
  build, verdict, select, close   parts of that, up to: variant_built, the last verdict, the last
             turn, the commit
  hello, load, run, turn, unload  what the requests to the worker took, wherever in the command they
             came; `run` is judged outputs

  gpu_iteration.py SDPA_WB [--iterations N] [--out FILE]
  gpu_iteration.py SDPA_WB --kernel cpu_tiled --choices TILE_M=16 TILE_M=32 \\
      --problem "B=1 Hq=1 Sq=64 D=32 f32"     the same without a GPU
"""

import argparse
import datetime
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from session_events import events_of

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("build", "verdict", "select", "close")
REQUESTS = {"hello": "hello", "load": "load", "verdict": "run", "turn": "turn", "unload": "unload"}
HYPOTHESIS, PREDICTED = "another choice is faster", "1.1"

PLAYBOOK = """return {
  name = "latency",
  about = "iterations with cached builds",
  open = { start = %(start)s, problem = %(problem)s, rivals = { "none" }, effort = "quick" },
  run = function(wb)
    for round = 1, %(iterations)d do
      wb.iterate {
        variant = %(start)s,
        configuration = round %% 2 == 1 and { %(first)s } or { %(second)s },
        hypothesis = "%(hypothesis)s",
        predicted_speedup = %(predicted)s,
        confirm = "never",
      }
    end
  end,
}
"""


def moment(event):
    return datetime.datetime.fromisoformat(event["t"].replace("Z", "+00:00")).timestamp()


def iterations_of(log):
    """A dictionary of ms for each iteration but the baseline."""
    found = {}
    for event in log:
        number = event["payload"].get("iteration")
        if not isinstance(number, int) or number < 1:
            continue
        times = found.setdefault(number, {})
        kind, payload = event["type"], event["payload"]
        if kind == "cost_debited" and payload["item"] == "device":
            for verb, spent_s in payload.get("parts", {}).items():
                name = REQUESTS.get(verb, verb)
                times[name] = times.get(name, 0.0) + 1e3 * spent_s
        last_of = {
            "iteration_opened": "opened", "variant_built": "build", "verdict_given": "verdict",
            "turn_measured": "select", "iteration_committed": "close",
        }  # fmt: skip
        if kind in last_of:
            times[f"at_{last_of[kind]}"] = moment(event)
        if kind == "iteration_closed":
            times["outcome"] = payload["outcome"]
        times["verdicts"] = times.get("verdicts", 0) + (kind == "verdict_given")
        times["turns"] = times.get("turns", 0) + (kind == "turn_measured")
    for times in found.values():
        before = opened = times.pop("at_opened")
        for part in PARTS:
            ended = times.pop(f"at_{part}", before)
            times[part] = 1e3 * (ended - before)
            before = ended
        times["iteration"] = 1e3 * (before - opened)
    return [found[number] for number in sorted(found)]


def show(title, rows):
    names = ["command", "iteration", *PARTS, *REQUESTS.values()]
    names = [name for name in names if any(name in row for row in rows)]
    print(f"{title}, ms")
    print("  ".join(f"{name:>9}" for name in names), "  verdicts  turns  outcome")
    for row in rows:
        cells = "  ".join(f"{row.get(name, 0.0):9.0f}" for name in names)
        print(f"{cells} {row['verdicts']:10d} {row['turns']:6d}  {row.get('outcome', '?')}")
    for name in ("command", "iteration"):
        if later := [row[name] for row in rows[1:] if name in row]:
            print(
                f"{name}: first {rows[0][name]:.0f}, later ones median "
                f"{statistics.median(later):.0f}, max {max(later):.0f}"
            )
    print(flush=True)


def by_commands(args, run, session):
    run("open", "--start", args.kernel, "--problem", args.problem, "--rivals", "none",
        "--effort", "quick", "--session", session)  # fmt: skip
    walls_ms = []
    for round_number in range(args.iterations):
        begin = time.monotonic()
        run("iterate", "--variant", args.kernel, "--configuration",
            args.choices[round_number % 2], "--hypothesis", HYPOTHESIS,
            "--predicted-speedup", PREDICTED, "--confirm", "never",
            "--session", session)  # fmt: skip
        walls_ms.append(1e3 * (time.monotonic() - begin))
    rows = iterations_of(events_of(session))
    for row, wall_ms in zip(rows, walls_ms, strict=True):
        row["command"] = wall_ms
    return rows


def by_playbook(args, run, folder, session):
    playbook = folder / "latency.lua"
    playbook.write_text(
        PLAYBOOK % {
            "start": json.dumps(args.kernel), "problem": json.dumps(args.problem),
            "iterations": args.iterations, "first": args.choices[0], "second": args.choices[1],
            "hypothesis": HYPOTHESIS, "predicted": PREDICTED,
        }
    )  # fmt: skip
    run("run", playbook, "--session", session)
    return iterations_of(events_of(session))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="sdpa-wb")
    parser.add_argument("--iterations", type=int, default=6)
    parser.add_argument("--kernel", default="sm80_mma_flash")
    parser.add_argument("--problem", default="B=1 Hq=4 Sq=130 D=64 f16")
    parser.add_argument(
        "--choices", nargs=2, default=["EARLY_START=0", "EARLY_START=2"], metavar="NAME=VALUE"
    )
    parser.add_argument("--cache", type=Path, help="with builds already in it, if any")
    parser.add_argument("--out", type=Path, help="JSON of all rows")
    args = parser.parse_args()
    program = Path(args.program).resolve()
    out = args.out and args.out.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cache = args.cache.resolve() if args.cache else folder / "cache"

        def run(*words):
            subprocess.run(
                [program, *words, *common], check=True, cwd=folder, stdout=subprocess.DEVNULL
            )

        common = ["--cache", cache, "--path", ROOT, "--quiet"]
        begin = time.monotonic()
        builds = [
            subprocess.Popen(
                [program, "build", args.kernel, *common, *words],
                cwd=folder, stdout=subprocess.DEVNULL,
            )
            for words in ([], *(["--configuration", choice] for choice in args.choices))
        ]  # fmt: skip
        if any([build.wait() for build in builds]):
            raise SystemExit("a build failed")
        print(f"three builds side by side: {time.monotonic() - begin:.1f} s", flush=True)
        rows = {"commands": by_commands(args, run, folder / "commands")}
        show("each iteration a command", rows["commands"])
        if out:
            out.write_text(json.dumps(rows, indent=1) + "\n")
        rows["playbook"] = by_playbook(args, run, folder, folder / "playbook")
        show("all iterations in one playbook", rows["playbook"])
        if out:
            out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
