# SPDX-License-Identifier: MIT
"""Tensors that PyTorch differentiates, maps or traces, and kinds of arrays that hold no plain
memory: a variant computes them rightly or raises an error of the package's, and no derivative is
dropped without a word."""

import pytest
from support.commands import ROOT, Workbench

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

from torch.autograd import forward_ad  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning",
                                        "ignore::FutureWarning")  # fmt: skip


@pytest.fixture(scope="module")
def variant(build, cache, package, tmp_path_factory):
    wb = Workbench(build / "sdpa-wb", tmp_path_factory.mktemp("transforms"), cache)
    wb.open_small()
    with package.Workbench(path=[ROOT], cache=cache) as bench:
        yield package.tensors.load(
            "cpu_unfused", session=wb.folder / "s", workbench=bench, threads=2
        )


@pytest.fixture
def given():
    torch.manual_seed(5)
    q, k, v = (torch.randn(1, 2, 24, 32) for _ in "qkv")
    return {"q": q, "k": k, "v": v, "mask": torch.randn(24, 24), "scale": 0.2}


def right(q, k, v, mask, scale):
    return torch.softmax(scale * (q @ k.transpose(-1, -2)) + mask, -1) @ v


def near(one, other):
    return torch.allclose(one, other, atol=2e-5)


def with_tangent(call, x):
    with forward_ad.dual_level():
        return call(forward_ad.make_dual(x, torch.ones_like(x)))


DERIVATIVES = {
    "a tangent": with_tangent,
    "a tangent without gradients": lambda call, x: torch.no_grad()(with_tangent)(call, x),
    "jvp": lambda call, x: torch.func.jvp(call, (x,), (torch.ones_like(x),)),
    "jacfwd": lambda call, x: torch.func.jacfwd(call)(x),
    "jacrev": lambda call, x: torch.func.jacrev(call)(x),
    "hessian": lambda call, x: torch.func.hessian(lambda y: call(y).sum())(x),
    "grad": lambda call, x: torch.func.grad(lambda y: call(y).sum())(x),
    "vjp": lambda call, x: torch.func.vjp(call, x),
    "linearize": lambda call, x: torch.func.linearize(call, x),
    "backward": lambda call, x: call(x.clone().requires_grad_()).sum().backward(),
    "a hidden one": lambda call, x: call(torch.nn.Parameter(x) * 1),
    "autograd.functional": lambda call, x: torch.autograd.functional.jvp(
        call, x, torch.ones_like(x)
    ),
}


@pytest.mark.parametrize("name", ["q", "k", "v", "mask", "scale"])
@pytest.mark.parametrize("how", DERIVATIVES)
def test_no_derivative_is_dropped(how, name, variant, given, package):
    x = torch.as_tensor(given[name])
    with pytest.raises(package.tensors.GradientError, match=f"on {name}: ") as raised:
        DERIVATIVES[how](lambda y: variant(**given | {name: y}), x)
    assert isinstance(raised.value, NotImplementedError)  # as of PyTorch's own fused attention
    assert isinstance(raised.value, package.errors.UsageError)


def test_no_derivative_of_what_is_written_to(variant, given, package):
    with forward_ad.dual_level():
        out = forward_ad.make_dual(torch.zeros_like(given["q"]), given["q"])
        with pytest.raises(package.tensors.GradientError, match="on out: "):
            variant(**given, out=out)


def test_where_no_derivative_is_wanted_it_answers(variant, given):
    want = right(**given)
    x = given["q"]
    with torch.no_grad():
        assert near(variant(**given | {"q": x.clone().requires_grad_()}), want)
    with torch.inference_mode():
        assert near(variant(**given | {"q": x.clone()}), want)
    assert near(variant(**given | {"q": x.clone().requires_grad_().detach()}), want)
    with forward_ad.dual_level():
        assert near(variant(**given), want)
        dual = forward_ad.make_dual(x, x)
        assert near(variant(**given | {"q": dual.detach()}), want)
    assert near(variant(**given | {"scale": torch.tensor(0.2)}), want)


