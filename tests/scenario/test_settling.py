"""tests/bench/settling.py: the time a device takes to settle, from a session's turns."""

import gzip
import json
import math
import sys

import pytest
from support.commands import ROOT

sys.path.insert(0, str(ROOT / "tests" / "bench"))
import settling

CALL_US = 500.0


def turn(regime, over_frac, constant_ms, length_ms=200):
    """A turn whose calls start slower by a share that decays."""
    samples, now_ms = [], 0.0
    while now_ms < length_ms:
        samples.append(CALL_US * (1 + over_frac * math.exp(-now_ms / constant_ms)))
        now_ms += samples[-1] * 2 / 1e3
    payload = {"samples_us": samples, "calls_per_sample": 2} | (
        {"regime": regime} if regime else {}
    )
    return {"type": "turn_measured", "payload": payload}


@pytest.fixture(params=[False, True], ids=["plain", "packed"])
def session(tmp_path, request):
    events = [turn("sustained", over, 10) for over in (0.1, 0.2, 0.3)]
    events += [{"type": "note", "payload": {"text": "x"}}, turn(None, 5.0, 100)]
    lines = "".join(json.dumps(event) + "\n" for event in events)
    if request.param:
        (tmp_path / "events.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    else:
        (tmp_path / "events.jsonl").write_text(lines)
    return tmp_path


def test_the_curve_of_sustained_turns_alone(session):
    rows = settling.curve(session, 10)
    assert [row["ms"] for row in rows][:3] == [0, 10, 20]
    assert all(row["turns"] == 3 for row in rows[:15])
    # The median turn starts 20 % slower: within the first 10 ms e^-t/10 has a median of e^-0.5.
    assert rows[0]["median_frac"] == pytest.approx(0.2 * math.exp(-0.5), rel=0.1)
    assert rows[0]["p10_frac"] == pytest.approx(0.1 * math.exp(-0.5), rel=0.1)
    assert rows[6]["median_frac"] < 0.001 < rows[4]["median_frac"]


def test_a_session_without_such_turns_is_an_error(tmp_path, monkeypatch, capsys):
    (tmp_path / "events.jsonl").write_text(json.dumps(turn(None, 1.0, 10)) + "\n")
    monkeypatch.setattr(sys, "argv", ["settling.py", str(tmp_path)])
    with pytest.raises(SystemExit):
        settling.main()
    assert "sustained" in capsys.readouterr().err
