-- SPDX-License-Identifier: MIT
-- batch_scaling: a grid that leaves out batch and heads, and its repair.
--
-- The same kernel twice: GRID=0 launches the blocks of one head and walks through batch and heads
-- inside, GRID=1 launches them all. An iteration makes the serialised one a candidate, so the
-- report has its loss beside the predicted one; then time over batch is measured for both and for
-- SDPA and divided by the work, which is what a growth with B alone cannot show:
--   sdpa-wb run documents/batch_scaling
local words = require "lib.words"

local kernel = "sm80_tiled_flash"

-- Time of each batch size over the time of the first, divided by how much the work grew: 1 says
-- that time grew with the work, less that the device was not full before.
local function per_work(wb, variant, configuration, problems, batches)
  local rows = wb.measure {
    variant = variant,
    configuration = configuration,
    problem = table.concat(problems, "; "),
    effort = "quick",
  }.problems
  local first, parts, growth = rows[1] and rows[1].median_us, {}, {}
  for i, batch in ipairs(batches) do
    local time_us = rows[i] and rows[i].median_us
    growth[i] = first and time_us and time_us / first / (batch / batches[1]) or false
    parts[i] = string.format("B=%d %s", batch,
                             growth[i] and string.format("%.1f us, %.2f", time_us, growth[i])
                             or (rows[i] and rows[i].outcome or "nothing"))
  end
  return growth, table.concat(parts, "; ")
end

return {
  name = "batch_scaling",
  about = "a grid without batch and heads against one with them, scaling divided by the work",
  arguments = {
    batches = { default = "1,2,4,8,16,32", doc = "batch sizes at 16 heads, 512 rows, head dim 64" },
    rival = { default = "torch_default", doc = "whose scaling stands beside it, or none" },
  },
  open = {
    start = kernel,
    suite = "v3",
    effort = "quick",
  },
  run = function(wb, args)
    local batches, problems = words.numbers(args.batches), {}
    for i, batch in ipairs(batches) do
      problems[i] = string.format("B=%d Hq=16 Sq=512 D=64 f16", batch)
    end
    local answer = wb.iterate {
      variant = kernel,
      configuration = { GRID = 0 },
      hypothesis = "blocks of one head only leave most of the device idle: with batch and heads "
        .. "inside the kernel it takes 10 to 20 times as long as the full grid",
      predicted_speedup = 0.07,
      confirm = "always",
    }
    local result = { serialised = answer.speedup }
    local lines = { "serialised grid: " .. words.outcome(answer) }
    if answer.stop_reason then
      wb.note { text = lines[1] }
      return result
    end
    local sides = {
      { name = "full grid", variant = kernel, configuration = { GRID = 1 } },
      { name = "serialised grid", variant = kernel, configuration = { GRID = 0 } },
    }
    if args.rival ~= "none" then
      sides[3] = { name = args.rival, variant = args.rival }
    end
    for _, side in ipairs(sides) do
      local growth, text = per_work(wb, side.variant, side.configuration, problems, batches)
      result[side.name] = growth
      lines[#lines + 1] = side.name .. ", time and its growth over that of the work: " .. text
    end
    for _, line in ipairs(lines) do
      wb.note { text = line }
    end
    return result
  end,
}
