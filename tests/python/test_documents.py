# SPDX-License-Identifier: MIT
"""Documents: docs/results are the pages that generate.py makes of the kept sessions today; what the
head of a kernel's source says of its measurement is in these sessions; the Python of
docs/guide/python.md runs, block after block; and pip builds the package from a tree that exists."""

import functools
import os
import re
import shutil
import subprocess
import sys

import pytest
from support.commands import ROOT, importing
from support.kept import kept, kept_sessions, report_of, unpack
from support.logs import events, log_of, session_name

RESULTS = ROOT / "docs" / "results"


@pytest.fixture(scope="module")
def generate(package, build):
    if not (build / "tests" / "bench" / "recorded_pairs").exists():
        pytest.skip("the benches are not built")
    env = os.environ | importing(package) | {"WB_BUILD_DIR": str(build.resolve())}

    def run(tree, *words):
        return subprocess.run(
            [sys.executable, tree / "docs" / "results" / "generate.py", *words],
            env=env, text=True, capture_output=True, timeout=280,
        )  # fmt: skip

    return run


def test_the_pages_are_those_of_the_sessions(generate):
    done = generate(ROOT, "--check")
    assert done.returncode == 0, f"run docs/results/generate.py: {done.stdout}{done.stderr}"


def test_another_figure_is_found(generate, tmp_path):
    """A tree of links, but for one page, in which a figure was changed. A session that a demo left
    is no part of the pages."""
    for name in ("kernels", "tests", "playbooks"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "sessions").mkdir()
    for path in (ROOT / "sessions").iterdir():
        (tmp_path / "sessions" / path.name).symlink_to(path)
    demo = unpack(kept("cpu-prefill-f32"), tmp_path / "sessions" / "demo")
    demo.rename(tmp_path / "sessions" / "s-0009")
    shutil.copy(kept("cpu-prefill-f32"), tmp_path / "sessions" / "s-0010.tar.gz")
    shutil.copy(report_of(kept("cpu-prefill-f32")), tmp_path / "sessions" / "s-0010.md")
    (tmp_path / "docs" / "results").mkdir(parents=True)
    (tmp_path / "docs" / "kernels.md").write_text((ROOT / "docs" / "kernels.md").read_text())
    for file in RESULTS.iterdir():
        if file.is_file():
            (tmp_path / "docs" / "results" / file.name).write_bytes(file.read_bytes())
    page = tmp_path / "docs" / "results" / "h200_sustained.md"
    text = page.read_text()
    assert text.count("| fa_D64_S512_full |") == 1
    page.write_text(re.sub(r"(\| fa_D64_S512_full \| `\w+` \| )\d", r"\g<1>9", text))
    done = generate(tmp_path, "--check")
    assert done.returncode == 1, done.stderr
    assert done.stdout.strip() == "differs: docs/results/h200_sustained.md"


def test_the_readme_counts_as_the_page_does():
    page, readme = (RESULTS / "h200_sustained.md").read_text(), (ROOT / "README.md").read_text()
    rows = re.findall(r"\| (faster|same|ambiguous|slower) \| \[", page)
    sentence = r"ahead of what PyTorch chooses on (\d+) of (\d+) problems, and behind on (\d+)"
    told = re.search(sentence, readme)
    counted = (rows.count("faster"), len(rows), rows.count("slower"))
    assert tuple(map(int, told.groups())) == counted


# What the head of a kernel's source says of its measurement, against the kept sessions.

sys.path.append(str(ROOT / "docs" / "results"))

# The line `measured  …` of a worklog, with the indented lines that go on with it.
MEASURED = re.compile(r"^(?://)? {2,}measured {2,}(.*(?:\n(?://)? {6,}\S.*)*)", re.M)
NONE = "no recorded session"


@pytest.fixture(scope="module")
def measured(package):
    """Kernel -> the sessions with turns of it."""
    from recorded import archive_of, session_names
    from sdpa_workbench import _core

    found = {}
    for session in session_names():
        log = _core.session_log(archive_of(session))
        for line in log.splitlines():
            if b'"type":"turn_measured"' in line[:250]:
                (name,) = re.findall(rb'"subject":"([^"@]+)', line)
                found.setdefault(name.decode(), set()).add(session)
    return found


def heads():
    """Kernel -> the comment that its main source begins with. Rivals have none."""
    for manifest in sorted((ROOT / "kernels").glob("*/kernel.json")):
        for source in manifest.parent.glob("kernel.*"):
            if source.suffix in (".cpp", ".cu", ".py"):
                text = source.read_text()
                yield manifest.parent.name, re.split(r"\n(#include|import|from) ", text)[0]


@functools.cache
def logs():
    """Session -> its log. A report of two pages does not name every kernel that was tried."""
    return {session_name(archive): log_of(archive) for archive in kept_sessions(ROOT / "sessions")}


def fault_of(kernel, head, logs):
    """What is wrong with what a worklog says of its measurement, or None. It names a session whose
    log has the kernel, or says that there is none, and then no log has it."""
    found = MEASURED.search(head)
    if not found:
        return "no line `measured`"
    said = " ".join(found[1].replace("\n//", "\n").split())
    having = {name for name, text in logs.items() if re.search(rf"\b{kernel}\b", text)}
    if NONE in said:
        return f"{sorted(having)} have it" if having else None
    named = set(re.findall(r"sessions/([a-z0-9-]+)", said))
    return None if named & having else f"no log of {sorted(named)} has it"


