-- SPDX-License-Identifier: MIT
-- h200_others: shapes beside those that the goals name, on an H200: f16, odd sizes, other head dims
-- and counts, group sizes 1 to 16, BSHD. A set that is fast on the listed shapes only shows here.
--
--   sdpa-wb run h200_others
--   sdpa-wb run h200_others --arguments parts=prefill regime=sustained rivals=torch_default
local goals = require "lib.goals"

local fused = { "torch_default", "torch_cudnn", "torch_flash" }
local unfused = { "torch_default", "torch_efficient", "torch_math" }

-- B * Hq * Sq of a problem as `wb.suites` gives it.
local function rows_of(problem)
  local rows = 1
  for _, letter in ipairs { "B", "Hq", "Sq" } do
    rows = rows * tonumber(problem.problem:match("%f[%w]" .. letter .. "=(%d+)"))
  end
  return rows
end

local function part(key, name, rivals, otherwise)
  return {
    key = key,
    name = name,
    suite = "others:" .. key .. "_*",
    rivals = rivals,
    otherwise = otherwise,
    never_slower = true,
  }
end

local parts = {
  part("decode", "one query", fused, "sm90_splitkv_decode"),
  part("chunk", "up to 64 rows of a group on many keys", fused, "sm90_wgmma_flash"),
  part("rows", "64 and 128 queries on many keys", fused, "sm90_wgmma_pingpong"),
  part("short", "S up to 512", fused, function(problem)
    return rows_of(problem) < 8192 and "sm80_mma_flash" or "sm90_wgmma_carry"
  end),
  part("prefill", "prefill", fused, "sm90_wgmma_carry"),
  part("f32", "f32, head dims up to 128", unfused, "sm90_f16x3_flash"),
  part("mask", "masks", { "torch_default", "torch_cudnn", "torch_efficient" },
       "sm90_wgmma_pingpong"),
  part("wide", "f32, head dims from 512 on", unfused, "sm90_cluster_large_hdim"),
}

return {
  name = "h200_others",
  about = "shapes beside those of the goals: f16, odd sizes, other head counts, BSHD",
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
