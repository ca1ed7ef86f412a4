# SPDX-License-Identifier: MIT
"""Compiles the operator against the PyTorch that is installed; the kernel itself comes prebuilt."""

import json
from pathlib import Path

from setuptools import setup

from torch.utils.cpp_extension import BuildExtension, CppExtension


def loaded(name):
    """The file that this process, with PyTorch in it, has loaded a library from: [path] or []."""
    maps = Path("/proc/self/maps")
    for line in maps.read_text().splitlines() if maps.exists() else []:
        path = Path(line.split(maxsplit=5)[-1])
        if path.name.startswith(name) and path.exists():
            return [str(path)]
    return []


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
            # Python's own flags have -g, which doubles the compilation of PyTorch's headers.
            extra_compile_args=["-O2", "-g0", "-std=c++20"],
            # The C++ library and unwinder that PyTorch runs on, before those of the compiler: one
            # in a folder of its own may find only libstdc++.a, and two in a process break streams.
            extra_link_args=[*loaded("libstdc++.so"), *loaded("libgcc_s.so"), "-ldl"],
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
