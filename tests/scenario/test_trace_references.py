"""Real profiles through `sdpa-wb trace`, beside what TraceLens makes of them.

Both lie outside of the project, in the folder that WB_SHARED_DATA names; without it these tests are
skipped. Some of the profiles have no reference: what is known of them is checked.
"""

import json
import math

import pytest
from trace_files import (
    REFERENCES,
    SHARED,
    STEP_US,
    findings,
    literal,
    metrics,
    needs_profiles,
    prepared,
    rows,
)

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
    # 35 % by n - 1, as all deviations of our page; TraceLens' page has 33 %, which is by n.
    for part in ("**Status:** SUCCESS", "658.460", "286.31", "40.44%", "16384.0", "392.179",
                 "Flash Attention", "65846.00", "56552.73", "35%"):  # fmt: skip
        assert part in page


@needs_profiles
def test_times_of_calls_are_those_of_the_profiler(wb):
    """The page's table against the reference's own: an H100's 24 calls of causal attention."""
    trace, reference, platform = REFERENCES["flash_causal"]
    folder = prepared(wb, SHARED / trace, platform)
    wb.run("trace", "analyze", "--output-dir", folder, check=0)
    (row,) = [row for row in rows(SHARED / reference / "SDPA_fwd.csv") if row["name"]]
    cells = " | ".join(f"{float(row['Kernel Time (µs)_' + part]):.2f}"
                       for part in ("mean", "median", "min", "max", "std"))  # fmt: skip
    assert f"| 24 | {cells} |" in findings(folder)
    assert "**Attention-heavy:** no" in findings(folder)


@needs_profiles
def test_a_foreign_page_of_findings_is_held_against_the_rules(wb, tmp_path):
    folder = SHARED / "sdpa_01_long_seq_low_eff" / "analysis_output_ref" / "category_findings"
    text = (folder / "sdpa_fwd_findings.md").read_text(encoding="utf-8")
    page = tmp_path / "page.md"

    def principles():
        page.write_text(text, encoding="utf-8")
        (document,) = wb.json("audit", page)["documents"]
        return [one["computed"] for one in document["findings"] if one["check"] == "principles"]

    assert principles() == []
    text = text.replace("(algorithmic)", "").replace("| algorithmic |", "| other |")
    assert principles() == ["no advice of the kind: algorithmic"]


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
