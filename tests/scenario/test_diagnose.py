"""diagnose: causes of recorded sessions, of files, and of a CPU session from end to end."""

import json
from pathlib import Path

import pytest
from support.commands import ROOT
from support.kept import kept
from support.logs import events

EXIT_USAGE, EXIT_MALFORMED = 2, 65
STATES = {"supported", "refuted", "undecided"}


def causes(answer):
    return {cause["cause"]: cause for cause in answer["causes"]}


def diagnosed(wb, name):
    return wb.json("diagnose", "--session", str(kept(name)))


def rests_on(cause):
    return [event for one in cause["evidence"] for event in one["events"]]


def test_n6_walked_the_keys_in_series_and_its_winner_does_not(wb):
    answer = diagnosed(wb, "n6-baseline")
    start = causes(answer["start"])
    assert answer["start"]["subject"].startswith("sm80_sequential_kv@")
    assert start["sequential_kv"]["state"] == "supported"
    now = causes(answer)
    assert answer["subject"].startswith("sm80_tiled_flash@")
    assert now["sequential_kv"]["state"] == "refuted"
    # An empty call takes a fortieth of the time: not the launch; and more heads come for free.
    assert now["launch_bound"]["state"] == "refuted"
    assert start["launch_bound"]["state"] == "refuted"
    assert start["grid_misses_heads"]["state"] == "refuted"
    assert start["under_utilisation"]["state"] == "supported"
    assert start["under_utilisation"]["strength"] == "weak"  # nobody saw its launch
    # PyTorch took longer for four queries than for 128, by other kernels: it was warm.
    assert now["unwarmed_reference"]["state"] == "refuted"
    # The machine code was not recorded.
    assert now["bank_conflicts"]["state"] == "undecided"
    assert now["bank_conflicts"]["needs"]
    event = rests_on(start["sequential_kv"])[0]
    assert wb.run("show", f"e{event}", "--session", str(kept("n6-baseline")), check=0).stdout


def test_batch_scaling_is_full_so_its_launch_rule_tells_its_grid(wb):
    now = causes(diagnosed(wb, "batch-scaling"))
    # Two of three problems fill the device, where every grid grows: times decide nothing. The
    # kernel's own launch rule does, marked as such.
    assert now["grid_misses_heads"]["state"] == "refuted"
    assert now["grid_misses_heads"]["strength"] == "derived"
    assert "derived, not measured" in now["grid_misses_heads"]["evidence"][0]["statement"]
    assert now["launch_bound"]["state"] == "refuted"
    assert now["compute_peak"]["state"] == "refuted"


def test_causes_of_gpus_cannot_be_at_work_on_a_cpu(wb):
    now = causes(diagnosed(wb, "cpu-decode-f32"))
    assert now["bank_conflicts"]["state"] == "refuted"
    assert "cuda" in now["bank_conflicts"]["not_applicable"]
    assert now["memory_bandwidth"]["not_applicable"] is None


def figures_of(rules):
    if isinstance(rules, dict):
        own = {rules["figure"]} if "figure" in rules else set()
        return own.union(*(figures_of(value) for value in rules.values()))
    return set().union(*(figures_of(rule) for rule in rules)) if isinstance(rules, list) else set()


def test_causes_ask_for_figures_that_some_analysis_has():
    registry = json.loads((ROOT / "kernels" / "causes.json").read_text())
    sources = "".join(file.read_text() for file in (ROOT / "workbench/analyze").glob("*.cpp"))
    asked = figures_of(registry["causes"])
    assert len(asked) > 30
    assert {figure for figure in asked if f'"{figure}"' not in sources} == set()


def test_few_causes_are_left_open(wb):
    """What the log, the manifest and the launch rule tell decides all but two."""
    registry = json.loads((ROOT / "kernels" / "causes.json").read_text())
    open_ones = {}
    for name in ("from-benchmarks", "hopper-prefill", "hopper-prefill-ends", "ladder",
                 "n6-baseline"):  # fmt: skip
        now = causes(diagnosed(wb, name))
        assert len(now) == len(registry["causes"]), name
        open_ones[name] = [one for one in now if now[one]["state"] == "undecided"]
    assert all(len(some) <= 2 for some in open_ones.values()), open_ones


def test_the_winner_of_from_benchmarks_uses_the_matrix_units(wb):
    answer = diagnosed(wb, "from-benchmarks")
    now = causes(answer)
    # Above the peak of the other units on the large problem.
    assert now["tensor_cores_unused"]["state"] == "refuted"
    # One small problem is bound by its launch, the large ones are not.
    bound = now["launch_bound"]
    assert bound["state"] == "supported"
    assert bound["where"] == ["n6_S128"]
    assert bound["share_frac"] < 0.5
    start = causes(answer["start"])
    assert start["launch_bound"]["state"] == "refuted"
    # Slow is no proof; its manifest names no matrix instructions.
    assert start["tensor_cores_unused"]["strength"] == "derived"


