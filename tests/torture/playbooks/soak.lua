-- SPDX-License-Identifier: MIT
-- Iterations and tunes over and over, a share of them with a faulty candidate: a night in short.
return {
  name = "soak",
  about = "honest iterations and tunes with random candidate faults between them",
  arguments = {
    rounds = { default = "20", doc = "iterations after the baseline" },
    faults = { default = "0.05", doc = "share of faulty candidates" },
    candidates = { default = "", doc = "the faulty kernels, joined by |" },
  },
  open = {
    start = "cpu_unfused",
    problem = "B=1 Hq=2 Sq=64 D=32 f32",
    rivals = { "none" },
    effort = "quick",
  },
  run = function(wb, args)
    local faulty, faults = {}, 0
    for name in string.gmatch(args.candidates, "[^|]+") do
      faulty[#faulty + 1] = name
    end
    for round = 1, tonumber(args.rounds) do
      local draw, which, tile = math.random(), math.random(), math.random(0, 4)
      local call = { hypothesis = "round " .. round, predicted_speedup = 1.1 }
      if draw < tonumber(args.faults) and #faulty > 0 then
        faults = faults + 1
        call.variant = faulty[1 + math.floor(which * #faulty)]
        call.confirm = "never"
        -- A kernel that does not even build is told as an error; the session goes on.
        pcall(wb.iterate, call)
      elseif round % 4 == 0 then
        call.variant, call.strategy, call.seed, call.evaluations = "cpu_tiled", "random", round, 4
        wb.tune(call)
      else
        call.variant = "cpu_tiled"
        call.configuration = { TILE_M = 8 << tile }
        wb.iterate(call)
      end
    end
    return { rounds = args.rounds, faults = faults }
  end,
}
