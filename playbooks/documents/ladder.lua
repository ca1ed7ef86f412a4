-- SPDX-License-Identifier: MIT
-- ladder: from one query a block to tensor cores on a GPU, every step with its prediction, then a
-- search over the parameters of what stands on top.
--
-- The suite holds two problems out: the confirmation of each step measures those, too, and nothing
-- is chosen by their times:
--   sdpa-wb run documents/ladder
local climb = require "lib.climb"
local words = require "lib.words"

local steps = {
  {
    name = "shared tiles",
    variant = "sm80_sequential_kv",
    predicted = 2.0,
    reason = "64 rows of a block share each tile of K and V in shared memory, where one query a "
      .. "block reads them all alone",
  },
  {
    name = "register tiles",
    variant = "sm80_tiled_flash",
    predicted = 2.0,
    reason = "a warp keeps several rows of scores and of the output in registers, so each value "
      .. "read from shared memory is used for all of them",
  },
  {
    name = "vector loads and padding",
    variant = "sm80_tiled_flash",
    configuration = { VECTOR_LOADS = 1, PADDING = 16 },
    predicted = 1.3,
    reason = "16 bytes a load take a quarter of the instructions, and 16 bytes between rows of a "
      .. "tile keep a warp's reads in different banks",
  },
  {
    name = "asynchronous copies",
    variant = "sm80_tiled_flash",
    configuration = { VECTOR_LOADS = 1, PADDING = 16, ASYNC_COPY = 1 },
    predicted = 1.2,
    reason = "the next tile of K and V is copied while this one is multiplied",
  },
  {
    name = "tensor cores",
    variant = "sm80_mma_flash",
    predicted = 6.0,
    reason = "both products run on tensor cores (mma.sync) instead of scalar units, and scores "
      .. "stay in registers",
  },
  {
    name = "Hopper's tensor cores",
    variant = "sm90_wgmma_carry",
    predicted = 1.3,
    reason = "wgmma reads K and V from shared memory without registers in between, TMA fills it, "
      .. "and the softmax of one step runs beside the products of the next",
  },
}

return {
  name = "ladder",
  about = "from one query a block to tensor cores, step by step, and a search on top",
  arguments = {
    evaluations = { default = "16", doc = "answers of the search on top at most; 0: no search" },
  },
  open = {
    start = "sm80_query_per_block",
    suite = "ladder",
    effort = "quick",
  },
  run = function(wb, args)
    local evaluations = math.tointeger(tonumber(args.evaluations))
    assert(evaluations and evaluations >= 0, "evaluations is no whole number: " .. args.evaluations)
    local done = climb.steps(wb, steps, nil, true)
    wb.note { text = climb.words(done) }
    local result = { won = done.won, speedup = done.product, stop = done.stop }
    if done.stop or done.won == 0 or evaluations == 0 then
      return result
    end
    local answer = wb.tune {
      strategy = "hill_climb",
      evaluations = evaluations,
      hypothesis = "the defaults of the winner suit other shapes than these problems",
      predicted_speedup = 1.05,
    }
    wb.note { text = "search on top: " .. words.outcome(answer) }
    result.tuned = answer.outcome == "win" and answer.speedup or nil
    return result
  end,
}
