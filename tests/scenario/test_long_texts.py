"""What is longer than a line of the log: refused as an argument, or kept in a blob."""

import json

from support.commands import ROOT
from support.logs import events
from test_memory_verbs import snapshot


def test_texts_too_long_for_the_log_are_refused_and_long_sources_are_not(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    before = snapshot(session)
    done = wb.run("note", "x" * 30_000, "--session", session, check=2)
    assert "30000 bytes long; at most 20000" in done.stderr
    assert snapshot(session) == before
    wb.run("note", "x" * 20_000, "--session", session, check=0)
    source = (ROOT / "kernels/cpu_online/kernel.cpp").read_text() + "// " + "y" * 100_000 + "\n"
    (tmp_path / "long.cpp").write_text(source)
    wb.turns.take(cpu_online=80)
    answer = wb.json(
        "iterate", "--parent", "cpu_online", "--files", "kernel.cpp=@long.cpp",
        "--hypothesis", "a longer comment changes nothing", "--predicted-speedup", "1.1",
        "--session", session,
    )  # fmt: skip
    assert answer["outcome"] == "win"
    called = [e["payload"] for e in events(session) if e["type"] == "verb_called"][-1]
    stored = json.loads((session / "blobs" / called["args_blob"]).read_text())
    assert stored["files"]["kernel.cpp"] == source
