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
