"""A kernel whose rows without keys are not 0 (as PyTorch's on a GPU): wrong where it claims them,
right where its manifest leaves them out."""

import importlib.util
import json
import sys

import pytest

# Scores of a masked row are all alike, so its weights are, too: the mean of the values.
SOURCE = """
import torch

def attend(q, k, v, *, causal, scale, mask, out, lse):
    if lse is not None:
        raise NotImplementedError("no log-sum-exp")
    scores = (q.double() @ k.double().transpose(-1, -2)) * scale
    keep = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
    if causal != "none":
        keep = keep.tril(k.shape[-2] - q.shape[-2] if causal == "bottom_right" else 0)
    if mask is not None:
        keep = keep & mask
    weights = torch.softmax(scores.masked_fill(~keep, -1e30), dim=-1)
    return (weights @ v.double()).to(v.dtype)
"""
MASKED = "B=1 Hq=1 Sq=8 Skv=32 D=16 f32 mask=bool:0.9"
# Rows that the mask may leave without keys, in any draw.
FEW_KEYS = "B=1 Hq=1 Sq=8 Skv=2 D=16 f32 mask=bool:0.5"
FIRST_ROWS = "B=8 Hq=1 Sq=8 Skv=8 D=16 f32 causal=top_left mask=bool:0.9"
MORE_ROWS = "B=1 Hq=1 Sq=40 Skv=8 D=16 f32 causal=bottom_right"


@pytest.fixture
def kernel(wb):
    if not importlib.util.find_spec("torch"):
        pytest.skip("PyTorch is not installed")
    folder = wb.folder / "kernels" / "py_mean"
    folder.mkdir(parents=True)
    (folder / "mean.py").write_text(SOURCE)

    def write(**claims):
        manifest = {
            "name": "py_mean", "about": "rows without keys are the mean", "backend": "python",
            "supports": {"dtypes": ["f32"], "causal": ["none", "top_left", "bottom_right"],
                         "gqa": False, "masks": ["none", "bool"], "layouts": ["BHSD"], **claims},
            "sources": ["mean.py"], "entry": "mean:attend",
        }  # fmt: skip
        (folder / "kernel.json").write_text(json.dumps(manifest))
        return "py_mean"

    return write


def check(wb, kernel, problem, *more):
    return wb.run("check", kernel, "--problem", problem, "--python", sys.executable, *more)


def outcomes(wb, kernel, problem):
    answer = json.loads(check(wb, kernel, problem, "--json").stdout)
    return answer["pass"], {row["outcome"] for row in answer["problems"]}


@pytest.mark.parametrize("problem", [MASKED, FEW_KEYS, FIRST_ROWS, MORE_ROWS])
def test_who_claims_such_rows_is_judged_on_them(wb, kernel, problem):
    passed, found = outcomes(wb, kernel(), problem)
    assert not passed
    assert "correctness" in found


def test_who_leaves_them_out_is_not(wb, kernel):
    passed, found = outcomes(wb, kernel(rows_without_keys=False), MASKED)
    assert (passed, found) == (True, {"pass"})
    for problem in (FEW_KEYS, FIRST_ROWS, MORE_ROWS):
        done = check(wb, "py_mean", problem)
        assert "rows that may see no key" in done.stdout + done.stderr
