-- Iterations over tile sizes: long enough to be killed in the middle, deterministic for replay.
return {
  name = "steps",
  about = "walks the tile sizes of cpu_tiled in a fixed order",
  open = {
    start = "cpu_unfused",
    problem = "B=1 Hq=2 Sq=128 D=64 f32",
    rivals = { "none" },
    effort = "quick",
  },
  arguments = {
    steps = { doc = "how many after the first", default = "4" },
  },
  run = function(wb, args)
    local outcomes = {}
    local first = wb.iterate { variant = "cpu_online", hypothesis = "one pass over the keys",
                               predicted_speedup = 1.2 }
    outcomes[#outcomes + 1] = first.outcome
    for step, tile in ipairs { 8, 16, 32, 64 } do
      if step > tonumber(args.steps) then break end
      local answer = wb.iterate {
        variant = "cpu_tiled",
        configuration = { TILE_M = tile },
        hypothesis = "a query tile of " .. tile .. " rows reuses each key",
        predicted_speedup = 1.5,
        confirm = step == 2 and "always" or "never",
      }
      outcomes[#outcomes + 1] = answer.outcome
    end
    wb.note { text = "walked " .. #outcomes .. " steps" }
    return { outcomes = outcomes }
  end,
}
