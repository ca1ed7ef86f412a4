# SPDX-License-Identifier: MIT
"""docs/guide/python.md: its code runs, block after block, as a newcomer would type it; and pip
builds the package from a tree that exists."""

import re
import subprocess
import sys

import pytest
from support.commands import ROOT
from support.logs import events

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
