"""tests/bench/recorded_pairs: the two processes of one subject that a recorded session timed for
its noise floor, compared with each other."""

import hashlib
import json
import re
import subprocess

import pytest
from support.kept import SESSIONS, pack_as_before

KEPT = [archive for archive in SESSIONS if not archive.name.startswith("cpu-")]


@pytest.fixture
def pairs(build):
    program = build / "tests" / "bench" / "recorded_pairs"
    if not program.exists():
        pytest.skip("the benches are not built")

    def run(*sessions):
        return subprocess.run([program, *sessions], capture_output=True, text=True, timeout=120)

    return run


def is_again(payload):
    """Whether a turn of three subjects in ABBA order is of the last one, `against` once more."""
    is_backward = (payload["round"] + payload["instance"]) % 2
    return payload["position"] in ((0, 5) if is_backward else (2, 3))


def slow_down(session, factor):
    """That subject takes so much longer, and the log's chain holds."""
    lines, prev, slowed = [], "0" * 64, 0
    for line in (session / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["type"] == "turn_measured" and event["payload"].get("regime") == "sustained":
            if is_again(event["payload"]):
                event["payload"]["samples_us"] = [
                    factor * sample for sample in event["payload"]["samples_us"]
                ]
                slowed += 1
            payload = json.dumps(event["payload"], separators=(",", ":"), ensure_ascii=False)
            line = line[: line.index('"payload":')] + f'"payload":{payload}}}'
        head, rest = line.split('"prev":"', 1)
        lines.append(f'{head}"prev":"{prev}{rest[64:]}')
        prev = hashlib.sha256(lines[-1].encode()).hexdigest()
    (session / "events.jsonl").write_text("\n".join(lines) + "\n")
    return slowed


def test_equal_code_in_the_kept_sessions_is_hardly_ever_told_apart(pairs):
    done = pairs(*KEPT)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(
        r"\| (burst|sustained) \| .*? \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", done.stdout
    )
    for regime in ("burst", "sustained"):
        counts = [list(map(int, row[1:])) for row in rows if row[0] == regime]
        assert sum(count[0] for count in counts) >= 100
        assert all(count[0] == sum(count[1:]) for count in counts)


def test_a_slower_process_is_found(pairs, unpacked):
    session = unpacked("h200-part2-gqa")
    session = session.rename(session.with_name("slowed"))
    assert pairs(session).returncode == 0
    assert slow_down(session, 1.0) > 0
    assert pairs(session).returncode == 0
    slow_down(session, 1.05)
    done = pairs(session)
    assert done.returncode == 1, done.stdout
    assert pairs(pack_as_before(session)).stdout == done.stdout
    assert len(re.findall(r"^slowed B=.*sustained: 1\.0[45]", done.stdout, re.M)) == 3


def test_what_cannot_be_read_is_a_fault(pairs, tmp_path):
    done = pairs(tmp_path)
    assert done.returncode == 2
    assert str(tmp_path) in done.stderr
    assert pairs().returncode == 1  # no pair says nothing
