# SPDX-License-Identifier: MIT
"""A night in short: sessions over and over with random candidate faults, three SIGKILLs of the host
and a resume after each. At the end nothing is lost, nothing is left, and nothing grew.

Usage: soak.py BUILD_DIR [OUT.json]; WB_SOAK_SECONDS says how long (default 1200)."""

import datetime
import json
import os
import platform
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "hostile"), str(HERE.parent / "scenario")]
from gauntlet import CASES, ROOT, Arena, leftovers, wait_for_no_leftovers  # noqa: E402
from support.logs import (  # noqa: E402
    check_chain,
    events,
    git,
)

KILLS = 3
FAULT_SHARE = 0.05
SAMPLE_S = 0.25
ROUNDS, ROUNDS_OF_A_TRY = 150, 6
QUARTER_MIN = 80  # samples: a host that lived for a minute and a half
EXIT_ENVIRONMENT, EXIT_STOPPED = 76, 130
GROWTH_MAX = 0.02
# A session's log stays in memory, as text and as what it adds up to: 2.2 to 2.6 bytes for each of
# its bytes, measured over 60 iterations. What grows beyond this is a leak.
HOST_BYTES_PER_LOG_BYTE = 3.0
# Faults that end by themselves: a hang would only wait for its deadline.
WORDS = ("runtime", "correctness", "constraints")


def faulty_candidates():
    return [
        name for name, case in CASES.items()
        if case["word"] in WORDS and case["stage"] in ("load", "verdict") and not case.get("needs")
        and case.get("backend") != "python" and case.get("selection") != "long"
        and "special" not in case and "flags" not in case
    ]  # fmt: skip


def status_of(pid):
    """Resident bytes and open descriptors; None once it is gone."""
    try:
        fields = dict(
            line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        )
        return {
            "rss": int(fields["VmRSS"].split()[0]) * 1024,
            "fds": len(os.listdir(f"/proc/{pid}/fd")),
        }
    except (OSError, KeyError):
        return None


def children_of(pid):
    found = []
    for process in Path("/proc").iterdir():
        try:
            stat = (process / "stat").read_text() if process.name.isdigit() else ""
        except OSError:
            continue
        name, _, rest = stat.partition(") ")
        words = rest.split()
        if words and int(words[1]) == pid:
            found.append((int(process.name), name.partition("(")[2], words[0]))
    return found


