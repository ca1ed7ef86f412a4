-- SPDX-License-Identifier: MIT
-- scaling: how a kernel's time grows with B, H, S and D, one variable at a time.
--
-- From one base problem each variable is swept alone, and a line is fitted through the logarithms:
-- exponent 1 means that time doubles with the variable. Work grows with B and H and D by 1 and with
-- S by 2; a smaller exponent says that the device was not full or that a fixed cost dominates:
--   sdpa-wb run scaling --arguments kernel=cpu_online --arguments S=64,128,256,512
local words = require "lib.words"

local base = { B = 1, Hq = 4, S = 128, D = 64 }
local work = { B = 1, Hq = 1, S = 2, D = 1 }  -- exponent of the FLOPs
local order = { "B", "Hq", "S", "D" }

local function problem_text(shape, dtype, causal)
  return string.format("B=%d Hq=%d Sq=%d Skv=%d D=%d %s causal=%s", shape.B, shape.Hq, shape.S,
                       shape.S, shape.D, dtype, causal)
end

-- Least squares of log(time) over log(value); nil with fewer than two times.
local function exponent(values, times_us)
  local n, sx, sy, sxx, sxy = 0, 0, 0, 0, 0
  for i, value in ipairs(values) do
    if times_us[i] and times_us[i] > 0 then
      local x, y = math.log(value), math.log(times_us[i])
      n, sx, sy, sxx, sxy = n + 1, sx + x, sy + y, sxx + x * x, sxy + x * y
    end
  end
  local spread = n * sxx - sx * sx
  if n < 2 or spread <= 0 then
    return nil
  end
  return (n * sxy - sx * sy) / spread
end

local function sweep(wb, args, variable)
  local values, problems = words.numbers(args[variable]), {}
  for i, value in ipairs(values) do
    local shape = {}
    for name, size in pairs(base) do
      shape[name] = size
    end
    shape[variable] = value
    problems[i] = problem_text(shape, args.dtype, args.causal)
  end
  local rows = wb.measure {
    variant = args.kernel,
    problem = table.concat(problems, "; "),
    effort = args.effort,
  }.problems
  local times_us, parts = {}, {}
  for i, row in ipairs(rows) do
    times_us[i] = row.median_us or false
    parts[i] = string.format("%d: %s", values[i],
                             row.median_us and string.format("%.1f us", row.median_us)
                             or row.outcome)
  end
  local found = exponent(values, times_us)
  wb.note {
    text = string.format("%s over %s: %s; exponent %s, of the work %d", args.kernel, variable,
                         table.concat(parts, ", "),
                         found and string.format("%.2f", found) or "unknown", work[variable]),
  }
  return { values = values, times_us = times_us, exponent = found }
end

return {
  name = "scaling",
  about = "time over batch, heads, sequence and head dim, one variable at a time",
  arguments = {
    kernel = { default = "cpu_tiled", doc = "the kernel to sweep" },
    B = { default = "1,2,4,8", doc = "batch sizes; the others stay at B=1 Hq=4 S=128 D=64" },
    Hq = { default = "1,2,4,8", doc = "head counts" },
    S = { default = "64,128,256,512", doc = "sequence lengths, of queries and keys" },
    D = { default = "32,64,128", doc = "head dims" },
    dtype = { default = "f32", doc = "f32, f16 or bf16" },
    causal = { default = "none", doc = "none, top_left or bottom_right" },
    effort = { default = "quick", doc = "quick, standard or thorough" },
  },
  open = {
    start = "cpu_tiled",
    problem = "B=1 Hq=4 Sq=128 D=64 f32",
    rivals = { "none" },
    effort = "quick",
  },
  run = function(wb, args)
    local result = {}
    for _, variable in ipairs(order) do
      result[variable] = sweep(wb, args, variable)
    end
    return result
  end,
}
