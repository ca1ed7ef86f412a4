# SPDX-License-Identifier: MIT
"""Variants called on tensors: results beside the definition in float64, zero copy, what is refused,
and the dispatch with its fallback."""

import hashlib
import json
import pickle
import random
import re
from pathlib import Path

import pytest
from support.commands import ROOT, SMALL, Turns

np = pytest.importorskip("numpy")

# cpu_splitkv takes up to 64 queries.
PROBLEMS = ";".join(
    f"B=2 Hq=4 Hkv=2 Sq={rows} Skv=130 D={width} {dtype}"
    for rows in (97, 64)
    for width, dtype in ((64, "f32"), (17, "f32"), (32, "f16"), (32, "bf16"))
)
KERNELS = ("cpu_unfused", "cpu_online", "cpu_tiled", "cpu_simd_flash", "cpu_splitkv")
NEAR = {"f32": 2e-5, "f16": 4e-3, "bf16": 3e-2}


@pytest.fixture(scope="module")
def judged(package, build, cache, tmp_path_factory):
    """A session in which every kernel was judged on PROBLEMS, and its workbench: some ten seconds,
    for five builds and forty verdicts."""
    folder = tmp_path_factory.mktemp("judged")
    turns = Turns(build / "sdpa-wb-worker", folder / "times.json")
    bench = package.Workbench(path=[ROOT], cache=cache, sessions=folder, worker=turns.program())
    session = folder / "s"
    bench.open(session=session, start="cpu_unfused", problem=SMALL, rivals=["none"], effort="quick")
    for kernel in KERNELS:
        assert bench.call("check", {"variant": kernel, "problem": PROBLEMS}, session=session)[
            "pass"
        ]
    yield bench, session
    bench.close()


@pytest.fixture(scope="module")
def variants(package, judged):
    bench, session = judged
    return {
        name: package.tensors.load(name, session=session, workbench=bench, threads=2)
        for name in KERNELS
    }


@pytest.fixture
def tiled(variants):
    return variants["cpu_tiled"]


def expected(q, k, v, mask=None, causal="none", scale=None):
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    keep = np.ones(scores.shape[-2:], bool)
    if causal != "none":
        keep = np.tril(keep, scores.shape[-1] - scores.shape[-2] if causal == "bottom_right" else 0)
    if mask is not None and mask.dtype == bool:
        keep = keep & mask
    elif mask is not None:
        scores = scores + mask
    scores = np.where(keep, scores, -np.inf)
    peak = np.where(np.isfinite(scores.max(-1, keepdims=True)), scores.max(-1, keepdims=True), 0)
    weights = np.exp(scores - peak)
    total = weights.sum(-1, keepdims=True)
    return weights @ v / np.where(total == 0, 1, total)


def arrays(rng, sizes=(2, 4, 2, 33, 57, 64), dtype=np.float32, layout="BHSD"):
    batch, heads, kv_heads, rows, keys, width = sizes

    def one(count, length):
        shape = (batch, length, count, width) if layout == "BSHD" else (batch, count, length, width)
        made = rng.standard_normal(shape).astype(dtype)
        return made.swapaxes(1, 2) if layout == "BSHD" else made

    return one(heads, rows), one(kv_heads, keys), one(kv_heads, keys)


def random_case(draw, rng):
    """Sizes, layout, mask and causal kind of one problem that the passes cover."""
    kv_heads = draw.choice([1, 2, 3])
    width, dtype = draw.choice([(64, "f32"), (17, "f32"), (32, "f16"), (32, "bf16")])
    sizes = (draw.randint(1, 3), kv_heads * draw.choice([1, 2]), kv_heads, draw.randint(1, 97),
             draw.randint(1, 130), width)  # fmt: skip
    layout = draw.choice(["BHSD", "BSHD"])
    causal = draw.choice(["none", "top_left", "bottom_right"])
    q, k, v = arrays(rng, sizes, layout=layout)
    shape = (draw.choice([1, sizes[0]]), draw.choice([1, sizes[1]]), sizes[3], sizes[4])
    kind = draw.choice(["none", "bool", "additive"])
    mask = None
    if kind != "none":
        keep = rng.random(shape) < 0.7
        values = np.where(keep, rng.standard_normal(shape), -np.inf).astype(np.float32)
        mask = keep if kind == "bool" else values
    return dtype, q, k, v, mask, causal