def median(values):
    return values[len(values) // 2]


class Watch:
    """Samples of one host: its own memory and descriptors and its worker's, by size of the log."""

    def __init__(self):
        self.samples, self.zombies = [], {}

    def take(self, pid, session):
        host = status_of(pid)
        if host is None:
            return
        seen = children_of(pid)
        for child, _, state in seen:
            self.zombies[child] = self.zombies.get(child, 0) + 1 if state == "Z" else 0
        workers = [status_of(child) for child, name, _ in seen if name.startswith("sdpa-wb-worker")]
        log = session / "events.jsonl"
        self.samples.append({
            "log": log.stat().st_size if log.exists() else 0,
            "host": host,
            "worker": workers[0] if workers and workers[0] else None,
        })  # fmt: skip

    def growth(self):
        """Growth in shares from the second quarter of the samples to the last: of the median of
        memory, where a host is allowed what its log takes, and of the least number of descriptors,
        which builds under way raise for a moment. None where the host lived too short."""
        quarter = len(self.samples) // 4
        if quarter < QUARTER_MIN:
            return None
        early, late = self.samples[quarter : 2 * quarter], self.samples[-quarter:]
        grown = {}
        for who in ("host", "worker"):
            for what in ("rss", "fds"):
                before, after = (
                    sorted(s[who][what] for s in part if s[who]) for part in (early, late)
                )
                if not before or not after:
                    return None
                at = (lambda values: values[0]) if what == "fds" else median
                first, last = at(before), at(after)
                if (who, what) == ("host", "rss"):
                    logs = [sorted(s["log"] for s in part) for part in (early, late)]
                    last -= HOST_BYTES_PER_LOG_BYTE * (median(logs[1]) - median(logs[0]))
                grown[f"{who}_{what}"] = (last - first) / first
        return grown

    def host_bytes_per_log_byte(self):
        """Over the last three quarters of the samples; None where the host lived too short."""
        quarter = len(self.samples) // 4
        if quarter < QUARTER_MIN:
            return None
        first, last = self.samples[quarter], self.samples[-1]
        logged = last["log"] - first["log"]
        return (last["host"]["rss"] - first["host"]["rss"]) / logged if logged > 0 else None


class Soak:
    def __init__(self, build, folder, seconds):
        self.arena = Arena(build, folder)
        self.sessions = folder / "sessions"
        self.ends = time.monotonic() + seconds
        self.dice = random.Random(20261121)
        # Not too near the ends: there must be something to kill and something to go on with.
        self.kill_times = sorted(
            time.monotonic() + seconds * (number + self.dice.uniform(0.2, 0.8)) / KILLS
            for number in range(KILLS)
        )
        self.watches, self.kills, self.busy, self.count = [], 0, 0, 0
        self.rounds = ROUNDS if seconds > 300 else ROUNDS_OF_A_TRY

    def start(self, words, session):
        argv = [
            str(self.arena.build / "sdpa-wb"), *words, "--session", str(session), "--path",
            str(self.arena.folder), "--path", str(ROOT), "--cache", str(self.arena.cache),
            "--python", sys.executable, "--quiet", "--json",
        ]  # fmt: skip
        return subprocess.Popen(
            argv, cwd=self.arena.folder, env=self.arena.environment(), stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def live(self, process, session):
        """Watches one host until it ends, is killed, or is asked to stop because time is up.
        True when it was killed."""
        watch, asked = Watch(), False
        self.watches.append(watch)
        while process.poll() is None:
            if self.kill_times and time.monotonic() > self.kill_times[0]:
                log = session / "events.jsonl"
                if log.exists() and log.stat().st_size:
                    self.kill_times.pop(0)
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    self.kills += 1
                    return True
            if not self.kill_times and time.monotonic() > self.ends and not asked:
                process.send_signal(signal.SIGTERM)
                asked = True
            watch.take(process.pid, session)
            time.sleep(SAMPLE_S)
        return False

    def run_session(self):
        self.count += 1
        session = self.sessions / f"s-{self.count:04}"
        candidates = "|".join(faulty_candidates())
        words = ["run", str(HERE / "playbooks" / "soak.lua"), "--seed", str(self.count)]
        for argument in (f"rounds={self.rounds}", f"faults={FAULT_SHARE}",
                         f"candidates={candidates}"):  # fmt: skip
            words += ["--arguments", argument]
        while True:
            process = self.start(words, session)
            killed = self.live(process, session)
            kept = events(session) if killed else None
            err = "" if killed else process.communicate()[1]
            if not killed and process.returncode == 0:
                break
            if not killed and process.returncode == EXIT_STOPPED:
                closing = self.start(["close"], session)
                err = closing.communicate()[1]
                assert closing.returncode == 0, (closing.returncode, err)
                break
            if not killed:
                assert process.returncode == EXIT_ENVIRONMENT, (process.returncode, err)
                self.busy += 1  # too busy for a baseline: tried again
                assert self.busy < 50, "the machine is too busy for a soak"
            else:
                assert events(session)[: len(kept)] == kept
            words = ["resume"]
        self.check(session)

    def check(self, session):
        check_chain(session)
        log = events(session)
        assert log[-1]["type"] == "session_closed"
        closed = [e["payload"]["iteration"] for e in log if e["type"] == "iteration_closed"]
        opened = [e["payload"]["iteration"] for e in log if e["type"] == "iteration_opened"]
        assert closed == opened == sorted(set(closed)), "an iteration is lost or stands twice"
        committed = git(session, "log", "--reverse", "--format=%(trailers:key=Iteration,valueonly)")
        assert [int(number) for number in committed.split()] == closed, "a commit is missing"
        git(session, "fsck", "--strict")
        asked = [
            (e["payload"]["iteration"], json.dumps(e["payload"]["configuration"], sort_keys=True))
            for e in log if e["type"] == "evaluation"
        ]  # fmt: skip
        assert len(asked) == len(set(asked)), "an evaluation stands twice"

    def run(self):
        begun = time.monotonic()
        while time.monotonic() < self.ends or self.kill_times:
            self.run_session()
        left = wait_for_no_leftovers(self.arena.folder)
        temporary = [str(path) for path in self.arena.temporary.iterdir()]
        temporary += [str(path) for path in (self.arena.cache / "tmp").iterdir()]
        return self.facts(time.monotonic() - begun, left, temporary)

    def facts(self, seconds, left, temporary):
        logs = [events(path) for path in sorted(self.sessions.iterdir())]
        count = lambda type_: sum(e["type"] == type_ for log in logs for e in log)  # noqa: E731
        outcomes = {}
        for log in logs:
            for event in log:
                if event["type"] == "iteration_closed":
                    word = event["payload"]["invalidity"] or event["payload"]["outcome"]
                    outcomes[word] = outcomes.get(word, 0) + 1
        growths = [grown for watch in self.watches if (grown := watch.growth())]
        return {
            "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
            "seconds": round(seconds, 1),
            "sessions": len(logs),
            "iterations": count("iteration_closed"),
            "evaluations": count("evaluation"),
            "events": sum(map(len, logs)),
            "outcomes": outcomes,
            "kills": self.kills,
            "resumes": count("session_resumed"),
            "busy": self.busy,
            "growth": {
                what: round(median(sorted(grown[what] for grown in growths)), 4)
                for what in (growths[0] if growths else {})
            },
            "hosts_watched": len(growths),
            "host_bytes_per_log_byte": [
                round(share, 2)
                for watch in self.watches
                if (share := watch.host_bytes_per_log_byte())
            ],
            "host_rss_mib": round(
                max(s["host"]["rss"] for w in self.watches for s in w.samples) / 2**20, 1
            ),
            "zombies": sum(n > 1 for watch in self.watches for n in watch.zombies.values()),
            "processes_left": left,
            "files_left": temporary,
        }


def faults_in(facts):
    found = [f"{what} is {facts[what]}" for what in ("processes_left", "files_left") if facts[what]]
    if facts["zombies"]:
        found.append(f"{facts['zombies']} zombies")
    if facts["kills"] != KILLS:
        found.append(f"{facts['kills']} kills instead of {KILLS}")
    for what, share in facts["growth"].items():
        if not share <= GROWTH_MAX:
            found.append(f"{what} grew by {share:.1%}")
    return found


def main():
    build = (ROOT / sys.argv[1]).resolve()
    seconds = float(os.environ.get("WB_SOAK_SECONDS", "1200"))
    with tempfile.TemporaryDirectory(prefix="wb-soak-") as folder:
        facts = {"date": datetime.date.today().isoformat()}
        facts |= Soak(build, Path(folder) / "arena", seconds).run()
        assert not leftovers(Path(folder)), "a process is left"
    facts["faults"] = faults_in(facts)
    print(json.dumps(facts, indent=1))
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(json.dumps(facts) + "\n")
    return 1 if facts["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
