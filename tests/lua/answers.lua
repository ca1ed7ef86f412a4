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
