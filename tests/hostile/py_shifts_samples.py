# SPDX-License-Identifier: MIT
"""Finds the list of samples in its caller's frame and moves time from most of them to a few: the
sum stays, the median lies. Nothing is patched."""

import sys
import time

from hostile import honest


def attend(q, k, v, **options):
    honest(q, k, v, **options)
    end = time.thread_time_ns() + 2_000_000
    while time.thread_time_ns() < end:
        pass
    frame = sys._getframe(1)
    while frame is not None and "sample_ns" not in frame.f_locals:
        frame = frame.f_back
    samples = frame.f_locals["sample_ns"] if frame is not None else []
    if len(samples) % 5 == 4:
        for place in (-2, -3, -4):
            moved = samples[place] // 2
            samples[place] -= moved
            samples[-1] += moved
