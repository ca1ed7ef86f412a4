local climb = require "lib.climb"

-- Answers every step with a win; `asked` has the calls.
local function winner(asked)
  return {
    iterate = function(call)
      asked[#asked + 1] = call
      return { outcome = "win", speedup = 2.0, subject = call.variant }
    end,
  }
end

local steps = {
  { name = "one", variant = "a", configuration = { P = 1 }, reason = "r", predicted = 1.1 },
  { name = "two", variant = "b", configuration = { X = 0, Y = 0 }, reason = "r", predicted = 1.1 },
  { name = "three", variant = "b", configuration = { X = 1 }, reason = "r", predicted = 1.1 },
  { name = "four", variant = "b", configuration = { Y = 1 }, reason = "r", predicted = 1.1 },
}

return {
  name = "climb_from",
  about = "a climb that goes on has the parameters of the steps that it leaves out",
  run = function()
    local asked = {}
    local done = climb.steps(winner(asked), steps, true, true, climb.index_of(steps, "four"))
    assert(#asked == 1 and done.won == 1 and done.product == 2.0)
    local last = asked[1]
    assert(last.variant == "b" and last.plans == "all")
    assert(last.configuration.X == 1 and last.configuration.Y == 1)
    assert(last.configuration.P == nil, "parameters of another kernel stay with it")

    asked = {}
    climb.steps(winner(asked), steps, true, true, climb.index_of(steps, ""))
    assert(#asked == 4 and asked[1].plans == "deciding" and asked[3].configuration.Y == 0)

    local fine, why = pcall(climb.index_of, steps, "five")
    assert(not fine and why == "no such step: five; there are: one, two, three, four", why)
  end,
}
