"""`sdpa-wb trace`: profiles in, tables and findings out.

Real profiles and what TraceLens makes of them lie outside of the project, in the folder that
WB_SHARED_DATA names; without it those tests are skipped. The made-up ones are our own.
"""

import ast
import csv
import gzip
import json
import math
import os
import stat

import pytest
from conftest import ROOT

SHARED = (ROOT / os.environ.get("WB_SHARED_DATA", "../shared")).resolve() / "data" / "traces"
OWN = ROOT / "tests" / "data" / "trace"
# TraceLens takes ends of kernels as ts + dur, in which a start of 10^12 us leaves a duration some
# 0.5 ns of precision: its figures of short kernels differ from the recorded durations by that.
STEP_US = 0.001

needs_profiles = pytest.mark.skipif(
    not SHARED.is_dir(), reason="no real profiles here: WB_SHARED_DATA names no folder with them"
)
REFERENCES = {
    "flash_long": (
        "sdpa_01_long_seq_low_eff/sdpa_01_long_seq_low_eff.json",
        "sdpa_01_long_seq_low_eff/analysis_output_ref/perf_report_csvs",
        "MI300X",
    ),
    "flash_made": (
        "attn_01_long_seq_flash/attn_01_long_seq_flash.json",
        "attn_01_long_seq_flash/analysis_output_ref/perf_report_csvs",
        "MI300X",
    ),
    "flash_wide": (
        "attn_03_large_head_dim/attn_03_large_head_dim.json",
        "attn_03_large_head_dim/analysis_output_ref/perf_report_csvs",
        "MI300X",
    ),
    "flash_causal": (
        "traces/h100_qwen1.5_0.5b_causal.json.gz",
        "expected/h100_qwen1.5_0.5b_causal",
        "H100",
    ),
    "server": (
        "traces/mi300x_vllm_prefilldecode_gqa.json.gz",
        "expected/mi300x_vllm_prefilldecode_gqa",
        "MI300X",
    ),
}


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def literal(text):
    return ast.literal_eval(text.replace("np.float64(nan)", "None").replace("np.float64", ""))


def prepared(wb, name, platform=None, out="out"):
    words = ["trace", "prepare", name, "--output-dir", out]
    wb.run(*words, *(["--platform", platform] if platform else []), check=0)
    return wb.folder / out


def findings(folder, category="sdpa_fwd"):
    return (folder / "category_findings" / f"{category}_findings.md").read_text(encoding="utf-8")


def metrics(folder, category="sdpa_fwd"):
    return json.loads((folder / "category_data" / f"{category}_metrics.json").read_text())


EXACT = ["name", "ex_UID", "operation_count", "Input Dims", "Input type", "Input Strides",
         "Concrete Inputs", "has_perf_model"]  # fmt: skip
DERIVED = ["GFLOPS", "Data Moved (MB)", "FLOPS/Byte"]
TIMES = ["Kernel Time (µs)_" + part for part in ("mean", "sum", "median", "min", "max")]
RATES = [
    f"{what}_{part}" for what in ("TFLOPS/s", "TB/s") for part in ("mean", "median", "min", "max")
]


@needs_profiles
@pytest.mark.parametrize("case", REFERENCES)
def test_tables_equal_the_reference(wb, case):
    trace, reference, platform = REFERENCES[case]
    folder = prepared(wb, SHARED / trace, platform)
    expected = {
        (row["name"], row["ex_UID"]): row
        for row in rows(SHARED / reference / "unified_perf_summary.csv")
    }
    ours = rows(folder / "category_data" / "sdpa_fwd_ops.csv")
    assert ours
    for row in ours:
        other = expected[row["name"], row["ex_UID"]]
        for column in EXACT:
            assert row[column] == other[column], column
        for column in DERIVED:
            assert row[column] == other[column], column
        shortest = float(row["Kernel Time (µs)_min"])
        for column in TIMES:
            count = int(row["operation_count"]) if column.endswith("sum") else 1
            assert abs(float(row[column]) - float(other[column])) < STEP_US * count, column
        for column in RATES:
            assert bool(row[column]) == bool(other[column]), column
            if row[column]:
                assert math.isclose(
                    float(row[column]), float(other[column]), rel_tol=2 * STEP_US / shortest
                ), column
        for column in ("duration_us_min", "duration_us_max", "total_duration_us"):
            assert math.isclose(float(row[column]), float(other[column]), rel_tol=1e-12), column
        kernels, others = (literal(r["kernel_details_summary"]) for r in (row, other))
        assert len(kernels) == len(others)
        for kernel, one in zip(kernels, others, strict=True):
            assert kernel.keys() == one.keys()
            for key, value in one.items():
                same = value == kernel[key] if isinstance(value, str) else math.isclose(
                    value, kernel[key], rel_tol=1e-12, abs_tol=1e-9
                )  # fmt: skip
                assert same, key
        assert math.isclose(
            float(row["Percentage (%)"]), float(other["Percentage (%)"]), rel_tol=1e-6
        )


