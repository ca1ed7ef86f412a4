# SPDX-License-Identifier: MIT
"""Numbers: no figure for what was not measured, a quota of CPU time is named wherever it counts,
nothing depends on the locale, and a whole float is an integer wherever one is asked for."""

import json
import math
import os
import shutil
import subprocess

import pytest
from support.commands import EXIT_ENVIRONMENT, ROOT, SMALL
from support.logs import events

OPEN = ["open", "--start", "cpu_unfused", "--problem", SMALL, "--rivals", "none",
        "--effort", "quick", "--session", "s"]  # fmt: skip
QUICK = ["--problem", SMALL, "--effort", "quick"]
THROTTLED = ["cpu_throttled"]


def strict(text):
    """JSON without NaN and infinity."""

    def refused(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refused)


def of_machine(wb, *words):
    """The answer of a verb that ends with 76: the machine let nothing be measured."""
    done = wb.run(*words, "--json")
    assert done.returncode == EXIT_ENVIRONMENT, done.stdout + done.stderr
    return strict(done.stdout)


def test_a_quota_that_stops_every_turn_is_named_and_nothing_is_measured(wb):
    wb.turns.flag(cpu_tiled=THROTTLED)
    wb.turns.limit_cpus(0.3)
    answer = of_machine(wb, "compare", "cpu_tiled", "cpu_unfused", *QUICK)
    assert answer["outcome"] == "ambiguous"
    assert answer["speedup"] is None
    assert "0.3 CPUs of 2" in answer["notes"][0]
    assert answer["problems"][0]["candidate_us"] is None
    assert math.isfinite(answer["problems"][0]["against_us"])
    assert "CPU quota" in answer["problems"][0]["reason"]


def test_a_quota_that_stops_nothing_is_a_note_beside_the_figures(wb):
    wb.turns.limit_cpus(1.5)
    answer = strict(wb.run("measure", "cpu_tiled", *QUICK, "--json", check=0).stdout)
    assert answer["problems"][0]["median_us"] > 0
    assert "1.5 CPUs of 2" in answer["notes"][0]
    wb.turns.limit_cpus(2)  # all that there is
    assert wb.json("measure", "cpu_tiled", *QUICK)["notes"] == []


def test_a_start_that_is_stopped_in_every_turn_opens_no_session(wb):
    wb.turns.flag(cpu_unfused=THROTTLED)
    done = wb.run(*OPEN)
    assert done.returncode == EXIT_ENVIRONMENT
    assert "CPU quota" in done.stderr


def test_a_session_names_the_quota_and_counts_no_turn_that_it_stops(wb):
    wb.turns.limit_cpus(0.5)
    wb.json(*OPEN)
    wb.turns.flag(cpu_tiled=THROTTLED)
    done = wb.run(
        "iterate", "--variant", "cpu_tiled", "--hypothesis", "tiles fit",
        "--predicted-speedup", "1.2", "--session", "s", "--json",
    )  # fmt: skip
    answer = strict(done.stdout)
    assert answer["invalidity"] == "environment"
    assert answer["speedup"] is None
    assert "CPU quota" in answer["message"]
    log = events(wb.folder / "s")
    stopped = [e["payload"] for e in log if e["type"] == "turn_measured"]
    assert any("cpu_throttled" in turn["flags"] for turn in stopped)
    (environment,) = (e["payload"] for e in log if e["type"] == "environment_recorded")
    assert environment["cpu_limits"]["quota"] == {"cpus": 0.5}


