# SPDX-License-Identifier: MIT
"""What the generators of this folder share: the table they read and how they write their files."""

import json
import os
import subprocess
from pathlib import Path

# The types of an answer's fields, which a verb's spec names before the colon, in Python and in Lua.
FIELD_TYPES = {
    "string": ("str", "string"), "int": ("int", "integer"), "real": ("float", "number"),
    "bool": ("bool", "boolean"), "list": ("list[Any]", "any[]"),
    "map": ("dict[str, Any]", "table<string, any>"), "any": ("Any", "any"),
}  # fmt: skip


def read(program):
    """The verbs that the program `sdpa-wb` has. Ends with a line where there is no such program."""
    try:
        told = subprocess.run([program, "verb-table"], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as fault:
        raise SystemExit(
            f"no verb table from {program}: {fault}; build it first: "
            "cmake --build build/release --target sdpa-wb"
        ) from None
    return json.loads(told.stdout)


def field_type(verb, field, meaning):
    """(the type in Python, in Lua, whether it may be null) of a field such as `int or null: …`."""
    kind = meaning.partition(":")[0]
    base = kind.removesuffix(" or null")
    if base not in FIELD_TYPES:
        raise SystemExit(
            f"the answer of {verb['name']} says that {field} is `{kind}`, which is no type: write "
            f"one of {', '.join(FIELD_TYPES)}, where it may be null with ` or null`, and a colon"
        )
    return (*FIELD_TYPES[base], base != kind)


def write(folder, files, pattern):
    """Writes {name: text} and removes what `pattern` finds beside. A file is replaced as a whole:
    who reads meanwhile finds the old one, and a link is not written through."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        beside = folder / f".{name}.{os.getpid()}"
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, folder / name)
    for path in folder.glob(pattern):
        if path.name not in files:
            path.unlink()