@pytest.mark.parametrize("kernel", KERNELS)
def test_random_problems_beside_the_definition(kernel, variants, package):
    torch = pytest.importorskip("torch")
    dtypes = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    draw, rng = random.Random(11), np.random.default_rng(11)
    answered = 0
    for _ in range(60):
        dtype, q, k, v, mask, causal = random_case(draw, rng)
        given = [torch.from_numpy(x).to(dtypes[dtype]) for x in (q, k, v)]
        tensor = None if mask is None else torch.from_numpy(mask)
        if tensor is not None and tensor.dtype != torch.bool:
            tensor = tensor.to(dtypes[dtype])
        try:
            out = variants[kernel](*given, mask=tensor, causal=causal)
        except package.tensors.DomainError:
            continue
        answered += 1
        exact = [x.float().numpy() for x in given]
        seen = None if tensor is None else tensor
        if seen is not None:
            seen = seen.numpy() if seen.dtype == torch.bool else seen.float().numpy()
        want = expected(*exact, seen, causal)
        np.testing.assert_allclose(out.float().numpy(), want, atol=NEAR[dtype], rtol=NEAR[dtype])
        assert (out.stride(1) < out.stride(2)) == (given[0].stride(1) < given[0].stride(2))
    assert answered >= (2 if kernel == "cpu_splitkv" else 20)  # few queries, not causal


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_numpy(tiled, dtype):
    q, k, v = arrays(np.random.default_rng(2), (2, 4, 2, 33, 57, 64 if dtype == np.float32 else 32))
    q, k, v = (x.astype(dtype) for x in (q, k, v))
    out = tiled(q, k, v, causal=True, scale=0.3)
    near = 2e-5 if dtype == np.float32 else 4e-3
    assert out.dtype == dtype
    np.testing.assert_allclose(
        out, expected(q, k, v, causal="top_left", scale=0.3), atol=near, rtol=near
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_strides_and_addresses_of_parts(kernel, variants, package):
    """Parts of larger tensors, aligned to their elements only, are read where they lie."""
    rng = np.random.default_rng(5)
    flat = rng.standard_normal(3 * 2 * 70 * 6 * 64 + 1).astype(np.float32)[1:]
    packed = flat.reshape(3, 2, 70, 6, 64)
    assert packed.ctypes.data % 8
    q, k, v = (packed[i].swapaxes(1, 2)[:, :, 3:60] for i in range(3))
    causal = "bottom_right" if kernel != "cpu_splitkv" else "none"
    masks = rng.random((1, 1, 57, 57)) < 0.5
    try:
        out = variants[kernel](q, k, v, causal=causal, mask=masks)
    except package.tensors.DomainError:
        out = variants[kernel](q[:, :, :1], k, v)
        np.testing.assert_allclose(out, expected(q[:, :, :1], k, v), atol=2e-5, rtol=2e-5)
        return
    np.testing.assert_allclose(out, expected(q, k, v, masks, causal), atol=2e-5, rtol=2e-5)


def peak_kib(reset=False):
    """This process's largest resident memory since the last reset."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])


def test_large_inputs_are_not_copied(variants):
    q = np.ones((1000, 4, 1, 64), np.float32)
    k, v = (np.ones((1000, 2, 129, 64), np.float32) for _ in "kv")
    out = np.zeros(q.shape, np.float32)
    variants["cpu_splitkv"](q[:1], k[:1], v[:1], out=out[:1])  # all is loaded
    before = peak_kib(reset=True)
    variants["cpu_splitkv"](q, k, v, out=out)
    assert peak_kib() - before < k.nbytes / 2 / 1024
    np.testing.assert_allclose(out, 1, atol=2e-5)


def test_out_is_written_in_place(tiled):
    q, k, v = arrays(np.random.default_rng(3))
    out = np.full(q.shape, np.nan, np.float32)
    assert tiled(q, k, v, out=out) is out
    first = out.copy()
    np.testing.assert_allclose(out, expected(q, k, v), atol=2e-5, rtol=2e-5)
    v *= 2  # the same memory again: the plan is kept, nothing of the first call is
    tiled(q, k, v, out=out)
    np.testing.assert_allclose(out, 2 * first, atol=4e-5, rtol=4e-5)


def test_any_dlpack_tensor(tiled):
    class Foreign:
        """What another library would hand over."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **words):
            return self.array.__dlpack__(**words)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    q, k, v = arrays(np.random.default_rng(4))
    out = tiled(*map(Foreign, (q, k, v)))
    np.testing.assert_allclose(np.asarray(out), expected(q, k, v), atol=2e-5, rtol=2e-5)
    mixed = tiled(q, Foreign(k), v)
    np.testing.assert_allclose(np.asarray(mixed), expected(q, k, v), atol=2e-5, rtol=2e-5)


BAD = {
    "strings": (lambda q, k, v: (q, "k", v), {}, "DtypeError", "no tensor"),
    "float64": (lambda q, k, v: (q.astype(float), k, v), {}, "DtypeError", "float64"),
    "two dtypes": (lambda q, k, v: (q, k.astype(np.float16), v), {}, "DtypeError", "f16"),
    "byte order": (lambda q, k, v: (q.astype(">f4"), k, v), {}, "DtypeError", "order"),
    "three dims": (lambda q, k, v: (q[0], k, v), {}, "ShapeError", "B, H, S, D"),
    "nothing": (lambda q, k, v: (q[:0], k[:0], v[:0]), {}, "ShapeError", "none of them 0"),
    "other keys": (lambda q, k, v: (q, k, v[:, :, 1:]), {}, "ShapeError", "Skv"),
    "other D": (lambda q, k, v: (q, k[..., 1:], v), {}, "ShapeError", "B and D"),
    "heads": (lambda q, k, v: (q[:, :3], k, v), {}, "ShapeError", "multiple"),
    "causal": (lambda q, k, v: (q, k, v), {"causal": "left"}, "ShapeError", "bottom_right"),
    "scale": (lambda q, k, v: (q, k, v), {"scale": float("nan")}, "ShapeError", "finite"),
    "mask's dtype": (lambda q, k, v: (q, k, v), {"mask": np.ones((33, 57), int)}, "DtypeError",
                     "bool"),
    "mask's keys": (lambda q, k, v: (q, k, v), {"mask": np.ones((33, 1), bool)}, "ShapeError",
                    "keys"),
    "mask's rows": (lambda q, k, v: (q, k, v), {"mask": np.ones((5, 57), bool)}, "ShapeError",
                    "broadcast"),
    "last stride": (lambda q, k, v: (q[..., ::2], k[..., ::2], v[..., ::2]), {}, "LayoutError",
                    "last dimension"),
    "backwards": (lambda q, k, v: (q[:, :, ::-1], k, v), {}, "LayoutError", "strides"),
    "two layouts": (lambda q, k, v: (q.swapaxes(1, 2).copy().swapaxes(1, 2), k, v), {},
                    "LayoutError", "one layout"),
    "too long": (lambda q, k, v: (np.tile(q, (1, 1, 400, 1)), k, v), {}, "DomainError",
                 "Sq=13200"),
    "head dim": (lambda q, k, v: (q[..., :40].copy(), k[..., :40].copy(), v), {}, "DomainError",
                 "D=40"),
    "out's shape": (lambda q, k, v: (q, k, v), {"out": np.empty((2, 4, 33, 63), np.float32)},
                    "ShapeError", "must be"),
    "out's dtype": (lambda q, k, v: (q, k, v), {"out": np.empty((2, 4, 33, 64))}, "DtypeError",
                    "out"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_called_is_named(case, tiled, package):
    change, words, kind, says = BAD[case]
    q, k, v = arrays(np.random.default_rng(1))
    kind = getattr(package.tensors, kind)
    with pytest.raises(kind, match=says) as raised:
        tiled(*change(q, k, v), **words)
    assert isinstance(raised.value, package.errors.UsageError)
    assert set(raised.value.details) == {"attempted", "subject", "cause", "next"}
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_out_may_not_be_an_input(tiled, package):
    q, k, v = arrays(np.random.default_rng(1), (2, 4, 4, 33, 33, 64))
    with pytest.raises(package.tensors.LayoutError, match="shares memory with q"):
        tiled(q, k, v, out=q)
    fixed = np.empty_like(q)
    fixed.flags.writeable = False
    with pytest.raises(package.tensors.LayoutError, match="read-only"):
        tiled(q, k, v, out=fixed)


def test_elements_of_out_have_an_address_each(tiled, package):
    q, k, v = arrays(np.random.default_rng(1), (2, 4, 4, 33, 33, 64))
    batch, heads, rows, width = q.shape
    plenty = np.empty(2 * q.size, np.float32)

    def out(*strides):
        return np.lib.stride_tricks.as_strided(plenty, q.shape, [4 * step for step in strides])

    packed, padded = heads * rows * width, rows * (width + 16)
    for strides in (
        (packed, rows * width, width - 8, 1),
        (packed, width, width, 1),
        (packed, rows * width - width, width, 1),
        (width, rows * width, width, 1),
    ):
        with pytest.raises(package.tensors.LayoutError, match="out: its strides"):
            tiled(q, k, v, out=out(*strides))
    expected = tiled(q, k, v)
    for strides in (
        (heads * padded, padded, width + 16, 1),
        (packed, width, heads * width, 1),
        (width, batch * width, batch * heads * width, 1),
    ):
        np.testing.assert_array_equal(tiled(q, k, v, out=out(*strides)), expected)


def test_gradients_and_devices_are_refused(tiled, package):
    torch = pytest.importorskip("torch")
    q, k, v = map(torch.from_numpy, arrays(np.random.default_rng(1)))
    with pytest.raises(package.tensors.DeviceError, match="meta"):
        tiled(q.to("meta"), k, v)
    q.requires_grad_()
    with pytest.raises(package.tensors.GradientError, match="no backward"):
        tiled(q, k, v)
    with torch.no_grad():
        assert tiled(q, k, v).shape == q.shape


def test_only_what_passed_is_loaded(package, judged):
    bench, session = judged
    with pytest.raises(package.errors.NotFoundError, match="never built"):
        package.tensors.load("cpu_tiled", session=session, workbench=bench,
                             configuration={"TILE_M": 8})  # fmt: skip
    # Built, and never judged.
    bench.call("build", {"variant": "cpu_tiled", "configuration": {"TILE_M": 16}})
    with pytest.raises(package.errors.NotFoundError):
        package.tensors.load("cpu_tiled", session=session, workbench=bench,
                             configuration={"TILE_M": 16})  # fmt: skip
    proof = bench.call("proof", {"variant": "cpu_tiled"}, session=session)
    with pytest.raises(package.errors.DamagedError, match="it says that it is"):
        package.tensors.Variant({**proof, "artifact_id": "0" * 64}, bench, 1)
    with pytest.raises(package.tensors.DeviceError, match="another CPU"):
        package.tensors.Variant({**proof, "device": "another CPU"}, bench, 1)


def test_a_failed_verdict_is_not_loaded(package, judged, tmp_path):
    """cpu_tiled with its last key left out."""
    source = ROOT / "kernels" / "cpu_unfused"
    wrong = tmp_path / "kernels" / "cpu_wrong"
    wrong.mkdir(parents=True)
    for path in source.iterdir():
        text = path.read_text().replace('"name": "cpu_unfused"', '"name": "cpu_wrong"')
        text = text.replace("call.problem.scale", "(1.1 * call.problem.scale)")
        text = text.replace("p.scale", "(1.1 * p.scale)")
        (wrong / path.name).write_text(text)
    assert "1.1 *" in (wrong / "kernel.cpp").read_text()
    bench, session = judged
    bench.close()
    other = package.Workbench(path=[tmp_path, ROOT], cache=bench._options["cache"])
    try:
        answer = other.call("check", {"variant": "cpu_wrong"}, session=session)
        assert not answer["pass"]
        with pytest.raises(package.errors.WrongResultError, match="its verdict on"):
            package.tensors.load("cpu_wrong", session=session, workbench=other)
    finally:
        other.close()
        bench._engine = bench.another()._engine


def test_a_dispatched_call_is_a_subject(package, judged, tmp_path):
    """Judged, timed and held to its rules in a process of the worker, as every kernel is."""
    bench, session = judged
    dispatch = package.tensors.Dispatch(proofs=[session], workbench=bench)
    kernels = tmp_path / "kernels"
    dispatch.write_kernel(kernels / "dispatched")
    dispatch.write_kernel(kernels / "with_fallback", fallback=True)
    with pytest.raises(FileExistsError):
        dispatch.write_kernel(kernels / "dispatched")
    with pytest.raises(package.errors.UsageError, match="no name for a kernel"):
        dispatch.write_kernel(kernels / "Not A Name")
    bench.close()
    cache = bench._options["cache"]
    other = package.Workbench(path=[tmp_path, ROOT], cache=cache)
    try:

        def first(kernel, problem):
            return other.check(kernel, problem=problem).to_dict()["problems"][0]

        inside, outside = "B=2 Hq=4 Hkv=2 Sq=64 Skv=130 D=64 f32", "B=1 Hq=2 Sq=64 D=48 f32"
        assert first("dispatched", inside)["outcome"] == "pass"
        refused = first("dispatched", outside)
        assert refused["outcome"] == "constraints"
        assert "no rule answers" in refused["message"]
        assert first("with_fallback", outside)["outcome"] == "pass"
        timed = other.compare("dispatched", "cpu_unfused", problem=inside, effort="quick")
        assert timed.outcome in ("faster", "slower", "same", "ambiguous")
        source = kernels / "dispatched" / "dispatched.py"
        rules = ROOT / "kernels" / "dispatch.json"
        digest = hashlib.sha256(rules.read_bytes()).hexdigest()
        source.write_text(source.read_text().replace(digest, "0" * 64))
        assert "has changed since" in first("dispatched", inside)["message"]
    finally:
        other.close()
        bench._engine = bench.another()._engine


def test_dispatch_uses_a_proof_or_falls_back(package, judged):
    bench, session = judged
    tensors = package.tensors
    q, k, v = arrays(np.random.default_rng(8))
    with_proof = tensors.Dispatch(proofs=[session], workbench=bench, threads=2)
    out = tensors.sdpa(q, k, v, causal=True, dispatch=with_proof)
    want = expected(q, k, v, causal="top_left")
    np.testing.assert_allclose(out, want, atol=2e-5, rtol=2e-5)
    assert with_proof.last.variant.startswith("cpu_tiled@")
    assert not with_proof.last.is_fallback
    rules = json.loads((ROOT / "kernels" / "dispatch.json").read_text())["rules"]
    assert with_proof.last.rule == len(rules)
    assert with_proof.counts == {"kernel": 1, "fallback": 0}

    longer = [np.tile(x, (1, 1, 9, 1)) for x in (q, k, v)]  # beyond what passed
    out = with_proof(*longer, causal="bottom_right")
    np.testing.assert_allclose(out, expected(*longer, causal="bottom_right"), atol=2e-5, rtol=2e-5)
    assert with_proof.last.is_fallback
    assert "Sq=297" in with_proof.last.reason
    strided = q[:, :, :, ::2], k[:, :, :, ::2], v[:, :, :, ::2]
    np.testing.assert_allclose(with_proof(*strided), expected(*strided), atol=2e-5, rtol=2e-5)
    assert "last dimension" in with_proof.last.reason
    assert with_proof.counts == {"kernel": 1, "fallback": 2}

    without = tensors.Dispatch(workbench=bench)
    assert without.choose(q, k, v).is_fallback
    assert "no session proves it" in without.choose(q, k, v).reason


@pytest.mark.parametrize("without_torch", [False, True])
@pytest.mark.parametrize("causal", ["none", "top_left", "bottom_right"])
def test_both_fallbacks_are_right(package, monkeypatch, causal, without_torch):
    assert package.tensors
    from sdpa_workbench import _tensor_dispatch, _tensor_problem

    if not without_torch:
        pytest.importorskip("torch")
    monkeypatch.setattr(_tensor_dispatch, "_has_torch", lambda: not without_torch)
    rng = np.random.default_rng(9)
    for layout in ("BHSD", "BSHD"):
        q, k, v = arrays(rng, (2, 4, 2, 9, 6, 8), layout=layout)
        additive = np.where(rng.random((2, 1, 9, 6)) < 0.5, -np.inf, 0.5).astype(np.float32)
        for mask in (None, rng.random((1, 4, 9, 6)) < 0.4, additive):
            call = _tensor_problem.Call.of(q, k, v, mask, causal, 0.4, None)
            out = _tensor_dispatch.fallback(call)
            want = expected(q, k, v, mask, causal, 0.4)
            np.testing.assert_allclose(out, want, atol=2e-5, rtol=2e-5)
