-- A table of two goals, one that any machine reaches and one that none does.
local goals = require "lib.goals"

local parts = {
  { key = "easy", name = "easy", suite = "n6:n6_S64", otherwise = "cpu_tiled", mean = 0.001 },
  { key = "hard", name = "hard", suite = "n6:n6_S64,n6_S65", least = 1000 },
}

return {
  name = "beside",
  about = "goals beside rivals",
  arguments = goals.arguments("burst"),
  open = { start = "cpu_tiled", suite = "n6:n6_S64", effort = "quick" },
  run = function(wb, args)
    return goals.run(wb, args, parts)
  end,
}
