"""Writes clang-tidy's arguments for each source of a compilation database, or of some modules:
unity_check.py BUILD [MODULE...], a line each. The first line is of a batch with a planted fault.

Files that are compiled as one see each other's anonymous namespaces: a call that means a function
of a header may take a neighbor's overload instead. A batch of a unity build gets one more check, a
query on clang's own tree: a name in one file that stands for what another file declared in an
anonymous namespace. There are no exceptions: the file alone would not compile, or mean another.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRIVATE = "hasAncestor(namespaceDecl(isAnonymous()))"
CHECK = """
CustomChecks:
  - Name: unity-capture
    Query: |
      match declRefExpr(anyOf({files}), to(namedDecl({private}))).bind("use")
    Diagnostic:
      - BindName: use
        Message: means what another file of the batch keeps to itself; give one another name
        Level: Warning
"""


def check(batch: Path) -> str:
    """The one more check of a batch, as YAML."""
    included = re.findall(r'#include "([^"]+)"', batch.read_text(encoding="utf-8"))
    if len(included) < 2:
        return ""  # no neighbor
    in_file = [f'isExpansionInFileMatching("{re.escape(name)}$")' for name in included]
    files = [f"allOf({one}, to(namedDecl(unless({one}))))" for one in in_file]
    return CHECK.format(files=",\n        ".join(files), private=PRIVATE)


def plant(folder: Path) -> None:
    """A batch with a captured call, to see that the check still finds one."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "first.cpp").write_text(
        "namespace wb { namespace { int found(int at) { return at; } }\n"
        "int first() { return found(1); } }\n"
    )
    (folder / "later.cpp").write_text(
        "namespace wb { int found(double at); int later() { return found(2); } }\n"
    )
    batch = folder / "planted.cxx"
    names = (f'#include "{folder.resolve() / name}"' for name in ("first.cpp", "later.cpp"))
    batch.write_text("\n".join(names) + "\n")
    print(options(batch))


def options(source: Path) -> str:
    """clang-tidy's arguments for one source."""
    if source.suffix != ".cxx":
        return f"--config-file={ROOT / '.clang-tidy'} {source}"
    config = Path(f"{source}.tidy")
    common = (ROOT / ".clang-tidy").read_text(encoding="utf-8")
    config.write_text(common + check(source), encoding="utf-8")
    return f"--config-file={config} {source}"


def main(build: Path, modules: list[str]) -> None:
    plant(build / "workbench" / "planted")  # where .clang-tidy looks at headers
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        source = Path(entry["file"])
        asked = not modules or any(f"/workbench/{one}/" in entry["file"] for one in modules)
        if asked and source.suffix in (".cpp", ".cxx"):
            print(options(source))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
