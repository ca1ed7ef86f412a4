-- SPDX-License-Identifier: MIT
-- Goals beside rivals: for each part of a table the kernels that the dispatch rules choose are
-- timed in the same turns as every rival, and what came out stands beside what was asked for.
local words = require "lib.words"

local goals = {}

-- A choice's configuration with the defaults of what it leaves out, so that the same build is known
-- as the same.
local function whole(wb, choice)
  local known, kernels = pcall(wb.kernels, { name = choice.variant })
  local kernel = known and kernels.kernels and kernels.kernels[1]
  local configuration = {}
  for name, value in pairs(kernel and kernel.defaults or {}) do
    configuration[name] = value
  end
  for name, value in pairs(choice.configuration) do
    configuration[name] = value
  end
  return configuration
end

-- The kernel that the rules choose, or the part's `otherwise` (a name, or a function of the problem
-- as `wb.suites` gives it) where no rule before the fallback takes it; nil where there is neither.
local function choose(wb, problem, otherwise)
  local fine, best = pcall(wb.best, { problem = problem.problem })
  if type(otherwise) == "function" then
    otherwise = otherwise(problem)
  end
  if not fine or (best.fallback and otherwise) then
    best = otherwise and { variant = otherwise, configuration = {} }
  end
  return best and { variant = best.variant, configuration = whole(wb, best) } or nil
end

