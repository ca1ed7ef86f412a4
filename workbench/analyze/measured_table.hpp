// SPDX-License-Identifier: MIT
// Evidence from a table of measured times, ours and a reference's. What a row does not say clearly
// is a gap or an error, never a guess. Pure; used by the verb that analyzes files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/finding.hpp"

namespace wb::analyze {

struct TableReading {
  std::string ours, reference;  ///< headers of the time columns; empty: found by their names
  std::string shape;            ///< what rows leave out, as in problem texts: "D=64 f16"
  measure::PlanKind plan = measure::PlanKind::hot;
};

struct TableEvidence {
  /// Our times as observations; the reference's as observations and as `beside`. Without a device.
  measure::Evidence evidence;
  std::vector<std::string> gaps;  ///< what was left out and why, with its line
  std::size_t rows = 0;           ///< rows with a time of ours or of the reference
};

/// Reads the first table with a column of times: a header that ends in a unit, as in "ours (ms)",
/// "time_us" or "PyTorch [us]". Reference columns name pytorch, torch, sdpa, cudnn, flash, baseline
/// or reference; columns of deviations and quantiles are skipped. With a column "provider" (impl,
/// backend, kernel …), rows whose provider has one of these names are the reference's, and those of
/// one other provider are ours. Sizes come from columns B, H (Hq), Hkv, S (Sq), Skv, D, Dv, dtype,
/// causal and their longer names (N_CTX, nheads, headdim, "Seq Len"), or from one column of problem
/// texts ("B=4,H=8,S=128"); "1k" is 1024. Numbers may be quoted, have their own unit, or be
/// np.float64(...). Numbers that are not positive and finite are gaps, as are rows of another
/// length (merged cells) and rows that are no problem. Errors: parse (no table), invalid (no column
/// of times, two of one side, a duplicate column, no sizes, no dtype, an unknown unit, no row
/// left).
Result<TableEvidence> read_measured_table(std::string_view text, std::string_view what,
                                          const TableReading& reading);

}  // namespace wb::analyze
