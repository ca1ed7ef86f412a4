# SPDX-License-Identifier: MIT
"""The package, its tools and the resources of its MCP server on a session that is an archive."""

import shutil

import pytest
from tool_world import bad, good

READS = ["report", "brief", "history", "advise", "diagnose", "analyze", "get_job"]
PATHS = [
    "session/report", "session/brief", "session/log", "events/e1", "iterations/i0",
    "kernels/LABEL/kernel.cpp",
]  # fmt: skip


@pytest.fixture
def both(small, wb, bench):
    """The same closed session as a folder and as an archive, both called `s`."""
    small.note("read me from anywhere")
    small.call("close", {"reason": "enough"})
    archive = wb.folder / "kept" / "s.tar.gz"
    archive.parent.mkdir()
    bench().pack(str(small.folder), output=str(archive))
    return small.folder, archive


def without_place(answer, place):
    return str(answer).replace(str(place), "PLACE").replace(str(place.resolve()), "PLACE")


def test_verbs_that_read_answer_alike(both, package, bench):
    for verb in READS:
        folder, archive = (
            without_place(package.Session(place, workbench=bench()).call(verb), place)
            for place in both
        )
        assert folder == archive, verb


def test_resources_answer_alike(both, package, bench):
    assert package
    from sdpa_workbench._mcp_resources import Resources

    told = [Resources(place, bench()) for place in (*both, both[1].with_name("s"))]
    label = bench().call("brief", {}, session=both[0])["incumbent"]["variant"]
    for path in PATHS:
        uri = "sdpa-workbench://" + path.replace("LABEL", label)
        first, *others = (one.read(uri) for one in told)
        assert others == [first, first], path
    assert told[0].prompt("review", {}) == told[1].prompt("review", {})


def test_tools_read_an_archive_and_say_that_it_is_not_written(both, package, bench):
    boxes = [package.tools.Toolbox(place, workbench=bench()) for place in both]
    for name in ("brief", "history"):
        assert good(boxes[0].call(name, {})) == good(boxes[1].call(name, {}))
    ref = {"ref": good(boxes[0].call("brief", {}))["incumbent"]["variant"]}
    assert good(boxes[0].call("read_ref", ref)) == good(boxes[1].call("read_ref", ref))
    idea = {
        "variant": "cpu_online", "hypothesis": "a tile reuses each key", "predicted_speedup": 2,
    }  # fmt: skip
    for name, arguments in (("note", {"text": "more"}), ("iterate", idea)):
        answer = boxes[1].call(name, arguments)
        assert bad(answer) == "read_only", name
        assert "archive" in answer["message"]
    assert [path.name for path in both[1].parent.iterdir()] == ["s.tar.gz"]


def test_writing_to_an_archive_raises(both, package, bench, tmp_path):
    session = package.Session(both[1], workbench=bench())
    with pytest.raises(package.errors.ReadOnlyError, match="archive"):
        session.note("more")
    script = tmp_path / "playbook.py"
    script.write_text("pass\n")
    with pytest.raises(package.errors.ReadOnlyError, match="archive"):
        package.Session.resume_or_open(both[1], playbook=script, workbench=bench())
    with pytest.raises(package.errors.InvalidError, match="archive"):
        package.Session.open(
            both[1].with_name("s"), start="cpu_unfused", problem="B=1 Hq=2 Sq=64 D=32 f32",
            workbench=bench(),
        )  # fmt: skip


def test_a_damaged_archive_raises(both, package, bench):
    from sdpa_workbench._mcp_resources import Resources

    shutil.copy(both[1], both[1].with_name("torn.tar.gz"))
    torn = both[1].with_name("torn.tar.gz")
    torn.write_bytes(torn.read_bytes()[:-100])
    with pytest.raises(package.errors.DamagedError, match=r"torn\.tar\.gz"):
        package.Session(torn, workbench=bench()).report()
    with pytest.raises(package.errors.DamagedError, match=r"torn\.tar\.gz"):
        Resources(torn, bench()).log()
