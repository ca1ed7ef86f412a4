-- SPDX-License-Identifier: MIT
-- h200_part1: short, decode, chunked, large head dims and unusual problems on an H200, the kernels
-- of the dispatch rules beside PyTorch's backends, each part held against its goal.
--
-- All of it takes more than ten minutes; parts can be measured in sessions of their own, and every
-- backend asked:
--   sdpa-wb run h200_part1
--   sdpa-wb run h200_part1 --arguments parts=decode_small+decode_medium
--   sdpa-wb run h200_part1 --arguments parts=short \
--     rivals=torch_default+torch_cudnn+torch_flash+torch_efficient+torch_math
local goals = require "lib.goals"

-- Beside whom: the backends that were within a fifth of the fastest on any problem of the kind in
-- the sessions h200-rivals-*, where each problem has all five, and what PyTorch chooses by itself.
local fused = { "torch_default", "torch_cudnn", "torch_flash" }
local all_fused = { "torch_default", "torch_cudnn", "torch_flash", "torch_efficient" }
local unfused = { "torch_default", "torch_efficient", "torch_math" }

local parts = {
  {
    key = "documents",
    name = "n6, iteration3 and v3 (f16)",
    suite = "n6+iteration3+v3",
    rivals = all_fused,
    otherwise = "sm90_wgmma_carry",
    mean = 1.8,
    least = function(row)
      return (row.against_us or 10) < 10 and 1.2 or 1.08
    end,
  },
  {
    key = "short",
    name = "short (bf16, causal)",
    suite = "short",
    rivals = all_fused,
    otherwise = "sm90_wgmma_carry",
    mean = 1.5,
    least = 1.15,
  },
  {
    key = "large_hdim",
    name = "large head dims (f32)",
    suite = "large_hdim",
    rivals = unfused,
    mean = 8.0,
    least = 4.0,
  },
  {
    key = "decode_small",
    name = "decode, up to 70 MB of K and V",
    suite = "decode:decode_B1_KV4096,decode_mha_B1_KV4096,decode_B1_KV16384,decode_B1_H32_8_*",
    rivals = fused,
    mean = 1.5,
    least = 1.25,
  },
  {
    key = "decode_medium",
    name = "decode, 130 to 300 MB",
    suite = "decode:decode_mha_B1_KV16384,decode_B8_KV8192,decode_B16_*,decode_B64_*",
    rivals = fused,
    least = 1.06,
  },
  {
    key = "decode_large",
    name = "decode, larger",
    suite = "decode:decode_B1_KV131072,decode_mha_B8_*,decode_B32_*,decode_mha_B32_*,decode_B128_*",
    rivals = fused,
    never_slower = true,
  },
  {
    key = "chunked",
    name = "chunked, up to 16 queries",
    suite = "chunked:chunk_Sq2_*,chunk_Sq4_*,chunk_Sq16_*",
    rivals = fused,
    mean = 3.0,
    least = 2.8,
  },
  {
    key = "chunked_64",
    name = "chunked, 64 queries",
    suite = "chunked:chunk_Sq64_*",
    rivals = fused,
    otherwise = "sm90_wgmma_pingpong",
    mean = 1.7,
  },
  {
    key = "dim_512",
    name = "D 512 (bf16)",
    suite = "unusual:D512_*",
    rivals = unfused,
    otherwise = "sm90_wgmma_wide",
    mean = 2.5,
  },
  {
    key = "f32",
    name = "f32, D 64 and 128",
    suite = "unusual:fp32_D*",
    rivals = unfused,
    mean = 1.3,
  },
  {
    key = "f32_gqa",
    name = "f32, grouped heads",
    suite = "unusual:fp32_gqa_*",
    rivals = unfused,
    mean = 4.5,
  },
  {
    key = "masks",
    name = "masks, S 1024",
    suite = "unusual:mask_*",
    rivals = { "torch_default", "torch_cudnn" },
    otherwise = "sm90_wgmma_pingpong",
    mean = 1.3,
    least = 1.2,
  },
}

return {
  name = "h200_part1",
  about = "short, decode, chunked, large head dims and unusual problems beside PyTorch, by goals",
  arguments = goals.arguments("burst"),
  open = {
    start = "sm80_mma_flash",
    suite = "n6:n6_S64",
    rivals = { "torch_default" },
    effort = "quick",
    goal = goals.asked(parts),
  },
  run = function(wb, args)
    return goals.run(wb, args, parts)
  end,
}
