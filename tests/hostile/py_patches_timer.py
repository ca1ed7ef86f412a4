# SPDX-License-Identifier: MIT
"""Patches the clock of its interpreter so that time passes at a tenth of its speed."""

import time

from hostile import honest as attend

__all__ = ["attend"]
real = time.perf_counter_ns
begin = real()
time.perf_counter_ns = lambda: begin + (real() - begin) // 10
