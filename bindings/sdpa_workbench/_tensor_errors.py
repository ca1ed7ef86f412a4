# SPDX-License-Identifier: MIT
"""The errors of tensors, one class each; tensors.py exports them all."""

from __future__ import annotations

from .errors import UsageError


class TensorError(UsageError):
    """Tensors that a call cannot accept; `details` has the parts of the message."""

    def __init__(self, attempted: str, subject: str, cause: str, next: str):
        super().__init__(
            f"cannot {attempted} {subject}: {cause}; {next}",
            details={"attempted": attempted, "subject": subject, "cause": cause, "next": next},
        )

    def __reduce__(self):
        parts = (self.details[key] for key in ("attempted", "subject", "cause", "next"))
        return type(self), tuple(parts)


class DtypeError(TensorError, TypeError):
    """Another element type than f32, f16 or bf16, or several; a mask of another one."""


class DeviceError(TensorError):
    """Tensors on several devices, or on another one than the variant passed on."""


class ShapeError(TensorError):
    """Shapes that are no attention problem."""


class LayoutError(TensorError):
    """Strides or addresses that the kernel ABI does not allow, or a tensor without memory of its
    own: nested, mapped by torch.func.vmap, traced …"""


class GradientError(TensorError, NotImplementedError):
    """A derivative is wanted, in reverse or forward mode, and there is none."""


class DomainError(TensorError):
    """A problem that the recorded passes do not cover."""
