# SPDX-License-Identifier: MIT
"""Leaves folders in its own that cannot be opened, then does its work."""

import os

from hostile import honest


def attend(q, k, v, **options):
    os.makedirs("shut/inner", exist_ok=True)
    with open("shut/inner/file", "w") as file:
        file.write("left")
    for folder in ("shut/inner", "shut", "."):
        try:
            os.chmod(folder, 0)
        except OSError:
            break
    honest(q, k, v, **options)
