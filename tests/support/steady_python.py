# SPDX-License-Identifier: MIT
"""Runs a Python program as it stands, but that options stand behind every Workbench that it makes:

python3 steady_python.py OPTIONS PROGRAM [ARGUMENT]...

OPTIONS is JSON: the worker whose turns take the times of a table (steady_turns.py), and a cache."""

import json
import runpy
import sys
from pathlib import Path

from sdpa_workbench.workbench import Workbench


def main(options, program, *arguments):
    options, make = json.loads(options), Workbench.__init__

    def make_with_options(self, **given):
        make(self, **options | given)

    Workbench.__init__ = make_with_options
    sys.argv = [program, *arguments]
    sys.path[0] = str(Path(program).parent)
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