@pytest.mark.parametrize("name", ["n6-baseline", "batch-scaling", "from-benchmarks"])
def test_pages_of_sessions_from_before_causes_decide_them_now(wb, name):
    session = str(kept(name))
    answer = diagnosed(wb, name)
    page = wb.run("report", "--kind", "root-cause", "--session", session, check=0).stdout
    assert page.startswith("# Root cause: ")
    assert "## How time scales" in page
    assert "## Fixes made" in page
    summary = page.split("## Summary", 1)[1].split("## ", 1)[0]
    supported = [one for one in answer["causes"] if one["state"] == "supported"]
    assert ("Root cause now: " in summary) == bool(supported)
    for one in supported[:1]:
        assert one["title"] in summary
    page = wb.run("report", "--kind", "bottleneck", "--session", session, check=0).stdout
    for heading in ("Performance", "Small and large", "Demand of the problems", "Launches",
                    "Causes", "What to do", "Not seen"):  # fmt: skip
        assert f"## {heading}\n" in page, heading


def test_the_page_of_n6_names_the_walk_that_the_session_removed(wb):
    session = str(kept("n6-baseline"))
    page = wb.run("report", "--kind", "root-cause", "--session", session, check=0).stdout
    summary = page.split("## Summary", 1)[1].split("## ", 1)[0]
    assert "Root cause of the start `sm80_sequential_kv@" in summary
    assert "keys walked one after another" in summary
    assert "none is supported" not in page


def test_machine_code_alone_decides_what_it_can(wb, tmp_path):
    path = tmp_path / "kernel.sass"
    lines = "\n".join(f"        /*{16 * i:04x}*/  FFMA R0, R1, R2, R3 ;" for i in range(8))
    path.write_text(f"code for sm_90\n  Function : kernel\n{lines}\n")
    answer = wb.json("diagnose", "--sass", str(path))
    assert causes(answer)["tensor_cores_unused"]["state"] == "supported"
    assert causes(answer)["launch_bound"]["state"] == "undecided"
    text = wb.run("diagnose", "--sass", str(path), check=0).stdout
    assert "matrix units unused" in text


def test_a_registry_that_breaks_a_rule_is_named(wb, tmp_path):
    folder = tmp_path / "mine" / "kernels"
    folder.mkdir(parents=True)
    whole = json.loads((ROOT / "kernels" / "causes.json").read_text())
    whole["causes"][2]["techniques"] = ["magic"]
    (folder / "causes.json").write_text(json.dumps(whole))
    done = wb.run("diagnose", "--session", str(kept("n6-baseline")), "--path", folder.parent)
    assert done.returncode == EXIT_MALFORMED
    assert "cause 3" in done.stderr
    assert "magic" in done.stderr


def test_without_files_or_a_session_it_says_what_to_name(wb):
    done = wb.run("diagnose")
    assert done.returncode == EXIT_USAGE
    assert "--session" in done.stderr
    assert wb.run("report", "--kind", "novel", "--session", str(kept("n6-baseline"))).returncode


def test_a_cpu_session_from_end_to_end(wb, tmp_path):
    session = str(tmp_path / wb.open_small()["session"])
    before = wb.json("diagnose", "--session", session)
    assert {cause["state"] for cause in before["causes"]} <= STATES
    for name in ("bank_conflicts", "tensor_cores_unused"):  # of GPUs
        assert causes(before)[name]["not_applicable"]
    measured = wb.json("diagnose", "--measure", "--session", session)
    assert {row["probe"] for row in measured["measured"]} <= {"keys", "heads", "eager"}
    assert measured["measured"]
    wb.run("close", "--session", session, check=0)
    report = wb.run("report", "--kind", "full", "--session", session, check=0).stdout
    assert "## Causes" in report
    assert "## Roadmap" in report
    log = events(Path(session))
    types = [event["type"] for event in log]
    assert types.count("causes_decided") == 2
    found = [
        e for e in log if e["type"] == "finding_recorded" and e["payload"]["iteration"] is None
    ]
    assert {e["payload"]["analysis"] for e in found} <= {"key_walk", "grid_scaling", "call_cost"}
    cause_page = wb.run("report", "--kind", "root-cause", "--session", session, check=0).stdout
    assert "## Hypotheses" in cause_page
    assert "## Validation" in cause_page
    # What is cited is there.
    for cause in measured["causes"]:
        for event in rests_on(cause):
            assert 1 <= event <= len(log)
    assert wb.run("diagnose", "--measure", "--session", session).returncode != 0  # closed
