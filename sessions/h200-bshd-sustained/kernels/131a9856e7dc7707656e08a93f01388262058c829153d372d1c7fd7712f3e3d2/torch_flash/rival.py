# SPDX-License-Identifier: MIT
"""PyTorch's FlashAttention backend as a rival."""

from common.torch_sdpa import only, sdpa

__all__ = ["sdpa"]

only("flash")
