# SPDX-License-Identifier: MIT
"""A dispatched call as a kernel of sessions: `Dispatch.write_kernel` fills this template.

The kernel's source has all that a subject's process must be told, since nothing else reaches it:
where the package, the rules, the proofs and the cache are. So its identity changes with them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from . import errors

SOURCE = '''\
# SPDX-License-Identifier: MIT
"""sdpa() of the package as a subject: one dispatched call, with what it takes to choose.

Written by tensors.Dispatch.write_kernel; write it anew when rules or proofs change.
"""

import hashlib
import sys
from pathlib import Path

sys.path.insert(0, {package!r})
try:
    import torch  # noqa: F401  (the loop then hands its tensors over)
except ImportError:
    import numpy  # noqa: F401

import sdpa_workbench as wb

TABLE, TABLE_SHA256 = {table!r}, {sha256!r}
PROOFS = {proofs!r}
ANSWERS_FALLBACK = {fallback!r}

if hashlib.sha256(Path(TABLE).read_bytes()).hexdigest() != TABLE_SHA256:
    raise RuntimeError(TABLE + " has changed since this kernel was written: write it anew")
bench = wb.Workbench(path={path!r}, cache={cache!r})
dispatch = wb.tensors.Dispatch(proofs=PROOFS, workbench=bench)


def sdpa(q, k, v, *, causal, scale, mask, out, lse):
    if lse is not None:
        raise NotImplementedError("sdpa() gives no log-sum-exp")
    result = dispatch(q, k, v, mask=mask, causal=causal, scale=scale)
    if dispatch.last.is_fallback and not ANSWERS_FALLBACK:
        raise NotImplementedError("no rule answers: " + dispatch.last.reason)
    return result
'''
ANY_PROBLEM = "B=1 Hq=1 Sq=1 D=1 f32"


def write_kernel(
    folder: Path, options: dict[str, Any], best: dict[str, Any], proofs: list[str], fallback: bool
) -> None:
    """`best`: any answer of the verb; it names the table. Refuses a folder that is there."""
    name = folder.name
    if not re.fullmatch("[a-z][a-z0-9_]{0,63}", name):
        raise errors.UsageError(f"{name!r} is no name for a kernel: [a-z][a-z0-9_]*")
    table = Path(best["table"]).absolute()
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = options["cache"] or Path(home) / "sdpa-workbench"
    roots = [*map(Path, options["path"]), table.parents[1]]
    source = SOURCE.format(
        package=str(Path(__file__).absolute().parents[1]), table=str(table), proofs=proofs,
        sha256=hashlib.sha256(table.read_bytes()).hexdigest(), fallback=fallback,
        path=[str(root.absolute()) for root in roots], cache=str(Path(cache).absolute()),
    )  # fmt: skip
    manifest = {
        "name": name, "about": "sdpa() of the package: what the dispatch rules choose",
        "backend": "python",
        "supports": {
            "dtypes": ["f32", "f16", "bf16"], "causal": ["none", "top_left", "bottom_right"],
            "masks": ["none", "bool", "additive"], "layouts": ["BHSD", "BSHD"], "gqa": True,
            "dv_differs": True,
        },
        "sources": ["dispatched.py"], "entry": "dispatched:sdpa",
    }  # fmt: skip
    folder.mkdir(parents=True)
    (folder / "dispatched.py").write_text(source)
    (folder / "kernel.json").write_text(json.dumps(manifest, indent=2) + "\n")
