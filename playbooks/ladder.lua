-- SPDX-License-Identifier: MIT
-- ladder: from the slowest kernel to the fastest, each step with its prediction, each confirmed.
--
-- What every technique was worth, told as a chain of measured ratios. A step that wins is the next
-- one's incumbent, so a figure is the gain over the step before:
--   sdpa-wb run ladder --suite n6 --arguments rungs=cpu_online+cpu_tiled
local climb = require "lib.climb"
local words = require "lib.words"

-- Why a rung should be faster than the one below it, and by how much. A kernel without an entry
-- gets a plain sentence and asks for little.
local rungs = {
  cpu_online = {
    predicted = 4.0,
    reason = "an online softmax needs no score matrix: scores stay in the first-level cache, and "
      .. "dot products run in vector lanes",
  },
  cpu_tiled = {
    predicted = 2.0,
    reason = "a tile of rows shares each tile of keys and values, read and converted once a tile",
  },
  cpu_simd_flash = {
    predicted = 1.6,
    reason = "query rows in vector lanes: K and P need no transposition, the softmax no shuffles, "
      .. "and register blocks of the hardware's size keep the multipliers busy",
  },
  -- On a GPU: --start sm80_query_per_block --arguments rungs=sm80_sequential_kv+sm80_mma_flash
  sm80_sequential_kv = {
    predicted = 2.0,
    reason = "a tile of rows shares each tile of K and V in shared memory, where one query a block "
      .. "reads them all alone",
  },
  sm80_mma_flash = {
    predicted = 8.0,
    reason = "both products run on tensor cores (mma.sync) instead of scalar units, the next tile "
      .. "of K and V is copied (cp.async) meanwhile, and the scores stay in registers",
  },
  -- Not in the default: it takes up to 64 queries, and suite n6 has no problem with many keys.
  -- A decode ladder: rungs=cpu_tiled+cpu_simd_flash+cpu_splitkv on one query.
  cpu_splitkv = {
    predicted = 2.0,
    reason = "with one query, lanes along the head dim waste none, and splits of the keys let all "
      .. "threads read",
  },
}

return {
  name = "ladder",
  about = "from the slowest kernel to the fastest, step by step",
  arguments = {
    rungs = {
      default = "cpu_online+cpu_tiled+cpu_simd_flash",
      doc = "kernels from slow to fast, joined by '+'; the session's start is the ground",
    },
  },
  open = {
    start = "cpu_unfused",
    suite = "n6",
    effort = "quick",
  },
  run = function(wb, args)
    local steps = {}
    for i, kernel in ipairs(words.list(args.rungs)) do
      local rung = rungs[kernel] or {
        predicted = 1.1,
        reason = wb.kernels { name = kernel }.kernels[1].about,
      }
      steps[i] = { variant = kernel, reason = rung.reason, predicted = rung.predicted }
    end
    local done = climb.steps(wb, steps)
    wb.note { text = climb.words(done) }
    return { steps = #done.lines, won = done.won, speedup = done.product, stop = done.stop }
  end,
}
