# SPDX-License-Identifier: MIT
"""PyTorch's math backend, which writes the scores to memory, as a rival."""

from common.torch_sdpa import only, sdpa

__all__ = ["sdpa"]

only("math")
