-- SPDX-License-Identifier: MIT
-- optimize: from the unfused reference to the fastest CPU kernels of the catalogue.
--
-- Each of the first iterations takes the next kernel of the catalogue, the others climb over the
-- last one's parameters: one parameter, one step at a time, from the best configuration so far. It
-- ends with the session's budget or when no step is left, and says which problems are still behind
-- PyTorch and what would change it; further problems join its suite:
--   sdpa-wb run optimize --evaluations 10 --problem 'B=2 Hq=8 Hkv=2 Sq=256 D=64 bf16'

local standing = require "lib.standing"
local words = require "lib.words"

-- The kernels from slow to fast, each with what it should gain over the one before and why.
local rungs = {
  {
    variant = "cpu_online",
    predicted_speedup = 4.0,
    hypothesis = "An online softmax needs no score matrix: scores stay in the first-level cache, "
      .. "and dot products run in vector lanes instead of one ordered sum",
  },
  {
    variant = "cpu_tiled",
    predicted_speedup = 2.0,
    hypothesis = "A tile of rows shares each tile of keys and values: these are read and "
      .. "converted once a tile instead of once a row, and products run in register blocks",
  },
  {
    variant = "cpu_simd_flash",
    predicted_speedup = 1.6,
    hypothesis = "Query rows in vector lanes: keys and probabilities need no transposition, and "
      .. "register blocks of the machine's vector width keep the multipliers busy",
  },
}

-- How a step is argued for. Parameters without an entry come last and get a plain sentence.
local order = { "TILE_M", "TILE_N" }
local reasons = {
  TILE_M = {
    [1] = "more rows share each converted and transposed tile of keys and values",
    [-1] = "a tile's rows and accumulators fit a nearer cache, and small problems spread better "
      .. "over the threads",
  },
  TILE_N = {
    [1] = "fewer and longer runs of keys, so the accumulator is rescaled less often",
    [-1] = "a tile's keys, values and scores fit a nearer cache",
  },
}

local function copy_with(configuration, name, value)
  local copy = {}
  for key, old in pairs(configuration) do
    copy[key] = old
  end
  copy[name] = value
  return copy
end

local function position_of(list, wanted)
  for i, value in ipairs(list) do
    if value == wanted then
      return i
    end
  end
  error("the default " .. tostring(wanted) .. " is not among the parameter's values")
end

-- The next step from `center` that was not tried, or nil. `last` is the step that won last: the
-- same way again comes first.
local function next_step(parameters, center, tried, last)
  local steps = {}
  if last then
    steps[1] = last
  end
  local names, known = {}, {}
  for _, name in ipairs(order) do
    known[name] = parameters[name] ~= nil
    names[#names + 1] = known[name] and name or nil
  end
  for name in pairs(parameters) do
    if not known[name] then
      names[#names + 1] = name
    end
  end
  for _, name in ipairs(names) do
    for _, direction in ipairs { 1, -1 } do
      steps[#steps + 1] = { name = name, direction = direction }
    end
  end
  for _, step in ipairs(steps) do
    local values = parameters[step.name]
    local from = center[step.name]
    local to = values[position_of(values, from) + step.direction]
    if to then
      local configuration = copy_with(center, step.name, to)
      if not tried[words.text_of(configuration)] then
        return { name = step.name, direction = step.direction, from = from, to = to,
                 configuration = configuration }
      end
    end
  end
  return nil
end

local function reason_of(step)
  local known = reasons[step.name] and reasons[step.name][step.direction]
  return string.format("%s %d instead of %d: %s", step.name, step.to, step.from,
                       known or "one step along this parameter")
end

-- The ladder up to the kernel that is asked for, which closes it where it is none of the rungs.
local function steps_to(wb, kernel)
  local steps = {}
  for _, rung in ipairs(rungs) do
    steps[#steps + 1] = rung
    if rung.variant == kernel then
      return steps
    end
  end
  steps[#steps + 1] = {
    variant = kernel,
    predicted_speedup = 1.1,
    hypothesis = wb.kernels { name = kernel }.kernels[1].about,
  }
  return steps
end

local function optimize(wb, kernel)
  local found = wb.kernels { name = kernel }.kernels[1]
  local lines, wins, stop, incumbent, won_at = {}, 0, nil, nil, 0

  -- One iteration; nil when the session is over.
  local function try(what, proposal)
    local answer = wb.iterate(proposal)
    stop, incumbent = answer.stop_reason, answer.incumbent
    if answer.outcome == "stopped" then
      return nil
    end
    lines[#lines + 1] = what .. ": " .. words.outcome(answer)
    if answer.outcome == "win" then
      wins, won_at = wins + 1, answer.iteration
    end
    return answer
  end

  local steps = steps_to(wb, kernel)
  for i, rung in ipairs(steps) do
    if not stop then
      -- Nobody asks for cold and eager times of a rung that the next one replaces.
      rung.plans = i < #steps and "deciding" or nil
      try(rung.variant, rung)
    end
  end

  local center, last = found.defaults, nil
  local tried = { [words.text_of(center)] = true }
  while not stop do
    local step = next_step(found.parameters, center, tried, last)
    if not step then
      break
    end
    tried[words.text_of(step.configuration)] = true
    local answer = try(words.text_of(step.configuration), {
      variant = kernel,
      configuration = step.configuration,
      hypothesis = reason_of(step),
      predicted_speedup = 1.05,
    })
    last = nil
    if answer and answer.outcome == "win" then
      center, last = step.configuration, step
    end
  end

  stop = stop or "every step from the best configuration was tried"
  local behind = standing.words(wb, won_at, incumbent)
  wb.note {
    text = string.format("%d iterations, %d wins. %s. Incumbent: %s. Ended: %s. %s", #lines, wins,
                         table.concat(lines, "; "), incumbent, stop, behind),
  }
  return { iterations = #lines, wins = wins, incumbent = incumbent, best = center, stop = stop,
           last_words = behind }
end

return {
  name = "optimize",
  about = "CPU attention, from the unfused reference to the fastest kernel of the catalogue",
  arguments = {
    kernel = {
      default = "cpu_simd_flash",
      doc = "the last kernel of the ladder, whose parameters are then climbed",
    },
  },
  open = {
    start = "cpu_unfused",
    suite = "n6",
    effort = "quick",
    evaluations = 4,
  },
  run = function(wb, args)
    return optimize(wb, args.kernel)
  end,
}
