-- SPDX-License-Identifier: MIT
-- h200_few_queries: one query of head dims beside 128, and 64 and 128 queries on many keys with few
-- heads, on an H200: the kernels of the dispatch rules beside PyTorch's backends, each part held
-- against its goal. The shapes are of models in use; no suite holds most of them.
--
--   sdpa-wb run h200_few_queries
--   sdpa-wb run h200_few_queries --arguments parts=rows regime=sustained
local goals = require "lib.goals"

local rivals = { "torch_cudnn", "torch_flash" }

local function decode(dim, shapes)
  local texts = {}
  for _, shape in ipairs(shapes) do
    local batch, heads, heads_kv, keys = table.unpack(shape)
    texts[#texts + 1] = string.format(
      "B=%d Hq=%d Hkv=%d Sq=1 Skv=%d D=%d bf16 causal=none", batch, heads, heads_kv, keys, dim)
  end
  return {
    key = "decode_" .. dim,
    name = "one query, D " .. dim,
    texts = texts,
    rivals = rivals,
    otherwise = "sm90_splitkv_decode",
    mean = 1.3,
    least = 1.1,
  }
end

-- Row blocks of 64 packed rows: where two blocks for each of them are resident at once, keys are
-- split over clusters.
local function for_rows(problem)
  local size = {}
  for _, letter in ipairs { "B", "Hq", "Hkv", "Sq" } do
    size[letter] = tonumber(problem.problem:match("%f[%w]" .. letter .. "=(%d+)"))
  end
  local blocks = size.B * size.Hkv * ((size.Sq * size.Hq // size.Hkv + 63) // 64)
  return blocks <= 66 and "sm90_wgmma_flash" or "sm90_wgmma_pingpong"
end

local parts = {
  decode(256, {
    { 1, 8, 1, 4096 },
    { 1, 16, 2, 8192 },
    { 1, 16, 8, 4096 },
    { 4, 8, 8, 4096 },
    { 8, 16, 8, 2048 },
  }),
  decode(64, {
    { 1, 16, 2, 8192 },
    { 2, 32, 4, 8192 },
    { 4, 16, 16, 4096 },
    { 32, 64, 8, 1024 },
  }),
  decode(80, { { 1, 32, 32, 2048 }, { 2, 20, 20, 1000 }, { 8, 32, 8, 4096 } }),
  decode(96, { { 1, 32, 32, 4096 }, { 2, 32, 32, 3000 }, { 8, 32, 32, 1024 } }),
  {
    key = "rows",
    name = "64 and 128 queries on many keys, few heads",
    texts = {
      "B=2 Hq=32 Hkv=8 Sq=64 Skv=8192 D=128 f16 causal=bottom_right",
      "B=1 Hq=32 Hkv=8 Sq=128 Skv=8192 D=128 bf16 causal=bottom_right",
      "B=4 Hq=16 Hkv=4 Sq=64 Skv=4096 D=64 bf16 causal=bottom_right",
      "B=4 Hq=32 Hkv=8 Sq=64 Skv=8192 D=128 bf16 causal=none",
      "B=1 Hq=64 Hkv=8 Sq=128 Skv=8192 D=128 bf16 causal=bottom_right",
      "B=1 Hq=16 Hkv=16 Sq=128 Skv=8192 D=64 bf16 causal=none",
      "B=1 Hq=8 Hkv=8 Sq=64 Skv=16384 D=128 bf16 causal=none",
    },
    rivals = rivals,
    otherwise = for_rows,
    mean = 1.4,
    least = 1.15,
  },
}

return {
  name = "h200_few_queries",
  about = "one query of D 64 to 256, 64 and 128 queries on many keys, beside PyTorch, by goals",
  arguments = goals.arguments("burst"),
  open = {
    start = "sm80_mma_flash",
    suite = "n6:n6_S64",
    rivals = { "torch_default" },
    effort = "quick",
  },
  run = function(wb, args)
    return goals.run(wb, args, parts)
  end,
}
