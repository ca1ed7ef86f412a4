-- SPDX-License-Identifier: MIT
-- optimize: from the unfused reference to a tuned tiled kernel on the CPU.
--
-- Iteration 1 drops the stored score matrix, iteration 2 shares keys between rows, the others climb
-- over the tiled kernel's parameters: one parameter, one step at a time, from the best
-- configuration so far. It ends with the session's budget or when no step is left:
--   sdpa-wb run optimize --evaluations 10

local words = require "lib.words"

-- How a step is argued for. Parameters without an entry get a plain sentence.
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

-- One text for a configuration, the same however its table was built.
local function text_of(configuration)
  local parts = {}
  for name, value in pairs(configuration) do
    parts[#parts + 1] = name .. "=" .. value
  end
  return table.concat(parts, " ")
end

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
  for name in pairs(parameters) do
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
      if not tried[text_of(configuration)] then
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

local function optimize(wb, kernel)
  local found = wb.kernels { name = kernel }.kernels[1]
  local lines, wins, stop, incumbent = {}, 0, nil, nil

  -- One iteration; false when the session is over.
  local function try(what, proposal)
    local answer = wb.iterate(proposal)
    stop, incumbent = answer.stop_reason, answer.incumbent
    if answer.outcome == "stopped" then
      return nil
    end
    lines[#lines + 1] = what .. ": " .. words.outcome(answer)
    if answer.outcome == "win" then
      wins = wins + 1
    end
    return answer
  end

  try("cpu_online", {
    variant = "cpu_online",
    hypothesis = "An online softmax needs no score matrix: scores stay in the first-level cache, "
      .. "and dot products run in vector lanes instead of one ordered sum",
    predicted_speedup = 4.0,
  })
  if not stop then
    try(kernel, {
      variant = kernel,
      hypothesis = "A tile of rows shares each tile of keys and values: these are read and "
        .. "converted once a tile instead of once a row, and products run in register blocks",
      predicted_speedup = 2.0,
    })
  end

  local center, last = found.defaults, nil
  local tried = { [text_of(center)] = true }
  while not stop do
    local step = next_step(found.parameters, center, tried, last)
    if not step then
      break
    end
    tried[text_of(step.configuration)] = true
    local answer = try(text_of(step.configuration), {
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
  wb.note {
    text = string.format("%d iterations, %d wins. %s. Incumbent: %s. Ended: %s.", #lines, wins,
                         table.concat(lines, "; "), incumbent, stop),
  }
  return { iterations = #lines, wins = wins, incumbent = incumbent, best = center, stop = stop }
end

return {
  name = "optimize",
  about = "CPU attention, from the unfused reference to tuned tiles",
  arguments = {
    kernel = {
      default = "cpu_tiled",
      doc = "the kernel of iteration 2, whose parameters are then climbed",
    },
  },
  open = {
    start = "cpu_unfused",
    suite = "n6",
    problem = "B=1 Hq=4 Sq=512 D=64 f32 causal=top_left; B=2 Hq=8 Hkv=2 Sq=256 D=64 bf16; "
      .. "B=1 Hq=8 Sq=1 Skv=4096 D=64 f32",
    effort = "quick",
    evaluations = 3,
  },
  run = function(wb, args)
    return optimize(wb, args.kernel)
  end,
}
