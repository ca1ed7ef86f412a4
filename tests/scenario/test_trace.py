"""`sdpa-wb trace`: profiles in, tables and findings out; bad ones, and those of other machines."""

import copy
import gzip
import json
import math
import os
import stat

import pytest
from trace_files import CASES, OWN, findings, metrics


def test_one_command_does_both(wb):
    result = wb.json(
        "trace", "report", OWN / "synthetic_flash_gqa_train.json", "--output-dir", "out"
    )
    assert [entry["name"] for entry in result["categories"]] == ["sdpa_fwd", "sdpa_bwd"]
    assert result["prepared"]["platform"] == "H100"
    folder = wb.folder / "out"
    forward, backward = metrics(folder), metrics(folder, "sdpa_bwd")
    assert forward["operations"][0]["classification"]["workload_profile"]["gqa_ratio"] == 4
    assert forward["operation_count"] == 3
    assert backward["operation_count"] == 1
    assert "Backward" in findings(folder, "sdpa_bwd")
    manifest = json.loads((folder / "category_data" / "category_manifest.json").read_text())
    assert [entry["name"] for entry in manifest["categories"]] == ["sdpa_fwd", "sdpa_bwd"]
    tree = json.loads((folder / "category_data" / "sdpa_fwd_tree_data.json").read_text())
    (entry,) = tree.values()
    assert entry["parent_chain"] == [
        "aten::scaled_dot_product_attention", "nn.Module: Attention_0", "ProfilerStep#3",
    ]  # fmt: skip


def test_unfused_attention_is_advised_to_be_fused(wb):
    wb.run("trace", "report", OWN / "synthetic_unfused.json", "--output-dir", "out", check=0)
    page = findings(wb.folder / "out")
    assert "Standard (unfused) Attention" in page
    assert "3 to 10 times" in page
    assert "- **Algorithmic:** Call fused (flash) attention" in page
    assert "- **Kernel:** Until then, tune the single kernels" in page


def test_the_model_as_a_whole_and_times_of_calls_are_told(wb):
    """2 calls of 80 us, a product of 500 us that is no attention, nothing else."""
    wb.run("trace", "report", OWN / "synthetic_unfused.json", "--output-dir", "out", check=0)
    page = findings(wb.folder / "out")
    assert "**Attention-heavy:** yes. Attention is 24.24 % of the 0.660 ms" in page
    assert "1.32 times as fast" in page
    assert "| `bmm` | 5 | 0.110 | 0.500 |" in page
    assert "| `softmax` | 2 | 0.040 | 0.000 |" in page
    assert "| 1 | `unfused_attention` | 2 | 80.00 | 80.00 | 80.00 | 80.00 | 0.00 |" in page


def test_our_findings_keep_the_rules_of_findings(wb):
    """The checker of anyone's page (`audit`) on ours: kinds, workloads, a failure."""
    names = ("synthetic_flash_gqa_train", "synthetic_unfused", "synthetic_paged_classic")
    pages = []
    for name in names:
        wb.run("trace", "report", OWN / f"{name}.json", "--output-dir", name, check=0)
        pages.append(wb.folder / name / "category_findings" / "sdpa_fwd_findings.md")
    broken = wb.folder / "broken"
    wb.run("trace", "report", OWN / "nowhere.json", "--platform", "L4", "--output-dir", broken)
    pages.append(broken / "category_findings" / "sdpa_fwd_findings.md")
    answer = wb.json("audit", *pages)
    assert answer["contradictions"] == answer["doubtful"] == 0, answer["text"]
    held = [{one["what"] for one in document["held"] if one["check"] == "principles"}
            for document in answer["documents"]]  # fmt: skip
    both = "advice is of both kinds, algorithmic and kernel"
    assert {"the kind of attention is told before it is judged", both} <= held[1] & held[2]
    assert "unfused attention is told to be replaced" in held[1]
    assert "the workload of paged attention is told" in held[2]
    assert held[3] == {"Status: ERROR, and no findings"}


def test_findings_speak_of_no_vendor_outside_of_names(wb):
    for name in ("synthetic_flash_gqa_train", "synthetic_unfused", "synthetic_paged_classic"):
        wb.run("trace", "report", OWN / f"{name}.json", "--output-dir", name, check=0)
        outside = "".join(findings(wb.folder / name).split("`")[::2])
        for word in ("CUDA", "cuDNN", "cuBLAS", "NVIDIA", "Tensor Core", "NCCL", "MIOpen"):
            assert word not in outside


