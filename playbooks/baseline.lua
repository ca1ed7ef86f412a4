-- SPDX-License-Identifier: MIT
-- baseline: what the starting kernel and its rivals do; nothing is changed.
--
-- When it starts, `open` has judged and measured all of them. It times the start once more, then in
-- turns against each rival, notes what came out and closes the session:
--   sdpa-wb run baseline --suite n6

local words = require "lib.words"
local effort = "quick"

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
                       words.per_problem(answer.problems, ratio))
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
    wb.note { text = start .. ": " .. words.per_problem(measured.problems, microseconds) }
    local rivals = words.list(args.rivals)
    for _, rival in ipairs(rivals) do
      wb.note { text = compared(wb, start, rival) }
    end
    wb.close { reason = "the baseline was measured" }
    return { start = start, problems = #measured.problems, rivals = rivals }
  end,
}
