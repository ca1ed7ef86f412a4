# SPDX-License-Identifier: MIT
"""The float64 oracle against PyTorch's SDPA, and PyTorch's own outputs before the judge."""

import json
import os
import pathlib
import random
import subprocess

import numpy as np
import philox_inputs
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WB_BUILD_DIR", "build/release"))
TOOL = (BUILD if BUILD.is_absolute() else ROOT / BUILD) / "tests/unit/problem/oracle_dump"
PROBLEMS = 240

torch = pytest.importorskip("torch", reason="PyTorch is not importable")
pytestmark = pytest.mark.skipif(
    not TOOL.exists(), reason=f"{TOOL} is not built (set WB_BUILD_DIR to the build folder)"
)


def random_problem(rng: random.Random, number: int) -> str:
    """One problem text; the first numbers make sure that each kind occurs."""
    hkv = rng.choice([1, 1, 2, 3])
    hq = hkv * rng.choice([1, 1, 2, 4])
    sizes = [1, 2, 7, 31, 64, 65, 70, 129]
    sq = 1 if number % 8 == 0 else rng.choice(sizes)
    skv = sq if number % 3 == 0 else rng.choice(sizes)
    d = rng.choice([1, 3, 8, 16, 33, 64])
    text = f"B={rng.choice([1, 2])} Hq={hq} Hkv={hkv} Sq={sq} Skv={skv} D={d}"
    if number % 4 == 1:
        text += f" Dv={rng.choice([1, 5, 24, 80])}"
    text += " " + ["f32", "f16", "bf16"][number % 3]
    text += " causal=" + ["none", "top_left", "bottom_right"][number // 3 % 3]
    if rng.random() < 0.2:
        text += f" scale={rng.choice([0.01, 0.5, 1.0, -0.2])}"
    text += rng.choice(["", "", " mask=bool:0.7", " mask=bool:0.1", " mask=additive"])
    if rng.random() < 0.3:
        text += " layout=BSHD"
    return text


def cases() -> list[tuple[str, int, str]]:
    rng = random.Random(20261120)
    draws = ["normal", "large", "edge"]
    return [
        (random_problem(rng, n), rng.getrandbits(32), draws[n // 5 % 3]) for n in range(PROBLEMS)
    ]


def run_tool(folder: pathlib.Path, lines: list[str]) -> list[dict]:
    done = subprocess.run(
        [TOOL, folder], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(lines)
    return answers


def load(path: str, dtype, shape, layout: str):
    """A raw file as a torch tensor in [batch, heads, rows, width] order."""
    flat = torch.frombuffer(bytearray(pathlib.Path(path).read_bytes()), dtype=dtype)
    batch, heads, rows, width = shape
    if layout == "BSHD":
        return flat.reshape(batch, rows, heads, width).transpose(1, 2)
    return flat.reshape(shape)


class Case:
    """One problem with the inputs that the C++ side made."""

    def __init__(self, text: str, base: str):
        p = philox_inputs.parse_problem(text)
        self.problem = p
        self.text = text
        self.dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[p.dtype]
        self.q = load(base + ".q.bin", self.dtype, (p.B, p.Hq, p.Sq, p.D), p.layout)
        self.k = load(base + ".k.bin", self.dtype, (p.B, p.Hkv, p.Skv, p.D), p.layout)
        self.v = load(base + ".v.bin", self.dtype, (p.B, p.Hkv, p.Skv, p.Dv), p.layout)
        self.out = load(base + ".out.bin", torch.float64, (p.B, p.Hq, p.Sq, p.Dv), p.layout)
        self.lse = load(base + ".lse.bin", torch.float64, (p.B, p.Hq, p.Sq, 1), "BHSD")[..., 0]
        mask_type = {"bool": torch.bool, "additive": self.dtype}.get(p.mask)
        self.mask = None
        if mask_type is not None:
            self.mask = load(base + ".mask.bin", mask_type, (p.B, 1, p.Sq, p.Skv), "BHSD")

    def causal_keep(self):
        """True where the causal rule lets a query see a key; None without a rule."""
        p = self.problem
        if p.causal == "none":
            return None
        shift = p.Skv - p.Sq if p.causal == "bottom_right" else 0
        rows = torch.arange(p.Sq).reshape(-1, 1)
        return torch.arange(p.Skv).reshape(1, -1) <= rows + shift

    def kept(self):
        """True where a (query, key) pair takes part, [B, 1, Sq, Skv]."""
        p = self.problem
        kept = torch.ones(p.B, 1, p.Sq, p.Skv, dtype=torch.bool)
        if self.mask is not None:
            kept &= self.mask if p.mask == "bool" else ~torch.isneginf(self.mask)
        keep = self.causal_keep()
        return kept if keep is None else kept & keep

    def sdpa(self, dtype):
        """PyTorch's answer, computed in `dtype`."""
        p = self.problem
        mask = self.mask
        if mask is not None and p.mask == "additive":
            mask = mask.to(dtype)
        # With a negative scale PyTorch 2.13's is_causal gives NaN on the CPU: it masks with -inf
        # before it scales. Such problems go through the explicit mask.
        is_causal = p.causal == "top_left" and mask is None and (p.scale is None or p.scale > 0)
        keep = self.causal_keep()
        if keep is not None and not is_causal:
            if mask is None:
                mask = keep
            elif p.mask == "bool":
                mask = mask & keep
            else:
                mask = mask.masked_fill(~keep, float("-inf"))
        return torch.nn.functional.scaled_dot_product_attention(
            self.q.to(dtype),
            self.k.to(dtype),
            self.v.to(dtype),
            attn_mask=mask,
            is_causal=is_causal,
            scale=p.scale,
            enable_gqa=p.Hq != p.Hkv,
        )

    def log_sum_exp(self):
        p = self.problem
        k = self.k.to(torch.float64).repeat_interleave(p.Hq // p.Hkv, dim=1)
        scores = self.q.to(torch.float64) @ k.transpose(-1, -2)
        scores = scores * (p.D**-0.5 if p.scale is None else p.scale)
        if p.mask == "additive":
            scores = scores + self.mask.to(torch.float64)
        return torch.logsumexp(scores.masked_fill(~self.kept(), float("-inf")), dim=-1)


@pytest.fixture(scope="module")
def dumped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("oracle")
    drawn = cases()
    answers = run_tool(folder, [f"dump ; {text} ; {seed} ; {draw}" for text, seed, draw in drawn])
    return [
        (Case(text, answer["base"]), seed, draw)
        for (text, seed, draw), answer in zip(drawn, answers, strict=True)
    ]


def test_the_problems_cover_every_kind(dumped):
    problems = [case.problem for case, _, _ in dumped]
    assert len(problems) >= 200
    for dtype in ("f32", "f16", "bf16"):
        for causal in ("none", "top_left", "bottom_right"):
            for mask in ("none", "bool", "additive"):
                assert any((p.dtype, p.causal, p.mask) == (dtype, causal, mask) for p in problems)
    assert any(p.Hq != p.Hkv for p in problems)
    assert any(p.Dv != p.D for p in problems)
    assert any(p.Sq == 1 and p.Skv > 1 for p in problems)
    assert any(p.Sq > p.Skv and p.causal == "bottom_right" for p in problems)
    assert any(p.layout == "BSHD" for p in problems)
    assert any(not case.kept().any(dim=-1).all() for case, _, _ in dumped)


def test_inputs_are_those_of_the_rule(dumped):
    for case, seed, draw in dumped[:60]:
        expected = philox_inputs.tensor(case.problem, seed, philox_inputs.K, draw)
        stored = case.k if case.problem.layout == "BHSD" else case.k.transpose(1, 2)
        bits = stored.contiguous().flatten().view(torch.uint8).numpy()
        assert bits.tobytes() == expected.tobytes(), case.text


def test_oracle_agrees_with_torch_in_float64(dumped):
    worst = 0.0
    for case, seed, draw in dumped:
        kept_rows = case.kept().any(dim=-1).expand_as(case.lse)
        # PyTorch leaves rows without a key to its backend; ours are 0 and -inf.
        assert torch.all(case.out[~kept_rows] == 0), case.text
        assert torch.all(torch.isneginf(case.lse[~kept_rows])), case.text
        difference = (case.out - case.sdpa(torch.float64))[kept_rows]
        lse_difference = (case.lse - case.log_sum_exp())[kept_rows]
        for error in (difference.abs(), lse_difference.abs()):
            if error.numel():
                assert error.max() < 1e-10, (case.text, seed, draw, float(error.max()))
                worst = max(worst, float(error.max()))
    print(f"largest difference over {len(dumped)} problems: {worst:.2e}")


def test_torch_passes_the_judge_in_its_own_precision(dumped, tmp_path):
    lines = []
    for number, (case, seed, draw) in enumerate(dumped):
        out = case.sdpa(case.dtype)
        kept_rows = case.kept().any(dim=-1).expand_as(case.lse)
        out = out.masked_fill(~kept_rows.unsqueeze(-1), 0)
        if case.problem.layout == "BSHD":
            out = out.transpose(1, 2)
        path = tmp_path / f"{number}.out.bin"
        path.write_bytes(out.contiguous().flatten().view(torch.uint8).numpy().tobytes())
        lse = tmp_path / f"{number}.lse.bin"
        lse.write_bytes(case.log_sum_exp().to(torch.float32).numpy().tobytes())
        lines.append(f"judge ; {case.text} ; {seed} ; {draw} ; {path} ; {lse}")
    verdicts = run_tool(tmp_path, lines)
    failed = [
        (line.split(";")[1:4], verdict["worst"])
        for line, verdict in zip(lines, verdicts, strict=True)
        if not verdict["pass"]
    ]
    assert not failed
    shares = np.array([verdict["worst"]["share"] for verdict in verdicts])
    print(
        f"share of the budget that PyTorch used: median {np.median(shares):.2f}, "
        f"largest {shares.max():.2f}"
    )
    assert shares.max() > 0.1  # a judge that sees no error at all looks at nothing


def test_the_judge_refuses_another_problems_output(dumped, tmp_path):
    case, seed, draw = dumped[1]
    path = tmp_path / "out.bin"
    wrong = (case.sdpa(case.dtype) * 1.05).contiguous()
    if case.problem.layout == "BSHD":
        wrong = wrong.transpose(1, 2).contiguous()
    path.write_bytes(wrong.flatten().view(torch.uint8).numpy().tobytes())
    (verdict,) = run_tool(tmp_path, [f"judge ; {case.text} ; {seed} ; {draw} ; {path} ; -"])
    assert not verdict["pass"]
