# SPDX-License-Identifier: MIT
"""Where the programs of the workbench are, and which version this is. Needs no module of C++."""

import os
import re
import shutil
from importlib import metadata
from pathlib import Path

PACKAGE = "sdpa_workbench"
HERE = Path(__file__).parent


def version() -> str:
    """The version of the installed package; in a build folder, of its module."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        from . import _core

        return _core.__version__


def _recorded() -> list[str]:
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return []
    return [str(file.locate()) for file in files if file.name == "sdpa-wb"]


def command() -> str:
    """The path of `sdpa-wb` as installed or built with this package, else the first one in PATH.

    Raises FileNotFoundError when there is none.
    """
    # `pip install --target` records another place than it uses; the last one is a build folder's.
    beside = [HERE.parent / "bin" / "sdpa-wb", HERE.parent.parent / "sdpa-wb"]
    for path in map(os.path.realpath, [*_recorded(), *beside]):
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("sdpa-wb")
    if found is None:
        raise FileNotFoundError("sdpa-wb is not where the package was installed, nor in PATH")
    return found


def why_no_core(fault: ImportError) -> str:
    """What to do if the C++ module is missing or does not load."""
    if "subinterpreter" in str(fault):  # the message of the module, or of Python's import
        return (
            "sdpa_workbench serves the main interpreter of a process, and this is a "
            "subinterpreter: use it in the main one, or in a process of its own"
        )
    built = sorted(HERE.glob("_core.*.so"))
    if not list(HERE.glob("_verbs_*.py")):
        why = "these are its sources, of which a build makes the package"
    elif not built:
        why = "this installation has programs only (a self-contained wheel is for every Python)"
    elif re.search(r"No module named .*_core|cannot import name", str(fault)):
        why = f"it is built for another Python ({', '.join(path.name for path in built)})"
    else:
        why = f"it does not load: {fault}"
    return (
        f"sdpa_workbench needs its module _core for this Python, but {why}; "
        "install the package from a checkout: pip install . (docs/guide/python.md)"
    )
