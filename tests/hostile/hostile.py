# SPDX-License-Identifier: MIT
"""What the hostile Python subjects share: a correct attention in NumPy."""

import numpy


def honest(q, k, v, *, causal, scale, mask, out, lse):
    """Writes `out`; no mask and no log-sum-exp."""
    if lse is not None or mask is not None:
        raise NotImplementedError("neither a mask nor a log-sum-exp")
    group = q.shape[1] // k.shape[1]
    k, v = numpy.repeat(k, group, axis=1), numpy.repeat(v, group, axis=1)
    scores = (q @ k.swapaxes(2, 3)) * numpy.float32(scale)
    rows, keys = scores.shape[2:]
    shift = keys - rows if causal == "bottom_right" else 0
    keep = numpy.tri(rows, keys, shift, dtype=bool) if causal != "none" else True
    scores = numpy.where(keep, scores, -numpy.inf)
    top = scores.max(axis=3, keepdims=True)
    weights = numpy.exp(scores - numpy.where(numpy.isfinite(top), top, 0))
    total = weights.sum(axis=3, keepdims=True)
    out[...] = (weights @ v) / numpy.where(total > 0, total, 1)
