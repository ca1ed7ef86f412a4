#!/usr/bin/env python3
"""Floors and fences of the modules: the table below is the truth; docs/architecture.md repeats it.

A module includes itself and modules on lower floors, never another module of its own floor, and
stands in a namespace of its own; in that of a lower module it may declare types, not define them.
Fences keep foreign libraries in one place. A header that declares functions has a source of its own
name. Headers that change often keep few dependents, so that a change of one compiles little. Exit
status 1 and one line for each violation.
"""

import re
import sys
from pathlib import Path

FLOORS = {
    "core": 0,
    "problem": 1,
    "device": 1,
    "measure": 2,
    "audit": 2,
    "variant": 3,
    "protocol": 3,
    "catalogue": 4,
    "search": 4,
    "runner": 4,
    "worker": 4,
    "session": 5,
    "advise": 5,
    "analyze": 5,
    "trace": 5,
    "outcome": 6,
    "report": 7,
    "html": 8,
    "engine": 9,
    "tune": 10,
    "verbs": 11,
    "playbook": 12,
    "cli": 13,
}

# (what, pattern in an #include or the text, where it may stand)
FENCES = [
    ("CUDA", re.compile(r'#include\s*[<"](cuda|nvml|cupti|cublas|cudnn)'), ("worker",)),
    ("libgit2", re.compile(r'#include\s*[<"]git2'), ("session",)),
    ("libarchive", re.compile(r"#include\s*[<\"]archive(_entry)?\.h"), ("session",)),
    ("Lua", re.compile(r'#include\s*[<"](lua|lauxlib|lualib)'), ("playbook",)),
    ("pybind11", re.compile(r'#include\s*[<"]pybind11'), ()),
    ("the kernel ABI", re.compile(r'#include\s*[<"].*sdpa_abi\.h'), ("worker",)),
    ("the environment", re.compile(r"\b(secure_)?getenv\s*\("), ("cli", "core")),
    ("the Markdown reader", re.compile(r'#include\s*[<"]md4c'), ("html",)),
    ("the command-line library", re.compile(r'#include\s*[<"]CLI/'), ("cli",)),
]

# The most sources that may depend on a header, directly or through other headers.
MOST_DEPENDENTS = {
    "engine/comparing.hpp": 14,
    "engine/context.hpp": 36,
    "engine/engine.hpp": 14,
    "engine/iteration.hpp": 12,
    "engine/parts.hpp": 24,
    "engine/recorded.hpp": 38,
    "engine/services.hpp": 72,
    "engine/settings.hpp": 56,
    "engine/spending.hpp": 22,
    "engine/subject.hpp": 64,
    "engine/timing.hpp": 30,
    "engine/worker.hpp": 29,
    "measure/finding.hpp": 74,
    "measure/statistics.hpp": 20,
}

# Headers that declare functions and have no source of their own name.
WITHOUT_SOURCE = {
    "report/comparisons.hpp",
    "report/report.hpp",
    "report/session_sections.hpp",
    "report/summary.hpp",
    "worker/cuda/device_code.hpp",  # its source is made by the build
}

INCLUDE = re.compile(r'^\s*#include\s+"([a-z_]+)/')
NAMESPACE = re.compile(r"^\s*namespace wb\b(?:::(\w+))?")
DECLARATIONS = re.compile(
    r"^namespace wb::(\w+) \{\n(?:(?:struct|class|enum class) \w+;.*\n)+\}.*$", re.M
)
INCLUDED_FILE = re.compile(r'^\s*#include\s+"([a-z_]+/[^"]+)"', re.M)
# Of a free function: at the beginning of a line, with no body.
DECLARED = re.compile(
    r"^(?!(?:using|typedef|static_assert|template|inline|constexpr|extern|friend|namespace|struct|"
    r"class|enum|union|#|//|/\*|\}))[\w\[][^;{}#=]*?\b\w+\([^;{}]*\)[^;{}]*;",
    re.M,
)
CLASS = re.compile(r"^(?:class|struct)\s+(\w+)\b[^;(]*\{", re.M)
CMAKE_DEP = re.compile(r"\bwb::([a-z_]+)")


def sources(root):
    for path in sorted((root / "workbench").rglob("*")):
        if path.suffix in {".cpp", ".hpp", ".h", ".cu", ".cuh"}:
            yield path.relative_to(root / "workbench").parts[0], path


def without_declarations(text, module):
    """The text with blank lines where it only declares types of lower modules."""

    def blank(match):
        is_lower = FLOORS.get(match.group(1), len(FLOORS)) < FLOORS[module]
        return "\n" * match.group().count("\n") if is_lower else match.group()

    return DECLARATIONS.sub(blank, text)


