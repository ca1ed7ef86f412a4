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
