# SPDX-License-Identifier: MIT
"""The package's ctypes form of the kernel ABI beside the header, field by field."""

import ctypes
import subprocess

from support.commands import ROOT


def test_the_packages_structs_are_the_headers(package, tmp_path):
    from sdpa_workbench import _tensor_abi as abi

    structs = {"wb_sdpa_problem": abi.Problem, "wb_sdpa_args": abi.Args, "wb_strides": abi.Strides}
    ours, lines = [], []
    for name, struct in structs.items():
        ours.append(ctypes.sizeof(struct))
        lines.append(f"sizeof({name})")
        for field, *_ in struct._fields_:
            member = field.rstrip("_")  # `pass` is a word of Python
            ours += [getattr(struct, field).offset, getattr(struct, field).size]
            lines += [f"offsetof({name}, {member})", f"sizeof((({name}*)0)->{member})"]
    source = tmp_path / "layout.c"
    source.write_text(
        '#include <stdio.h>\n#include "sdpa_abi.h"\nint main(void) {\n'
        + "".join(f'  printf("%zu\\n", {line});\n' for line in lines)
        + "  return 0;\n}\n"
    )
    program = tmp_path / "layout"
    words = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "kernels" / "common",
             source, "-o", program]  # fmt: skip
    subprocess.run(words, check=True)
    theirs = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    assert ours == [int(line) for line in theirs.split()]


def test_dtypes_and_rules_are_the_headers(package):
    from sdpa_workbench import _tensor_abi as abi

    text = (ROOT / "kernels" / "common" / "sdpa_abi.h").read_text()
    tables = {"WB_": abi.DTYPES, "WB_CAUSAL_": abi.CAUSAL, "WB_MASK_": abi.MASKS}
    for prefix, values in tables.items():
        for word, value in values.items():
            assert f"{prefix}{word.upper()} = {value}" in text
