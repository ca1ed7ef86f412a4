# SPDX-License-Identifier: MIT
"""Edge shapes that every variant is checked on (each may answer `unsupported`)."""

import itertools

CAUSAL = ("none", "top_left", "bottom_right")


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
    return " ".join(
        words + [f"{n}={p[n]}" for n in ("Dv", "layout", "scale") if n in p] + mask_text(p)
    )


def mask_text(p):
    if "mask" not in p:
        return []
    spec = p["mask"]
    return ["mask=" + spec["kind"] + spec["shape"] + ("empty" if spec.get("empty") else "")]


def problems():
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
    for (sq, skv), c in itertools.product(sizes, CAUSAL):
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
    yield from small_f32(sizes)
    yield from masks()
    yield from wide_16_bit()
    yield from every_width()
    yield from whole_heads()


def small_f32(sizes):
    """f32 with head dims up to 128: tile borders, grouped heads, odd head dims and strides."""
    for (sq, skv), c in itertools.product(sizes, CAUSAL):
        yield problem(2, 4, 2, sq, skv, 64, "f32", c)
        yield problem(1, 2, 2, sq, skv, 128, "f32", c, layout="BSHD")
    for d in (1, 7, 8, 20, 40, 65, 80, 96, 100):
        yield problem(1, 4, 2, 130, 211, d, "f32", "bottom_right", layout="BSHD")
    yield problem(1, 40, 5, 300, 300, 64, "f32", "top_left")
    yield problem(3, 30, 6, 515, 515, 128, "f32", "top_left")
    yield problem(2, 4, 2, 40, 200, 64, "f32", "none", Dv=128)
    yield problem(2, 4, 2, 3, 200, 128, "f32", "none", Dv=63)
    yield problem(1, 2, 2, 33, 90, 64, "f32", "none", scale=-0.3)
    yield problem(1, 2, 2, 33, 90, 64, "f32", "top_left", scale=0.0)
    yield problem(1, 1, 1, 64, 20000, 64, "f32", "none")


def masks():
    """Both kinds, every way to broadcast, rows that keep nothing, odd lengths, causal as well."""
    shapes = ("[B,Hq,Sq,Skv]", "[B,1,Sq,Skv]", "[1,Hq,Sq,Skv]", "[1,1,Sq,Skv]", "[B,1,1,Skv]")
    for kind, shape in itertools.product(("bool", "additive"), shapes):
        for skv, c in ((136, "none"), (211, "bottom_right"), (300, "top_left")):
            spec = {"kind": kind, "shape": shape, "empty": shape.endswith("Sq,Skv]")}
            yield problem(2, 4, 2, 150, skv, 64, "bf16", c, mask=spec)
            yield problem(2, 4, 4, 150, skv, 128, "f16", c, mask=spec, layout="BSHD")
    for kind in ("bool", "additive"):
        spec = {"kind": kind, "shape": "[B,1,Sq,Skv]"}
        yield problem(2, 4, 2, 1, 70, 64, "bf16", "none", mask=spec)
        yield problem(2, 4, 2, 1, 72, 128, "bf16", "none", mask=spec)
        yield problem(3, 70, 35, 260, 264, 64, "f16", "none", mask=spec, scale=-0.2)
        yield problem(3, 50, 25, 260, 264, 96, "bf16", "top_left", mask=spec)


def wide_16_bit():
    """f16 and bf16 with head dims above 256."""
    sizes = ((1, 1), (1, 200), (64, 64), (65, 63), (100, 300), (130, 7), (257, 1025))
    for (sq, skv), c in itertools.product(sizes, CAUSAL):
        yield problem(2, 4, 2, sq, skv, 512, "bf16", c)
    for d in (264, 320, 384, 448, 504):
        yield problem(1, 4, 2, 130, 211, d, "f16", "bottom_right", layout="BSHD")
    yield problem(1, 2, 2, 90, 90, 512, "f16", "none", Dv=256)
    yield problem(1, 2, 2, 90, 90, 256, "f16", "none", Dv=512)
    yield problem(1, 2, 2, 90, 90, 512, "bf16", "none", scale=-0.1)
    yield problem(3, 30, 6, 515, 515, 512, "bf16", "top_left")


def every_width():
    """Head dims around each compiled width; many tiles a block, longer and shorter keys."""
    for d, c in itertools.product((32, 72, 80, 96, 128, 144, 160, 192, 208, 256), CAUSAL):
        yield problem(1, 4, 2, 130, 211, d, "bf16", c)
        yield problem(2, 6, 3, 515, 650, d, "f16", c, layout="BSHD")
        yield problem(3, 60, 20, 333, 333, d, "bf16", c)
    for d in (80, 96, 128, 160, 192, 256):
        yield problem(2, 3, 3, 70, 1, d, "f16", "none")
        yield problem(1, 3, 1, 200, 90, d, "bf16", "bottom_right", scale=-0.07)
        yield problem(1, 3, 3, 90, 330, d, "bf16", "none", Dv=max(8, d - 24))


def whole_heads():
    """Head dims up to 64 with more units of 64 rows than SMs. The square ones are what
    sm90_wgmma_carry schedules by heads; the others it does where built with HEADS=1, among them
    units that see no key and heads that are longer than the rings."""
    for s in (256, 333, 512, 577, 1000):
        layout = "BSHD" if s % 2 else "BHSD"
        yield problem(3, 70, 35, s, s, 64, "bf16", "top_left", layout=layout)
    yield problem(2, 90, 30, 640, 640, 64, "f16", "bottom_right")
    yield problem(2, 60, 60, 1024, 1024, 64, "f16", "top_left", scale=-0.1)
    yield problem(8, 60, 20, 512, 512, 64, "f16", "none")
    yield problem(7, 66, 66, 449, 449, 64, "bf16", "none", layout="BSHD")
    for c, (sq, skv) in itertools.product(
        CAUSAL, ((300, 512), (512, 300), (65, 1500), (1400, 130))
    ):
        yield problem(2, 100, 50, sq, skv, 64, "f16" if sq < skv else "bf16", c)
    for c in CAUSAL:
        yield problem(2, 40, 20, 1300, 1300, 64, "bf16", c, layout="BSHD")
        yield problem(3, 70, 70, 333, 333, 40, "f16", c, Dv=56)