CGROUPS = {  # version -> where a group of one's own can be made, and how it gets 0.3 CPU
    2: ("/sys/fs/cgroup", {"cpu.max": "30000 100000"}),
    1: ("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "30000"}),
}


@pytest.fixture
def limited():
    """A prefix of commands that puts them into a control group with 0.3 of a CPU."""
    version = 2 if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else 1
    top, files = CGROUPS[version]
    group = f"{top}/sdpa-wb-test-{os.getpid()}"
    try:
        os.mkdir(group)
    except OSError as fault:
        pytest.skip(f"no control group of one's own can be made: {fault}")
    try:
        for name, text in files.items():
            with open(f"{group}/{name}", "w") as file:
                file.write(text)
        prefix = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
        subprocess.run([*prefix, "true"], check=True, capture_output=True)
        yield prefix
    except (OSError, subprocess.CalledProcessError) as fault:
        pytest.skip(f"no quota can be set, or no process moved there: {fault}")
    finally:
        os.rmdir(group)


def test_a_real_quota_is_a_row_of_doctor(wb, limited):
    done = subprocess.run(
        [*limited, *wb.argv("doctor", "--json")], cwd=wb.folder, capture_output=True, text=True,
        timeout=240,
    )  # fmt: skip
    rows = {row["name"]: row for row in json.loads(done.stdout)["checks"]}
    assert "0.3 CPUs of" in rows["cpus"]["detail"]
    assert "sdpa-wb-test-" in rows["cpus"]["detail"]
    assert "1 threads" in rows["worker"]["detail"]


HALF = """return {
  name = "half", about = "halves",
  arguments = { first = { default = 64 / 2, doc = "the first tile" } },
  open = { start = "cpu_online", problem = "B=1 Hq=1 Sq=" .. 64 / 2 .. " D=32 f32",
           effort = "quick", rivals = { "none" } },
  run = function(wb, args)
    wb.check { variant = "cpu_tiled", configuration = { TILE_M = %s }, draws = 4 / 2 }
    return { first = args.first }
  end,
}
"""


@pytest.mark.parametrize(
    ("tile", "fits"),
    [("64 / 2", True), ("tonumber(args.first)", True), ("math.floor(32.5)", True), ("2 ^ 5", True),
     ("64 / 3", False), ("1e300", False), ("0 / 0", False)],
)  # fmt: skip
def test_halves_of_even_numbers_are_integers_in_playbooks(wb, tile, fits):
    (wb.folder / "half.lua").write_text(HALF % tile)
    done = wb.run("playbook", "check", "./half.lua")
    assert (done.returncode == 0) == fits, done.stdout + done.stderr


def test_a_default_that_is_a_whole_float_is_shown_as_an_integer(wb):
    (wb.folder / "half.lua").write_text(HALF % "32")
    done = wb.run("run", "./half.lua", "--session", "s", "--json", check=0)
    assert strict(done.stdout)["result"]["first"] == "32"


def test_whole_floats_are_integers_on_the_command_line(wb):
    words = ["check", "cpu_tiled", "--problem", "B=1.0 Hq=2 Sq=64.0 D=32 f32"]
    answer = wb.json(*words, "--draws", "2.0", "--configuration", "TILE_M=32.0")
    assert answer["pass"]
    for option in (["--draws", "2.5"], ["--configuration", "TILE_M=32.5"], ["--draws", "2."]):
        done = wb.run(*words, *option)
        assert done.returncode == 2
        assert "integer" in done.stderr
    done = wb.run("check", "cpu_tiled", "--problem", "B=1 Hq=2 Sq=64.5 D=32 f32")
    assert done.returncode == 65
    assert "Sq is '64.5'" in done.stderr


def test_whole_floats_are_integers_in_suites_and_manifests(wb):
    kernels = wb.folder / "mine" / "kernels"
    shutil.copytree(ROOT / "kernels" / "cpu_unfused", kernels / "halved")
    manifest = json.loads((kernels / "halved" / "kernel.json").read_text())
    manifest |= {"name": "halved", "tune_params": {"TILE": [16.0, 32]}, "defaults": {"TILE": 32.0}}
    (kernels / "halved" / "kernel.json").write_text(json.dumps(manifest))
    problem = {"name": "p", "B": 1.0, "Hq": 2, "Sq": 64.0, "D": 32, "dtype": "f32"}
    suites = {"version": 1.0, "suites": {"mine": {"about": "a", "problems": [problem]}}}
    (kernels / "suites.json").write_text(json.dumps(suites))
    words = ["--path", "mine", "--suite", "mine"]
    assert wb.json("check", "halved", *words, "--configuration", "TILE=16")["pass"]
    suites["suites"]["mine"]["problems"][0]["Sq"] = 64.5
    (kernels / "suites.json").write_text(json.dumps(suites))
    done = wb.run("check", "halved", *words)
    assert done.returncode == 65
    assert "must be an integer" in done.stderr


# The C library as it is where a number has a decimal comma: strtod stops at a point, and whoever
# asks for the decimal point gets the comma. No locale need be installed.
COMMA = r"""
#include <dlfcn.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
struct lconv* localeconv(void) {
  static struct lconv facts;
  static char point[] = ",", none[] = "";
  struct lconv* (*real)(void) = (struct lconv* (*)(void))dlsym(RTLD_NEXT, "localeconv");
  facts = *real();
  facts.decimal_point = point;
  facts.thousands_sep = facts.grouping = none;
  return &facts;
}
double strtod(const char* text, char** end) {
  double (*real)(const char*, char**) = (double (*)(const char*, char**))dlsym(RTLD_NEXT, "strtod");
  char copy[512];
  size_t n = strcspn(text, ".");
  if (n >= sizeof copy - 1) return real(text, end);
  strncpy(copy, text, sizeof copy - 1);
  copy[sizeof copy - 1] = copy[n] = 0;
  char* comma = strchr(copy, ',');
  if (comma) *comma = '.';
  char* stop;
  double value = real(copy, &stop);
  if (end) *end = (char*)text + (stop - copy);
  return value;
}
"""


@pytest.fixture(scope="module")
def decimal_comma(tmp_path_factory):
    folder = tmp_path_factory.mktemp("comma")
    (folder / "comma.c").write_text(COMMA)
    compiler = shutil.which("gcc") or shutil.which("cc") or pytest.skip("no C compiler here")
    library = folder / "comma.so"
    words = [compiler, "-D_GNU_SOURCE", "-shared", "-fPIC", "-O1", "comma.c", "-ldl", "-o", library]
    subprocess.run(words, cwd=folder, check=True)
    return {"LD_PRELOAD": str(library)}


def test_nothing_read_or_written_depends_on_a_decimal_comma(wb, decimal_comma):
    (wb.folder / "reals.lua").write_text(
        HALF.replace("draws = 4 / 2", "draws = math.floor(2.75)").replace(
            "%s", "math.floor(0x20.8p0 + 1.5e-1)"
        )
    )
    report = wb.folder / "report.md"
    report.write_text("| a | b | speedup |\n|---|---|---|\n| 12.5 ms | 6.25 ms | 2.5x |\n")
    table = wb.folder / "t.csv"
    table.write_text("Sq,D,ours_us,torch_us\n64,32,12.5,25.75\n128,32,25.5,51.5\n")
    for words in (
        ["playbook", "check", "./reals.lua"],
        ["check", "cpu_tiled", "--problem", "B=1 Hq=1 Sq=32 D=32 f32 scale=0.125", "--draws", "1"],
        ["audit", "report.md"],
        ["analyze", "--table", "t.csv", "--device", "H200", "--shape", "B=1 Hq=8 f16"],
        ["kernels", "cpu_tiled"],
        ["suites", "n6"],
    ):
        told = [
            subprocess.run(
                wb.argv(*words, "--json"), cwd=wb.folder, env=os.environ | more,
                capture_output=True, text=True, timeout=240,
            )
            for more in ({}, decimal_comma)
        ]  # fmt: skip
        plain, comma = told
        assert comma.returncode == plain.returncode, words
        assert comma.returncode in (0, 1), (words, comma.stderr)
        answers = [strict(one.stdout) for one in told]
        for answer in answers:
            for row in answer.get("problems", []):
                row.pop("worst_share", None)  # of secret inputs
        assert answers[0] == answers[1], words
