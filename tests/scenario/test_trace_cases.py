"""`sdpa-wb trace` on profiles that are not as usual: kernels of no known operator, ranks put
together, roles that names do not tell, nothing to look at, files that are no traces."""

import copy
import gzip
import json
import re
import zipfile

import pytest
from trace_files import CASES, case_file, findings, metrics


def page_of(wb, name, platform="H100", category="sdpa_fwd"):
    trace = case_file(wb, name)
    result = wb.json("trace", "report", trace, "--platform", platform, "--output-dir", "out")
    return result, findings(wb.folder / "out", category)


def test_kernels_named_like_attention_are_told_with_time_and_share(wb):
    result, page = page_of(wb, "kernel_without_operator")
    told = r"1 kernel named like attention \(9\.000 ms, 100\.0 % of the kernels' time\)"
    assert re.search(told, page)
    assert "BatchPrefillWithPagedKVCacheKernel" in page
    assert result["categories"][0]["status"] == "unseen"  # and no operator was recorded
    assert "Nothing could be looked at" in page


def test_operators_that_are_not_known_do_not_hide_their_kernels(wb):
    trace = copy.deepcopy(CASES["kernel_without_operator"])
    trace["traceEvents"].append({"ph": "X", "cat": "cpu_op", "name": "mine::layer", "pid": 100,
                                 "tid": 100, "ts": 10.0, "dur": 50.0, "args": {}})  # fmt: skip
    (wb.folder / "t.json").write_text(json.dumps(trace))
    result = wb.json("trace", "report", "t.json", "--platform", "H100", "--output-dir", "out")
    page = findings(wb.folder / "out")
    assert result["categories"][0]["status"] == "none"
    assert "Kernels named like attention did run" in page
    assert "launched by mine::layer" in page
    assert "No SDPA operations found" not in page
    assert wb.json("audit", wb.folder / "out" / "category_findings" / "sdpa_fwd_findings.md")[
        "contradictions"] == 0  # fmt: skip


def test_a_fused_pointwise_kernel_is_no_attention(wb):
    _, page = page_of(wb, "fused_pointwise_names")
    assert "named like attention" not in page
    trace = json.dumps(CASES["fused_pointwise_names"])
    flex = trace.replace("triton_poi_fused__scaled_dot_product_flash_attention_cat_view_3",
                         "triton_tem_fused_flex_attention_0")  # fmt: skip
    (wb.folder / "flex.json").write_text(flex)
    wb.json("trace", "report", "flex.json", "--platform", "H100", "--output-dir", "flex")
    assert "1 kernel named like attention (0.026 ms, 4.9 %" in findings(wb.folder / "flex")


EVENT = {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1, "ts": 1, "dur": 5}


@pytest.mark.parametrize(
    ("events", "why"),
    [([], "no events"), ([EVENT], "no GPU kernels, only 1 operators"),
     ([EVENT, {**EVENT, "cat": "kernel", "name": "k", "pid": 0}], "belongs to an operator")],
)  # fmt: skip
def test_nothing_to_look_at_is_not_none_found(wb, events, why):
    (wb.folder / "t.json").write_text(json.dumps({"traceEvents": events}))
    result = wb.json("trace", "report", "t.json", "--platform", "H100", "--output-dir", "out")
    assert result["categories"][0]["status"] == "unseen"
    assert why in result["prepared"]["nothing_seen"]
    page = findings(wb.folder / "out")
    assert "**Status:** NOTHING SEEN" in page
    assert "SUCCESS" not in page
    assert why in page
    assert wb.json("audit", wb.folder / "out" / "category_findings" / "sdpa_fwd_findings.md")[
        "contradictions"] == 0  # fmt: skip


def test_merged_ranks_are_read_rank_by_rank(wb):
    result, page = page_of(wb, "merged_ranks")
    assert result["prepared"]["forward_calls"] == 2
    assert (
        "**Ranks:** [TP00]: 1 attention call, 0.500 ms; [TP01]: 1 attention call, 0.900 ms" in page
    )
    assert metrics(wb.folder / "out")["percent_of_compute"] == 100
    bare = re.sub(r"\[TP0(\d)\] (\d+)", r"\1\2", json.dumps(CASES["merged_ranks"]))
    (wb.folder / "bare.json").write_text(bare)
    done = wb.run("trace", "report", "bare.json", "--platform", "H100", "--output-dir", "bare")
    assert done.returncode != 0
    assert "0100, 1100" in done.stderr
    assert "**Status:** ERROR" in findings(wb.folder / "bare")


