-- SPDX-License-Identifier: MIT
-- Playbooks whose dry run passes. Each part behind a mark
-- is a playbook of its own, which CMake cuts out.

-- ==== answers
-- expect: ok "mixed (5 calls)"
-- The fields that the verb table promises are there, with these types.
local function check_type(value, kinds, what)
  assert(kinds:find(type(value), 1, true), what .. " is a " .. type(value))
end

return {
  name = "answers",
  about = "the shapes of the answers",
  open = { start = "cpu_unfused" },
  run = function(wb, args)
    local it = wb.iterate {
      variant = "cpu_tiled", hypothesis = "shapes", predicted_speedup = 1.2,
      configuration = { TILE_M = 16 },
    }
    for field, kinds in pairs {
      iteration = "number nil", outcome = "string", invalidity = "string nil", message = "string",
      speedup = "number nil", interval = "table nil", decision = "string", variant = "string",
      incumbent = "string", problems = "table", stop_reason = "string nil",
    } do
      check_type(it[field], kinds, field)
    end
    if it.interval then
      assert(it.interval.low <= it.speedup and it.speedup <= it.interval.high)
    end
    local status = wb.status {}
    check_type(status.incumbent, "string", "incumbent")
    assert(math.type(status.iterations) == "integer")
    check_type(wb.check { variant = "cpu_online" }.pass, "boolean", "pass")
    local compared = wb.compare { candidate = "cpu_tiled", against = it.incumbent }
    check_type(compared.outcome, "string", "outcome")
    assert(math.type(wb.note { text = "x" }.event) == "integer")
    return it
  end,
}

-- ==== arguments
-- expect: ok
return {
  name = "arguments",
  about = "arguments arrive as text, with their defaults",
  arguments = {
    rounds = { default = 3, doc = "a number" },
    name = { default = "x y", doc = "text" },
    deep = { default = true, doc = "a switch" },
  },
  open = {
    start = "cpu_unfused",
    suite = "n6",
    problem = "B=1 Hq=2 Sq=8 D=8 f32; B=1 Hq=1 Sq=4 D=4",
  },
  run = function(wb, args)
    assert(args.rounds == "3" and args.name == "x y" and args.deep == "true")
    assert(tonumber(args.rounds) == 3)
    assert(args["oth" .. "er"] == nil) -- written out, the check would name it
  end,
}

-- ==== coroutine_calls
-- expect: ok
return {
  name = "coroutine_calls",
  about = "a search as a coroutine that proposes, and a loop that asks the engine",
  run = function(wb, args)
    local search = coroutine.wrap(function()
      for _, tile in ipairs { 8, 16, 32 } do
        local answer = coroutine.yield { TILE_M = tile }
        assert(type(answer.outcome) == "string")
        wb.note { text = "saw " .. answer.outcome }
      end
      return nil
    end)
    local proposal = search()
    while proposal do
      proposal = search(wb.iterate {
        variant = "cpu_tiled", configuration = proposal, hypothesis = "h", predicted_speedup = 1.1,
      })
    end
  end,
}

-- ==== error_values
-- expect: ok
return {
  name = "error_values",
  about = "a failing call is a value with code, message and place",
  run = function(wb, args)
    local fine, why = pcall(wb.iterate, { variant = "cpu_tiled", predicted_speedup = 1.1 })
    assert(not fine and why.code == "usage" and why.message:find("hypothesis", 1, true))
    fine, why = pcall(wb.check, { variant = "cpu_tild" })
    assert(not fine and why.code == "not_found" and tostring(why):find("cpu_tiled", 1, true))
    fine, why = pcall(wb.iterate, { variant = "a", hypothesis = "h", predicted_speedup = 0 / 0 })
    assert(not fine and why:find("NaN", 1, true))
    fine, why = pcall(function() return wb["op" .. "ne"] end) -- the check would name it
    assert(not fine and why:find("there is no verb wb.opne", 1, true))
    fine, why = pcall(wb.note, "text")
    assert(not fine and why:find("one table of named arguments", 1, true))
  end,
}

-- ==== library
-- expect: ok
local steps = require "lib.steps"