@pytest.mark.parametrize(("kernel", "head"), heads(), ids=[name for name, _ in heads()])
def test_a_worklog_names_the_session_that_measured_its_kernel(kernel, head):
    assert fault_of(kernel, head, logs()) is None


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("measured  1.5 times one\n//             two, sessions/with on an X", None),
        ("measured  sessions/without and sessions/with", None),
        ("measured  sessions/without, 1.5 times", "no log of ['without'] has it"),
        ("measured  sessions/gone, 1.5 times", "no log of ['gone'] has it"),
        ("measured  1.5 times, on an X", "no log of [] has it"),
        ("measured  no recorded\n//             session has it", "['with'] have it"),
        ("costs     measured elsewhere", "no line `measured`"),
    ],
)
def test_a_worklog_that_is_wrong_is_found(said, fault):
    kept = {"with": "`one_kernel@12345678` won", "without": "`one_kernel_more@12345678` won"}
    head = f"// one_kernel: an idea.\n//\n// Worklog\n//   idea      it\n//   {said}"
    assert fault_of("one_kernel", head, kept) == fault


def unfounded(heads, measured):
    """Kernels and the sessions that their worklogs name without a turn of the kernel there."""
    named = ((kernel, re.findall(r"sessions/([a-z0-9-]+)", head)) for kernel, head in heads)
    return [
        (kernel, session)
        for kernel, sessions in named
        for session in sessions
        if session not in measured.get(kernel, ())
    ]


def test_a_session_that_a_worklog_names_has_the_kernel(measured):
    assert unfounded(heads(), measured) == []
    planted = [("cpu_tiled", "Measured in sessions/cpu-prefill-f32, sessions/h200-triton-v3.")]
    assert unfounded(planted, measured) == [("cpu_tiled", "h200-triton-v3")]


# docs/guide/python.md: its code runs, block after block, as a newcomer would type it; and pip
# builds the package from a tree that exists.

PAGE = ROOT / "docs" / "guide" / "python.md"
AGENTS = ROOT / "docs" / "guide" / "agents.md"


def code_of(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)


def test_the_page_runs(package, wb, tmp_path):
    """Some fifteen seconds: four sessions, each of whose dozen verdicts takes one."""
    blocks = code_of(PAGE)
    assert len(blocks) >= 4
    text = "\n".join(blocks)
    assert "evaluations=4" in text
    # Two evaluations elsewhere say as much of the page as four.
    (tmp_path / "page.py").write_text(text.replace("evaluations=4", "evaluations=2"))
    wb.turns.take(cpu_tiled=50)
    for program in ("page.py", "steps.py"):
        done = wb.python(package, tmp_path / program)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        if program == "page.py":
            assert done.stdout.startswith("True\nTrue\nwin ")
    for name in ("mine", "steps"):
        assert events(tmp_path / name)[-1]["type"] == "session_closed"


def test_the_ten_lines_of_the_readme_run(package, wb, tmp_path):
    (lines,) = code_of(ROOT / "README.md")
    assert len([line for line in lines.splitlines() if line]) == 10
    # Two evaluations say as much of the lines as four.
    assert "evaluations=4" in lines
    (tmp_path / "lines.py").write_text(lines.replace("evaluations=4", "evaluations=2"))
    wb.turns.take(cpu_online=2000, cpu_tiled=1000)
    done = wb.python(package, tmp_path / "lines.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True\nwin ")
    assert "# Session " in done.stdout


def test_the_page_for_agents_runs(package, wb, tmp_path):
    blocks = code_of(AGENTS)
    assert len(blocks) >= 3
    (tmp_path / "page.py").write_text("\n".join(blocks))
    wb.turns.take(cpu_tiled=50)
    done = wb.python(package, tmp_path / "page.py")
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    core = len(package.tools.list_tools())
    assert told[0].split()[1] == str(core)
    assert told[2].startswith("pass mine@")
    assert told[3] == "True invalid True"
    assert told[4].startswith("win ")
    assert told[5] == "9800.0 None"
    assert f"has {core}: `{' '.join(package.tools.schemas.CORE)}`" in AGENTS.read_text()


def test_the_page_names_what_is_there(package):
    page = PAGE.read_text()
    for name in package.__all__:
        assert f"`{name}" in page or f"wb.{name}" in page or name == "command", name


def test_pip_installs_it_from_a_built_tree(package, build, tmp_path):
    pytest.importorskip("scikit_build_core", reason="scikit-build-core is not installed")
    if not (build / "CMakeCache.txt").exists():
        pytest.skip(f"{build} is no build folder")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    words = ["wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", tmp_path]
    words += ["--config-settings", f"build-dir={build}", ROOT]
    done = subprocess.run([*pip, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("sdpa_workbench-*-cp3*.whl")
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    python = venv / "bin" / "python3"
    subprocess.run([*pip, "--python", python, "install", "--no-index", wheel], check=True)
    code = (
        "import sdpa_workbench as wb; b = wb.Workbench();"
        "print(wb.command()); print(wb.__version__);"
        "print(b.check('cpu_unfused', problem='B=1 Hq=2 Sq=64 D=32 f32').passed)"
    )
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(
        [python, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.stdout.split() == [str(venv / "bin" / "sdpa-wb"), package.__version__, "True"], done
