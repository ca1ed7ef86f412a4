-- SPDX-License-Identifier: MIT
-- h200_part2: prefill on an H200 in lasting work, the kernels of the dispatch rules beside what
-- PyTorch chooses, each part held against its goal.
--
-- Parts can be measured in sessions of their own, beside other backends, and in bursts:
--   sdpa-wb run h200_part2
--   sdpa-wb run h200_part2 --arguments parts=gqa rivals=torch_cudnn+torch_flash
--   sdpa-wb run h200_part2 --arguments regime=burst
local goals = require "lib.goals"

-- PyTorch chooses cuDNN on all of these, as the kernels' names in the sessions h200-rivals-* say;
-- there flash was 1.12 times slower at least (D 32), 1.48 on the others, and efficient 2.7.
local chosen = { "torch_default" }

local parts = {
  {
    key = "dim_64",
    name = "D 64",
    suite = "prefill:fa_D64_*",
    rivals = chosen,
    otherwise = "sm90_wgmma_carry",
    mean = 1.20,
    least = 1.05,
  },
  {
    key = "dim_128_causal",
    name = "D 128, causal",
    suite = "prefill:fa_D128_*_causal",
    rivals = chosen,
    otherwise = "sm90_wgmma_carry",
    mean = 1.10,
    least = 1.0,
  },
  {
    key = "dim_128_full",
    name = "D 128, full",
    suite = "prefill:fa_D128_*_full",
    rivals = chosen,
    otherwise = "sm90_wgmma_carry",
    mean = 1.0,
    never_slower = true,
  },
  {
    key = "dim_256",
    name = "D 256",
    suite = "prefill:fa_D256_*",
    rivals = chosen,
    otherwise = "sm90_wgmma_carry",
    mean = 1.05,
    -- Full attention from 4,096 keys on may not be slower; shorter ones count in the mean alone.
    least = function(row)
      local length = tonumber(row.problem:match("_S(%d+)_full"))
      return length and length >= 4096 and row.outcome == "slower" and math.huge or nil
    end,
  },
  {
    key = "gqa",
    name = "grouped heads, causal",
    suite = "prefill:gqa_*",
    rivals = chosen,
    otherwise = "sm90_wgmma_carry",
    mean = 1.15,
    least = 1.05,
  },
  {
    key = "other_dims",
    name = "head dims 32, 40, 80, 96, 160, 192",
    suite = "unusual:D32_*,D40_*,D80_*,D96_*,D160_*,D192_*",
    rivals = chosen,
    otherwise = "sm90_wgmma_carry",
    mean = 1.15,
    least = 1.0,
  },
}

return {
  name = "h200_part2",
  about = "prefill beside PyTorch in lasting work, by goals",
  arguments = goals.arguments("sustained"),
  open = {
    start = "sm80_mma_flash",
    suite = "n6:n6_S64",
    rivals = { "torch_default" },
    effort = "quick",
    regime = "sustained",
    goal = goals.asked(parts),
  },
  run = function(wb, args)
    return goals.run(wb, args, parts)
  end,
}
