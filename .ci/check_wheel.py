#!/usr/bin/env python3
"""Would this wheel run elsewhere? `check_wheel.py WHEEL`: exit status 1 and a line for each fault.

The wheel is laid out as pip does it, and the dynamic loader is asked what each program and library
finds there. Nothing may come from this machine but what SYSTEM names; nothing may need a glibc
newer than the wheel's own tag promises, or a libstdc++ newer than GCC 12's; nothing names the
folder it was built in; and the whole is at most 40 MB.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_BYTES = 40_000_000
# glibc is never bundled. libstdc++ and libgcc_s come from the node, too: the worker loads kernels
# that the node's g++ compiled, and a newer g++ may need newer ones than those of Debian 12.
SYSTEM = {
    "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6", "libresolv.so.2",
    "libpthread.so.0", "libdl.so.2", "librt.so.1", "libstdc++.so.6", "libgcc_s.so.1",
}  # fmt: skip
NEWEST = {"GLIBCXX": "3.4.30", "CXXABI": "1.3.13", "GCC": "12.0.0"}  # GCC 12
LOADED = re.compile(r"^\s*(\S+)(?: => (\S+|not found))?(?: \(0x[0-9a-f]+\))?$")
NEEDED_VERSION = re.compile(r"Name: (GLIBCXX|GLIBC|CXXABI|GCC)_(\S+)")


def number(version):
    return [int(part) for part in version.split(".")]


def lay_out(wheel, prefix):
    """As pip installs it: programs to bin/, data to the prefix, the package below lib/."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            name = re.sub(r"^[^/]+\.data/scripts/", "bin/", entry.filename)
            name = re.sub(r"^[^/]+\.data/data/", "", name)
            path = prefix / (name if name != entry.filename else f"lib/python/{name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(entry))
            path.chmod(0o755 if entry.external_attr >> 16 & 0o111 else 0o644)


def elf_files(prefix):
    for path in sorted(prefix.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def check_loading(path, prefix):
    """`ldd -r` resolves every library and every symbol, as a start of the program would."""
    done = subprocess.run(
        ["ldd", "-r", path], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}
    )
    if done.returncode != 0:
        yield f"the loader refuses it: {done.stderr.strip() or done.stdout.strip()}"
    for line in [*done.stdout.splitlines(), *done.stderr.splitlines()]:
        match = LOADED.match(line)
        if not match:
            if "undefined symbol" in line or "version" in line:
                yield line.strip().replace(str(prefix), "")
            continue
        name, found = Path(match[1]).name, match[2]
        if found == "not found":
            yield f"{name} is not found"
        elif found and name not in SYSTEM and not Path(found).resolve().is_relative_to(prefix):
            yield f"{name} comes from this machine ({found})"


def check_versions(path, newest):
    """No symbol version above what the wheel promises to run on."""
    done = subprocess.run(["readelf", "-VW", path], capture_output=True, text=True)
    if done.returncode != 0:
        yield f"readelf cannot read its versions: {done.stderr.strip()}"
    for library, version in sorted(set(NEEDED_VERSION.findall(done.stdout))):
        if not re.fullmatch(r"[\d.]+", version):
            yield f"needs {library}_{version}, which no release promises"
        elif number(version) > number(newest[library]):
            yield f"needs {library}_{version}; the floor is {newest[library]}"


def check(wheel):
    size = wheel.stat().st_size
    if size > MOST_BYTES:
        yield f"{wheel.name}: {size / 1e6:.1f} MB; at most {MOST_BYTES / 1e6:.0f} are allowed"
    tag = re.search(r"-manylinux_(\d+)_(\d+)_\w+\.whl$", wheel.name)
    if not tag:
        yield f"{wheel.name}: its name promises no glibc (manylinux_X_Y)"
        return
    newest = {**NEWEST, "GLIBC": f"{tag[1]}.{tag[2]}"}
    # Not the root alone: some machines have theirs at /src, a word that libraries know, too.
    folders = [f"{ROOT}/{name}".encode() for name in ("workbench", "kernels", "tests", "build")]
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder).resolve()
        lay_out(wheel, prefix)
        programs = list(elf_files(prefix))
        if not programs:
            yield f"{wheel.name}: holds no program"
        for path in programs:
            for fault in [*check_loading(path, prefix), *check_versions(path, newest)]:
                yield f"{path.relative_to(prefix)}: {fault}"
        for path in filter(Path.is_file, sorted(prefix.rglob("*"))):
            if any(folder in path.read_bytes() for folder in folders):
                yield f"{path.relative_to(prefix)}: names the folder it was built in"


def main(wheel):
    faults = list(check(Path(wheel)))
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
