# SPDX-License-Identifier: MIT
"""Sleeps for longer than any deadline."""

import time


def attend(*_tensors, **_options):
    time.sleep(3600)
