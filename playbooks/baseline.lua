-- SPDX-License-Identifier: MIT
-- baseline: what the starting kernel and its rivals do; nothing is changed.
--
-- When it starts, `open` has judged and measured all of them. It times the start once more, then in
-- turns against each rival, notes what came out and closes the session:
--   sdpa-wb run baseline --suite n6

local effort = "quick"

local function per_problem(rows, figure)
  local parts = {}
  for _, row in ipairs(rows) do
    parts[#parts + 1] = string.format("%s %s", row.problem, figure(row))
  end
  return table.concat(parts, ", ")
end

local function microseconds(row)
  return row.median_us and string.format("%.1f us", row.median_us) or row.outcome
end

local function ratio(row)
  return row.speedup and string.format("%s %.2fx", row.outcome, row.speedup) or row.outcome
end

-- The start against one rival, as a sentence. A rival that cannot run here is told, not fatal.
local function compared(wb, start, rival)
  local fine, answer = pcall(wb.compare, { candidate = start, against = rival, effort = effort })
  if not fine then
    return string.format("%s was not compared: %s", rival, answer.message or tostring(answer))
  end
  return string.format("%s is %s against %s: %s", start, ratio(answer), rival,
                       per_problem(answer.problems, ratio))
end

return {
  name = "baseline",
  about = "what the starting kernel and its rivals do, without a change",
  arguments = {
    rivals = {
      default = "torch_cpu_sdpa",
      doc = "kernels to time against the start, joined by '+'; none: the start alone",
    },
  },
  open = {
    start = "cpu_tiled",
    suite = "n6",
    effort = effort,
  },
  run = function(wb, args)
    local start = wb.status {}.incumbent
    local measured = wb.measure { variant = start, effort = effort }
    wb.note { text = start .. ": " .. per_problem(measured.problems, microseconds) }
    local rivals = {}
    for rival in args.rivals:gmatch("[^+%s]+") do
      if rival ~= "none" then
        wb.note { text = compared(wb, start, rival) }
        rivals[#rivals + 1] = rival
      end
    end
    wb.close { reason = "the baseline was measured" }
    return { start = start, problems = #measured.problems, rivals = rivals }
  end,
}
