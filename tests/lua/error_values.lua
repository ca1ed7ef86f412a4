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
