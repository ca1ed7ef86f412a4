# SPDX-License-Identifier: MIT
"""Runs the hostile candidates through the real sdpa-wb: builds their kernel folders from table.json
and drives one session over a list of them."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TABLE = json.loads((HERE / "table.json").read_text())
CASES = {case["name"]: case for case in TABLE["cases"]}
# For a candidate that shall not answer: what a test waits for each of them.
HANG_DEADLINE_MS = 1_500
# For all others: no verdict or turn here takes so long, on a busy machine with cold files either.
DEADLINE_MS = 60_000
# Large enough that skipped work shows beside the cost of a call.
TURN_PROBLEM = "B=1 Hq=2 Sq=128 D=64 f32"
# Of a build that failed before there was anything to log.
WORD_OF_CODE = {"invalid": "constraints", "compile": "compile", "limit": "timeout",
                "environment": "environment", "not_found": "constraints"}  # fmt: skip


def sources_in(folder: Path, suffix: str):
    """The sources that a folder's files hold, by the names in the marks before them."""
    comment = "#" if suffix == ".py" else "//"
    found = {}
    for path in sorted(folder.glob(f"*{suffix}")):
        _opening, *parts = path.read_text().split(f"\n{comment} ==== ")
        for name, _, text in (part.partition("\n") for part in parts):
            assert name not in found, f"{path.name}: there is another {name}"
            found[name] = f"{comment} SPDX-License-Identifier: MIT\n{text.rstrip()}\n"
    return found


KERNELS = sources_in(HERE, ".cpp")
SUBJECTS = sources_in(HERE, ".py")


