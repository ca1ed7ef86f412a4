-- SPDX-License-Identifier: MIT
-- from_benchmarks: the steps that were recommended from a table of times alone, each on its own, on
-- the suite of that table.
--
-- What a step adds is kept when it won, so each figure is one change. Predictions are the middle of
-- the ranges that were given for them:
--   sdpa-wb run documents/from_benchmarks
local climb = require "lib.climb"

local kernel = "sm80_tiled_flash"

local steps = {
  {
    name = "vector loads",
    variant = kernel,
    configuration = { VECTOR_LOADS = 1 },
    predicted = 2.5,
    reason = "tiles of K and V come in loads of 2 or 4 bytes; 16 bytes a load take a quarter of "
      .. "the instructions and whole sectors of memory, if loads are the bound",
  },
  {
    name = "padding",
    variant = kernel,
    configuration = { PADDING = 16 },
    predicted = 1.4,
    reason = "rows of a tile start in the same bank of shared memory; 16 bytes between them spread "
      .. "the reads of a warp, if conflicts are the bound",
  },
  {
    name = "launch bounds",
    variant = kernel,
    configuration = { MIN_BLOCKS = 2 },
    predicted = 1.3,
    reason = "a promise of two blocks a multiprocessor caps the registers of a thread, and more "
      .. "warps hide more latency",
  },
  {
    name = "persistent blocks",
    variant = kernel,
    configuration = { GRID = 2 },
    predicted = 1.2,
    reason = "blocks that stay and take one tile after the other start once; where the grid is "
      .. "smaller than the device they gain nothing",
  },
  {
    name = "asynchronous copies",
    variant = kernel,
    configuration = { VECTOR_LOADS = 1, ASYNC_COPY = 1 },
    predicted = 1.3,
    reason = "the next tile is copied while this one is multiplied, in two stages",
  },
  {
    name = "tensor cores",
    variant = "sm80_mma_flash",
    predicted = 2.5,
    reason = "both products on tensor cores (mma.sync), scores in registers",
  },
}

return {
  name = "from_benchmarks",
  about = "recommended steps, one change at a time, on suite iteration3",
  open = {
    start = kernel,
    suite = "iteration3",
    effort = "quick",
  },
  run = function(wb)
    local done = climb.steps(wb, steps, true)
    wb.note { text = "one change at a time: " .. climb.words(done) }
    return { won = done.won, speedup = done.product, stop = done.stop }
  end,
}
