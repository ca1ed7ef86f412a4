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
