# SPDX-License-Identifier: MIT
"""analyze: kept sessions and files are explained, and what cannot be read is named. profile and
sanitize without a GPU say why, in the exit code and in the log."""

import json

import pytest
from support.kept import kept

EXIT_USAGE, EXIT_MALFORMED, EXIT_ENVIRONMENT = 2, 65, 76
SESSION = kept("h200-mma-v3")

# The three rows of a report on a kernel whose authors took linear growth for a fault.
TABLE = """| Batch (B) | Heads (H) | Time (ms) | SDPA (us) |
|----------:|----------:|----------:|----------:|
| 1 | 8  | 6.8   | 15.4 |
| 4 | 16 | 45.3  | 80.3 |
| 8 | 16 | 117.2 | 123.5 |
"""


def findings(answer, analysis):
    return [finding for finding in answer["findings"] if finding["analysis"] == analysis]


def test_a_kept_session_is_explained_from_its_log(wb):
    before = SESSION.read_bytes()
    answer = wb.json("analyze", "--session", str(SESSION))
    assert answer["device"] == "NVIDIA H200"
    for analysis in ("regime", "roofline_share", "scaling", "launch", "intensity", "working_set"):
        assert findings(answer, analysis), analysis
    # Each rests on events that `show` prints.
    event = findings(answer, "launch")[0]["events"][-1]
    shown = wb.run("show", f"e{event}", "--session", str(SESSION))
    assert shown.returncode == 0
    assert "cudnn" in shown.stdout
    # Nothing is written: the session is closed, and read as it is.
    assert SESSION.read_bytes() == before


def test_the_launch_of_a_rival_is_held_against_the_device(wb):
    answer = wb.json("analyze", "--session", str(SESSION))
    small = [
        finding["figures"]
        for finding in findings(answer, "launch")
        if finding["problem"] == "v3_B1H8" and finding["figures"]["subject"] == "torch_default"
    ]
    assert small[0]["blocks"] == 32
    assert small[0]["units_frac"] == pytest.approx(32 / 132)


def test_a_table_is_explained_by_work_not_by_batch(wb, tmp_path):
    path = tmp_path / "v3.md"
    path.write_text(TABLE)
    words = ("analyze", "--table", str(path), "--device", "L4", "--shape", "S=512 D=64 f16")
    answer = wb.json(*words)
    scaling = findings(answer, "scaling")[0]["figures"]
    assert scaling["work_ratio"] == pytest.approx(16)
    assert scaling["class"] == "linear"
    assert not findings(answer, "grid_scaling")  # the device is full from the first row on
    text = wb.run(*words, "--all").stdout
    assert "gap: how the times were taken" in text
    assert "not seen: scaling" in text


@pytest.mark.parametrize(
    ("text", "device", "code", "said"),
    [
        ("B,H,S,D,dtype,ours (ms)\n1,8,512,64,f16,1\n", "GTX 1080", EXIT_USAGE, "table of GPUs"),
        ("B,H,S,D,dtype,ours (ms)\n1,8,512,64,f16,1\n", "A100", EXIT_USAGE, "more than one"),
        ("B,H,S,D,dtype,ours\n1,8,512,64,f16,1\n", "L4", EXIT_MALFORMED, "is a time"),
        ("B,H,S,D,dtype,ours (ms)\n1,8,512,64,f16,nan\n", "L4", EXIT_MALFORMED, "line 2"),
        ("B,H,S,D,ours (ms)\n1,8,512,64,1\n", "L4", EXIT_MALFORMED, "dtype"),
        ("hello\n", "L4", EXIT_MALFORMED, "no header"),
        ("", "L4", EXIT_MALFORMED, "no header"),
    ],
)
def test_what_cannot_be_read_is_a_named_error(wb, tmp_path, text, device, code, said):
    path = tmp_path / "table.csv"
    path.write_text(text)
    done = wb.run("analyze", "--table", str(path), "--device", device)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert done.stdout == ""


