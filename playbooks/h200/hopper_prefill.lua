-- SPDX-License-Identifier: MIT
-- hopper_prefill: the steps from a wgmma kernel without a loading warpgroup to the one that the
-- dispatch rules choose for prefill, one change at a time, each with its prediction.
--
-- A gain is over the step before where that one won, so a step that changes nothing is seen. The
-- last step is confirmed under every plan, beside the rivals too:
--   sdpa-wb run hopper_prefill
--   sdpa-wb run hopper_prefill --suite 'prefill:fa_D64_*'
--   sdpa-wb run hopper_prefill --after DIR --arguments from='early start'
local climb = require "lib.climb"

local steps = {
  {
    name = "a loading warpgroup",
    variant = "sm90_wgmma_pingpong",
    configuration = { PERSISTENT = 0, PING_PONG = 0, TRIM_CAUSAL = 0 },
    predicted = 1.15,
    reason = "one warpgroup does nothing but ask the copy engine for K and V and gives its "
      .. "registers to those that compute, so these never wait behind their own loads, and "
      .. "Q K of a step is issued beside P V of the one before",
  },
  {
    name = "persistent blocks",
    variant = "sm90_wgmma_pingpong",
    configuration = { PERSISTENT = 1 },
    predicted = 1.08,
    reason = "a block an SM takes tile after tile from a counter, and the next tile's Q is loaded "
      .. "while this one is computed: at S 512 a third of a tile's time is its beginning and end",
  },
  {
    name = "turns",
    variant = "sm90_wgmma_pingpong",
    configuration = { PING_PONG = 1 },
    predicted = 1.05,
    reason = "warpgroups issue their products in turns, so that the softmax of one runs beside "
      .. "the products of the other instead of both at once",
  },
  {
    name = "own ends under a causal rule",
    variant = "sm90_wgmma_pingpong",
    configuration = { TRIM_CAUSAL = 1 },
    predicted = 1.05,
    reason = "under a causal rule each warpgroup ends at its own last key; the others' steps are "
      .. "masked whole",
  },
  {
    name = "output by the copy engine, descriptors moved on",
    variant = "sm90_wgmma_carry",
    configuration = { CARRY_OVER = 0, EARLY_START = 0, THREES = 0, HEADS = 0 },
    predicted = 1.05,
    reason = "O leaves by the copy engine, descriptors of operands are moved on by one addition "
      .. "instead of being made anew, and V is waited for behind the softmax, outside the turn",
  },
  {
    name = "carry over",
    variant = "sm90_wgmma_carry",
    configuration = { CARRY_OVER = 1 },
    predicted = 1.05,
    reason = "the next tile's first Q K is issued with the last P V of this one, so the tensor "
      .. "cores have work while O is stored",
  },
  {
    name = "early start",
    variant = "sm90_wgmma_carry",
    configuration = { EARLY_START = 1 },
    predicted = 1.01,
    reason = "a call's blocks start while the call before it drains, which hides about a "
      .. "microsecond of launch latency in a row of calls",
  },
  {
    name = "maxima by threes",
    variant = "sm90_wgmma_carry",
    configuration = { THREES = 1 },
    predicted = 1.015,
    reason = "the maximum of three integers tells that of floats where none is negative, and "
      .. "halves the instructions for a row's maximum; not at head dim 64 under a causal rule",
  },
  {
    name = "short heads whole",
    variant = "sm90_wgmma_carry",
    configuration = { HEADS = -1 },
    predicted = 1.05,
    reason = "where heads of 64 columns are short, each warpgroup has rows of its own, and K and V "
      .. "stay in shared memory until the last rows that need them; of the four problems one",
  },
}

return {
  name = "hopper_prefill",
  about = "wgmma prefill step by step: loading warpgroup, persistent blocks, turns, carry over",
  arguments = {
    from = { default = "", doc = "the first step's name: those before it were taken" },
  },
  open = {
    start = "sm90_wgmma_flash",
    suite = "prefill:fa_D64_S512_causal,fa_D64_S4096_full,fa_D128_S512_causal,fa_D128_S4096_full",
    rivals = { "torch_default" },
    effort = "quick",
  },
  run = function(wb, args)
    local done = climb.steps(wb, steps, true, true, climb.index_of(steps, args.from))
    wb.note { text = climb.words(done) }
    return { won = done.won, speedup = done.product, stop = done.stop }
  end,
}
