# SPDX-License-Identifier: MIT
"""No fault: what must pass after each of the others."""

from hostile import honest as attend

__all__ = ["attend"]
