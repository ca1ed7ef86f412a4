-- SPDX-License-Identifier: MIT
-- A playbook to start from: two kernels, then tiles of the second, by what each step answered.
--
--   sdpa-wb playbook check examples/quickstart.lua
--   sdpa-wb run examples/quickstart.lua --rivals none

return {
  name = "quickstart",
  about = "two kernels and a few tiles of cpu_tiled",
  arguments = { tiles = { default = "16 64", doc = "values of TILE_M to try" } },
  open = { start = "cpu_unfused", problem = "B=1 Hq=4 Sq=200 D=64 f32", effort = "quick" },
  run = function(wb, args)
    local steps = {
      { "cpu_online", 3, "a running softmax needs no score matrix" },
      { "cpu_tiled", 2, "rows of a tile share each key" },
    }
    local wins = 0
    for _, step in ipairs(steps) do
      local answer = wb.iterate {
        variant = step[1],
        predicted_speedup = step[2],
        hypothesis = step[3],
      }
      if answer.outcome == "win" then wins = wins + 1 end
      if answer.stop_reason then return { wins = wins } end
    end
    for tile in args.tiles:gmatch("%d+") do
      local answer = wb.iterate {
        variant = "cpu_tiled",
        configuration = { TILE_M = tonumber(tile) },
        hypothesis = "tiles of " .. tile .. " rows share keys better than the default's",
        predicted_speedup = 1.05,
      }
      if answer.outcome == "win" then wins = wins + 1 end
      if answer.stop_reason then break end
    end
    wb.note { text = wins .. " steps won" }
    return { wins = wins }
  end,
}
