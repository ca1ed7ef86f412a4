"""What the tests of `sdpa-wb trace` share: where profiles lie, and how results are read."""

import ast
import csv
import json
import os

import pytest
from support.commands import ROOT

SHARED = (ROOT / os.environ.get("WB_SHARED_DATA", "../shared")).resolve() / "data" / "traces"
OWN = ROOT / "tests" / "data" / "trace"
CASES = json.loads((OWN / "cases.json").read_text())  # small traces by name
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


def case_file(wb, name):
    path = wb.folder / f"{name}.json"
    path.write_text(json.dumps(CASES[name]))
    return path


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
