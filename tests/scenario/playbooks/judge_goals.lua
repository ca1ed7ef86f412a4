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

-- A session that answers from tables and keeps what it was asked to compare.
local function recording(suites, rules)
  local log = { compared = {}, notes = {} }
  return {
    suites = function(args)
      local problems = {}
      for i, name in ipairs(suites[args.suite]) do
        problems[i] = { name = name, problem = "P " .. name }
      end
      return { suites = { { problems = problems } } }
    end,
    best = function(args)
      local rule = rules[args.problem]
      return rule or { variant = "last_resort", configuration = {}, fallback = true }
    end,
    kernels = function()
      return { kernels = { { defaults = { A = 1, B = 2 } } } }
    end,
    compare = function(args)
      table.insert(log.compared, args)
      local rows = {}
      for problem in (args.problem .. "; "):gmatch("(.-); ") do
        rows[#rows + 1] = {
          problem = problem,
          fastest = true,
          speedup = 2,
          outcome = "faster",
          against = args.against,
          against_us = 5,
        }
      end
      return { problems = rows }
    end,
    note = function(args)
      table.insert(log.notes, args.text)
    end,
  }, log
end

local function arguments(changed)
  local args = { parts = "all", rivals = "own", plan = "hot", regime = "burst", effort = "quick",
                 batch = "20" }
  for name, value in pairs(changed or {}) do
    args[name] = value
  end
  return args
end

local function check_grouping()
  local suites = { s = { "a", "b", "c" }, t = { "c", "d" } }
  local rules = { ["P a"] = { variant = "fast", configuration = { B = 2 }, fallback = false } }
  local function parts()
    return {
      { key = "s", name = "first", suite = "s", rivals = { "r1", "r2" }, otherwise = "fast" },
      {
        key = "t",
        name = "second",
        suite = "t",
        rivals = { "r1", "r2" },
        otherwise = function(problem)
          return problem.name == "d" and "slow" or "fast"
        end,
      },
    }
  end

  -- A rule's configuration and the defaults are the same build, and c is asked once for two parts.
  local wb, log = recording(suites, rules)
  local result = goals.run(wb, arguments(), parts())
  assert(#log.compared == 2)
  assert(log.compared[1].candidate == "fast" and log.compared[1].problem == "P a; P b; P c")
  assert(log.compared[1].against == "r1" and log.compared[1].others[1] == "r2")
  assert(log.compared[1].configuration.A == 1 and log.compared[1].configuration.B == 2)
  assert(log.compared[2].candidate == "slow" and log.compared[2].problem == "P d")
  assert(#log.notes == 2 and log.notes[1]:find("first:", 1, true))
  assert(log.notes[2]:find("2.000 reached", 1, true))
  assert(#result.reached == 2 and #result.missed == 0)

  -- No comparison has more problems than a batch; a part waits for all of its own.
  wb, log = recording(suites, rules)
  goals.run(wb, arguments { batch = "2", parts = "s" }, parts())
  assert(#log.compared == 2 and log.compared[1].problem == "P a; P b")
  assert(log.compared[2].problem == "P c" and #log.notes == 1)

  -- Who calls the playbook may name the rivals; other rivals are another comparison.
  wb, log = recording(suites, rules)
  goals.run(wb, arguments { rivals = "x+y" }, parts())
  assert(log.compared[1].against == "x" and log.compared[1].others[1] == "y")
  local apart = parts()
  apart[2].rivals = { "r1" }
  wb, log = recording({ s = { "a" }, t = { "b" } }, {})
  goals.run(wb, arguments(), apart)
  assert(#log.compared == 2 and log.compared[2].problem == "P b")
  assert(not pcall(goals.run, wb, arguments { rivals = "none" }, parts()))

  -- A comparison that fails, and a problem that no kernel takes, are missed with a note.
  wb, log = recording(suites, rules)
  wb.compare = function()
    error("no device")
  end
  result = goals.run(wb, arguments(), parts())
  assert(#result.missed == 2 and log.notes[1]:find("no device", 1, true))
  wb, log = recording({ s = { "a" } }, {})
  wb.best = function()
    error("no rule")
  end
  result = goals.run(wb, arguments(), { { key = "s", name = "n", suite = "s", rivals = { "r" } } })
  assert(#log.compared == 0 and #result.missed == 1)
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

    -- What the session is asked for: a limit by the row stays in the notes.
    local asked = goals.asked {
      { key = "a", name = "a", suite = "n6+v3", mean = 1.8, least = by_time.least },
      { key = "b", name = "b", suite = "unusual:D32_*,D40_*", mean = 1.15, least = 1.05 },
      { key = "c", name = "c", suite = "decode", never_slower = true },
      { key = "d", name = "d", texts = { "B=1" }, mean = 2 },
    }
    assert(asked == "geomean >= 1.8 over fastest on n6:*+v3:*; "
      .. "geomean >= 1.15 over fastest on unusual:D32_*,D40_*; "
      .. "each >= 1.05 over fastest on unusual:D32_*,D40_*; each >= 1 over fastest on decode:*",
      asked)

    check_grouping()
  end,
}
