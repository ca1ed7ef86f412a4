# SPDX-License-Identifier: MIT
"""The installed SDPA Workbench, seen from Python: its version and where its command is.

Nothing of the workbench runs in this interpreter: `sdpa-wb` is a program of its own.
"""

import os
import shutil
from importlib import metadata

__all__ = ["__version__", "command"]


def __getattr__(name):
    if name == "__version__":
        return metadata.version(__name__)
    raise AttributeError(f"module {__name__} has no attribute {name}")


def command():
    """The path of `sdpa-wb` as installed with this package, else the first one in PATH."""
    for file in metadata.files(__name__) or []:
        path = os.path.realpath(file.locate())
        if file.name == "sdpa-wb" and os.access(path, os.X_OK):
            return path
    found = shutil.which("sdpa-wb")
    if found is None:
        raise FileNotFoundError("sdpa-wb is not where the package was installed, nor in PATH")
    return found
