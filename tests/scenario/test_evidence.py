"""profile and sanitize without a GPU: they say why, in the exit code and in the log."""

import json

import pytest

EXIT_ENVIRONMENT, EXIT_USAGE = 76, 2
PROBLEM = "B=1 Hq=1 Sq=64 D=32 f32"


def test_without_a_gpu_tools_say_why_and_blame_nobody(wb):
    for words in (["profile", "cpu_online"], ["sanitize", "cpu_online", "--tools", "memcheck"]):
        done = wb.run(*words, "--problem", PROBLEM, "--json")
        assert done.returncode == EXIT_ENVIRONMENT, done.stderr
        answer = json.loads(done.stdout)
        rows = answer.get("problems") or answer["runs"]
        assert [row["outcome"] for row in rows] == ["not_available"]
        assert "on the CPU" in rows[0]["message"]
        assert not answer.get("taken", False)
        assert not answer.get("pass", False)


def test_on_the_cpu_a_python_variant_has_no_kernels_to_name(wb):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    words = ("profile", "torch_cpu_sdpa", "--problem", PROBLEM)
    answer = wb.json(*words, check=EXIT_ENVIRONMENT)
    row = answer["problems"][0]
    assert row["outcome"] == "not_available"
    assert "no kernels" in row["message"]
    assert row["launches"] == []


def test_a_tool_that_nobody_knows_is_refused_before_anything_is_built(wb):
    for tools in ("ncu", "valgrind", "memcheck,,racecheck", ""):
        done = wb.run("sanitize", "cpu_online", "--problem", PROBLEM, "--tools", tools)
        assert done.returncode == EXIT_USAGE, (tools, done.stdout)
        assert "choose among memcheck" in done.stderr


def test_the_answer_is_an_event_of_the_session(wb):
    wb.open_small()
    wb.run("profile", "cpu_online", "--session", "s")
    done = wb.run("sanitize", "cpu_online", "--session", "s", "--json")
    # Without problems of one's own those of the edges: the suite's may be large.
    assert all("B=2" in row["problem"] for row in json.loads(done.stdout)["runs"])
    lines = (wb.folder / "s" / "events.jsonl").read_text().splitlines()
    taken = [json.loads(line)["payload"] for line in lines if '"profile_taken"' in line]
    assert [event["tool"] for event in taken] == ["ncu"] + ["memcheck"] * 5 + ["racecheck"] * 5
    assert not any(event["available"] for event in taken)
    assert all(event["reason"] for event in taken)