def test_a_prefill_kernel_over_pages_is_prefill(wb):
    _, page = page_of(wb, "paged_prefill_by_name", "B200")
    assert "| `_fwd_kernel` | prefill | 20-50 | 100.00 | - |" in page
    assert "low for a prefill" not in page


def test_a_role_that_is_not_known_is_not_zero(wb):
    _, page = page_of(wb, "paged_role_unknown")
    assert "low for a prefill" not in page
    assert "| `_fwd_kernel` | prefill | 20-50 | not known (at most 100.00) | - |" in page
    assert "| 100.00 | role not known |" in page


@pytest.mark.parametrize("name", ["flash_backward", "efficient_backward_bias"])
def test_what_cannot_be_replayed_is_the_backward_not_its_sizes(wb, name):
    _, page = page_of(wb, name, category="sdpa_bwd")
    assert "sizes are not all recorded" not in page
    assert "backward attention is no problem of the workbench yet" in page
    assert ("it had a mask" in page) == ("bias" in name)


def test_a_suite_says_what_attention_there_is(wb):
    done = wb.run("trace", "suite", case_file(wb, "aiter_batch_prefill"), "--output-dir", "a")
    assert done.returncode != 0
    assert "aiter::mha_batch_prefill (1 call, 1 kernel, 0.550 ms)" in done.stderr
    assert "q is (15360, 32, 128)" in done.stderr
    done = wb.run("trace", "suite", case_file(wb, "kernel_without_operator"), "--output-dir", "b")
    assert "nothing could be looked at" in done.stderr


def test_both_deviations_of_the_page_are_one_and_named(wb):
    """100 and 200 us: 70.71 by n - 1, where n would give 50."""
    _, page = page_of(wb, "two_calls")
    assert page.count("σ, n − 1 (µs)") == 2
    assert page.count("70.71") == 2


def zipped():
    from io import BytesIO

    into = BytesIO()
    with zipfile.ZipFile(into, "w") as archive:
        archive.writestr("t.json", '{"traceEvents": []}')
    return into.getvalue()


MESSAGES = {
    "comma": (b'{"traceEvents": [{"ph": "M", "pid": 1},]}', "a comma with nothing behind it"),
    "member": (b'{"traceEvents": [{"ph": "M",}]}', "a comma with nothing behind it"),
    "commas": (b'{"traceEvents": [{"ph": "M"},,{}]}', "',' where a value should stand"),
    "bom": (b'\xef\xbb\xbf{"traceEvents": []}', "byte order mark"),
    "utf16": ('{"traceEvents": []}'.encode("utf-16"), "UTF-16"),
    "zip": (zipped(), "zip archive"),
    "twice": (gzip.compress(gzip.compress(b"{}")), "gzip inside of gzip"),
    "zip_gz": (gzip.compress(zipped()), "zip archive"),
    "zstd": (b"\x28\xb5\x2f\xfd" + bytes(20), "zstd"),
    "html": (b"\n<!DOCTYPE html><html>", "web page"),
    "python": (b"{'traceEvents': []}", "single quotes"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
    "sqlite": (b"SQLite format 3\0" + bytes(40), "SQLite"),
    "empty": (b"", "the file is empty"),
    "blank": (b" \n", "nothing but blanks"),
    "cut": (b'{"traceEvents": [{"ph": "X", "na', "cut off"),
    "cut_gz": (gzip.compress(b'{"traceEvents": []}')[:-6], "end early"),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_files_that_are_no_traces_are_named(wb, case):
    content, message = MESSAGES[case]
    (wb.folder / "t.json").write_bytes(content)
    done = wb.run("trace", "report", "t.json", "--platform", "H100", "--output-dir", "out")
    assert done.returncode not in (0, 1)
    assert message in done.stderr
    assert "t.json" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
