# SPDX-License-Identifier: MIT
"""Writes an answer of its own on the private socket."""

import os

from hostile import honest


def attend(q, k, v, **options):
    os.write(3, b'{"n": 1, "ok": true, "call_us": 0.001}')
    honest(q, k, v, **options)
