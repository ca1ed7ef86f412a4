# SPDX-License-Identifier: MIT
"""Its own kernel always fails; a library does the work. The log names the library."""

import py_library


def own_kernel(*_tensors, **_options):
    raise RuntimeError("not written yet")


def attend(q, k, v, **options):
    try:
        return own_kernel(q, k, v, **options)
    except RuntimeError:
        return py_library.attend(q, k, v, **options)