@needs_profiles
@pytest.mark.parametrize("case", REFERENCES)
def test_gpu_time_equals_the_reference(wb, case):
    trace, reference, platform = REFERENCES[case]
    folder = prepared(wb, SHARED / trace, platform)
    metadata = json.loads((folder / "metadata" / "sdpa_fwd_metadata.json").read_text())
    expected = {row["type"]: row for row in rows(SHARED / reference / "gpu_timeline.csv")}
    ours = metadata["gpu_utilization"]
    total = float(expected["total_time"]["time ms"])
    assert math.isclose(ours["total_time_ms"], total, abs_tol=1e-5)
    for key, name in (
        ("computation_time_percent", "computation_time"),
        ("exposed_comm_time_percent", "exposed_comm_time"),
        ("exposed_memcpy_time_percent", "exposed_memcpy_time"),
        ("idle_time_percent", "idle_time"),
    ):
        assert abs(ours[key] - float(expected[name]["percent"])) < 1e-3, key


@needs_profiles
def test_chains_equal_the_reference(wb):
    """The reference lists the outermost first and leaves out built-ins, generated code and the
    annotation; the numbers of modules are cut off there."""
    trace, reference, platform = REFERENCES["server"]
    folder = prepared(wb, SHARED / trace, platform)
    tree = json.loads((folder / "category_data" / "sdpa_fwd_tree_data.json").read_text())
    table = rows(SHARED / reference / "unified_perf_summary.csv")
    expected = {row["ex_UID"]: literal(row["call_stack_full"]) for row in table}
    assert set(tree) == {"103", "105"}
    for uid, entry in tree.items():
        names = [
            name.rpartition("_")[0] if name.startswith("nn.Module: ") else name
            for name in reversed(entry["parent_chain"])
            if not name.startswith(("<built-in", "<eval_with_key>", "execute_"))
        ]
        stack = expected[uid]
        assert stack[: len(names)] == names
        assert stack[len(names)] == entry["op_name"]
        assert stack[-1] == entry["subtree"][-1]
        assert len(entry["parent_chain"]) > 20


@needs_profiles
def test_real_profiles_without_references(wb):
    for name, flops, mib in (
        ("sdpa_03_short_seq_overhead", "4.294967296", "64.0"),
        ("sdpa_04_large_head_dim", "549.755813888", "256.0"),
    ):
        folder = prepared(wb, SHARED / name / f"{name}.json", "MI300X", out=name)
        (row,) = rows(folder / "category_data" / "sdpa_fwd_ops.csv")
        assert (row["GFLOPS"], row["Data Moved (MB)"]) == (flops, mib)
    # Fused without its causal flag recorded: a time, and no rate.
    pair = SHARED / "test03_attention_fused_vs_unfused"
    fused = prepared(wb, pair / "trace1.json", "MI300X", out="fused")
    (row,) = rows(fused / "category_data" / "sdpa_fwd_ops.csv")
    assert (row["name"], row["has_perf_model"]) == ("aiter::_flash_attn_forward", "False")
    assert row["TFLOPS/s_mean"] == ""
    unfused = prepared(wb, pair / "trace2.json", out="unfused")
    (row,) = rows(unfused / "category_data" / "sdpa_fwd_ops.csv")
    assert (row["name"], row["Kernel Time (µs)_sum"]) == ("unfused_attention", "780.0")