class Arena:
    """A folder with the kernels, a cache, and a TMPDIR that must be empty at the end."""

    cases = CASES
    isolation = ""  # the strongest that there is
    turn_problem = TURN_PROBLEM
    # Of the honest run behind each candidate: whether anything still works is the question.
    honest_draws = 1

    def __init__(self, build: Path, folder: Path, cache: Path | None = None):
        self.build, self.folder = build, folder
        self.temporary, self.home = folder / "tmp", folder / "home"
        self.cache = cache or folder / "cache"
        for path in (self.temporary, self.home, folder / "sessions"):
            path.mkdir(parents=True)
        self.secret = folder / "secret.txt"
        self.secret.write_text("do not embed 1f6f0c2b\n")
        shutil.copytree(HERE / "playbooks", folder / "playbooks")
        for case in self.cases.values():
            self.write_kernel(case)
        shutil.copytree(ROOT / "kernels" / "common", folder / "kernels" / "common")
        self.before = self.files()

    def write_kernel(self, case):
        folder = self.folder / "kernels" / case["name"]
        folder.mkdir(parents=True)
        python = case.get("backend") == "python"
        manifest = {
            "name": case["name"],
            "about": "a hostile candidate of the tests",
            "backend": "python" if python else "cpu",
            "supports": {
                "dtypes": ["f32"],
                "causal": ["none", "top_left", "bottom_right"],
                "masks": ["none"],
                "layouts": ["BHSD"],
            },
        }
        if python:
            shutil.copy(HERE / "hostile.py", folder)
            for name in {case["name"], "py_library"}:
                (folder / f"{name}.py").write_text(SUBJECTS[name])
            manifest |= {"sources": [f"{case['name']}.py"], "entry": f"{case['name']}:attend"}
            manifest["sources"] += sorted({"hostile.py", "py_library.py"} - {f"{case['name']}.py"})
            if case.get("flagged") == "torch":
                manifest["supports"]["causal"] = ["none", "top_left"]
        else:
            text = KERNELS[case.get("file", case["name"])]
            text = text.replace("SECRET_FILE", str(self.secret))
            if case["name"] == "line_directives":
                text += "#line 1\n" * 100_000
            shutil.copy(HERE / "hostile.hpp", folder)
            (folder / "kernel.cpp").write_text(text)
            manifest["sources"] = ["kernel.cpp"]
            if "flags" in case:
                manifest["compile_flags"] = case["flags"]
        (folder / "kernel.json").write_text(json.dumps(manifest))

    def argv(self, *words, deadline_ms=DEADLINE_MS):
        level = ["--isolation", self.isolation] if self.isolation else []
        return [str(self.build / "sdpa-wb"), *map(str, words), "--path", str(self.folder), *level,
                "--cache", str(self.cache), "--worker", str(self.build / "sdpa-wb-worker"),
                "--python", sys.executable, "--quiet",
                "--transport", sys.executable, str(HERE / "short_deadlines.py"),
                str(deadline_ms), "--"]  # fmt: skip

    def environment(self):
        return {**os.environ, "TMPDIR": str(self.temporary), "HOME": str(self.home)}

    def files(self):
        """Everything that a run may not have changed, with size and time."""
        own = {"cache", "sessions"}
        return {
            path: (path.lstat().st_size, path.lstat().st_mtime_ns, path.lstat().st_mode)
            for path in self.folder.rglob("*")
            if path.relative_to(self.folder).parts[0] not in own and not path.is_dir()
        }

    def run(self, names, session, timeout_s, deadline_ms=DEADLINE_MS):
        """The results by case, and the session's events."""
        items = []
        for name in names:
            case = self.cases[name]
            turn = case["stage"] == "turn"
            verb = case.get("plan", "measure") if turn else "check"
            problem = case.get("problem", self.turn_problem if turn else "")
            items.append(f"{verb}:{name}:{problem}".removesuffix(":"))
        found, events = self.play(items, session, timeout_s, deadline_ms)
        return {result["name"]: result for result in found}, events

    def run_honest(self, kernels, session, timeout_s):
        """Measures (kernel, problem) after (kernel, problem): name and word of each."""
        items = [f"measure:{name}:{problem}" for name, problem in kernels]
        found, _ = self.play(items, session, timeout_s, DEADLINE_MS, "--path", ROOT)
        return [{**one, "word": word_of(one)} for one in found]

    def play(self, items, session, timeout_s, deadline_ms, *more):
        folder = self.folder / "sessions" / session
        done = subprocess.run(
            self.argv("run", "gauntlet", "--json", "--session", folder, *more,
                      "--arguments", "cases=" + "|".join(items),
                      f"honest_draws={self.honest_draws}",
                      deadline_ms=deadline_ms),
            cwd=self.folder, capture_output=True, text=True, timeout=timeout_s,
            env=self.environment(),
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        answer = json.loads(done.stdout)
        lines = (folder / "events.jsonl").read_text().splitlines()
        return find_results(answer), [json.loads(line) for line in lines]


def find_results(answer):
    """The playbook's own table, wherever the command's answer holds it."""
    if isinstance(answer, dict):
        if "results" in answer:
            return answer["results"]
        answer = list(answer.values())
    for value in answer if isinstance(answer, list) else []:
        if found := find_results(value):
            return found
    return []


def word_of(result):
    """The invalidity, from a verdict, from a turn, or from the build that failed."""
    if "word" in result:
        return result["word"]
    for word in ("correctness", "runtime", "timeout", "constraints"):
        if result["code"] == "wrong_result" and f" is {word}:" in result["message"]:
            return word
    return WORD_OF_CODE.get(result["code"], result["code"])


def leftovers(folder: Path):
    """Processes that work in, were started from, or keep a file of `folder`, and strays by name."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            name = (process / "comm").read_text().strip()
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            places = [os.readlink(process / "cwd")]
        except OSError:
            continue
        if name == "wb-stray" or any(str(folder) in place for place in [words, *places]):
            found.append(f"{process.name} {name} {words}")
    return found


def wait_for_no_leftovers(folder: Path, patience_s=5.0):
    deadline = time.monotonic() + patience_s
    while (found := leftovers(folder)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found
