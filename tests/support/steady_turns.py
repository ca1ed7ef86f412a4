# SPDX-License-Identifier: MIT
"""A transport for tests: a real worker behind it builds, loads, judges and runs everything, and the
times that it found give way to those of a table, so that no busy machine decides what a test sees.

    sdpa-wb … --transport python3 steady_turns.py TABLE --

TABLE is JSON, {"times_us": {"cpu_tiled": 40.0}, "hold": {"verb": "turn", "nth": 3, "until": FILE}}:
times_us has microseconds of a call by the kernel's name (100 for others), each read again at every
turn; hold, where it is there, leaves the nth request of that verb unanswered until FILE exists."""

import json
import math
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

OTHER_US = 100.0
NOISE = 0.002  # standard deviation of a sample
OVERHEAD_US = 100.0  # of a first call
ROUNDS = 8  # of first calls


class Steady:
    """What passes through, and what is changed in it."""

    def __init__(self, table: Path):
        self.table, self.random = table, random.Random(1)
        self.asked, self.labels, self.count = {}, {}, {}

    def time_us(self, handle):
        times = json.loads(self.table.read_text()).get("times_us", {})
        return times.get(self.labels[handle].split("@")[0], OTHER_US)

    def request(self, line):
        message = json.loads(line)
        self.asked[message["id"]] = message

    def reply(self, line):
        message = json.loads(line)
        asked = self.asked.pop(message["id"])
        self.wait(asked["verb"])
        if not message["ok"]:
            return line
        result, arguments = message["result"], asked.get("args", {})
        if asked["verb"] == "load":
            self.labels[result["handle"]] = arguments["subject"]
        elif asked["verb"] == "turn":
            self.turn(result, arguments)
        elif asked["verb"] == "first_calls" and "failed" not in result:
            self.first_calls(result, arguments)
        else:
            return line
        return json.dumps(message).encode() + b"\n"

    def wait(self, verb):
        hold = json.loads(self.table.read_text()).get("hold", {})
        self.count[verb] = self.count.get(verb, 0) + 1
        if hold.get("verb") == verb and hold["nth"] == self.count[verb]:
            while not Path(hold["until"]).exists():
                time.sleep(0.01)

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
        result["flags"] = []

    def first_calls(self, result, arguments):
        result["flags"] = []
        result["sides"] = [
            {
                "fresh_us": [OVERHEAD_US + self.noisy(us) for _ in range(ROUNDS)],
                "again_us": [OVERHEAD_US + self.noisy(us) for _ in range(ROUNDS)],
                "overhead_us": OVERHEAD_US,
                "allowance_us": 0.0,
            }
            for us in map(self.time_us, arguments["handles"])
        ]


def main(table, *command):
    steady = Steady(Path(table))
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def forward():
        for line in sys.stdin.buffer:
            steady.request(line)
            worker.stdin.write(line)
            worker.stdin.flush()
        worker.stdin.close()  # the worker ends, and with it this

    threading.Thread(target=forward, daemon=True).start()
    for line in worker.stdout:
        sys.stdout.buffer.write(steady.reply(line))
        sys.stdout.buffer.flush()
    return worker.wait()


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--"]
    sys.exit(main(*words))
