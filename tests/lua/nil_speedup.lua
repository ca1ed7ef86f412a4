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
