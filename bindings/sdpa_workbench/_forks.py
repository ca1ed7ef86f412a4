# SPDX-License-Identifier: MIT
"""Detects forks. An object with threads, locks or an engine is of no use in a forked child: the
threads stayed with the parent, and a lock's holder may have, too."""

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
    """A value that differs in every process forked from this one. The count distinguishes a child
    that got its grandparent's process id, the id a child that was not forked by a Python
    function."""
    return os.getpid(), _forks


def lost_torch_threads() -> bool:
    """Whether PyTorch may have had threads when this process was forked; it would wait for them."""
    return _torch_was_there


def ends_with_its_threads() -> bool:
    """Whether a Python thread forked this process, which then ends as that thread does: by leaving
    it. Any other thread, for example of an idle pool, would keep the process alive."""
    return _was_in_thread
