# SPDX-License-Identifier: MIT
"""The package says what the verb table and the engine say: methods, arguments, errors, stubs."""

import ast
import copy
import graphlib
import importlib
import inspect
import json
import keyword
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import ROOT, importing

PACKAGE = ROOT / "bindings" / "sdpa_workbench"


@pytest.fixture(scope="module")
def table(build):
    told = subprocess.run([build / "sdpa-wb", "verb-table"], capture_output=True, check=True)
    return json.loads(told.stdout)


@pytest.fixture(scope="module")
def generated(package):
    """The modules that the build makes: {name: text}."""
    folder = Path(package.__file__).parent
    return {path.name: path.read_text() for path in folder.glob("_verbs_*.py")}


def test_every_verb_has_a_method_with_its_arguments(package, table):
    assert package.workbench._core.verb_table() == table
    for verb in table:
        name = verb["name"]
        # Session's are classmethods that say more.
        begins = name in ("open", "resume")
        inside = hasattr(package.Session, name) and not begins
        signature = inspect.signature(
            getattr(package.Session if inside else package.Workbench, name)
        )
        taken = {name: p for name, p in signature.parameters.items() if name != "self"}
        for argument in verb["arguments"]:
            name = argument["name"] + "_" * keyword.iskeyword(argument["name"])
            assert (taken[name].default is inspect.Parameter.empty) == argument["required"], name
            assert taken.pop(name).annotation is not inspect.Parameter.empty
        own = {"executor", "in_flight"} if verb["name"] in ("tune", "race") else set()
        assert set(taken) == own | (set(taken) & {"session", "request_id"}), verb["name"]


def test_session_open_is_typed_like_the_verb(package, table):
    verb = next(verb for verb in table if verb["name"] == "open")
    taken = dict(inspect.signature(package.Session.open).parameters)
    for own in ("folder", "workbench"):
        taken.pop(own)
    words = [argument["name"] for argument in verb["arguments"]]
    assert list(taken) == words
    assert list(package.session.OpenArguments.__annotations__) == words
    for argument in verb["arguments"]:
        assert f"{argument['name']}: {argument['doc'][:20]}" in package.Session.open.__doc__
    by_script = inspect.signature(package.Session.resume_or_open).parameters["open_arguments"]
    assert by_script.annotation == "Unpack[OpenArguments]"


def test_options_that_are_passed_on_are_typed_like_their_own(package):
    def options(function):
        taken = inspect.signature(function).parameters.values()
        return {p.name: p.annotation for p in taken if p.kind is p.KEYWORD_ONLY}

    passed = package.workbench.WorkbenchOptions.__annotations__
    assert {name: kind.__forward_arg__ for name, kind in passed.items()} == options(
        package.Workbench
    )
    by_word = inspect.signature(package.evaluation.use).parameters["options"]
    assert by_word.annotation == "Unpack[WorkbenchOptions]"
    box = inspect.signature(package.tools.Toolbox).parameters
    call = dict(inspect.signature(package.tools.call).parameters)
    for name in ("name", "arguments", "session"):
        call.pop(name)
    assert call == {name: box[name] for name in box if name != "session"}


def test_no_module_needs_one_that_needs_it(generated):
    """Imports inside functions count too: what they open at run time is a circle to read."""
    needs = {}
    texts = {path.name: path.read_text() for path in PACKAGE.glob("*.py")} | generated
    for name, text in texts.items():
        found = set()
        tree = ast.parse(text)
        for_types = {
            inner
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for inner in ast.walk(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level == 1 and node not in for_types:
                found |= {node.module} if node.module else {part.name for part in node.names}
        needs[name.removesuffix(".py")] = found
    graph = graphlib.TopologicalSorter(needs)
    graph.prepare()  # raises CycleError with the circle


def test_a_variant_is_what_can_be_called(package):
    """The word meant a kernel of the catalogue as well; that name still works, with a warning."""
    for home in (package, package.results):
        with pytest.warns(DeprecationWarning, match="results.Kernel"):
            assert home.Variant is package.Kernel
    assert package.tensors.Variant.__call__
    assert "Variant" not in package.__all__


def test_the_older_name_of_the_catalogue(bench):
    workbench = bench()
    with pytest.warns(DeprecationWarning, match="catalogue"):
        found = workbench.variants()
    assert found == workbench.catalogue()


def test_every_kind_of_error_has_its_class(package):
    errors = package.errors
    assert list(errors.BY_CODE) != []
    assert sorted(errors.BY_CODE) == sorted(package.workbench._core.error_codes())
    for code, kind in errors.BY_CODE.items():
        error = errors.make(code, "one line", "read", "this", "why", "what next")
        assert isinstance(error, package.WorkbenchError)
        assert (type(error), error.code, error.message, str(error)) == (
            kind,
            code,
            *["one line"] * 2,
        )
        assert error.details == {
            "attempted": "read", "subject": "this", "cause": "why", "next": "what next"
        }  # fmt: skip
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), again.message, again.details) == (kind, error.message, error.details)


