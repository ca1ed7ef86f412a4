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
    recorded = [file.locate() for file in metadata.files(__name__) or [] if file.name == "sdpa-wb"]
    # `pip install --target` records another place than it uses.
    beside = os.path.join(os.path.dirname(__file__), os.pardir, "bin", "sdpa-wb")
    for path in map(os.path.realpath, [*recorded, beside]):
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("sdpa-wb")
    if found is None:
        raise FileNotFoundError("sdpa-wb is not where the package was installed, nor in PATH")
    return found