def check_includes(root):
    for module, path in sources(root):
        if module not in FLOORS:
            yield f"{path.relative_to(root)}: module {module} has no floor"
            continue
        text = without_declarations(path.read_text(), module)
        for number, line in enumerate(text.splitlines(), 1):
            where = f"{path.relative_to(root)}:{number}"
            match = INCLUDE.match(line)
            target = match.group(1) if match else module
            if target != module and target in FLOORS and FLOORS[target] >= FLOORS[module]:
                yield (
                    f"{where}: {module} (floor {FLOORS[module]}) includes {target} "
                    f"(floor {FLOORS[target]})"
                )
            match = NAMESPACE.match(line)
            if match and module != "core" and match.group(1) != module:
                yield f"{where}: {module} stands in the namespace wb::{module}"
            for what, pattern, allowed in FENCES:
                if pattern.search(line) and module not in allowed:
                    yield f"{where}: {what} belongs in {', '.join(allowed) or 'bindings'} only"


def lacks_source(header, code):
    """Whether it declares functions that its folder, with the sources `code`, may define."""
    if header.with_suffix(".cpp").exists():
        return False
    text = header.read_text()
    return bool(DECLARED.search(text)) or any(
        re.search(rf"^\S.*\b{kind}::~?\w+\(", code, re.M) for kind in CLASS.findall(text)
    )


def check_sources(root):
    """A reader of a header looks for its functions in the source of the same name."""
    code = {}
    for _, path in sources(root):
        if path.suffix == ".cpp":
            code[path.parent] = code.get(path.parent, "") + path.read_text()
    for _, path in sources(root):
        name = path.relative_to(root / "workbench").as_posix()
        if path.suffix != ".hpp":
            continue
        lacks = lacks_source(path, code.get(path.parent, ""))
        if lacks and name not in WITHOUT_SOURCE:
            yield f"workbench/{name}: it declares functions, but there is no {path.stem}.cpp"
        elif not lacks and name in WITHOUT_SOURCE:
            yield f"workbench/{name}: needs no exception in WITHOUT_SOURCE"


def dependents(root):
    """The sources that depend on each header, by its path below workbench."""
    includes = {
        path.relative_to(root / "workbench").as_posix(): INCLUDED_FILE.findall(path.read_text())
        for _, path in sources(root)
    }
    found = {name: set() for name in includes}
    for source in includes:
        if not source.endswith(".cpp"):
            continue
        seen, waiting = set(), [source]
        while waiting:
            for name in includes.get(waiting.pop(), ()):
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)
        for name in seen & found.keys():
            found[name].add(source)
    return found


def check_dependents(root):
    found = dependents(root)
    for header, most in MOST_DEPENDENTS.items():
        if header not in found:
            yield f"workbench/{header}: is limited in dependents, but not there"
        elif len(found[header]) > most:
            count = len(found[header])
            yield (
                f"workbench/{header}: {count} sources depend on it, at most {most} may: "
                "declare what is only passed on, or include the part that is used"
            )


def check_cmake(root):
    """A static library must not link against its own floor or a higher one either."""
    for module, floor in FLOORS.items():
        path = root / "workbench" / module / "CMakeLists.txt"
        if not path.exists():
            yield f"workbench/{module}: no CMakeLists.txt"
            continue
        for target in CMAKE_DEP.findall(path.read_text()):
            if target != module and target in FLOORS and FLOORS[target] >= floor:
                yield f"workbench/{module}/CMakeLists.txt: links {target} (floor {FLOORS[target]})"


def check_documentation(root):
    """The floor table of docs/architecture.md says the same as the one above."""
    text = (root / "docs" / "architecture.md").read_text()
    written = {
        name: int(floor)
        for floor, names in re.findall(r"^\| (\d+) \| ([`a-z, ]+) \|", text, re.M)
        for name in re.findall(r"`([a-z]+)`", names)
    }
    if written != FLOORS:
        differing = sorted(set(written.items()) ^ set(FLOORS.items()))
        yield f"docs/architecture.md: its floor table differs from .ci/check_layers.py: {differing}"
    for what, _, allowed in FENCES:
        row = re.search(rf"^\| {re.escape(what)} \| (.*?) \|", text, re.M)
        expected = ", ".join(f"`{name}`" for name in allowed) or "`bindings`"
        if row is None or row.group(1) != expected:
            yield f"docs/architecture.md: the fence of {what} should read {expected}"


def main(root):
    faults = [*check_includes(root), *check_cmake(root)]
    faults += [*check_documentation(root), *check_sources(root), *check_dependents(root)]
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
