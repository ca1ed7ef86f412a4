-- SPDX-License-Identifier: MIT
-- Where the incumbent stands beside PyTorch, problem by problem, and what would change it: another
-- kernel that the dispatch rules choose there, measured; else what the roadmap advises.
local words = require "lib.words"

local standing = {}

-- A comparison that could not be measured has no figure.
local function times(speedup)
  return speedup and string.format("%.2fx", speedup) or "an unknown share"
end

-- Rows of an iteration's comparisons with rivals, as its confirmation has them.
local function rows_of(wb, iteration)
  local fine, shown = pcall(wb.show, { id = "i" .. iteration })
  local rows = {}
  for _, row in ipairs(fine and shown.value.comparisons or {}) do
    -- One without a problem is of the whole suite.
    if row.role == "rival" and row.phase ~= "selection" and row.plan == "hot" and row.problem then
      rows[#rows + 1] = row
    end
  end
  return rows
end

-- By problem: what the dispatch rules' kernel for it has over the rival there. One comparison
-- measures all problems of a kernel and configuration, as most of its time is starting processes.
local function other_kernels(wb, rows, incumbent)
  local own = incumbent:match("^[^@]+")
  local groups, by_key = {}, {}
  for _, row in ipairs(rows) do
    local fine, best = pcall(wb.best, { problem = row.problem })
    if fine and best.variant ~= own then
      local key = table.concat({ best.variant, words.text_of(best.configuration),
                                 row.against }, " | ")
      if not by_key[key] then
        by_key[key] = { best = best, against = row.against, problems = {} }
        groups[#groups + 1] = by_key[key]
      end
      table.insert(by_key[key].problems, row.problem)
    end
  end
  local said = {}
  for _, group in ipairs(groups) do
    local measured, answer = pcall(wb.compare, {
      candidate = group.best.variant,
      configuration = group.best.configuration,
      against = group.against,
      problem = table.concat(group.problems, "; "),
      effort = "quick",
    })
    for _, row in ipairs(measured and answer.problems or {}) do
      said[row.problem] = string.format("%s, which the dispatch rules choose there, has %s (%s)",
                                        group.best.variant, times(row.speedup), row.outcome)
    end
  end
  return said
end

-- The advice of the roadmap that promises most.
local function advice(wb)
  local fine, answer = pcall(wb.advise, {})
  local entry = fine and answer.entries and answer.entries[1]
  return entry and string.format("%s (%s, %s expected)", entry.technique, entry.why,
                                 times(entry.expected)) or nil
end

-- One line. `iteration` is the one that made the incumbent.
function standing.words(wb, iteration, incumbent)
  local rows = rows_of(wb, iteration)
  if #rows == 0 then
    return "No rival was measured beside the incumbent: nothing says where it stands."
  end
  local slower, in_doubt = {}, 0
  for _, row in ipairs(rows) do
    if row.outcome == "slower" then
      slower[#slower + 1] = row
    elseif row.outcome == "ambiguous" then
      in_doubt = in_doubt + 1
    end
  end
  local behind, general = {}, nil
  local others = other_kernels(wb, slower, incumbent)
  for _, row in ipairs(slower) do
    local change = others[row.problem]
    if not change then
      general = general or advice(wb) or "the roadmap advises nothing"
      change = general
    end
    behind[#behind + 1] = string.format("%s %s of %s: %s", row.problem, times(row.speedup),
                                        row.against:match("^[^@]+"), change)
  end
  local doubt = in_doubt > 0 and string.format(" (%d of %d ambiguous)", in_doubt, #rows) or ""
  if #behind == 0 then
    return "No problem is behind PyTorch" .. doubt .. "."
  end
  return string.format("Behind PyTorch on %d of %d problems%s: %s.", #behind, #rows, doubt,
                       table.concat(behind, "; "))
end

return standing