def test_a_profile_without_attention_is_the_fixed_note(wb, tmp_path):
    """One operator with one kernel, neither of them attention."""
    trace = tmp_path / "none.json"
    events = copy.deepcopy(CASES["kernel_without_operator"])
    events["traceEvents"][1]["name"] = "gemm"
    operator = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 100, "tid": 100}
    events["traceEvents"].append({**operator, "ts": 10.0, "dur": 50.0, "args": {}})
    trace.write_text(json.dumps(events))
    wb.run("trace", "report", trace, "--platform", "L4", "--output-dir", "out", check=0)
    assert "No SDPA operations found in trace" in findings(wb.folder / "out")
    assert not (wb.folder / "out" / "category_data" / "sdpa_fwd_metrics.json").exists()


def test_a_second_run_leaves_nothing_of_the_first(wb, tmp_path):
    trace = OWN / "synthetic_flash_gqa_train.json"
    wb.run("trace", "report", trace, "--output-dir", "out", check=0)
    empty = tmp_path / "none.json"
    empty.write_text('{"traceEvents": []}')
    wb.run("trace", "prepare", empty, "--platform", "L4", "--output-dir", "out", check=0)
    left = [p.name for p in (wb.folder / "out").rglob("*") if p.is_file()]
    assert left == ["category_manifest.json"]


BAD = {
    "empty": b"",
    "cut": b'{"traceEvents": [{"ph": "X", "name": "a',
    "deep": b'{"traceEvents": [' + b"[" * 100_000,
    "latin1": b'{"traceEvents": [{"name": "\xe9"}]}',
    "no_events": b'{"events": []}',
    "half_gzip": gzip.compress(b'{"traceEvents": []}' * 1)[:-6],
    "binary": bytes(range(256)) * 10,
}


@pytest.mark.parametrize("case", BAD)
def test_bad_traces_are_named_errors_and_leave_no_findings(wb, tmp_path, case):
    trace = tmp_path / "bad.json"
    trace.write_bytes(BAD[case])
    done = wb.run("trace", "report", trace, "--platform", "H100", "--output-dir", "out")
    assert done.returncode not in (0, 1)
    assert done.returncode > 0
    assert "bad.json" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    page = findings(wb.folder / "out")
    assert "**Status:** ERROR" in page
    assert "## " not in page.replace("# SDPA", "")
    assert metrics(wb.folder / "out")["status"] == "ERROR"
    again = wb.run("trace", "analyze", "--output-dir", "out")
    assert again.returncode != 0
    assert "preparation failed" in again.stderr


def test_unknown_gpus_are_refused(wb, tmp_path):
    trace = OWN / "synthetic_unfused.json"
    done = wb.run("trace", "prepare", trace, "--platform", "H999", "--output-dir", "out")
    assert done.returncode == 64 or done.returncode == 2
    assert "known: L4, A100" in done.stderr
    other = tmp_path / "other.json"
    other.write_text(trace.read_text().replace("NVIDIA L4", "NVIDIA X1"))
    done = wb.run("trace", "prepare", other, "--output-dir", "out")
    assert done.returncode != 0
    assert "NVIDIA X1" in done.stderr
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"name": "X1", "mem_bw_gbps": 100, "memory_gb": 8,
                                "max_achievable_tflops": {"matrix_fp16": 10}}))  # fmt: skip
    wb.run("trace", "report", other, "--platform", mine, "--output-dir", "out", check=0)
    assert metrics(wb.folder / "out")["platform"] == "X1"


def test_the_profile_of_another_gpu_is_said(wb):
    result = wb.json("trace", "prepare", OWN / "synthetic_unfused.json",
                            "--platform", "MI300X", "--output-dir", "out")  # fmt: skip
    assert any("NVIDIA L4" in gap for gap in result["gaps"])


@pytest.mark.parametrize(
    ("devices", "said"),
    [('{"name":"NVIDIA X1"}', "X1, whose peaks are not known here; efficiencies are against L4"),
     ('{"name":"NVIDIA L4"},{"name":"NVIDIA X1"}', "several kinds (NVIDIA L4, NVIDIA X1); all"),
     ('{"name":"NVIDIA L4"},{"name":"NVIDIA L4"}', None)],
)  # fmt: skip
def test_a_named_platform_hides_no_other_gpu(wb, tmp_path, devices, said):
    trace = tmp_path / "other.json"
    text = (OWN / "synthetic_unfused.json").read_text()
    trace.write_text(text.replace('{"id":0,"name":"NVIDIA L4"}', devices))
    assert trace.read_text() != text
    result = wb.json("trace", "report", trace, "--platform", "L4", "--output-dir", "out")
    gaps = result["prepared"]["gaps"]
    assert [said in gap for gap in gaps] == [True] if said else gaps == []
    if said:
        assert said in findings(wb.folder / "out")


