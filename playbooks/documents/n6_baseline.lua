-- SPDX-License-Identifier: MIT
-- n6_baseline: why the first correct kernel, a sequential loop over tiles of K and V, is far behind
-- PyTorch's SDPA on suite n6, asked one cause at a time.
--
-- The baseline answers two questions by itself: whether the win on the tiniest problem is one of
-- the launch (its plans hot and eager beside each other, both sides warmed up), and how time grows
-- with blocks at 128 rows. Each suspected cause is then an iteration that takes it away alone:
--   sdpa-wb run documents/n6_baseline
local climb = require "lib.climb"

local steps = {
  {
    name = "more blocks",
    variant = "sm80_sequential_kv",
    configuration = { TILE_ROWS = 32 },
    predicted = 1.5,
    reason = "under-utilisation: at 128 rows two blocks run; tiles of 32 rows make four of them, "
      .. "so if idle multiprocessors are the cause time falls towards a half",
  },
  {
    name = "all threads",
    variant = "sm80_sequential_kv",
    configuration = { TILE_ROWS = 64, THREADS_PER_ROW = 4 },
    predicted = 2.5,
    reason = "a thread owns a whole row, so 64 threads of a block carry all its work; four threads "
      .. "a row share each dot product and are combined by shuffles",
  },
  {
    name = "parallel keys, two passes",
    variant = "sm80_tiled_flash",
    configuration = { SPLIT_KEYS = 64 },
    predicted = 5.0,
    reason = "each block walks through all tiles of K and V in turn; parts of 64 keys on blocks "
      .. "of their own run at once, and a second pass adds them up in a fixed order",
  },
  {
    name = "parallel keys, merged by the last block",
    variant = "sm80_tiled_flash",
    configuration = { SPLIT_KEYS = 64, MERGE = 1 },
    predicted = 1.1,
    reason = "the second pass is a launch of its own; an atomic count lets the last block of a "
      .. "tile add the parts up instead",
  },
}

return {
  name = "n6_baseline",
  about = "a sequential loop over K and V beside PyTorch's SDPA on suite n6: which cause holds",
  open = {
    start = "sm80_sequential_kv",
    suite = "n6",
    effort = "quick",
  },
  run = function(wb)
    local done = climb.steps(wb, steps)
    wb.note { text = "causes taken away one at a time: " .. climb.words(done) }
    return { won = done.won, speedup = done.product, stop = done.stop }
  end,
}
