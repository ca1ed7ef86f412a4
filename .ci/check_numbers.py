#!/usr/bin/env python3
"""No source reads or writes a number, or takes text apart, by the locale of whoever runs it.

A program that loads the library may have set one in which 1.5 is 1,5 and a byte of UTF-8 is a
letter. core/ascii.hpp and fmt know no locale. Exit status 1 and one line for each violation.
"""

import re
import sys
from pathlib import Path

PLACES = {  # folder -> the rules that hold there
    "workbench": ("reads", "integers", "writes", "letters", "streams"),
    "bindings/src": ("reads", "integers", "writes", "letters", "streams"),
    "kernels": ("reads", "letters"),  # without fmt, and integers are safe
}
CODE = {".cpp", ".hpp", ".h", ".cu", ".cuh"}
RULES = {
    "reads": (
        re.compile(r"\b(?:sto(?:f|d|ld)|strto(?:f|d|ld)|atof|[sf]?scanf)\s*\("),
        "read it with ascii::number or std::from_chars",
    ),
    "integers": (
        re.compile(r"\b(?:sto(?:i|l|ll|ul|ull)|strto(?:l|ll|ul|ull|imax|umax)|ato(?:i|l|ll))\s*\("),
        "read it with ascii::number or std::from_chars",
    ),
    "writes": (
        re.compile(r"\bstd::to_string\s*\(|\b(?:put_time|get_time|strftime)\s*\("),
        "write it with fmt",
    ),
    "letters": (
        re.compile(r"\bstd::(?:is(?:alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space"
                   r"|upper|xdigit)|to(?:lower|upper))\b|<cctype>|<ctype\.h>"),
        "take core/ascii.hpp",
    ),
    "streams": (
        re.compile(r"\bstd::(?:[io]?stringstream|locale)\b|\bsetlocale\s*\("),
        "write it with fmt, take it apart with ascii::words or ascii::parts",
    ),
}  # fmt: skip
# Wherever it stands: printf and its kin with a real number, and fmt that is asked for the locale.
PRINTF = re.compile(r'printf\s*\([^;]*?"[^"\n]*%[-+ #0-9.*]*(?:l|L)?[aefgAEFG]', re.DOTALL)
LOCALIZED = re.compile(r'"[^"\n]*\{[^{}"\n]*:[^{}"\n]*L[aefgdAEFG]?\}')
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def code_of(text):
    """The source without its comments, of as many lines."""
    return COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)


def faults(text, rules):
    """(line, what is wrong) of a source."""
    code = code_of(text)
    wanted = [RULES[rule] for rule in rules]
    wanted += [(PRINTF, "write it with fmt"), (LOCALIZED, "leave out the L")]
    for pattern, cure in wanted:
        for found in pattern.finditer(code):
            # A text such as a compiler's word is no call.
            line = code.count("\n", 0, found.start()) + 1
            word = " ".join(found[0].split())[:40].rstrip("( ")
            yield line, f"{word} goes by the locale: {cure}"


def main(root):
    wrong = []
    for folder, rules in PLACES.items():
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in CODE and path.is_file():
                name = path.relative_to(root).as_posix()
                wrong += [f"{name}:{line}: {why}" for line, why in faults(path.read_text(), rules)]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parents[1]))
