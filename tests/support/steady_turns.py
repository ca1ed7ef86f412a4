# SPDX-License-Identifier: MIT
"""A transport for tests: a real worker behind it builds, loads, judges and runs everything, and the
times that it found give way to those of a table, so that no busy machine decides what a test sees.

    sdpa-wb … --transport python3 steady_turns.py TABLE -- sdpa-wb-worker

TABLE is JSON, read again at every request; where there is none, it is {}:
    "times_us": {"cpu_tiled": 40.0}  microseconds of a call by the kernel's name, 100 for others
    "flags": {"cpu_tiled": ["cpu_throttled"]}  of every turn of the kernel
    "cpu_limits": {…}  what the worker says of its CPUs at hello
    "hold": {"verb": "turn", "nth": 3, "folder": DIR}  the nth request of that verb makes DIR/held
        and is answered when there is DIR/go"""

import json
import math
import random
import subprocess
import sys
import threading
from pathlib import Path

OTHER_US = 100.0
NOISE = 0.002  # standard deviation of a sample
OVERHEAD_US = 100.0  # of a first call
# What a worker measures at hello, where it tells them: beyond any CPU that runs tests, so that no
# time of a table is too fast to be true.
PEAKS = {"f32_flops_per_s": 1e13, "f16_flops_per_s": 2e13, "bf16_flops_per_s": 2e13,
         "memory_bytes_per_s": 1e12}  # fmt: skip
ROUNDS = 8  # of first calls
# As little as a turn can be: what it finds is not used.
BRIEF = {"settle_us": 1000, "timed_us": 1000, "min_samples": 1, "max_samples": 2}


class Steady:
    """What passes through, and what is changed in it."""

    def __init__(self, table: Path):
        self.path, self.random = table, random.Random(1)
        self.asked, self.labels, self.count = {}, {}, {}
        self.left = threading.Event()  # whoever asks is gone

    def table(self):
        return json.loads(self.path.read_text()) if self.path.exists() else {}

    def time_us(self, handle):
        times = self.table().get("times_us", {})
        return times.get(self.labels[handle].split("@")[0], OTHER_US)

    def request(self, line):
        message = json.loads(line)
        self.asked[message["id"]] = message
        if message["verb"] == "turn":
            arguments = message["args"]
            brief = arguments | {"plan": arguments["plan"] | BRIEF, "fresh_calls": False}
            return json.dumps(message | {"args": brief}).encode() + b"\n"
        return line

    def reply(self, line):
        message = json.loads(line)
        asked = self.asked.pop(message["id"])
        self.wait(asked["verb"])
        if not message["ok"]:
            return line
        result, arguments = message["result"], asked.get("args", {})
        if asked["verb"] == "load":
            self.labels[result["handle"]] = arguments["subject"]
        elif asked["verb"] == "hello":
            result |= {k: v for k, v in self.table().items() if k == "cpu_limits"}
            for name in PEAKS.keys() & result["device"].keys():
                result["device"][name]["value"] = PEAKS[name]
        elif asked["verb"] == "turn":
            self.turn(result, arguments)
        elif asked["verb"] == "first_calls" and "failed" not in result:
            self.first_calls(result, arguments)
        else:
            return line
        return json.dumps(message).encode() + b"\n"

    def wait(self, verb):
        hold = self.table().get("hold", {})
        self.count[verb] = self.count.get(verb, 0) + 1
        if hold.get("verb") == verb and hold["nth"] == self.count[verb]:
            folder = Path(hold["folder"])
            (folder / "held").touch()
            while not (folder / "go").exists() and not self.left.wait(0.01):
                pass

    def noisy(self, us):
        return us * (1 + NOISE * self.random.gauss(0, 1))

    def turn(self, result, arguments):
        plan, us = arguments["plan"], self.time_us(arguments["handle"])
        calls = max(1, round(200 / us)) if plan["kind"] == "hot" else 1
        wanted = math.ceil(plan["timed_us"] / (us * calls))
        samples = min(max(wanted, plan["min_samples"]), plan["max_samples"])
        result["samples_us"] = [self.noisy(us) for _ in range(samples)]
        result["calls_per_sample"] = calls
        result["wall_us"] = result["reported_us"] = sum(result["samples_us"]) * calls
        name = self.labels[arguments["handle"]].split("@")[0]
        result["flags"] = self.table().get("flags", {}).get(name, [])

    def first_calls(self, result, arguments):
        result["flags"], result["chained"] = [], False
        result["sides"] = [
            {
                "fresh_us": [OVERHEAD_US + self.noisy(us) for _ in range(ROUNDS)],
                "again_us": [OVERHEAD_US + self.noisy(us) for _ in range(ROUNDS)],
                "fill_us": [],
                "overhead_us": OVERHEAD_US,
                "allowance_us": 0.0,
            }
            for us in map(self.time_us, arguments["handles"])
        ]


def main(table, *command):
    steady = Steady(Path(table))
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def forward():
        try:
            for line in sys.stdin.buffer:
                worker.stdin.write(steady.request(line))
                worker.stdin.flush()
            worker.stdin.close()  # the worker ends, and with it this
        except BrokenPipeError:
            pass  # the worker ended first, which its reader sees
        steady.left.set()

    threading.Thread(target=forward, daemon=True).start()
    for line in worker.stdout:
        sys.stdout.buffer.write(steady.reply(line))
        sys.stdout.buffer.flush()
    return worker.wait()


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--"]
    sys.exit(main(*words))