-- The problems of a part, each once: of its suite, or those that it writes out.
local function problems_of(wb, part)
  local problems, known = {}, {}
  for _, text in ipairs(part.texts or {}) do
    problems[#problems + 1] = { name = text, problem = text }
  end
  if not part.suite then
    return problems
  end
  for _, problem in ipairs(wb.suites { suite = part.suite }.suites[1].problems) do
    if not known[problem.problem] then
      known[problem.problem] = true
      problems[#problems + 1] = problem
    end
  end
  return problems
end

-- What has to be measured for the parts, in the order in which it first appears:
-- { index, variant, configuration, rivals, problems }. Problems that the same kernel answers beside
-- the same rivals share processes, whatever part they belong to: PyTorch takes seconds to start.
-- Yet a comparison that is cut off is lost whole, so none has more than `batch` problems. A problem
-- that no kernel takes is in none. Each part's `waits_for` has the indices of its groups.
local function by_kernel(wb, parts, batch)
  local groups, open, group_of = {}, {}, {}
  local function place(problem, part)
    local best = choose(wb, problem, part.otherwise)
    if not best then
      return nil
    end
    local key = table.concat({ best.variant, words.text_of(best.configuration),
                               table.unpack(part.beside) }, " ")
    local group = open[key]
    if not group or #group.problems == batch then
      group = {
        index = #groups + 1,
        variant = best.variant,
        configuration = best.configuration,
        rivals = part.beside,
        problems = {},
      }
      groups[group.index], open[key] = group, group
    end
    table.insert(group.problems, problem.problem)
    return group
  end
  for _, part in ipairs(parts) do
    part.waits_for = {}
    for _, problem in ipairs(part.problems) do
      local group = group_of[problem.problem] or place(problem, part)
      if group then
        group_of[problem.problem] = group
        part.waits_for[group.index] = true
      end
    end
  end
  return groups
end

-- Rows of the fastest rivals of a group's problems, by problem: { variant, speedup, outcome,
-- against, against_us }. A rival that takes no problem has no rows. A comparison that cannot be
-- made leaves a note and its problems without a figure: hours of the others do not hang on it.
local function measure(wb, group, how, rows)
  local fine, answer = pcall(wb.compare, {
    candidate = group.variant,
    configuration = group.configuration,
    against = group.rivals[1],
    others = { table.unpack(group.rivals, 2) },
    problem = table.concat(group.problems, "; "),
    plan = how.plan,
    regime = how.regime,
    effort = how.effort,
  })
  if not fine then
    wb.note { text = group.variant .. " has no comparison: " .. tostring(answer) }
  end
  for _, row in ipairs(fine and answer.problems or {}) do
    if row.fastest then
      rows[row.problem] = {
        variant = group.variant,
        speedup = row.against_us and row.speedup or nil, -- without a time there is no figure
        outcome = row.outcome,
        against = row.against,
        against_us = row.against_us,
      }
    end
  end
end

local function rows_of(part, rows)
  local own = {}
  for _, problem in ipairs(part.problems) do
    local row = rows[problem.problem]
    if row then
      row.problem = problem.name
      own[#own + 1] = row
    end
  end
  return own
end

local function least_of(part, row)
  if type(part.least) == "function" then
    return part.least(row)
  end
  return part.least
end

-- A part is { key, name, suite or texts, rivals, goals, otherwise }. `texts`: its problems as the
-- workbench writes them. `rivals`: whom it is timed beside, unless the playbook's caller says.
-- `otherwise`: the kernel where no rule is proven, or a function that names one for a problem.
-- Goals: `mean`, the geometric mean at least; `least`, each problem's at least (a number, or a
-- function of the row); `never_slower`, no problem may be `slower`.
-- The verdict: whether rows reach the goals, and what falls short.
function goals.judge(part, rows, count)
  local verdict = { name = part.name, problems = count, short = {} }
  local log_sum, figures = 0.0, 0
  for _, row in ipairs(rows) do
    if row.speedup then
      log_sum, figures = log_sum + math.log(row.speedup), figures + 1
      if not verdict.lowest or row.speedup < verdict.lowest then
        verdict.lowest, verdict.lowest_problem = row.speedup, row.problem
      end
      local least = least_of(part, row)
      if (least and row.speedup < least) or (part.never_slower and row.outcome == "slower") then
        verdict.short[#verdict.short + 1] = string.format(
          "%s %.3fx beside %s (%s)", row.problem, row.speedup, row.against, row.outcome)
      end
    else
      verdict.short[#verdict.short + 1] = row.problem .. ": no figure"
    end
  end
  verdict.mean = figures > 0 and math.exp(log_sum / figures) or nil
  verdict.missing = count - figures
  verdict.reached = verdict.missing == 0 and #verdict.short == 0
    and (not part.mean or (verdict.mean and verdict.mean >= part.mean)) or false
  return verdict
end

function goals.words(part, verdict)
  local asked = part.mean and string.format("geometric mean %.2f asked for, ", part.mean) or ""
  if not verdict.mean then
    return string.format("%s: %sno figure on any of %d problems", part.name, asked,
                         verdict.problems)
  end
  local text = string.format("%s: %s%.3f reached; lowest %s %.3f; goal %s", part.name, asked,
                             verdict.mean, verdict.lowest_problem, verdict.lowest,
                             verdict.reached and "reached" or "missed")
  if verdict.missing > 0 then
    text = text .. string.format("; %d of %d problems without a figure", verdict.missing,
                                 verdict.problems)
  end
  if #verdict.short > 0 then
    text = text .. "; short: " .. table.concat(verdict.short, ", ")
  end
  return text
end

-- The body of a playbook whose table is `parts`.
function goals.run(wb, args, parts)
  local how = { plan = args.plan, effort = args.effort }
  if args.plan == "hot" then
    how.regime = args.regime
  end
  local names = {}
  for _, name in ipairs(words.list(args.parts)) do
    names[name] = true
  end
  local wanted = {}
  for _, part in ipairs(parts) do
    if names.all or names[part.key] then
      names[part.key] = nil
      part.problems = problems_of(wb, part)
      part.beside = args.rivals == "own" and part.rivals or words.list(args.rivals)
      assert(#part.beside > 0, "rivals: name one kernel at least")
      wanted[#wanted + 1] = part
    end
  end
  names.all = nil
  assert(next(names) == nil, "no such part: " .. tostring(next(names)))
  local result, rows = { reached = {}, missed = {} }, {}
  local function tell_what_is_complete()
    for _, part in ipairs(wanted) do
      if not part.told and next(part.waits_for) == nil then
        part.told = true
        local verdict = goals.judge(part, rows_of(part, rows), #part.problems)
        wb.note { text = goals.words(part, verdict) }
        table.insert(verdict.reached and result.reached or result.missed, part.key)
      end
    end
  end
  local groups = by_kernel(wb, wanted, words.numbers(args.batch)[1])
  tell_what_is_complete() -- a part that no kernel takes
  for _, group in ipairs(groups) do
    measure(wb, group, how, rows)
    for _, part in ipairs(wanted) do
      part.waits_for[group.index] = nil
    end
    tell_what_is_complete()
  end
  return result
end

-- A part's problems as a goal of the session names them: "n6:*+v3:*" for the suites "n6+v3".
local function selection(suite)
  local whole = {}
  for name in suite:gmatch("[^+]+") do
    whole[#whole + 1] = name:find(":", 1, true) and name or name .. ":*"
  end
  return table.concat(whole, "+")
end

-- The goals of the parts for `open`, so that the session itself says what was reached: means, what
-- each problem must reach, and that none may be slower. A limit that is a function of the row, and
-- problems that a part writes out, are in the notes alone.
function goals.asked(parts)
  local asked = {}
  local function ask(part, form, least)
    asked[#asked + 1] = string.format("%s >= %.4g over fastest on %s", form, least,
                                      selection(part.suite))
  end
  for _, part in ipairs(parts) do
    if part.suite and not part.texts then
      if part.mean then
        ask(part, "geomean", part.mean)
      end
      if type(part.least) == "number" then
        ask(part, "each", part.least)
      elseif part.never_slower then
        ask(part, "each", 1)
      end
    end
  end
  return table.concat(asked, "; ")
end

-- What such playbooks take.
function goals.arguments(regime)
  return {
    parts = { default = "all", doc = "keys of parts, joined by '+'" },
    rivals = {
      default = "own",
      doc = "kernels to time beside, joined by '+', of each problem the fastest counts; own: those "
        .. "that each part names",
    },
    plan = { default = "hot", doc = "hot, cold or eager" },
    regime = { default = regime, doc = "of hot turns: burst or sustained" },
    effort = { default = "quick", doc = "quick, standard or thorough" },
    batch = { default = "20", doc = "problems of one comparison at most" },
  }
end

return goals
