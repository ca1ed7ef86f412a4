"""Every shipped dispatch rule, held against the recorded session that it names."""

import json

import pytest
from support.commands import ROOT
from support.kept import kept
from support.logs import events

TABLE = json.loads((ROOT / "kernels" / "dispatch.json").read_text())["rules"]
PROVEN = [(number, rule) for number, rule in enumerate(TABLE, 1) if "session" in rule]
DEVICES = {"H200": "NVIDIA H200", "AMD EPYC": "AMD EPYC"}


def confirmed(log, subject):
    """The last figure of each problem beside each rival, hot: {problem: [payload, ...]}."""
    last = {}
    for event in log:
        made = event["payload"]
        if event["type"] != "comparison_made" or made["role"] != "rival" or not made["problem"]:
            continue
        if made["plan"] == "hot" and made["candidate"] == subject and made["speedup"] is not None:
            last[made["problem"], made["against"]] = made
    by_problem = {}
    for (problem, _), made in last.items():
        by_problem.setdefault(problem, []).append(made)
    return by_problem


def test_there_are_rules_for_both_devices():
    assert {rule["device"] for _, rule in PROVEN} == set(DEVICES)


@pytest.mark.parametrize(("number", "rule"), PROVEN, ids=[f"rule_{n}" for n, _ in PROVEN])
def test_a_rule_chooses_what_its_session_found_ahead(wb, number, rule):
    folder, name = rule["session"].split("/")
    assert folder == "sessions"
    log = events(kept(name))
    built = [
        event["payload"]
        for event in log
        if event["type"] == "variant_built"
        and event["payload"].get("artifact_id") == rule["artifact_id"]
    ]
    assert built, "its session built no such artifact"
    assert built[-1]["configuration"] == rule["configuration"]
    assert built[-1]["subject"].split("@")[0] == rule["variant"]
    served = 0
    for problem, comparisons in confirmed(log, built[-1]["subject"]).items():
        device = DEVICES[rule["device"]]
        chosen = wb.json("best", "--problem", problem, "--device", device, "--path", str(ROOT))
        if chosen["rule"] != number:
            continue
        served += 1
        fastest = min(comparisons, key=lambda made: made["speedup"])
        assert fastest["outcome"] != "slower", (problem, fastest["against"], fastest["speedup"])
    assert served > 0, "its session measured no problem that it serves"
