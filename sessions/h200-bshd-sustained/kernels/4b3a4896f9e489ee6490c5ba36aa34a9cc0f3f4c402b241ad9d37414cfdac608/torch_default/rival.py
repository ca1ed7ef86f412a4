# SPDX-License-Identifier: MIT
"""PyTorch's attention on a GPU, with its own choice of backend, as a rival."""

from common.torch_sdpa import sdpa

__all__ = ["sdpa"]