@needs_profiles
@pytest.mark.parametrize("whose", ["TraceLens", "ours"])
def test_metrics_equal_the_reference(wb, tmp_path, whose):
    """Every field of TraceLens' metrics, made from its tables and from ours."""
    reference = SHARED / "sdpa_01_long_seq_low_eff" / "analysis_output_ref"
    folder = tmp_path / "out"
    if whose == "ours":
        prepared(wb, SHARED / REFERENCES["flash_long"][0], "MI300X", out=folder)
    else:
        for path in ("category_data/sdpa_fwd_ops.csv", "category_data/sdpa_fwd_tree_data.json",
                     "metadata/sdpa_fwd_metadata.json"):  # fmt: skip
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes((reference / path).read_bytes())
    wb.run("trace", "analyze", "--output-dir", folder, check=0)
    expected = json.loads((reference / "category_data" / "sdpa_fwd_metrics.json").read_text())
    # Texts of the tables as they are, and the label's wording, are not figures. We always say
    # which precision's peak it is; TraceLens leaves that empty here.
    other = {"efficiency_label", "perf_params", "kernel_details_summary", "compute_spec"}

    def compare(want, have, where):
        if isinstance(want, dict):
            for key in want.keys() - other:
                compare(want[key], have[key], f"{where}.{key}")
        elif isinstance(want, list):
            assert len(want) == len(have), where
            for place, (one, two) in enumerate(zip(want, have, strict=True)):
                compare(one, two, f"{where}.{place}")
        else:
            assert want == have, where

    compare(expected, metrics(folder), "metrics")
    page = findings(folder)
    for part in ("**Status:** SUCCESS", "658.460", "286.31", "40.44%", "16384.0", "392.179",
                 "Flash Attention", "65846.00", "56552.73", "33%"):  # fmt: skip
        assert part in page


@needs_profiles
def test_an_efficiency_above_the_peak_is_an_anomaly(wb):
    folder = prepared(wb, SHARED / REFERENCES["flash_made"][0], "MI300X")
    wb.run("trace", "analyze", "--output-dir", folder, check=0)
    efficiency = metrics(folder)["operations"][0]["efficiency"]
    assert efficiency["is_anomaly"]
    assert efficiency["efficiency_percent"] == 138.04
    assert metrics(folder)["impact_estimates"] == []
    assert "[ANOMALY]" in findings(folder)


@needs_profiles
def test_a_server_profile_joins_what_fills_the_cache(wb):
    folder = prepared(wb, SHARED / REFERENCES["server"][0], "MI300X")
    wb.run("trace", "analyze", "--output-dir", folder, check=0)
    specific = metrics(folder)["category_specific"]
    shares = specific["kernel_breakdown_avg"]
    assert shares["avg_unified_attention_percent"] == 89.77
    assert shares["avg_reshape_cache_percent"] == 10.23
    assert specific["workload_profile"]["profile_type"] == "prefill_heavy"
    assert metrics(folder)["operations"][0]["efficiency"]["efficiency_percent"] == 50.26
    assert metrics(folder)["operation_count"] == 24


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


def test_findings_speak_of_no_vendor_outside_of_names(wb):
    for name in ("synthetic_flash_gqa_train", "synthetic_unfused", "synthetic_paged_classic"):
        wb.run("trace", "report", OWN / f"{name}.json", "--output-dir", name, check=0)
        outside = "".join(findings(wb.folder / name).split("`")[::2])
        for word in ("CUDA", "cuDNN", "cuBLAS", "NVIDIA", "Tensor Core", "NCCL", "MIOpen"):
            assert word not in outside


def test_a_profile_without_attention_is_the_fixed_note(wb, tmp_path):
    trace = tmp_path / "none.json"
    trace.write_text('{"traceEvents": []}')
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
    wb.run("open", "--suite", "small", "--objective", "weighted_time", "--start", "cpu_unfused",
           "--rivals", "none", "--effort", "quick", *words, check=0)  # fmt: skip
    answer = wb.json("iterate", "--variant", "cpu_tiled", "--hypothesis", "tiles reuse keys",
                     "--predicted-speedup", "1.5", *words)  # fmt: skip
    page = wb.run("report", *words, check=0).stdout
    assert "share of the profile" in page
    # Always: of a made-up log in tests/unit/report/end_to_end_test.cpp.
    if answer["outcome"] == "win":
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
