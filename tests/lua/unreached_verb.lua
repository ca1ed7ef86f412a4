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
