# SPDX-License-Identifier: MIT
"""The C++ module, or the reason why it is missing."""

from ._command import why_no_core

try:
    from . import _core
except ImportError as fault:
    raise ImportError(why_no_core(fault)) from fault

__all__ = ["_core"]
