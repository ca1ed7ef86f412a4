-- SPDX-License-Identifier: MIT
-- tune: the best configuration of one kernel, searched and then confirmed in fresh processes.
--
-- The search only chooses; what the report says was gained is measured afterwards, beside the start
-- and the rivals. Further seeds search again from the winner and stop when one finds nothing:
--   sdpa-wb run tune --effort quick --arguments variant=cpu_tiled --arguments strategy=racing
local words = require "lib.words"

local function number_or_nil(text, what)
  if text == "none" then
    return nil
  end
  local number = tonumber(text)
  assert(number and number > 0, what .. " is neither a number above 0 nor none: " .. text)
  return number
end

return {
  name = "tune",
  about = "one kernel's best configuration, searched and confirmed",
  arguments = {
    variant = { default = "cpu_tiled", doc = "the kernel whose parameters are searched" },
    strategy = { default = "hill_climb", doc = "exhaustive, random, hill_climb or racing" },
    seeds = { default = "1", doc = "one search each, joined by '+'; later ones after a win" },
    evaluations = { default = "24", doc = "answers of one search at most, or none" },
    seconds = { default = "none", doc = "of one search at most, or none" },
    predicted = { default = "1.1", doc = "the gain expected of the best, as a ratio" },
  },
  open = {
    start = "cpu_tiled",
    suite = "n6",
    effort = "quick",
  },
  run = function(wb, args)
    local evaluations = number_or_nil(args.evaluations, "evaluations")
    local seconds = number_or_nil(args.seconds, "seconds")
    local predicted = number_or_nil(args.predicted, "predicted")
    assert(predicted, "predicted must be a ratio")
    local best, lines, gain = nil, {}, 1.0
    for _, seed in ipairs(words.numbers(args.seeds)) do
      local answer = wb.tune {
        variant = args.variant,
        strategy = args.strategy,
        seed = seed,
        evaluations = evaluations and math.tointeger(evaluations),
        seconds = seconds,
        hypothesis = "the defaults of " .. args.variant .. " suit other shapes than these problems",
        predicted_speedup = predicted,
      }
      lines[#lines + 1] = string.format("seed %d: %s", seed, words.outcome(answer))
      if answer.outcome == "win" then
        best = { variant = answer.variant, configuration = answer.configuration }
        gain = gain * answer.speedup
        predicted = 1.02
      end
      if answer.outcome ~= "win" or answer.stop_reason then
        break
      end
    end
    wb.note { text = "tune: " .. table.concat(lines, "; ") }
    wb.close {
      reason = best and "a better configuration was confirmed" or "no configuration was confirmed",
      recommendation = best and "use " .. best.variant .. " on problems like these"
        or "keep the start's configuration",
    }
    return { best = best, gain = gain }
  end,
}
