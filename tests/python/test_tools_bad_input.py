# SPDX-License-Identifier: MIT
"""What agents send by mistake or on purpose: named errors that say what to do, and no file outside
the session is read or written."""

import json
import os

import pytest
from conftest import SMALL, events
from tool_world import GOOD_EDIT, bad, good

SECRET = "the-secret-of-the-neighbour"
PASSWD = "root:x:0:0"
BIG = "x" * 10_000_000

UP = "../"
NAMES = ("secret.txt", "s/events.jsonl", "etc/passwd")
TRICKS = [
    *(UP * depth + name for depth in (1, 2, 3, 12) for name in NAMES),
    *("./" + UP * depth + name for depth in (1, 2) for name in NAMES[:2]),
    *(f"kernels/{UP}{UP}{name}" for name in NAMES),
    *(f"cpu_unfused/{UP}{UP}{name}" for name in NAMES),
    *(f"cpu_unfused@00000000/{UP}{name}" for name in NAMES[:2]),
    "/etc/passwd", "//etc/passwd", "/etc/../etc/passwd", "/proc/self/environ", "/proc/self/mem",
    "/proc/self/cwd/secret.txt", "/dev/stdin", "/dev/zero", "/dev/fd/0", "file:///etc/passwd",
    "~/secret.txt", "~root/.profile", "$HOME/secret.txt", "${PWD}/secret.txt", "`cat secret.txt`",
    "$(cat secret.txt)", "secret.txt", "@secret.txt", "@/etc/passwd", "<secret.txt", "| cat",
    "; touch made.txt", "&& touch made.txt", "-o made.txt", "--output=made.txt", "--session=/etc",
    "..", ".", "", "...", "..\\secret.txt", "..%2fsecret.txt", "%2e%2e/secret.txt",
    "..;/secret.txt", "\u2025/secret.txt", "\uff0e\uff0e/secret.txt", "a" * 300, "a/" * 300,
    "link", "link/passwd", "jobs/../../secret.txt", "C:\\secret.txt",
]  # fmt: skip

# Arguments beside the one that is tried, with which the call gets far enough to look at it.
BESIDE = {
    "propose": {"edits": [GOOD_EDIT]},
    "iterate": {"variant": "no_kernel", "hypothesis": "h", "predicted_speedup": 2},
    "tune": {"variant": "no_kernel", "hypothesis": "h", "predicted_speedup": 2},
    "race": {"variants": ["a", "b"], "hypothesis": "h", "predicted_speedup": 2},
    "check": {"variant": "cpu_unfused"},
    "measure": {"variant": "cpu_unfused"},
    "profile": {"variant": "cpu_unfused"},
    "sanitize": {"variant": "cpu_unfused"},
    "build": {"variant": "cpu_unfused"},
    "compare": {"candidate": "cpu_unfused", "against": "cpu_unfused"},
    "record_decision": {"question": "q", "choice": "c", "reason": "r"},
    "record_usage": {"model": "m", "input_tokens": 1, "output_tokens": 1},
    "note": {"text": "t"},
    "read_ref": {"ref": "e1"},
}
# A text goes into the log and nowhere else: no path in it means anything. `close` would end it all.
TEXTS = {"note": {"text"}, "history": {"query"}, "record_usage": {"model"}}
SKIPPED = {"close"}


def strings_of(package, name):
    """The string arguments of a tool, and lists of strings, that name something."""
    for tool in package.tools.list_tools("mcp", "full"):
        if tool["name"] != name:
            continue
        for key, form in tool["inputSchema"]["properties"].items():
            words = form.get("items", form)
            if words["type"] == "string" and "enum" not in words and key != "request_id":
                yield key, form["type"] == "array"


@pytest.fixture
def box(package, small):
    with package.tools.Toolbox(small, wait_s=60) as box:
        yield box


@pytest.fixture
def direct(package, small):
    """A Toolbox whose calls run here by one engine: without a process for each of thousands."""

    class Direct(package.tools.Toolbox):
        holder = small.workbench.another()

        def _run(self, name, given, request, wait_s):
            answer = self.holder.call(name, given, session=self.folder, request_id=request)
            return self._told(name, answer)

    with Direct(small) as direct, Direct.holder:
        yield direct


def tree(folder):
    """Every file outside the session with its content."""
    return {
        path: path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_relative_to(folder / "s")
    }


def test_path_tricks_in_every_string_argument(package, box, direct, wb):
    assert len(set(TRICKS)) >= 60
    (wb.folder / "secret.txt").write_text(SECRET)
    (wb.folder / "link").symlink_to("/etc")
    (wb.folder / "s" / "jobs").mkdir(exist_ok=True)
    before = tree(wb.folder)
    tried = 0
    for name in package.tools.schemas.names_of("full"):
        if name in SKIPPED:
            continue
        at = direct if package.tools.schemas.mutates(name) else box
        for key, is_list in strings_of(package, name):
            if package.tools.schemas.is_long(name) and key in ("hypothesis",):
                continue  # a text of a call that measures for seconds
            for trick in TRICKS:
                value = [trick, trick] if is_list else trick
                answer = at.call(name, BESIDE.get(name, {}) | {key: value})
                told = json.dumps(answer)
                assert SECRET not in told, (name, key, trick)
                assert PASSWD not in told, (name, key, trick)
                if key not in TEXTS.get(name, ()) and answer["is_error"]:
                    assert bad(answer) in ("usage", "not_found", "invalid", "parse", "compile"), (
                        name, key, trick, answer,
                    )  # fmt: skip
                tried += 1
    assert tried >= 60 * 20
    assert tree(wb.folder) == before
    assert good(direct.call("propose", {"edits": [GOOD_EDIT], "name": "mine"}))["pass"] is True


@pytest.mark.parametrize("as_list", [True, False])
def test_path_tricks_as_names_of_files_and_parameters(direct, wb, as_list):
    (wb.folder / "secret.txt").write_text(SECRET)
    before = tree(wb.folder)
    for trick in TRICKS:
        pairs = [{"path": trick, "content": "int x;"}] if as_list else {trick: "int x;"}
        numbers = [{"name": trick, "value": 1}] if as_list else {trick: 1}
        include = f'#include "{trick}"\nint x;'
        for arguments in (
            {"files": pairs},
            {"edits": [GOOD_EDIT | {"path": trick}]},
            {"edits": [GOOD_EDIT | {"replace": include}]},
            {"configuration": numbers},
        ):
            answer = direct.call("propose", arguments)
            assert SECRET not in json.dumps(answer)
            assert PASSWD not in json.dumps(answer)
            if answer["is_error"]:
                assert bad(answer) in ("usage", "not_found", "invalid", "parse"), (trick, answer)
            else:
                assert good(answer)["pass"] is False, (trick, arguments)
    assert tree(wb.folder) == before


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
