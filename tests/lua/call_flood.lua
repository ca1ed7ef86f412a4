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