def test_a_bad_time_is_a_gap_and_its_neighbors_stand(wb, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(
        "B,H,S,D,dtype,ours (ms),sdpa (ms)\n"
        '1,8,512,64,f16,"np.float64(1.5)",0.5\n'
        "2,8,512,64,f16,NaN,0.6\n"
        "4,8,512,64,f16\n"
        ",8,512,64,f16,3,0.7\n"
    )
    answer = wb.json("analyze", "--table", str(path), "--device", "H200")
    gaps = [gap for gap in answer["gaps"] if gap.startswith("line")]
    assert [gap.split(":")[0] for gap in gaps] == ["line 3", "line 4", "line 5"]
    assert "merged" in gaps[1]
    assert "merged" in gaps[2]
    times = [f["figures"]["time_us"] for f in findings(answer, "roofline_share")]
    assert sorted(times) == [500, 600, 1500]


def test_without_files_or_a_session_it_says_what_to_name(wb):
    done = wb.run("analyze")
    assert done.returncode == EXIT_USAGE
    assert "--session" in done.stderr
    assert json.loads(wb.run("analyze", "--json").stdout)["error"]["code"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--shape", "D=64 f16"), "--table"),
        (("--problem", "B=1 Hq=8 Sq=512 D=64 f16"), "--ncu"),
        (("--device", "L4"), "its own device"),
        (("--table", "t.csv", "--session", str(SESSION)), "one at a time"),
    ],
)
def test_options_without_their_file_are_refused(wb, words, said):
    done = wb.run("analyze", *words)
    assert done.returncode == EXIT_USAGE, done.stderr
    assert said in done.stderr
    assert done.stdout == ""


# profile and sanitize without a GPU: they say why, in the exit code and in the log.

PROBLEM = "B=1 Hq=1 Sq=64 D=32 f32"


def test_without_a_gpu_tools_say_why_and_blame_nobody(wb):
    for words in (["profile", "cpu_online"], ["sanitize", "cpu_online", "--tools", "memcheck"]):
        done = wb.run(*words, "--problem", PROBLEM, "--json")
        assert done.returncode == EXIT_ENVIRONMENT, done.stderr
        answer = json.loads(done.stdout)
        rows = answer.get("problems") or answer["runs"]
        assert [row["outcome"] for row in rows] == ["not_available"]
        assert "on the CPU" in rows[0]["message"]
        assert not answer.get("taken", False)
        assert not answer.get("pass", False)


def test_on_the_cpu_a_python_variant_has_no_kernels_to_name(wb):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    words = ("profile", "torch_cpu_sdpa", "--problem", PROBLEM)
    answer = wb.json(*words, check=EXIT_ENVIRONMENT)
    row = answer["problems"][0]
    assert row["outcome"] == "not_available"
    assert "no kernels" in row["message"]
    assert row["launches"] == []


def test_a_tool_that_nobody_knows_is_refused_before_anything_is_built(wb):
    for tools in ("ncu", "valgrind", "memcheck,,racecheck", ""):
        done = wb.run("sanitize", "cpu_online", "--problem", PROBLEM, "--tools", tools)
        assert done.returncode == EXIT_USAGE, (tools, done.stdout)
        assert "choose among memcheck" in done.stderr


def test_the_answer_is_an_event_of_the_session(wb):
    wb.open_small()
    wb.run("profile", "cpu_online", "--session", "s")
    done = wb.run("sanitize", "cpu_online", "--session", "s", "--json")
    # Without problems of one's own those of the edges: the suite's may be large.
    assert all("B=2" in row["problem"] for row in json.loads(done.stdout)["runs"])
    lines = (wb.folder / "s" / "events.jsonl").read_text().splitlines()
    taken = [json.loads(line)["payload"] for line in lines if '"profile_taken"' in line]
    assert [event["tool"] for event in taken] == ["ncu"] + ["memcheck"] * 5 + ["racecheck"] * 5
    assert not any(event["available"] for event in taken)
    assert all(event["reason"] for event in taken)
