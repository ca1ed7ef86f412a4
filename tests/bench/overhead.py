"""Host overhead of one iteration with cached builds: wall time minus time inside worker requests,
starting the subjects excepted, which counts as overhead.

Runs a playbook twice with one cache; the second run compiles nothing. Usage: overhead.py SDPA_WB
"""

import datetime
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from session_events import events_of

HERE = Path(__file__).resolve().parent
# Twenty cached iterations on one small problem.
STEPS = """return {
  name = "overhead",
  about = "many short iterations",
  open = {
    start = "cpu_unfused",
    problem = "B=1 Hq=1 Sq=64 D=32 f32",
    rivals = { "none" },
    effort = "quick",
  },
  run = function(wb)
    for round = 1, 20 do
      wb.iterate {
        variant = round % 2 == 0 and "cpu_tiled" or "cpu_online",
        hypothesis = "round " .. round,
        predicted_speedup = 1.1,
        confirm = "never",
      }
    end
  end,
}
"""


def moment(event):
    return datetime.datetime.fromisoformat(event["t"].replace("Z", "+00:00")).timestamp()


def run(program, folder, session):
    subprocess.run(
        [program, "run", folder / "steps.lua", "--session", session, "--cache", folder / "cache",
         "--path", HERE.parents[1], "--quiet"],
        check=True, cwd=folder, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return events_of(folder / session)


def overheads_ms(log):
    opened, device, found = {}, {}, []
    for event in log:
        payload = event["payload"]
        iteration = payload.get("iteration")
        if event["type"] == "iteration_opened":
            opened[iteration] = moment(event)
        elif event["type"] == "cost_debited" and payload["item"] == "device":
            device[iteration] = payload["quantity"] - payload["parts"].get("load", 0.0)
        elif event["type"] == "iteration_committed" and iteration > 0:
            wall_s = moment(event) - opened[iteration]
            found.append(1e3 * (wall_s - device.get(iteration, 0.0)))
    return found


def main():
    program = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "steps.lua").write_text(STEPS)
        run(program, folder, "first")
        found = overheads_ms(run(program, folder, "second"))
    print(
        f"host overhead of one iteration, ms: median {statistics.median(found):.1f}, "
        f"max {max(found):.1f}, n {len(found)}"
    )


if __name__ == "__main__":
    main()
