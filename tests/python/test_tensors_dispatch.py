# SPDX-License-Identifier: MIT
"""sdpa() answered by a rule of kernels/dispatch.json whose own session lies beside the table, as
those of the shipped rules do: here the table and the session are this machine's."""

import functools
import json
import shutil

import pytest
from support.commands import ROOT, SMALL

np = pytest.importorskip("numpy")

FALLBACK = {"variant": "cpu_unfused", "configuration": {}}


@pytest.fixture
def ruled(package, bench, small, wb, monkeypatch):
    """Makes a Dispatch by one rule for cpu_tiled, which passed in the session of that rule, with
    changes to the rule; before it one for a device that nobody has."""
    from sdpa_workbench import _tensor_problem

    assert small.check("cpu_tiled", problem=SMALL).passed
    small.pause("the rules read")
    proof = small.workbench.call("proof", {"variant": "cpu_tiled"}, session=small.folder)
    rule = {
        "device": _tensor_problem.cpu_name(), "when": "Sq >= 8", "dtypes": ["f32"],
        "variant": "cpu_tiled", "configuration": {"TILE_M": 32, "TILE_N": 64},
        "artifact_id": proof["artifact_id"], "session": "s",
    }  # fmt: skip
    (wb.folder / "kernels").mkdir()
    (wb.folder / "elsewhere").mkdir()
    monkeypatch.chdir(wb.folder / "elsewhere")  # a checkout's table would come first

    def make(**changes):
        rules = [rule | {"device": "nobody's device"}, rule | changes, FALLBACK]
        table = {"version": 1, "about": "the test's", "rules": rules}
        (wb.folder / "kernels" / "dispatch.json").write_text(json.dumps(table))
        return package.tensors.Dispatch(workbench=bench(path=[wb.folder, ROOT]))

    return make


def tensors(rows=64, dtype=np.float32):
    rng = np.random.default_rng(1)
    return [rng.standard_normal((1, 2, rows, 32)).astype(dtype) for _ in "qkv"]


def softmax(q, k, v):
    scores = np.exp(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5)
    return scores / scores.sum(-1, keepdims=True) @ v


def test_the_rule_of_a_recorded_session_answers(ruled, package, small):
    dispatch = ruled()
    q, k, v = tensors()
    out = package.tensors.sdpa(q, k, v, dispatch=dispatch)
    np.testing.assert_allclose(out, softmax(q, k, v), atol=2e-5, rtol=2e-5)
    assert (dispatch.last.rule, dispatch.last.is_fallback) == (2, False)
    assert dispatch.last.variant.startswith("cpu_tiled@")
    assert dispatch.last.session == str(small.folder)
    assert dispatch.counts == {"kernel": 1, "fallback": 0}
    # What the rule, or the session's passes, do not take has the fallback.
    for given in (tensors(rows=7), tensors(rows=1000), tensors(dtype=np.float16)):
        near = 2e-5 if given[0].dtype == np.float32 else 4e-3
        out = package.tensors.sdpa(*given, dispatch=dispatch)
        np.testing.assert_allclose(
            out, softmax(*(x.astype(np.float32) for x in given)), atol=near, rtol=near
        )
        assert dispatch.last.is_fallback, given[0].shape
    assert dispatch.counts == {"kernel": 1, "fallback": 3}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"artifact_id": "0" * 64}, "another artifact than the rule's"),
        ({"session": "nowhere"}, "nowhere"),
        ({"configuration": {"TILE_M": 8, "TILE_N": 64}}, "never built it in this configuration"),
        ({"device": "another device"}, "no session proves it"),
    ],
)
def test_a_rule_without_its_proof_does_not_answer(ruled, change, why):
    choice = ruled(**change).choose(*tensors())
    assert choice.is_fallback
    assert why in choice.reason


@pytest.fixture
def by_another_compiler(ruled, bench, wb, monkeypatch):
    """A workbench with the rule, where another compiler makes another artifact of its variant."""
    ruled()
    compiler = wb.folder / "bin" / "g++"
    compiler.parent.mkdir()
    compiler.write_text(
        "#!/bin/sh\n[ \"$*\" = --version ] && echo 'g++ (Elsewhere) 99.1.0' && exit\n"
        f'exec {shutil.which("g++")} "$@"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("XDG_DATA_HOME", str(wb.folder / "data"))
    return bench(
        path=[wb.folder, ROOT], compiler=str(compiler), cache=wb.folder / "its cache",
        python="/bin/false",  # no PyTorch beside it
    )  # fmt: skip


def test_by_another_compiler_the_fallback_answers_until_the_rule_is_adopted(
    by_another_compiler, package, wb
):
    dispatch = package.tensors.Dispatch(workbench=by_another_compiler)
    q, k, v = tensors()
    package.tensors.sdpa(q, k, v, dispatch=dispatch)
    assert dispatch.last.is_fallback
    assert "what g++ (Elsewhere) 99.1.0 makes here is another artifact" in dispatch.last.reason
    assert "sdpa-wb dispatch adopt --problem" in dispatch.last.reason
    choice = dispatch.adopt(q, k, v)
    assert choice.rule == 1  # for another CPU by its name, which is offered just as well
    assert choice.session.startswith(str(wb.folder / "data" / "sdpa-workbench" / "adopted"))
    out = package.tensors.sdpa(q, k, v, dispatch=dispatch)
    np.testing.assert_allclose(out, softmax(q, k, v), atol=2e-5, rtol=2e-5)
    assert dispatch.last == choice
    assert dispatch.counts == {"kernel": 1, "fallback": 1}


def test_rules_are_adopted_by_the_text_of_problems(by_another_compiler, package, wb):
    no_rule = "B=1 Hq=2 Sq=4 D=32 f32"
    answer = package.adopt([SMALL, no_rule], workbench=by_another_compiler)
    rows = {row["outcome"]: row for row in answer["rules"]}
    assert set(rows) == {"adopted", "none"}
    assert "Sq=64 " in rows["adopted"]["problem"]
    assert "Sq=4 " in rows["none"]["problem"]
    choice = package.tensors.Dispatch(workbench=by_another_compiler).choose(*tensors())
    assert (choice.rule, choice.session) == (1, rows["adopted"]["session"])
    (again,) = package.adopt(SMALL, workbench=by_another_compiler)["rules"]
    assert again["outcome"] == "served"


def test_what_was_adopted_is_asked_for_anew_by_sdpa(package, monkeypatch):
    from sdpa_workbench import _tensor_dispatch

    class Bench:
        def dispatch_adopt(self, **given):
            self.given = given
            return {"rules": []}

    default = package.tensors.Dispatch(workbench=Bench())
    monkeypatch.setattr(_tensor_dispatch, "_default", functools.cache(lambda: default))
    package.adopt(SMALL, workbench=Bench())  # nobody called sdpa() yet
    _tensor_dispatch._default()._choices["a problem", "a device"] = _tensor_dispatch._no_rule("it")
    bench = Bench()
    package.adopt([SMALL, SMALL], backend="cuda", effort="standard", workbench=bench)
    assert not default._choices
    problem = f"{SMALL}; {SMALL}"
    assert bench.given == {"problem": problem, "backend": "cuda", "effort": "standard"}


def test_what_is_no_shape_is_not_adopted(package, bench):
    for given, why in (([], "needs a shape"), ([64], "not int"), (tensors(), "not ndarray")):
        with pytest.raises(package.errors.UsageError, match=why):
            package.adopt(given, workbench=bench())
    with pytest.raises(package.errors.ParseError):
        package.adopt("B=1 nonsense", workbench=bench())