def test_autograd_sees_that_out_was_written(variant, given):
    weight = torch.ones(1, 2, 24, 32, requires_grad=True)
    out = torch.zeros(1, 2, 24, 32)
    loss = (weight * out).sum()  # its backward needs `out` as it is now
    variant(**given, out=out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    with torch.inference_mode():
        variant(**given, out=torch.zeros(1, 2, 24, 32))


def fake(x):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        return mode.from_tensor(x)


def resized(x):
    x = x.clone()
    x.untyped_storage().resize_(0)
    return x


class Wrapper(torch.Tensor):
    """Memory of its own it has none: `inner` has."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        raise RuntimeError("it is a test's")


class Raising:
    """Says that it speaks DLPack, and does not."""

    def __init__(self, fault):
        self.fault = fault

    def __dlpack__(self, **_):
        raise self.fault

    def __dlpack_device__(self):
        raise self.fault


class Half:
    def __dlpack__(self, **_):
        raise BufferError("no")


def masked(x):
    return np.ma.masked_array(x.numpy(), x.numpy() > 0)


KINDS = {
    "None": (lambda x: None, "DtypeError"),
    "a string": (lambda x: "x", "DtypeError"),
    "a class": (lambda x: torch.Tensor, "LayoutError"),
    "nested": (lambda x: torch.nested.nested_tensor([x[0], x[0]]), "LayoutError"),
    "jagged": (lambda x: torch.nested.nested_tensor([x[0], x[0]], layout=torch.jagged),
               "LayoutError"),
    "fake": (fake, "LayoutError"),
    "a wrapper": (Wrapper, "LayoutError"),
    "meta": (lambda x: x.to("meta"), "DeviceError"),
    "sparse": (lambda x: x.to_sparse(), "LayoutError"),
    "mkldnn": (lambda x: x.to_mkldnn(), "LayoutError"),
    "quantized": (lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), "DtypeError"),
    "uninitialized": (lambda x: torch.nn.parameter.UninitializedParameter(requires_grad=False),
                      "LayoutError"),
    "no memory": (resized, "LayoutError"),
    "zeros of no memory": (lambda x: torch._efficientzerotensor(x.shape), "LayoutError"),
    "functional": (lambda x: torch._to_functional_tensor(x), "LayoutError"),
    "a lazy view": (lambda x: torch._neg_view(x), "LayoutError"),
    "complex": (lambda x: x + 0j, "DtypeError"),
    "masked": (masked, "LayoutError"),
    "of no bytes": (lambda x: np.zeros(x.shape, "V0"), "DtypeError"),
    "of dates": (lambda x: np.zeros(x.shape, "M8[s]"), "DtypeError"),
    "of objects": (lambda x: np.zeros(x.shape, object), "DtypeError"),
    "a KeyError": (lambda x: Raising(KeyError("k")), "LayoutError"),
    "an AssertionError": (lambda x: Raising(AssertionError()), "LayoutError"),
    "half of DLPack": (lambda x: Half(), "LayoutError"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_that_hold_no_plain_memory_are_named(kind, variant, given, package):
    make, error = KINDS[kind]
    numpy = {name: x.numpy() if torch.is_tensor(x) else x for name, x in given.items()}
    for others in (given, numpy):
        for name in ("q", "k", "v", "mask"):
            if kind == "None" and name == "mask":
                continue
            with pytest.raises(package.tensors.TensorError, match=f"on {name}: ") as raised:
                variant(**others | {name: make(given["q"])})
            if name == "q":
                assert type(raised.value).__name__ == error
    if kind not in ("None", "a string"):
        with pytest.raises(package.tensors.TensorError):
            variant(*[make(given["q"])] * 3)


@pytest.mark.parametrize(
    ("words", "subject"),
    [
        ({"scale": "wide"}, "scale"),
        ({"scale": [1, 2]}, "scale"),
        ({"scale": 10**400}, "scale"),
        ({"scale": 1j}, "scale"),
        ({"scale": torch.ones(2)}, "scale"),
        ({"causal": None}, "causal"),
        ({"causal": ["none"]}, "causal"),
        ({"out": "here"}, "out"),
    ],
)
def test_other_arguments_of_wrong_kinds_are_named(words, subject, variant, given, package):
    with pytest.raises(package.tensors.TensorError, match=f"on {subject}: "):
        variant(**given | words)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_a_wrong_number_of_threads_is_told_at_the_load(threads, variant, package):
    with pytest.raises(package.errors.UsageError, match="threads must be"):
        package.tensors.Variant(variant.proof, variant._workbench, threads)


def test_mapped_tensors_are_named(variant, given, package):
    for transform in (torch.func.vmap, torch.func.functionalize):
        with pytest.raises(package.tensors.LayoutError, match=r"on q: .*torch\.func"):
            transform(lambda x: variant(**given | {"q": x}))(given["q"][None])
        with pytest.raises(package.tensors.LayoutError, match=r"in a transform of torch\.func"):
            transform(lambda x: x * variant(**given))(given["q"][None])


def test_a_trace_never_lacks_the_call(variant, given, package):
    """A trace without it would give whatever the memory of the result held."""
    from torch.fx.experimental.proxy_tensor import make_fx

    def call(x):
        return variant(**given | {"q": x})

    q = given["q"]
    traces = (
        torch.fx.symbolic_trace,
        lambda f: torch.jit.trace(f, (q,)),
        lambda f: make_fx(f)(q),
        lambda f: make_fx(f, tracing_mode="fake")(q),
    )
    for trace in traces:
        with pytest.raises(package.tensors.TensorError):
            trace(call)
