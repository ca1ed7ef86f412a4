# SPDX-License-Identifier: MIT
"""The workbench's inputs, made a second time with numpy alone.

Written from docs/contracts/measurement.md (inputs from a seed), not from the C++ code: the golden
hashes hold both to the same rule. `make_inputs` returns arrays in the problem's memory layout; bf16
is uint16.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

Q, K, V, MASK = 0, 1, 2, 3
ADDITIVE_KEEP = 0.9


@dataclass(frozen=True)
class Problem:
    """The fields of a problem text."""

    B: int
    Hq: int
    Hkv: int
    Sq: int
    Skv: int
    D: int
    Dv: int
    dtype: str = "f32"
    causal: str = "none"
    mask: str = "none"
    keep_frac: float = 1.0
    mask_values: str = "drawn"
    scale: float | None = None
    layout: str = "BHSD"
    k_layout: str = ""  # that of q where it is empty
    v_layout: str = ""

    def layout_of(self, index: int) -> str:
        return {K: self.k_layout, V: self.v_layout}.get(index) or self.layout


def parse_problem(text: str) -> Problem:
    fields: dict = {"dtype": "f32"}
    for token in text.split():
        key, _, value = token.partition("=")
        if not value:
            fields["dtype"] = key
        elif key == "mask":
            kind, _, share = value.partition(":")
            fields["mask"] = kind
            if share:
                is_bool = kind == "bool"
                fields["keep_frac" if is_bool else "mask_values"] = (
                    float(share) if is_bool else share
                )
        elif key == "layout" and ":" in value:
            of = dict(part.split(":") for part in value.split(","))
            fields |= {"layout": of["q"], "k_layout": of["k"], "v_layout": of["v"]}
        elif key == "scale":
            fields["scale"] = float(value)
        else:
            fields[key] = value if key in ("causal", "layout", "dtype") else int(value)
    fields.setdefault("Hkv", fields["Hq"])
    fields.setdefault("Skv", fields["Sq"])
    fields.setdefault("Dv", fields["D"])
    return Problem(**fields)


def philox(seed: int, tensor: int, counters: np.ndarray) -> np.ndarray:
    """Philox4x32-10: the four words of each 64-bit counter, shape [len(counters), 4], uint32."""
    mask = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    words = [counters & mask, counters >> shift, np.zeros_like(counters), np.zeros_like(counters)]
    keys = [seed, tensor]
    for _ in range(10):
        product0 = np.uint64(0xD2511F53) * words[0]
        product1 = np.uint64(0xCD9E8D57) * words[2]
        words = [
            (product1 >> shift) ^ words[1] ^ np.uint64(keys[0]),
            product1 & mask,
            (product0 >> shift) ^ words[3] ^ np.uint64(keys[1]),
            product0 & mask,
        ]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(words, axis=1).astype(np.uint32)


def element_words(seed: int, tensor: int, count: int) -> np.ndarray:
    """The two words of elements 0 .. count - 1, shape [count, 2]."""
    words = philox(seed, tensor, np.arange((count + 1) // 2, dtype=np.uint64))
    return words.reshape(-1, 2)[:count]


def values(seed: int, tensor: int, count: int) -> np.ndarray:
    words = element_words(seed, tensor, count).astype(np.int64)
    total = (words & 0xFFFF).sum(axis=1) + (words >> 16).sum(axis=1)
    return ((total - 131070).astype(np.float64) * 2.0**-15).astype(np.float32)


def store(array: np.ndarray, dtype: str) -> np.ndarray:
    """float32 to the storage type, round to nearest even; bf16 as its bits."""
    if dtype == "f32":
        return array.astype(np.float32)
    if dtype == "f16":
        return array.astype(np.float16)
    bits = array.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def lowest(dtype: str) -> np.float32:
    """The least finite number of a storage type."""
    return np.float32(
        {"f32": np.finfo(np.float32).min, "f16": -65504.0, "bf16": -3.3895314e38}[dtype]
    )


def tensor(problem: Problem, seed: int, index: int, draw: str) -> np.ndarray:
    heads, rows, width = {
        Q: (problem.Hq, problem.Sq, problem.D),
        K: (problem.Hkv, problem.Skv, problem.D),
        V: (problem.Hkv, problem.Skv, problem.Dv),
    }[index]
    shape = (problem.B, heads, rows, width)
    is_scaled = draw in ("large", "low") and index in (Q, K)
    drawn = values(seed, index, int(np.prod(shape))) * np.float32(4.0 if is_scaled else 1.0)
    if draw == "low" and index in (Q, K):
        drawn = np.float32(1 if index == Q else -1) * np.abs(drawn)
    array = store(drawn, problem.dtype).reshape(shape)
    if problem.layout_of(index) == "BSHD":
        array = array.transpose(0, 2, 1, 3)
    return np.ascontiguousarray(array)


def mask(problem: Problem, seed: int, draw: str) -> np.ndarray | None:
    """[B, 1, Sq, Skv] in both layouts: uint8 for bool, the storage type for additive."""
    if problem.mask == "none":
        return None
    shape = (problem.B, 1, problem.Sq, problem.Skv)
    count = int(np.prod(shape))
    share = problem.keep_frac if problem.mask == "bool" else ADDITIVE_KEEP
    keep = element_words(seed, MASK, count)[:, 0].astype(np.float64) < share * 2.0**32
    if problem.mask == "bool":
        result = keep.astype(np.uint8).reshape(shape)
    else:
        rejected = np.float32(-np.inf) if problem.mask_values == "drawn" else lowest(problem.dtype)
        drawn = np.where(keep, values(seed, MASK, count), rejected)
        result = store(drawn, problem.dtype).reshape(shape)
    if draw == "edge":
        row = seed % problem.Sq
        if problem.mask == "bool":
            result[:, :, row, :] = 0
        else:
            result[:, :, row, :] = store(np.array([rejected], dtype=np.float32), problem.dtype)[0]
    return result


def make_inputs(problem: Problem, seed: int, draw: str) -> dict[str, np.ndarray]:
    inputs = {
        "q": tensor(problem, seed, Q, draw),
        "k": tensor(problem, seed, K, draw),
        "v": tensor(problem, seed, V, draw),
    }
    drawn_mask = mask(problem, seed, draw)
    if drawn_mask is not None:
        inputs["mask"] = drawn_mask
    return inputs


def hashes(problem: Problem, seed: int, draw: str) -> dict[str, str]:
    return {
        name: hashlib.sha256(array.tobytes()).hexdigest()
        for name, array in make_inputs(problem, seed, draw).items()
    }
