# SPDX-License-Identifier: MIT
"""examples/: each program as a newcomer starts it, in an empty folder. Each takes some seconds for
what it builds and judges; the times of the tables are none that a CPU cannot reach. For whole
sessions of agent_session.py the model is a script (tool_world.py), the workbench is real."""

import json
import os
import re
import subprocess
import sys

import pytest
from support.commands import ROOT, importing
from support.logs import events
from tool_world import GOOD_EDIT, USED, Endpoint


@pytest.fixture
def example(package, wb):
    """Runs an example and returns what it printed."""

    def run(name, *words):
        file = ROOT / "examples" / name
        done = wb.python(package, file, *words) if file.suffix == ".py" else wb.run(
            "run", file, *words
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def iterations(session):
    return [event["payload"] for event in events(session) if event["type"] == "iteration_closed"]


def test_quickstart(example, wb, tmp_path):
    wb.turns.take(cpu_unfused=2000, cpu_tiled=1000)
    told = example("quickstart.py")
    assert told.startswith("cpu_tiled is right\n")
    assert "**Result:**" in told
    assert re.search(r"^win: (2\.0|1\.99)", told, re.M), told
    assert [step["outcome"] for step in iterations(tmp_path / "quickstart")] == ["baseline", "win"]
    assert events(tmp_path / "quickstart")[-1]["type"] == "session_closed"


def test_tune(example, wb, tmp_path):
    wb.turns.take(cpu_tiled=1000)
    told = example("tune.py", "searched", "3")
    asked = [event for event in events(tmp_path / "searched") if event["type"] == "evaluation"]
    assert told.startswith("3 of ")
    assert len(asked) == 3
    assert "\nno_gain: " in told
    assert "\nbest: cpu_tiled@" in told
    assert events(tmp_path / "searched")[-1]["type"] == "session_closed"


def test_the_playbook(example, wb, tmp_path):
    session = tmp_path / "played"
    wb.turns.take(cpu_unfused=4000, cpu_online=2000, cpu_tiled=1000)
    example("quickstart.lua", "--rivals", "none", "--session", session, "--arguments", "tiles=16")
    outcomes = [step["outcome"] for step in iterations(session)]
    assert outcomes == ["baseline", "win", "win", "no_gain"]  # two kernels, one tile
    notes = [event["payload"]["text"] for event in events(session) if event["type"] == "note"]
    assert "2 steps won" in notes
    assert events(session)[-1]["type"] == "session_closed"


def test_every_example_is_run_by_a_test():
    folder = ROOT / "examples"
    programs = [*folder.glob("*.lua"), *(
        file for file in folder.glob("*.py") if "__main__" in file.read_text())]  # fmt: skip
    tests = "".join(file.read_text() for file in (ROOT / "tests" / "python").glob("test_ex*.py"))
    assert len(programs) >= 4
    for program in programs:
        assert program.name in tests


# examples/agent_session.py, whole sessions of it: the model is a script (tool_world.py),
# the workbench is real.

KEY = "sk-not-to-be-written-anywhere"


@pytest.fixture
def agent(package, wb, cache, tmp_path):
    """Runs the example against a script; returns the process's end and the endpoint."""
    made = []

    def run(script, *words, style="anthropic", url=None, status=0):
        endpoint = Endpoint(script)
        made.append(endpoint)
        base = endpoint.url + ("/v1" if style == "openai" else "")
        given = ["--session", tmp_path / "s", "--model", "scripted", "--style", style]
        given += ["--url", url or base, "--path", ROOT, "--cache", cache]
        given += ["--worker", wb.turns.program()]
        given += ["--start", "cpu_unfused", "--problem", "B=1 Hq=2 Sq=64 D=32 f32"]
        given += ["--rivals", "none", "--effort", "quick", *words]
        env = os.environ | importing(package) | {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
        done = subprocess.run(
            [sys.executable, ROOT / "examples/agent_session.py", *map(str, given)],
            env=env, cwd=tmp_path, text=True, capture_output=True, timeout=400,
        )  # fmt: skip
        assert done.returncode == status, done.stderr + done.stdout
        return done, endpoint

    yield run
    for endpoint in made:
        endpoint.close()


def transcript(tmp_path):
    text = (tmp_path / "s/agent/transcript.jsonl").read_text()
    assert KEY not in text
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("style", ["anthropic", "openai"])
def test_a_whole_session(agent, tmp_path, style):
    """Some six seconds: two builds, four verdicts, and a process for each long call."""
    seen = []

    def look(_):
        return "I read first.", [("read_ref", {"ref": "cpu_unfused/kernel.cpp"}), ("brief", {})]

    def break_it(answers):
        seen.append(answers)
        return "", [("propose", {"edits": [GOOD_EDIT | {"replace": "namespace unfused { such"}]})]

    def mend(answers):
        seen.append(answers)
        return "", [("propose", {"edits": [GOOD_EDIT], "name": "mine"})]

    def measure(answers):
        seen.append(answers)
        return "", [("iterate", {"variant": "cpu_tiled", "hypothesis": "tiles reuse keys",
                                 "predicted_speedup": 1.5})]  # fmt: skip

    def end(answers):
        seen.append(answers)
        return "", [("close", {"recommendation": "as the script has it"})]

    done, endpoint = agent([429, look, 503, break_it, mend, measure, end], style=style)
    assert "the model closed the session" in done.stdout
    assert seen[0][0]["result"]["total_bytes"] > 0
    assert seen[1][0]["result"]["pass"] is False  # it did not compile, which is no error
    assert seen[2][0]["result"]["pass"] is True
    assert seen[3][0]["result"]["outcome"] == "no_gain"
    log = events(tmp_path / "s")
    tokens = [e["payload"] for e in log if e["type"] == "cost_debited" and
              e["payload"]["item"] == "tokens"]  # fmt: skip
    assert sum(t["quantity"] for t in tokens) == 5 * (USED["input"] + USED["output"])
    assert log[-1]["type"] == "session_closed" or any(e["type"] == "session_closed" for e in log)
    lines = transcript(tmp_path)
    assert [line["kind"] for line in lines[:2]] == ["begin", "reply"]
    assert sum(line["kind"] == "reply" for line in lines) == 5
    assert sum(line["kind"] == "answer" for line in lines) == 6
    assert lines[-1] == {"t": lines[-1]["t"], "kind": "end", "why": "the model closed the session"}
    assert len(endpoint.bodies) == 7  # two were refused and came again
    tools = endpoint.bodies[0]["tools"]
    assert 10 <= len(tools) <= 16
    header = "x-api-key" if style == "anthropic" else "authorization"
    assert {name.lower(): value for name, value in endpoint.headers[0].items()}[header].endswith(
        KEY
    )


def test_a_budget_ends_it_with_one_more_answer(agent, tmp_path):
    def talk(_):
        return "", [("note", {"text": "thinking"})]

    def close(_):
        return "", [("close", {"recommendation": "no money left"})]

    # An answer is 1000 tokens; at a dollar each the second is beyond the budget.
    done, endpoint = agent([talk, talk, close, talk], "--usd", 1500, "--token-usd-per-million", 1e6)
    assert "the model closed the session" in done.stdout
    assert len(endpoint.bodies) == 3


def test_turns_bound_it_and_the_same_command_goes_on(agent, tmp_path):
    def note(text):
        return lambda _: ("", [("note", {"text": text})])

    done, _ = agent([note("one"), note("two"), note("never")], "--turns", 2)
    assert "ended: 2 turns" in done.stdout
    done, endpoint = agent([note("three"), lambda _: ("enough", [])])
    assert "without closing" in done.stdout
    assert "two" in json.dumps(endpoint.bodies[0]["messages"])  # the brief has the note
    notes = [e["payload"]["text"] for e in events(tmp_path / "s") if e["type"] == "note"]
    assert notes == ["one", "two", "three"]
    assert sum(line["kind"] == "begin" for line in transcript(tmp_path)) == 2


def test_calls_that_are_wrong_are_answers(agent, tmp_path):
    seen = []

    def wrong(_):
        return "", [("no_such_tool", {}), ("iterate", {"variant": 3})]

    def end(answers):
        seen.extend(answers)
        return "no more", []

    agent([wrong, end])
    assert [answer["is_error"] for answer in seen] == [True, True]
    assert all(answer["message"] for answer in seen)


@pytest.mark.parametrize(
    ("step", "words"),
    [(401, "answered 401"), (b"<html>", "no JSON object"), (b'{"odd": 1}', "another form")],
)
def test_an_endpoint_that_fails_is_named(agent, tmp_path, step, words):
    done, endpoint = agent([step], status=1)
    assert words in done.stderr
    assert KEY not in done.stderr + done.stdout
    assert "run the same command to go on" in done.stderr
    assert len(endpoint.bodies) == 1
    assert transcript(tmp_path)[-1]["kind"] == "end"


def test_usage(package, tmp_path):
    env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    env |= importing(package)
    for words, said in (
        (["--session", "s", "--model", "m"], "ANTHROPIC_API_KEY"),
        (["--session", "s", "--model", "m", "--usd", "1"], "--token-usd-per-million"),
        (["--session", "s", "--model", "m", "--turns", "0"], "at least 1"),
    ):
        done = subprocess.run([sys.executable, ROOT / "examples/agent_session.py", *words],
                              env=env, cwd=tmp_path, text=True, capture_output=True)  # fmt: skip
        assert done.returncode == 2, done.stderr
        assert said in done.stderr
        assert not (tmp_path / "s").exists()
