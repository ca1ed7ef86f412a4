# SPDX-License-Identifier: MIT
"""The verdict rule of docs/contracts/measurement.md on the GPU: float64 reference, the pinned
computation in the storage dtype, and the comparison per (batch, head, block of 64 query rows)."""

import torch

RELATIVE = {torch.float32: 2.0**-19, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
BLOCK = 64


def keep_mask(causal, seq_q, seq_kv, device):
    if causal == "none":
        return None
    q = torch.arange(seq_q, device=device)[:, None]
    k = torch.arange(seq_kv, device=device)[None, :]
    return k <= q + (seq_kv - seq_q if causal == "bottom_right" else 0)


def masked(s, causal_keep, mask, heads):
    """Scores [heads, Sq, Skv] under the causal rule and the mask's part for these heads."""
    if causal_keep is not None:
        s = s.masked_fill(~causal_keep, -torch.inf)
    if mask is None:
        return s
    part = mask[heads] if mask.shape[0] > 1 else mask
    if mask.dtype == torch.bool:
        return s.masked_fill(~part, -torch.inf)
    return s + part.to(s.dtype)


def reference(q, k, v, causal, scale, mask=None):
    """float64 attention of one batch entry: q [Hq, Sq, D], mask [Hq or 1, Sq or 1, Skv]; returns
    out, lse."""
    group = q.shape[0] // k.shape[0]
    keep = keep_mask(causal, q.shape[1], k.shape[1], q.device)
    outs, lses = [], []
    for h in range(k.shape[0]):
        heads = slice(h * group, (h + 1) * group)
        s = masked(q[heads].double() @ k[h].double().T * scale, keep, mask, heads)
        lse = torch.logsumexp(s, -1)
        p = torch.exp(s - torch.where(lse == -torch.inf, 0.0, lse)[..., None])
        outs.append(p @ v[h].double())
        lses.append(lse)
    return torch.cat(outs), torch.cat(lses)


def pinned(q, k, v, causal, scale, mask=None):
    """Blocks of 64 keys, f32 accumulation, P rounded to the storage dtype."""
    dtype = q.dtype
    keep = keep_mask(causal, q.shape[1], k.shape[1], q.device)
    qf = q.float().reshape(k.shape[0], -1, q.shape[2])
    rows = qf.shape[1]
    m = torch.full((k.shape[0], rows, 1), -torch.inf, device=q.device)
    total, o = torch.zeros_like(m), torch.zeros(k.shape[0], rows, v.shape[2], device=q.device)
    for first in range(0, k.shape[1], BLOCK):
        last = min(first + BLOCK, k.shape[1])
        s = qf @ k[:, first:last].float().transpose(1, 2) * scale
        s = masked(
            s.view(q.shape[0], q.shape[1], last - first),
            None if keep is None else keep[:, first:last],
            None if mask is None else mask[..., first:last],
            slice(None),
        ).view(s.shape)
        top = torch.maximum(m, s.amax(-1, keepdim=True))
        shift = torch.where(top == -torch.inf, 0.0, top)
        alpha, p = torch.exp(m - shift), torch.exp(s - shift)
        total = total * alpha + p.sum(-1, keepdim=True)
        o = o * alpha + p.to(dtype).float() @ v[:, first:last].float()
        m = top
    out = torch.where(total > 0, o / total, 0.0).to(dtype)
    return out.view(q.shape[0], q.shape[1], v.shape[2])


def by_block(x, reduce):
    """[H, S, D] -> [H, blocks], reducing over 64 rows and all columns."""
    return torch.stack([reduce(part.flatten(1)) for part in x.split(BLOCK, dim=1)], 1)


def batches_to_judge(total, cost_bytes):
    """All batch entries, or the first, middle and last where float64 copies would be large."""
    return range(total) if cost_bytes * total < 2e9 else sorted({0, total // 2, total - 1})


def judge(out, lse, q, k, v, causal, scale, mask=None):
    """Returns (passed, worst use of the budget, text)."""
    a, worst, text = RELATIVE[q.dtype], 0.0, ""
    if not bool(torch.isfinite(out.float()).all()):
        return False, float("inf"), "output holds NaN or infinity"
    keys = k.shape[2]
    cost = 16 * k.shape[1] * keys * k.shape[3] + 24 * q.shape[1] * q.shape[2] * keys
    for b in batches_to_judge(q.shape[0], cost):
        part = None if mask is None else mask[b if mask.shape[0] > 1 else 0]
        ref, ref_lse = reference(q[b], k[b], v[b], causal, scale, part)
        std = pinned(q[b], k[b], v[b], causal, scale, part).double()
        err, err_std, size = (out[b].double() - ref).abs(), (std - ref).abs(), ref.abs()
        largest, mean = lambda x: x.amax(1), lambda x: x.mean(1)
        for factor, reduce, rule in ((2.0, largest, "max"), (1.5, mean, "mean")):
            budget = factor * by_block(err_std, reduce) + a * by_block(size, reduce)
            have = by_block(err, reduce)
            use = torch.where(have == 0, 0.0, have / budget.clamp_min(1e-300))
            top = float(use.max())
            if not top <= worst:
                h, block = divmod(int(use.argmax()), use.shape[1])
                worst = top
                text = (
                    f"{rule} rule at b={b} h={h} rows {block * BLOCK}..: "
                    f"{float(have[h, block]):.3e} of {float(budget[h, block]):.3e}"
                )
        if lse is not None:
            same = (lse[b].double() - ref_lse).abs() <= 1e-5 * ref_lse.abs().clamp_min(1.0)
            ok = torch.where(ref_lse == -torch.inf, lse[b] == -torch.inf, same)
            if not bool(ok.all()):
                h, row = divmod(int((~ok).flatten().to(torch.int).argmax()), ok.shape[1])
                return (
                    False,
                    worst,
                    (
                        f"lse at b={b} h={h} row {row}: {float(lse[b, h, row]):.7g}"
                        f" for {float(ref_lse[h, row]):.7g}"
                    ),
                )
    return worst <= 1.0, worst, text
