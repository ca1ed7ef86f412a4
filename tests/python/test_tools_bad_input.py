# SPDX-License-Identifier: MIT
"""What agents send by mistake or on purpose: named errors that say what to do."""

import os

import pytest
from support.commands import SMALL
from support.logs import events
from tool_world import GOOD_EDIT, bad, good

BIG = "x" * 10_000_000


@pytest.fixture
def box(package, small):
    with package.tools.Toolbox(small, wait_s=60) as box:
        yield box


HYPOTHESIS = {"variant": "cpu_tiled", "hypothesis": "h"}


@pytest.mark.parametrize(
    ("name", "arguments", "code", "words"),
    [
        ("propos", {}, "usage", "did you mean propose?"),
        ("open", {}, "usage", "no tool"),
        ("run", {}, "usage", "no tool"),
        ("gc", {}, "usage", "no tool"),
        ("show", {}, "usage", "no tool"),
        ("", {}, "usage", "no tool"),
        (None, {}, "usage", "no tool"),
        ("x" * 10_000, {}, "usage", "no tool"),
        ("note", {}, "usage", '"text" is missing'),
        ("note", {"txt": "x"}, "usage", "it takes: text"),
        ("note", {"text": 3}, "usage", "must be a string"),
        ("note", {"text": None}, "usage", '"text" is missing'),
        ("note", {"text": "a\0b"}, "usage", "NUL"),
        ("note", {"text": "\ud800"}, "usage", ""),
        ("note", {"text": BIG}, "limit", "at most 8 MiB"),
        ("note", {"text": "x" * 100_000}, "usage", "100000 bytes long"),
        ("note", [1], "usage", "must be a JSON object"),
        ("note", 3, "usage", "must be a JSON object"),
        ("note", {"text": object()}, "usage", "not JSON"),
        ("note", {"text": b"x"}, "usage", "not JSON"),
        ("note", {"text": float("nan")}, "usage", "not JSON"),
        ("note", '{"text": ', "usage", "not JSON"),
        ("note", '{"text": "a", "text": "b"}', "usage", "twice"),
        ("note", "[" * 100_000, "usage", "not JSON"),
        ("note", "[]", "usage", "must be a JSON object"),
        ("note", {"text": "x", "request_id": "a b"}, "usage", "request_id"),
        ("note", {"text": "x", "request_id": ""}, "usage", "request_id"),
        ("note", {"text": "x", "request_id": 3}, "usage", "request_id"),
        ("brief", {"request_id": "r"}, "usage", "no argument"),
        ("iterate", HYPOTHESIS, "usage", '"predicted_speedup" is missing'),
        ("iterate", HYPOTHESIS | {"predicted_speedup": "2"}, "usage", "must be a number"),
        ("iterate", HYPOTHESIS | {"predicted_speedup": -1}, "usage", "must lie between"),
        ("iterate", HYPOTHESIS | {"predicted_speedup": 2, "speedup": 3}, "usage", "no argument"),
        ("iterate", HYPOTHESIS | {"predicted_speedup": 2, "wait_s": -1}, "usage", "wait_s"),
        ("iterate", HYPOTHESIS | {"predicted_speedup": 2, "wait_s": True}, "usage", "wait_s"),
        ("iterate", HYPOTHESIS | {"predicted_speedup": 2, "confirm": "no"}, "usage", "one of"),
        ("iterate", HYPOTHESIS | {"predicted_speedup": 2, "files": []}, "usage", "no argument"),
        ("propose", {"files": "x"}, "usage", "must be a map"),
        ("propose", {"files": [{"path": "x"}]}, "usage", "item 1 must have path and content"),
        ("propose", {"files": [{"path": "x", "content": "a"}] * 2}, "usage", "twice"),
        ("propose", {"files": [{"path": 3, "content": "a"}]}, "usage", "must be a string"),
        ("propose", {"files": [{"path": "x", "content": 3}]}, "usage", "not text"),
        ("propose", {"files": {"x": "y" * (1 << 21)}}, "usage", "1 MiB"),
        ("propose", {"edits": {"path": "x"}}, "usage", "must be a list"),
        ("propose", {"edits": [3]}, "usage", "item 1 must be a map"),
        ("propose", {"edits": [{"path": "x", "search": "y"}]}, "usage", "has no replace"),
        ("propose", {"edits": [GOOD_EDIT | {"line": "3"}]}, "usage", "an edit has"),
        ("propose", {"edits": [GOOD_EDIT | {"search": 3}]}, "usage", "search must be a string"),
        ("propose", {"edits": [GOOD_EDIT] * 65}, "usage", "at most 64"),
        ("propose", {"configuration": [{"name": "A", "value": 1.5}]}, "usage", "not an integer"),
        ("propose", {"configuration": [{"name": "A", "value": 2**70}]}, "usage", "64 bits"),
        ("propose", {}, "usage", "nothing of it is new"),
        ("propose_many", {}, "usage", '"proposals" is missing'),
        ("propose_many", {"proposals": []}, "usage", "the list is empty"),
        ("propose_many", {"proposals": [{}] * 17}, "usage", "at most 16"),
        ("propose_many", {"proposals": [{"edits": [{}]}]}, "usage", "item 1"),
        ("propose_many", {"proposals": [{"time_us": 3}]}, "usage", "of item 1"),
        ("race", {"variants": "x"}, "usage", "must be a list"),
        ("record_usage", {"model": "m", "input_tokens": -1, "output_tokens": 0}, "usage", ""),
        ("record_usage", {"model": "m", "input_tokens": 1.5, "output_tokens": 0}, "usage", ""),
        ("record_usage", {"model": "m", "output_tokens": 0}, "usage", "is missing"),
        ("read_ref", {"ref": "e0"}, "not_found", ""),
        ("read_ref", {"ref": "0" * 64}, "not_found", "keeps no such text"),
        ("read_ref", {"ref": "e1", "offset": -1}, "usage", "must lie between"),
        ("get_job", {"job": "a b"}, "usage", "request_id"),
        ("get_job", {"wait_s": "1"}, "usage", "wait_s"),
        ("get_job", {"wait_s": 1e9}, "usage", "wait_s"),
        ("report", {"output": "x.md"}, "usage", "no argument"),
        ("diagnose", {"table": "/etc/passwd"}, "usage", "no argument"),
    ],
)
def test_what_is_wrong_is_named(box, name, arguments, code, words):
    answer = box.call(name, arguments)
    assert bad(answer) == code
    assert words in answer["message"]
    assert answer["fixable"] is True
    assert good(box.call("brief"))["session"] == "s"  # and the next call is served


def test_a_fault_of_the_place_is_not_for_the_agent(package, box, wb):
    folder = wb.folder / "s"
    log = (folder / "events.jsonl").read_bytes()
    middle = len(log) // 2
    (folder / "events.jsonl").write_bytes(log[:middle] + b"#" + log[middle + 1 :])
    answer = box.call("brief")
    assert (bad(answer), answer["fixable"]) == ("damaged", False)
    (folder / "events.jsonl").write_bytes(log)
    assert good(box.call("brief"))
    if os.geteuid() == 0:
        pytest.skip("root writes into a folder that nobody may write")
    os.chmod(folder / "events.jsonl", 0o400)
    answer = box.call("note", {"text": "x"})
    assert answer["fixable"] is False


def test_wrong_calls_leave_no_trace(box, wb):
    before = len(events(wb.folder / "s"))
    for name, arguments in (("note", {}), ("propose", {"files": 3}), ("check", {"problem": SMALL})):
        assert bad(box.call(name, arguments)) == "usage"
    assert len(events(wb.folder / "s")) == before
