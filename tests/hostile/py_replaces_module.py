# SPDX-License-Identifier: MIT
"""Overwrites modules where later subjects might import them, then does its work."""

import pathlib
import sys

from hostile import honest as attend

__all__ = ["attend"]
for folder in [*sys.path, pathlib.Path(sys.argv[0]).parent]:
    try:
        (pathlib.Path(folder) / "wb_hostile_was_here.py").write_text("raise SystemExit")
    except OSError:
        continue
    raise RuntimeError(f"may write to {folder}")