def test_the_stub_of_the_module_is_generated(package, tmp_path):
    words = [sys.executable, ROOT / "bindings" / "generate_core_stub.py", tmp_path]
    subprocess.run(words, check=True, env=os.environ | importing(package))
    made = (tmp_path / "_core.pyi").read_text()
    assert made == (PACKAGE / "_core.pyi").read_text(), (
        "PYTHONPATH=build/release/python python bindings/generate_core_stub.py"
    )
    stubbed = {node.name for node in ast.walk(ast.parse(made)) if hasattr(node, "name")}
    core = package.workbench._core
    public = {name for owner in (core, core.Engine) for name in vars(owner) if name[0] != "_"}
    assert stubbed >= public


def test_without_its_module_the_package_says_how_to_get_it(build, tmp_path, generated):
    folder = tmp_path / "sdpa_workbench"
    leave = shutil.ignore_patterns("__pycache__", "_core.*.so")
    shutil.copytree(PACKAGE, folder, ignore=leave)
    code = "import sdpa_workbench as w; print(w.command()); w.Session('s')"
    words = [sys.executable, "-c", code]
    env = {"PATH": f"{build}:/usr/bin:/bin", "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.stdout.split() == [str(build / "sdpa-wb")]
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ImportError: sdpa_workbench needs its module")
    assert "these are its sources, of which a build makes the package" in done.stderr
    assert "pip install ." in done.stderr
    for name, text in generated.items():
        (folder / name).write_text(text)
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert "this installation has programs only" in done.stderr
    # One that is there but for another Python is told apart.
    (folder / "_core.cpython-27-x86_64-linux-gnu.so").touch()
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert "built for another Python (_core.cpython-27-" in done.stderr


def test_the_package_is_typed_and_says_its_version(package, build):
    assert (PACKAGE / "py.typed").exists()
    version = subprocess.run([build / "sdpa-wb", "--version"], capture_output=True, text=True)
    assert version.stdout.split() == ["sdpa-wb", package.__version__]
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)
    with pytest.raises(AttributeError, match="no attribute sesion"):
        package.sesion  # noqa: B018


COMPARISON = {
    "outcome": "faster", "speedup": 1.5, "text": "",
    "interval": {"low": 1.4, "high": 1.6, "confidence": 0.99},
    "problems": [{"problem": "<script>|*x*", "outcome": "faster", "speedup": 1.5}],
}  # fmt: skip


def test_results_are_frozen_and_keep_the_whole_answer(package):
    answer = copy.deepcopy(COMPARISON) | {"new_field": [1]}
    comparison = package.Comparison.of(answer)
    assert (comparison.outcome, comparison.interval.low) == ("faster", 1.4)
    assert 1.5 in comparison.interval
    with pytest.raises(AttributeError):
        comparison.outcome = "slower"
    assert comparison.to_dict() == answer
    comparison.to_dict()["problems"].clear()
    assert comparison.to_dict() == answer
    assert pickle.loads(pickle.dumps(comparison)).to_dict() == answer


def test_results_show_themselves_and_escape_what_they_hold(package):
    comparison = package.Comparison.of(COMPARISON)
    page = comparison._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;|*x*" in page
    assert "[1.4, 1.6]" in page
    assert r"\<script\>\|\*x\*" in comparison._repr_markdown_()
    shown = package.results.Answer(text="<script>a & b")._repr_html_()
    assert shown == "<pre>&lt;script&gt;a &amp; b</pre>"
    text = package.results.Answer(text="a ``` b")._repr_markdown_()
    assert text.startswith("````text")


def test_pandas_is_optional(package, monkeypatch):
    comparison = package.Comparison.of(COMPARISON)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        comparison.to_pandas()
    monkeypatch.undo()
    if importlib.util.find_spec("pandas"):
        assert list(comparison.to_pandas()["speedup"]) == [1.5]


def test_a_bar_needs_rich_or_tqdm(package, monkeypatch):
    progress = importlib.import_module("sdpa_workbench.progress")
    for name in ("rich", "rich.progress", "tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="rich or tqdm"):
        progress.bar()


@pytest.mark.parametrize("library", ["rich", "tqdm"])
def test_a_bar_draws_every_stage(package, library, monkeypatch, capfd):
    pytest.importorskip(library)
    progress = importlib.import_module("sdpa_workbench.progress")
    if library == "tqdm":
        monkeypatch.setitem(sys.modules, "rich", None)
        monkeypatch.setitem(sys.modules, "rich.progress", None)
    draw = progress.bar()
    words = {"iteration": 1, "best_speedup": None, "elapsed_s": 0.0, "left_s": None,
             "cost_usd": None}  # fmt: skip
    for stage, total in (("build", 0), ("tune", 3)):
        for done in range(total + 1):
            draw(progress.Progress(stage=stage, what="cpu_tiled", done=done, total=total, **words))
    draw.close()
    told = "".join(capfd.readouterr())
    assert library == "rich" or ("build" in told and "tune" in told)
