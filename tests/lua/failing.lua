-- SPDX-License-Identifier: MIT
-- Playbooks whose dry run ends with a message. Each part behind a mark
-- is a playbook of its own, which CMake cuts out.

-- ==== behind_a_win
-- expect: exit 65 "when every iteration wins"
-- Two wins in a row, which no other dry run has: what comes then is run too.
return {
  name = "behind_a_win",
  about = "a fault that only a series of wins meets",
  open = { start = "cpu_unfused" },
  run = function(wb)
    local wins = 0
    for _ = 1, 6 do
      local answer = wb.iterate {
        variant = "cpu_tiled", hypothesis = "h", predicted_speedup = 1.1,
      }
      wins = answer.outcome == "win" and wins + 1 or 0
    end
    if wins == 6 then
      wb.note { text = nil .. "six" }
    end
  end,
}

-- ==== call_flood
-- expect: exit 5 "it called more than 10000 verbs"
return {
  name = "call_flood",
  about = "never looks at stop_reason",
  run = function(wb, args)
    while true do
      pcall(wb.iterate, { variant = "cpu_tiled", hypothesis = "again", predicted_speedup = 1.1 })
    end
  end,
}

-- ==== close_early
-- expect: exit 65 "the session is closed"
return {
  name = "close_early",
  about = "goes on after close",
  run = function(wb, args)
    wb.close { reason = "enough" }
    wb.status {}
    wb.note { text = "one more thing" }
  end,
}

-- ==== endless_loop
-- expect: exit 5 "it ran more than 200000000 instructions"
return {
  name = "endless_loop",
  about = "does not end",
  run = function(wb, args)
    while true do
    end
  end,
}

-- ==== endless_pcall
-- expect: exit 5 "it ran more than 200000000 instructions"
-- Catches whatever stops it; even so it is stopped.
local function go_on()
  while true do
    pcall(function()
      while true do
      end
    end)
  end
end

return {
  name = "endless_pcall",
  about = "does not end and catches errors",
  run = function(wb, args)
    while true do
      pcall(go_on)
      xpcall(go_on, function(why) return why end)
      coroutine.wrap(go_on)()
    end
  end,
}

-- ==== function_result
-- expect: exit 65 "a function cannot leave the playbook"
return {
  name = "function_result",
  about = "returns what is no data",
  run = function(wb, args)
    return { callback = print }
  end,
}

-- ==== huge_string
-- expect: exit 5 "it needs more than 64 MiB of memory"
return {
  name = "huge_string",
  about = "asks for 1 GB",
  run = function(wb, args)
    return #(("x"):rep(1024 * 1024 * 1024))
  end,
}

-- ==== missing_run
-- expect: exit 65 "the playbook's table has no function 'run'"
return { name = "missing_run", about = "nothing to run" }

-- ==== misspelled_argument
-- expect: exit 65 "did you mean hypothesis?"
return {
  name = "misspelled_argument",
  about = "an unknown argument is an error with its line",
  run = function(wb, args)
    wb.iterate { variant = "cpu_tiled", hypotesis = "h", predicted_speedup = 1.1 }
  end,
}

-- ==== misspelled_kernel
-- expect: exit 2 "did you mean cpu_unfused?"
return {
  name = "misspelled_kernel",
  about = "the start does not exist",
  open = { start = "cpu_unfusd" },
  run = function(wb, args) end,
}

-- ==== misspelled_verb
-- expect: exit 65 "misspelled_verb.lua:6: there is no verb wb.itterate; did you mean wb.iterate?"
return {
  name = "misspelled_verb",
  about = "an unknown verb is an error with its line",
  run = function(wb, args)
    wb.itterate {}
  end,
}

-- ==== nil_speedup
-- expect: exit 65 "when every iteration is invalid: nil_speedup.lua:8: attempt to compare"
return {
  name = "nil_speedup",
  about = "forgets that an invalid iteration has no speedup",
  run = function(wb, args)
    local answer = wb.iterate { variant = "cpu_tiled", hypothesis = "h", predicted_speedup = 1.1 }
    if answer.outcome == "stopped" then return end
    return answer.speedup > 1
  end,
}

-- ==== no_clock
-- expect: exit 65 "no_clock.lua:6: 'os' is not defined"
return {
  name = "no_clock",
  about = "a clock would break replay",
  run = function(wb, args)
    return os.time()
  end,
}

-- ==== syntax_error
-- expect: exit 65 "syntax_error.lua:5: 'then' expected near 'return'"
return {
  name = "syntax_error",
  run = function(wb, args)
    if args return 1 end
  end,
}

-- ==== unknown_suite
-- expect: exit 2 "did you mean n6?"
return {
  name = "unknown_suite",
  about = "opens on a suite that does not exist",
  open = { start = "cpu_unfused", suite = "n66" },
  run = function(wb, args) end,
}

-- ==== unreached_verb
-- expect: exit 65 "unreached_verb.lua:11: there is no verb wb.tunee; did you mean wb.tune?"
return {
  name = "unreached_verb",
  about = "a misspelled verb where no dry run comes",
  open = { start = "cpu_unfused" },
  run = function(wb)
    local answer = wb.iterate {
      variant = "cpu_tiled", hypothesis = "h", predicted_speedup = 1.1,
    }
    if answer.speedup and answer.speedup > 40 then
      wb.tunee { variant = "cpu_tiled" }
    end
  end,
}
