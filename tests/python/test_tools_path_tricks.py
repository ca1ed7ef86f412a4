# SPDX-License-Identifier: MIT
"""Path tricks in whatever agents send: named errors, and no file outside the session is read or
written."""

import json
import shutil

import pytest
from support.logs import events
from tool_world import GOOD_EDIT, bad, good

SECRET = "the-secret-of-the-neighbour"
PASSWD = "root:x:0:0"

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
# A text goes into the log and nowhere else: no path in it means anything.
TEXTS = {"note": {"text"}, "history": {"query"}, "record_usage": {"model"}}
SKIPPED = {"close"}  # it would end it all: a test of its own


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

    with Direct(small, max_bytes=1 << 16) as direct, Direct.holder:
        yield direct


def tree(folder):
    """Every file outside the session with its content."""
    return {
        path: path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_relative_to(folder / "s")
    }


def test_path_tricks_in_every_string_argument(package, box, direct, wb):
    """Some twelve seconds: 2,500 calls of five milliseconds."""
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


TRICKS_A_CALL = 2  # with the right one 13 proposals of at most 16


def item_tricks(trick):
    """Proposals with the trick in each place of an item that names something."""
    return [
        {"files": [{"path": trick, "content": "int x;"}]},
        {"edits": [GOOD_EDIT | {"path": trick}]},
        {"edits": [GOOD_EDIT | {"replace": f'#include "{trick}"\nint x;'}]},
        {"edits": [GOOD_EDIT], "parent": trick},
        {"edits": [GOOD_EDIT], "name": trick},
        {"configuration": [{"name": trick, "value": 1}]},
    ]


def test_path_tricks_in_items_of_propose_many(direct, wb):
    (wb.folder / "secret.txt").write_text(SECRET)
    (wb.folder / "link").symlink_to("/etc")
    before = tree(wb.folder)
    known = {"refused", "compile", "constraints"}
    for first in range(0, len(TRICKS), TRICKS_A_CALL):
        tricks = TRICKS[first : first + TRICKS_A_CALL]
        # A good neighbour is judged anew each time, which takes a second: every tenth call has one.
        good_one = first % (10 * TRICKS_A_CALL) == 0
        items = [{"edits": [GOOD_EDIT], "name": "mine"}] * good_one
        owners = [None] * good_one
        for trick in tricks:
            items += item_tricks(trick)
            owners += [trick] * (len(items) - len(owners))
        answer = direct.call("propose_many", {"proposals": items})
        assert SECRET not in json.dumps(answer), tricks
        assert PASSWD not in json.dumps(answer), tricks
        outcomes = {row["proposal"]: row["outcome"] for row in good(answer)["rows"]}
        assert len(outcomes) == len(items)
        if good_one:
            assert outcomes.pop(1) == "pass", tricks  # nothing is lost by its neighbours
        for number, outcome in outcomes.items():
            trick = owners[number - 1]
            # A parent without a name is the incumbent, and "link" a name like others.
            fine = {"pass"} if trick in ("", "link") else set()
            assert outcome in known | fine, trick
    assert tree(wb.folder) == before


def test_path_tricks_as_request_ids(box, wb):
    (wb.folder / "secret.txt").write_text(SECRET)
    before = tree(wb.folder)
    accepted = []
    for trick in TRICKS:
        answer = box.call("note", {"text": "t", "request_id": trick})
        assert SECRET not in json.dumps(answer), trick
        if answer["is_error"]:
            assert bad(answer) == "usage", (trick, answer)
            continue
        assert good(box.call("get_job", {"job": trick})) == good(answer)
        accepted.append(trick)
    assert {"..", "secret.txt"} <= set(accepted)  # they name nothing but the call
    assert not any("/" in trick for trick in accepted)
    wrong = {"edits": [GOOD_EDIT], "parent": "no_kernel"}
    for trick in TRICKS:  # a job's process, for what a short call takes
        request = trick + ":p"
        if trick not in accepted:
            assert bad(box.call("propose", wrong | {"request_id": trick})) == "usage", trick
        elif len(trick) < 20:
            assert bad(box.call("propose", wrong | {"request_id": request})) == "not_found"
    notes = [e for e in events(wb.folder / "s") if e["type"] == "note"]
    assert len(notes) == len(accepted)
    assert tree(wb.folder) == before


def test_path_tricks_in_what_close_is_told(package, direct, wb):
    """All at once, and some alone: each in a session of its own, which it ends."""
    (wb.folder / "secret.txt").write_text(SECRET)
    shutil.copytree(wb.folder / "s", wb.folder / "whole", symlinks=True)
    keys = [key for key, _ in strings_of(package, "close")]
    assert keys == ["reason", "recommendation"]
    before = tree(wb.folder)
    for trick in ("\n".join(TRICKS), *TRICKS[::5]):
        shutil.rmtree(wb.folder / "s")
        shutil.copytree(wb.folder / "whole", wb.folder / "s", symlinks=True)
        with direct.holder.another() as direct.holder:
            answer = direct.call("close", dict.fromkeys(keys, trick))
        assert SECRET not in json.dumps(answer), trick
        closed = events(wb.folder / "s")[-1]
        assert (good(answer)["session"], closed["type"]) == (str(wb.folder / "s"), "session_closed")
        report = (wb.folder / "s" / "reports" / "session.md").read_text()
        assert SECRET not in report, trick
        assert PASSWD not in report, trick
        assert tree(wb.folder) == before, trick
