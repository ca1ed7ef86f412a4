-- SPDX-License-Identifier: MIT
-- h200_head_dims: prefill at head dims 72 to 96 on an H200 beside cuDNN, at shapes of models in
-- use: tiles of 128 rows, then of 192, each confirmed, and a check of shapes that are no multiple
-- of a tile. Its second step is that of sessions/h200-rows-192, which began with tiles of 128
-- rows, the default then; here the first step makes that start.
--
--   sdpa-wb run h200_head_dims
local climb = require "lib.climb"

local shapes = {
  { 4, 16, 4096, 72, "bf16", "none" },
  { 16, 16, 729, 72, "f16", "none" },
  { 4, 16, 4096, 72, "bf16", "top_left" },
  { 4, 25, 4096, 80, "bf16", "none" },
  { 8, 16, 1025, 80, "f16", "none" },
  { 8, 16, 1024, 88, "bf16", "none" },
  { 4, 16, 4096, 88, "bf16", "top_left" },
  { 4, 21, 4096, 96, "bf16", "none" },
}

local odd_shapes = {
  "B=2 Hq=4 Hkv=2 Sq=777 Skv=1333 D=%d %s causal=bottom_right",
  "B=1 Hq=6 Hkv=6 Sq=1501 Skv=901 D=%d %s causal=top_left",
  "B=2 Hq=140 Hkv=70 Sq=1025 Skv=1025 D=%d %s",
  "B=3 Hq=50 Hkv=50 Sq=1100 Skv=1100 D=%d %s causal=top_left",
}

local steps = {
  {
    name = "tiles of 128 rows",
    variant = "sm90_wgmma_carry",
    configuration = { KEYS_72 = 0, KEYS_80 = 0, KEYS_88 = 0, KEYS_96 = 0, CAUSAL_192 = 0 },
    predicted = 1.03,
    reason = "the next tile's first Q K is issued with the last P V of this one, so the tensor "
      .. "cores have work while O is stored",
  },
  {
    name = "tiles of 192 rows",
    variant = "sm90_wgmma_carry",
    configuration = { KEYS_72 = 128, KEYS_80 = 112, KEYS_88 = 80, KEYS_96 = 112, CAUSAL_192 = 1 },
    predicted = 1.2,
    reason = "three warpgroups on 192 rows read each step of K and V two thirds as often from the "
      .. "L2, at whose rate tiles of 128 rows run: D 72 1.29, under a causal rule 1.25, D 80 1.12 "
      .. "to 1.19, D 88 1.2, D 96 1.09",
  },
}

local function problems()
  local texts = {}
  for _, shape in ipairs(shapes) do
    local batch, heads, length, dim, dtype, causal = table.unpack(shape)
    texts[#texts + 1] = string.format("B=%d Hq=%d Hkv=%d Sq=%d Skv=%d D=%d %s causal=%s", batch,
                                      heads, heads, length, length, dim, dtype, causal)
  end
  return table.concat(texts, "; ")
end

-- 104 is the first head dim that these tiles leave alone.
local function odd_problems()
  local texts = {}
  for _, dim in ipairs { 72, 80, 88, 96, 104 } do
    for _, dtype in ipairs { "bf16", "f16" } do
      for _, shape in ipairs(odd_shapes) do
        texts[#texts + 1] = string.format(shape, dim, dtype)
      end
    end
  end
  return table.concat(texts, "; ")
end

return {
  name = "h200_head_dims",
  about = "prefill at head dims 72 to 96: tiles of 128 rows, then of 192, beside cuDNN",
  open = {
    start = "sm90_wgmma_pingpong",
    problem = problems(),
    rivals = { "torch_cudnn" },
    goal = "geomean >= 1.2 over torch_cudnn",
    effort = "quick",
  },
  run = function(wb)
    local done = climb.steps(wb, steps, true, true)
    if done.stop then
      return { won = done.won, speedup = done.product, stop = done.stop }
    end
    local last = steps[#steps]
    local checked = wb.check {
      variant = last.variant,
      configuration = last.configuration,
      problem = odd_problems(),
    }
    wb.note { text = climb.words(done) }
    return { won = done.won, speedup = done.product, right = checked.pass }
  end,
}
