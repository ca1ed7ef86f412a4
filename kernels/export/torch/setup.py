# SPDX-License-Identifier: MIT
"""Compiles the operator against the PyTorch that is installed; the kernel itself comes prebuilt."""

import json
from pathlib import Path

from setuptools import setup

from torch.utils.cpp_extension import BuildExtension, CppExtension

NAME = json.loads((Path(__file__).parent / "PROVENANCE.json").read_text())["package"]

setup(
    name=NAME.replace("_", "-"),
    version="1",
    packages=[NAME],
    package_data={NAME: ["kernel.so", "PROVENANCE.json"]},
    zip_safe=False,
    # Needs no CUDA toolkit: the stream comes from PyTorch, the kernel is in kernel.so.
    ext_modules=[
        CppExtension(
            f"{NAME}._op",
            ["csrc/op.cpp", "csrc/variant.cpp"],
            include_dirs=[str(Path(__file__).parent.resolve() / "csrc")],
            extra_compile_args=["-O2", "-std=c++20"],
            extra_link_args=["-ldl"],
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