@pytest.fixture
def elsewhere(wb, tmp_path, monkeypatch):
    """`ssh` and `docker` that note their words and run them here, `sdpa-wb` beside them."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, body in (
        ("ssh", 'printf "%s\\n" "ssh $*" >>"$WB_NOTES"\nshift 2\nexec sh -c "$*"'),
        ("docker", 'printf "%s\\n" "docker $*" >>"$WB_NOTES"\nshift 2\nexec "$@"'),
        ("sdpa-wb", f'exec "{wb.program}" "$@"'),
    ):
        program = folder / name
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("WB_NOTES", str(tmp_path / "notes"))
    return tmp_path / "notes"


def test_the_same_command_runs_on_a_node_in_a_container(wb, elsewhere):
    out = "it's out"
    trace = OWN / "synthetic_paged_classic.json"
    here = wb.json("trace", "report", trace, "--output-dir", out)
    there = wb.json("trace", "report", trace, "--output-dir", out, "--node", "node7",
                           "--container", "box")  # fmt: skip
    assert here == there
    notes = elsewhere.read_text().splitlines()
    assert notes[0].startswith("ssh node7 -- 'docker' 'exec' 'box' 'sdpa-wb'")
    assert notes[1].startswith("docker exec box sdpa-wb --json trace report")
    for option in ("--node", "--container"):
        done = wb.run("trace", "analyze", "--output-dir", out, f"{option}=-oProxyCommand=x")
        assert done.returncode != 0
        assert "no name of a machine" in done.stderr


def test_what_fails_elsewhere_says_so_here(wb, elsewhere):
    done = wb.run("trace", "analyze", "--output-dir", "/nonexistent", "--node", "node7")
    assert done.returncode != 0
    assert "node7" in done.stderr
    assert "no such folder" in done.stderr


def test_an_answer_too_large_to_take_is_named(wb, elsewhere):
    program = elsewhere.parent / "programs" / "sdpa-wb"
    program.write_text('#!/bin/sh\nhead -c 9000000 /dev/zero | tr "\\0" "["\n')
    done = wb.run("trace", "analyze", "--output-dir", "out", "--node", "node7")
    assert done.returncode != 0
    assert "larger than 8 MiB" in done.stderr
    assert "node7" in done.stderr


def test_a_profile_becomes_a_suite_that_sessions_take(wb):
    """The whole way: profile, suite, session, report with the gain end to end."""
    small = json.loads((OWN / "synthetic_unfused.json").read_text())
    text = json.dumps(small).replace("256", "64").replace("c10::Half", "float")
    (wb.folder / "small.json").write_text(text)
    made = wb.json("trace", "suite", "small.json", "--output-dir", "mine", "--name", "small")
    (problem,) = made["problems"]
    assert problem["problem"] == "B=1 Hq=16 Hkv=16 Sq=64 Skv=64 D=64 f32 causal=none"
    assert problem["weight"] == 2
    assert math.isclose(problem["share_frac"], 0.16 / 6.4)
    again = wb.run("trace", "suite", "small.json", "--output-dir", "mine")
    assert again.returncode != 0
    assert "there is a file already" in again.stderr
    words = ["--path", "mine", "--session", "s"]
    wb.turns.take(cpu_tiled=50)
    wb.run("open", "--suite", "small", "--objective", "weighted_time", "--start", "cpu_unfused",
           "--rivals", "none", "--effort", "quick", *words, check=0)  # fmt: skip
    answer = wb.json("iterate", "--variant", "cpu_tiled", "--hypothesis", "tiles reuse keys",
                     "--predicted-speedup", "1.5", *words)  # fmt: skip
    assert answer["outcome"] == "win"
    page = wb.run("report", "--kind", "full", *words, check=0).stdout
    assert "share of the profile" in page
    assert "End to end:" in page


def test_what_cannot_be_a_problem_is_left_out_and_said(wb):
    made = wb.json("trace", "suite", OWN / "synthetic_flash_gqa_train.json", "--output-dir", "a")
    (problem,) = made["problems"]
    assert problem["problem"].endswith("Hkv=4 Sq=1024 Skv=1024 D=64 bf16 causal=top_left")
    assert problem["weight"] == 3
    (left,) = made["left_out"]
    assert left["why"] == "backward attention is no problem of the workbench yet"
    assert left["calls"] == 1
    done = wb.run("trace", "suite", OWN / "synthetic_paged_classic.json", "--output-dir", "b")
    assert done.returncode != 0
    assert "over pages is no problem" in done.stderr
