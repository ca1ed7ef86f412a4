"""Looks for captured overloads in the batches of a unity build.

CMake compiles several source files as one. A function in an anonymous namespace of a file is then
visible in the files after it, where it may win, or tie, the overload resolution of a call that
means a function of a header: the program changes, or stops compiling, with the order of files.
Told is each call that (1) a later file of the batch makes without defining or declaring the name
itself, (2) names a function of a header that the file includes, directly or not, and (3) has as
many arguments as the other file's function takes.

    python3 .ci/check_unity.py [build/release]
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
    r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*",
    re.S | re.M,
)
CALL = re.compile(r"(?<![\w.:>~])([A-Za-z_]\w*)\s*\(")
WORDS = frozenset(
    re.findall(
        r"\w+",
        """if for while switch return sizeof catch throw new delete alignof decltype noexcept
        static_assert constexpr requires co_return co_await co_yield operator defined explicit
        alignas and or not""",
    )
)


def plain(text: str) -> str:
    """The text without comments, literals and directives; lines stay where they are."""

    def blank(match: re.Match[str]) -> str:
        filler = "0" if match[0][0] in "\"'R" else " "
        return filler + "\n" * match[0].count("\n")

    return NOISE.sub(blank, text)


def arguments(text: str, start: int) -> str:
    """What stands between the parenthesis at `start` and its end."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return text[start + 1 : at]
    return ""


def split(words: str) -> list[str]:
    """At the commas that stand in no brackets."""
    if not words.strip():
        return []
    parts, depth = [""], 0
    for index, char in enumerate(words):
        depth += (char in "([{<") - (char in ")]}" or (char == ">" and words[index - 1] != "-"))
        if char == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts


class Function:
    """A function at namespace scope: its scope ("wb::(anonymous)") and how many arguments."""

    def __init__(self, scope: str, head: str, name: re.Match[str]) -> None:
        self.scope, self.name = scope, name[1]
        parameters = split(arguments(head, name.end() - 1))
        self.most = len(parameters)
        self.least = sum("=" not in one for one in parameters)
        if any("..." in one for one in parameters):
            self.least, self.most = 0, 99


