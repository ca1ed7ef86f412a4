-- SPDX-License-Identifier: MIT
-- Steps one after the other, each an iteration with its theory and its prediction, each confirmed.
-- A step that wins is the next one's incumbent, so a figure is the gain over the step before.
local words = require "lib.words"

local climb = {}

-- steps: list of { variant, configuration (may be absent), reason, predicted }. With `keep` a
-- step's parameters are added to those of the steps of the same variant that won before it, so
-- that each shows one change.
-- With `rungs_only` steps before the last are confirmed under the deciding plan alone: nobody asks
-- for the cold and eager times of a rung, and they are two thirds of a confirmation.
-- With `first` the steps before that index count as won and are left out: the session goes on from
-- one that took them.
-- Returns { lines, won, product, kept, stop }: lines are words, kept the winning parameters.
function climb.steps(wb, steps, keep, rungs_only, first)
  local done = { lines = {}, won = 0, product = 1.0, kept = {} }
  for index, step in ipairs(steps) do
    local configuration = {}
    if keep and done.variant == step.variant then
      for name, value in pairs(done.kept) do
        configuration[name] = value
      end
    end
    for name, value in pairs(step.configuration or {}) do
      configuration[name] = value
    end
    if index < (first or 1) then
      done.variant, done.kept = step.variant, configuration
      goto next_step
    end
    local answer = wb.iterate {
      variant = step.variant,
      configuration = configuration,
      hypothesis = step.reason,
      predicted_speedup = step.predicted,
      confirm = "always",
      plans = rungs_only and index < #steps and "deciding" or "all",
    }
    done.stop = answer.stop_reason
    if answer.outcome == "stopped" then
      break
    end
    done.lines[#done.lines + 1] = (step.name or step.variant) .. ": " .. words.outcome(answer)
    if answer.outcome == "win" then
      done.won = done.won + 1
      done.product = done.product * (answer.speedup or 1.0)
      done.variant, done.kept = step.variant, configuration
    end
    if done.stop then
      break
    end
    ::next_step::
  end
  return done
end

-- The index of the step of that name; 1 for "".
function climb.index_of(steps, name)
  if name == "" then
    return 1
  end
  local names = {}
  for index, step in ipairs(steps) do
    if step.name == name then
      return index
    end
    names[#names + 1] = step.name
  end
  error("no such step: " .. name .. "; there are: " .. table.concat(names, ", "), 0)
end

-- "2 of 5 steps won. a: win 1.20x; …"
function climb.words(done)
  return string.format("%d of %d steps won. %s", done.won, #done.lines,
                       table.concat(done.lines, "; "))
end

return climb
