-- SPDX-License-Identifier: MIT
-- Goals beside rivals: for each part of a table the kernels that the dispatch rules choose are
-- timed in the same turns as every rival, and what came out stands beside what was asked for.
local words = require "lib.words"

local goals = {}

-- The kernel that the rules choose, or `otherwise` where no rule before the fallback takes it; nil
-- where there is neither.
local function choose(wb, problem, otherwise)
  local fine, best = pcall(wb.best, { problem = problem })
  if fine and not (best.fallback and otherwise) then
    return best
  end
  return otherwise and { variant = otherwise, configuration = {} } or nil
end

-- Problems that the same kernel answers share its processes: { variant, configuration, problems },
-- in the order in which they first appear. A problem that no kernel takes is in none.
local function by_kernel(wb, problems, otherwise)
  local groups, known = {}, {}
  for _, problem in ipairs(problems) do
    local best = choose(wb, problem.problem, otherwise)
    if not best then
      goto continue
    end
    local names = {}
    for name, value in pairs(best.configuration) do
      names[#names + 1] = name .. "=" .. value
    end
    table.sort(names)
    local key = best.variant .. " " .. table.concat(names, " ")
    if not known[key] then
      known[key] = { variant = best.variant, configuration = best.configuration, problems = {} }
      groups[#groups + 1] = known[key]
    end
    table.insert(known[key].problems, problem.problem)
    ::continue::
  end
  return groups
end

-- The rows of the fastest rivals: { problem (its name), variant, speedup, outcome, against,
-- against_us }. A rival that takes no problem has no rows. A comparison that cannot be made leaves
-- a note and its problems without a figure: hours of the other parts do not hang on it.
local function measure(wb, part, how)
  local problems, names = {}, {}
  for _, problem in ipairs(wb.suites { suite = part.suite }.suites[1].problems) do
    if not names[problem.problem] then
      names[problem.problem] = problem.name
      problems[#problems + 1] = problem
    end
  end
  local rows = {}
  for _, group in ipairs(by_kernel(wb, problems, part.otherwise)) do
    local fine, answer = pcall(wb.compare, {
      candidate = group.variant,
      configuration = group.configuration,
      against = how.rivals[1],
      others = { table.unpack(how.rivals, 2) },
      problem = table.concat(group.problems, "; "),
      plan = how.plan,
      regime = how.regime,
      effort = how.effort,
    })
    if not fine then
      wb.note { text = part.name .. ": " .. group.variant .. " has no comparison: "
                       .. tostring(answer) }
    end
    for _, row in ipairs(fine and answer.problems or {}) do
      if row.fastest then
        rows[#rows + 1] = {
          problem = names[row.problem] or row.problem,
          variant = group.variant,
          speedup = row.against_us > 0 and row.speedup or nil,
          outcome = row.outcome,
          against = row.against,
          against_us = row.against_us,
        }
      end
    end
  end
  return rows, #problems
end

local function least_of(part, row)
  if type(part.least) == "function" then
    return part.least(row)
  end
  return part.least
end

-- A part is { key, name, suite, goals, otherwise }; `otherwise`: the kernel where no rule is
-- proven. Whether rows reach its goals, and what falls short. Goals: `mean`, the geometric mean at
-- least; `least`, each problem's figure at least (a number, or a function of the row);
-- `never_slower`, no problem may be `slower`.
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

-- The body of a playbook whose table is `parts`: { name, suite, goals … }.
function goals.run(wb, args, parts)
  local rivals = words.list(args.rivals)
  assert(#rivals > 0, "rivals: name one kernel at least")
  local how = { rivals = rivals, plan = args.plan, effort = args.effort }
  if args.plan == "hot" then
    how.regime = args.regime
  end
  local wanted = {}
  for _, name in ipairs(words.list(args.parts)) do
    wanted[name] = true
  end
  local result = { reached = {}, missed = {} }
  for _, part in ipairs(parts) do
    if wanted.all or wanted[part.key] then
      wanted[part.key] = nil
      local verdict = goals.judge(part, measure(wb, part, how))
      wb.note { text = goals.words(part, verdict) }
      table.insert(verdict.reached and result.reached or result.missed, part.key)
    end
  end
  wanted.all = nil
  assert(next(wanted) == nil, "no such part: " .. tostring(next(wanted)))
  return result
end

-- What such playbooks take.
function goals.arguments(regime)
  return {
    parts = { default = "all", doc = "keys of parts, joined by '+'" },
    rivals = {
      default = "torch_default+torch_cudnn+torch_flash+torch_efficient+torch_math",
      doc = "kernels to time beside, joined by '+'; of each problem the fastest counts",
    },
    plan = { default = "hot", doc = "hot, cold or eager" },
    regime = { default = regime, doc = "of hot turns: burst or sustained" },
    effort = { default = "quick", doc = "quick, standard or thorough" },
  }
end

return goals
