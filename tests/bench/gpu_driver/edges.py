# SPDX-License-Identifier: MIT
"""Edge shapes that every variant is checked on (each may answer `unsupported`)."""

import itertools


def problem(B, Hq, Hkv, Sq, Skv, D, dtype, causal, **more):
    return {
        "B": B,
        "Hq": Hq,
        "Hkv": Hkv,
        "Sq": Sq,
        "Skv": Skv,
        "D": D,
        "dtype": dtype,
        "causal": causal,
        **more,
    }


def text(p):
    words = [f"{n}={p[n]}" for n in ("B", "Hq", "Hkv", "Sq", "Skv", "D")]
    words += [p["dtype"], p["causal"]]
    return " ".join(words + [f"{n}={p[n]}" for n in ("Dv", "layout", "scale") if n in p])


def problems():
    causal = ("none", "top_left", "bottom_right")
    # Sizes around tile borders; bottom_right with Sq > Skv leaves whole rows without a key.
    sizes = [
        (1, 1),
        (1, 17),
        (3, 1),
        (7, 63),
        (16, 64),
        (65, 65),
        (64, 129),
        (100, 300),
        (130, 7),
        (33, 1025),
    ]
    for (sq, skv), c in itertools.product(sizes, causal):
        yield problem(2, 4, 2, sq, skv, 64, "f16", c)
        yield problem(1, 2, 2, sq, skv, 128, "bf16", c, layout="BSHD")
    for group, sq in itertools.product((1, 2, 3, 5, 8, 16), (1, 2, 5, 16)):
        yield problem(2, 2 * group, 2, sq, 777, 128, "bf16", "bottom_right")
    for d in (8, 32, 40, 72, 80, 96, 136, 160, 192, 256):
        yield problem(1, 4, 2, 19, 211, d, "bf16", "top_left")
        yield problem(1, 4, 1, 1, 1500, d, "f16", "none", layout="BSHD")
    for d in (1, 4, 7, 20, 65):
        yield problem(1, 2, 1, 9, 70, d, "f16", "bottom_right", layout="BSHD")
    yield problem(2, 4, 2, 40, 200, 64, "bf16", "none", Dv=128)
    yield problem(2, 4, 2, 3, 200, 128, "f16", "none", Dv=64)
    yield problem(1, 2, 2, 33, 90, 64, "f16", "none", scale=-0.3)
    yield problem(1, 2, 2, 33, 90, 64, "f16", "top_left", scale=0.0)
    yield problem(1, 1, 1, 1, 40000, 128, "bf16", "none")
    yield problem(1, 16, 1, 4, 40000, 64, "bf16", "bottom_right")
    yield problem(3, 5, 5, 1, 9999, 128, "f16", "none")
    yield problem(70, 8, 2, 1, 130, 128, "bf16", "none")
    for s, d in (
        (64, 512),
        (33, 520),
        (16, 1024),
        (64, 2048),
        (32, 4096),
        (16, 8192),
        (1, 4096),
        (70, 768),
    ):
        for c in ("none", "top_left"):
            yield problem(1, 2, 2, s, s, d, "f32", c)
    yield problem(2, 4, 2, 20, 90, 640, "f32", "bottom_right", layout="BSHD")
    yield problem(1, 2, 1, 90, 20, 512, "f32", "bottom_right")