class Source:
    """Functions of one file, by name, and its calls of names without a scope before them."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text(encoding="utf-8")
        self.includes = re.findall(r'^\s*#\s*include\s+"([^"]+)"', self.text, re.M)
        self.functions: list[Function] = []
        self.bodies: list[tuple[str, int, int]] = []
        self.text = plain(self.text)
        self._walk()

    def _walk(self) -> None:
        """Namespaces are entered, all other braces are passed over as one body."""
        scopes: list[str] = []
        text, at, begin = self.text, 0, 0
        while at < len(text):
            char = text[at]
            if char == "(":
                at += len(arguments(text, at)) + 1
            elif char == ";":
                self._take(scopes, text[begin:at])
                begin = at + 1
            elif char == "}":
                if scopes:
                    scopes.pop()
                begin = at + 1
            elif char == "{":
                head = text[begin:at]
                space = re.search(r"\bnamespace\b\s*([\w:]*)\s*$", head)
                if space:
                    scopes.append(space[1] or "(anonymous)")
                else:
                    self._take(scopes, head)
                    end = at + len(arguments(text, at)) + 1
                    self.bodies.append(("::".join(scopes), begin, end))
                    at = end
                begin = at + 1
            at += 1

    def _take(self, scopes: list[str], head: str) -> None:
        head = re.sub(r"\[\[.*?\]\]", " ", head)
        is_type = re.match(
            r"\s*(template\s*<.*>\s*)?(class|struct|enum|union|using|typedef)\b", head, re.S
        )
        name = re.search(r"([A-Za-z_]\w*)\s*\(", head)
        if is_type or not name or name[1] in WORDS or "=" in head[: name.start()]:
            return
        if head[: name.start()].rstrip().endswith(("::", "operator")):
            return
        if re.search(r"\w", head[: name.start()]):
            self.functions.append(Function("::".join(scopes), head, name))

    @property
    def names(self) -> set[str]:
        """What the file itself calls so: functions, members, lambdas, types, variables."""
        found = re.finditer(r"(\w*)[\w>&*\])]\s+[&*]*([A-Za-z_]\w*)\s*(?=[({=;,)\[:])", self.text)
        before = ("return", "else", "case", "throw", "co_return", "and", "or", "not")
        declared = {
            one[2]
            for one in found
            if not self.text[one.start() : one.start(2)].rstrip(" &*\n").endswith(before)
        }
        return declared | {one.name for one in self.functions}

    def calls(self):
        for scope, begin, end in self.bodies:
            for call in CALL.finditer(self.text, begin, end):
                if call[1] not in WORDS:
                    yield scope, call[1], call.end() - 1


@cache
def source(path: Path) -> Source:
    return Source(path)


@cache
def header(name: str, near: Path) -> Path | None:
    places = [near, ROOT / "workbench", ROOT / "tests", ROOT / "tests" / "unit", ROOT / "kernels"]
    return next((place / name for place in places if (place / name).is_file()), None)


@cache
def headers_of(path: Path) -> frozenset[Path]:
    found: set[Path] = set()
    todo = [path]
    while todo:
        current = todo.pop()
        for name in source(current).includes:
            included = header(name, current.parent)
            if included and included not in found:
                found.add(included)
                todo.append(included)
    return frozenset(found)


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def outer(path: Path) -> set[str]:
    return {one.name for one in path_functions(path) if "(anonymous)" not in one.scope}


@cache
def path_functions(path: Path) -> tuple[Function, ...]:
    return tuple(one for file in headers_of(path) for one in source(file).functions)


def captured(batch: list[Path]) -> list[str]:
    """What is wrong with the files of one batch, in their order."""
    faults = []
    earlier: dict[str, list[tuple[Path, Function]]] = {}
    for path in batch:
        file = source(path)
        own, meant = file.names, outer(path)
        for scope, name, at in file.calls():
            if name in own or name not in meant or name not in earlier:
                continue
            given = len(split(arguments(file.text, at)))
            for other, function in earlier[name]:
                space = function.scope.split("::(anonymous)")[0]
                is_seen = scope == space or scope.startswith(space + "::")
                if is_seen and function.least <= given <= function.most:
                    line = file.text.count("\n", 0, at) + 1
                    faults.append(
                        f"{shown(path)}:{line}: {name}() means that of a header, but "
                        f"{shown(other)} has one of its own before it in the batch: "
                        f"give that another name, or list one of the files as ALONE"
                    )
        for function in file.functions:
            if "(anonymous)" in function.scope:
                earlier.setdefault(function.name, []).append((path, function))
    return faults


def batches(build: Path) -> list[list[Path]]:
    """The files of each batch, found again in this tree wherever the build saw it."""
    cache_file = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    home = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache_file, re.M)
    found = []
    for unity in sorted(build.glob("**/Unity/*.cxx")):
        paths = re.findall(r'#include "([^"]+)"', unity.read_text(encoding="utf-8"))
        inside = [Path(path) for path in paths if home and path.startswith(home[1] + "/")]
        here = [ROOT / path.relative_to(home[1]) for path in inside]
        found.append([path for path in here if path.is_file()])
    return found


def main() -> int:
    build = ROOT / (sys.argv[1] if len(sys.argv) > 1 else "build/release")
    if not (build / "CMakeCache.txt").is_file():
        print(f"check_unity: {build} is no build folder: configure one first (`make`)")
        return 2
    all_batches = batches(build)
    if not all_batches:
        print(f"check_unity: {build} has no batches: configure it with CMAKE_UNITY_BUILD=ON")
        return 2
    faults = sorted({fault for batch in all_batches for fault in captured(batch)})
    print("\n".join(faults) or f"check_unity: {len(all_batches)} batches, no captured call")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
