-- What a part of a table of goals says of rows, without a session.
local goals = require "lib.goals"

local function row(problem, speedup, outcome, against_us)
  return {
    problem = problem,
    speedup = speedup,
    outcome = outcome or "faster",
    against = "torch_flash",
    against_us = against_us or 20,
  }
end

local function near(a, b)
  return math.abs(a - b) < 1e-9
end

return {
  name = "goals",
  about = "judges rows against goals",
  run = function()
    local part = { key = "k", name = "part", mean = 2.0, least = 1.5 }
    local good = goals.judge(part, { row("a", 1.6), row("b", 2.5) }, 2)
    assert(good.reached and near(good.mean, 2.0) and good.lowest_problem == "a")
    assert(goals.words(part, good):find("goal reached", 1, true))

    -- The mean alone is not enough, and neither is the lowest.
    local low = goals.judge(part, { row("a", 1.4), row("b", 4.0) }, 2)
    assert(not low.reached and #low.short == 1 and low.short[1]:find("a 1.400x", 1, true))
    assert(not goals.judge(part, { row("a", 1.6), row("b", 1.6) }, 2).reached)

    -- A problem without a figure is missed, whether it has a row or not.
    local gap = goals.judge(part, { row("a", 3.0) }, 2)
    assert(not gap.reached and gap.missing == 1)
    local failed = goals.judge(part, { row("a", 3.0), row("b", nil, "ambiguous") }, 2)
    assert(not failed.reached and failed.short[1]:find("b: no figure", 1, true))
    local none = goals.judge(part, {}, 2)
    assert(not none.reached and goals.words(part, none):find("no figure on any of 2", 1, true))

    -- What may not be slower may be `same` below 1.
    local never = { key = "n", name = "never", never_slower = true }
    assert(goals.judge(never, { row("a", 0.99, "same") }, 1).reached)
    assert(not goals.judge(never, { row("a", 0.97, "slower") }, 1).reached)

    -- A limit that depends on the rival's time.
    local by_time = {
      key = "t",
      name = "by time",
      least = function(at)
        return at.against_us < 10 and 1.2 or 1.08
      end,
    }
    assert(goals.judge(by_time, { row("a", 1.1, nil, 15) }, 1).reached)
    assert(not goals.judge(by_time, { row("a", 1.1, nil, 5) }, 1).reached)
  end,
}