return {
  name = "library",
  about = "shares code through lib/, and cannot leave it",
  run = function(wb, args)
    assert(steps.double(21) == 42 and require "lib.steps" == steps)
    local others = { "steps", "lib/steps", "lib.steps.lua", "../library", "lib.nothing", "os" }
    for _, name in ipairs(others) do
      local fine, why = pcall(require, name)
      assert(not fine and why:find("there is no playbook library", 1, true), name)
    end
  end,
}

-- ==== no_files
-- expect: ok
return {
  name = "no_files",
  about = "none of the ways out of the sandbox is there",
  run = function(wb, args)
    for _, name in ipairs { "io", "os", "package", "debug", "dofile", "loadfile", "warn" } do
      assert(rawget(_G, name) == nil, name)
    end
    assert(string.dump == nil and math.randomseed == nil)
    assert(not load("\27Lua"))
    assert(not pcall(setmetatable, {}, { __gc = print }))
    assert(getmetatable("") == false and not pcall(setmetatable, _G, nil))
    assert(load("return x", "chunk", "t", { x = 4 })() == 4)
  end,
}

-- ==== notes_and_prints
-- expect: ok "seen	table	nil"
return {
  name = "notes_and_prints",
  about = "print goes to the log and is shown by a dry run",
  run = function(wb, args)
    print("seen", {}, nil)
    wb.note { text = "several\nlines" }
  end,
}

-- ==== random_and_order
-- expect: ok
return {
  name = "random_and_order",
  about = "what a replay relies on: the same numbers and the same order in every run",
  run = function(wb, args)
    -- The dry run's seed is 1; Lua 5.4 fixes the generator.
    assert(math.random(1, 1000) == 414 and math.random(1, 1000) == 488)
    local t, seen = { z = 1, y = 2, [3] = "c", [1] = "a", [0.5] = "h", x1 = 3, x10 = 4, x2 = 5 }, {}
    for key in pairs(t) do
      seen[#seen + 1] = tostring(key)
    end
    assert(table.concat(seen, " ") == "1 3 0.5 x1 x10 x2 y z")
    assert(next {} == nil and next { b = 1, a = 2 } == "a")
    assert(tostring {} == "table" and ("%s"):format(print) == "function")
    local list = { { 2, "a" }, { 1, "b" }, { 2, "c" }, { 1, "d" } }
    table.sort(list, function(a, b) return a[1] < b[1] end)
    local order = {}
    for i, item in ipairs(list) do
      order[i] = item[2]
    end
    assert(table.concat(order) == "bdac")
  end,
}

-- ==== reads_catalogue
-- expect: ok
return {
  name = "reads_catalogue",
  about = "kernels and suites are the real ones",
  run = function(wb, args)
    local tiled = wb.kernels { name = "cpu_tiled" }.kernels[1]
    assert(#tiled.parameters.TILE_M >= 3 and tiled.defaults.TILE_M and tiled.backend == "cpu")
    local names = {}
    for _, kernel in ipairs(wb.kernels {}.kernels) do
      names[kernel.name] = true
    end
    assert(names.cpu_unfused and names.cpu_online and names.cpu_tiled)
    local suite = wb.suites { suite = "n6" }.suites[1]
    assert(suite.name == "n6" and #suite.problems == suite.count)
    assert(not pcall(wb.suites, { suite = "n66" }))
  end,
}

-- ==== walk_until_stop
-- expect: ok "mixed (3 calls) winning (3 calls) failing (3 calls) stopped (1 calls)"
return {
  name = "walk_until_stop",
  about = "the budget ends the walk",
  open = { start = "cpu_unfused", suite = "n6", evaluations = 3, plateau = 5 },
  run = function(wb, args)
    for tile in ("8 16 32 64 128"):gmatch("%d+") do
      local answer = wb.iterate {
        variant = "cpu_tiled",
        configuration = { TILE_M = math.tointeger(tile) },
        hypothesis = "a tile of " .. tile,
        predicted_speedup = 1.1,
        confirm = "always",
      }
      if answer.stop_reason then return answer.stop_reason end
    end
  end,
}

-- ==== lib/steps
-- What the playbook `library` shares.
return {
  double = function(x)
    return 2 * x
  end,
}
