# SPDX-License-Identifier: MIT
"""Which process this is. What has threads, locks or an engine is of no use in a forked child: the
threads stayed with its parent, and so did whoever held a lock."""

from __future__ import annotations

import os
import sys
import threading

_forks = 0
_torch_was_there = False
_is_in_thread = _was_in_thread = False  # the next fork; the one that made this process


def _look_where() -> None:
    global _is_in_thread
    _is_in_thread = threading.current_thread() is not threading.main_thread()


def _count_fork() -> None:
    global _forks, _torch_was_there, _was_in_thread
    _forks += 1
    _was_in_thread = _was_in_thread or _is_in_thread
    _torch_was_there = _torch_was_there or "torch" in sys.modules


os.register_at_fork(before=_look_where, after_in_child=_count_fork)


def process() -> tuple[int, int]:
    """Another value in every process that was forked from this one. The count tells a child whose
    number was its grandparent's, the number a child that was forked by no function of Python's."""
    return os.getpid(), _forks


def lost_torch_threads() -> bool:
    """PyTorch may have had threads when this process was forked: it would wait for them here."""
    return _torch_was_there


def ends_with_its_threads() -> bool:
    """A thread of Python's forked this process, which ends as that thread does: by leaving it. Any
    other thread, as of a pool that waits for work, would keep the process for ever."""
    return _was_in_thread
