# SPDX-License-Identifier: MIT
"""Which process this is. What has threads, locks or an engine is of no use in a forked child: the
threads stayed with its parent, and so did whoever held a lock."""

from __future__ import annotations

import os
import sys

_forks = 0
_torch_was_there = False


def _count_fork() -> None:
    global _forks, _torch_was_there
    _forks += 1
    _torch_was_there = _torch_was_there or "torch" in sys.modules


os.register_at_fork(after_in_child=_count_fork)


def process() -> tuple[int, int]:
    """Another value in every process that was forked from this one. The count tells a child whose
    number was its grandparent's, the number a child that was forked by no function of Python's."""
    return os.getpid(), _forks


def lost_torch_threads() -> bool:
    """PyTorch may have had threads when this process was forked: it would wait for them here."""
    return _torch_was_there
