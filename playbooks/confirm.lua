-- SPDX-License-Identifier: MIT
-- confirm: one claim, tested as well as this machine can.
--
-- A gain that somebody reports, or that a tune found, is measured in fresh processes beside the
-- start and the rivals. The incumbent changes only if the interval clears the noise floor:
--   sdpa-wb run confirm --effort standard --arguments variant=cpu_tiled \
--     --arguments configuration='TILE_M=64 TILE_N=64' --arguments predicted=1.05
local words = require "lib.words"

return {
  name = "confirm",
  about = "one claimed gain, confirmed or not",
  arguments = {
    variant = { default = "cpu_tiled", doc = "the kernel that should be faster than the start" },
    configuration = { default = "none", doc = "its parameters, NAME=VALUE joined by spaces" },
    predicted = { default = "1.05", doc = "the claimed gain, as a ratio" },
    claim = {
      default = "the gain that was reported holds in fresh processes",
      doc = "the hypothesis, as the report prints it",
    },
  },
  open = {
    start = "cpu_online",
    suite = "n6",
    effort = "standard",
  },
  run = function(wb, args)
    local predicted = tonumber(args.predicted)
    assert(predicted and predicted > 0, "predicted is not a ratio: " .. args.predicted)
    local answer = wb.iterate {
      variant = args.variant,
      configuration = words.configuration(args.configuration),
      hypothesis = args.claim,
      predicted_speedup = predicted,
      confirm = "always",
    }
    local confirmed = answer.outcome == "win"
    wb.close {
      reason = confirmed and "the claim was confirmed" or "the claim was not confirmed",
      recommendation = confirmed and "use " .. answer.variant .. " in place of the start"
        or "keep the start: " .. answer.message,
    }
    return { confirmed = confirmed, speedup = answer.speedup, message = answer.message }
  end,
}
