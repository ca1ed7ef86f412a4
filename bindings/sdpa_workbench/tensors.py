# SPDX-License-Identifier: MIT
"""Call variants that passed on tensors of NumPy, PyTorch and whatever speaks DLPack.

    variant = tensors.load("cpu_tiled", session="mine")
    out = variant(q, k, v, causal=True)
    out = tensors.sdpa(q, k, v, causal=True)    # what the dispatch rules choose, or the fallback

A process that calls a variant loads it: a bad one can take the process down. So only artifacts with
a recorded pass are loaded, and only for problems that the passes cover (docs/guide/python.md).
"""

from ._tensor_dispatch import Choice, Dispatch, sdpa
from ._tensor_errors import (
    DeviceError,
    DomainError,
    DtypeError,
    GradientError,
    LayoutError,
    ShapeError,
    TensorError,
)
from ._tensor_variant import Variant, load

__all__ = [
    "Choice", "DeviceError", "Dispatch", "DomainError", "DtypeError", "GradientError",
    "LayoutError", "ShapeError", "TensorError", "Variant", "load", "sdpa",
]  # fmt: skip
