-- SPDX-License-Identifier: MIT
-- large_head_dims: what limits attention with head dims of 512 to 8192, one variable at a time.
--
-- A table in which rows, heads and head dim change together cannot say which of them costs. Here
-- each is swept alone around one problem for the simple kernel, then the suite is climbed: queries
-- that share K and V, the head dim split over threads, and the kernel that was made for it:
--   sdpa-wb run documents/large_head_dims
local climb = require "lib.climb"

local kernel = "sm80_wide_heads"
local base = { H = 4, S = 32, D = 2048 }
local sweeps = {
  { variable = "D", values = { 512, 1024, 2048, 4096, 8192 } },
  { variable = "S", values = { 16, 32, 64, 128 } },
  { variable = "H", values = { 1, 2, 4, 8, 16, 32 } },
}

local steps = {
  {
    name = "shared keys",
    variant = kernel,
    configuration = { QUERIES = 4 },
    predicted = 2.0,
    reason = "one query a block reads all of K and V for itself; four that share them read a "
      .. "quarter",
  },
  {
    name = "split head dim",
    variant = kernel,
    configuration = { COLUMN_PARTS = 8 },
    predicted = 3.0,
    reason = "a block a row is at most 256 blocks, 16 at head dim 8192; eight that share the "
      .. "columns of V fill more of the device, though each computes the scores anew",
  },
  {
    name = "clusters",
    variant = "sm90_cluster_large_hdim",
    predicted = 5.0,
    reason = "a cluster splits the head dim, adds its scores through distributed shared memory and "
      .. "reads nothing twice, products on tensor cores",
  },
}

local function sweep(wb, item)
  local problems = {}
  for i, value in ipairs(item.values) do
    local shape = { H = base.H, S = base.S, D = base.D }
    shape[item.variable] = value
    problems[i] = string.format("B=1 Hq=%d Sq=%d D=%d f32", shape.H, shape.S, shape.D)
  end
  local rows = wb.measure {
    variant = kernel,
    problem = table.concat(problems, "; "),
    effort = "quick",
  }.problems
  local parts = {}
  for i, row in ipairs(rows) do
    parts[i] = string.format("%d: %s", item.values[i],
                             row.median_us and string.format("%.1f us, %.1f GFLOP/s", row.median_us,
                                                             row.gflop_per_s)
                             or row.outcome)
  end
  wb.note {
    text = string.format("%s over %s alone (B=1 H=%d S=%d D=%d): %s", kernel, item.variable, base.H,
                         base.S, base.D, table.concat(parts, "; ")),
  }
end

return {
  name = "large_head_dims",
  about = "head dims of 512 to 8192: one variable at a time, then the steps",
  open = {
    start = kernel,
    suite = "large_hdim",
    effort = "quick",
  },
  run = function(wb)
    for _, item in ipairs(sweeps) do
      sweep(wb, item)
    end
    local done = climb.steps(wb, steps, true)
    wb.note { text = climb.words(done) }
    return { won = done.won, speedup = done.product, stop = done.stop }
  end,
}
