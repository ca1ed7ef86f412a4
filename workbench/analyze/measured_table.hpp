// SPDX-License-Identifier: MIT
// Evidence from a table of measured times, ours and a reference's: what a row cannot tell for sure
// is a gap or an error, never a guess. Pure; who calls: the verb that analyzes files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/finding.hpp"

namespace wb::analyze {

struct TableReading {
  std::string ours, reference;  ///< headers of the columns of times; empty: found by their words
  std::string shape;            ///< what rows leave out, in words of problem texts: "D=64 f16"
  measure::PlanKind plan = measure::PlanKind::hot;
};

struct TableEvidence {
  /// Ours as observations, the reference as observations and beside them. Without a device.
  measure::Evidence evidence;
  std::vector<std::string> gaps;  ///< what was left out and why, with its line
  std::size_t rows = 0;           ///< with a time of ours or of the reference
};

/// Reads the first table of the text that has a column of times: a header that ends in a unit, as
/// in "ours (ms)", "time_us" or "PyTorch [us]". Reference columns are those that name pytorch,
/// torch, sdpa, cudnn, flash, baseline or reference; columns of deviations and quantiles are passed
/// over. Where a column "provider" (impl, backend, kernel …) says whose each row is, the rows of
/// one are ours and those of one of these names the reference. Sizes come from columns B, H (Hq),
/// Hkv, S (Sq), Skv, D, Dv, dtype, causal and their longer names (N_CTX, nheads, headdim, "Seq
/// Len"), or from one column of problem texts ("B=4,H=8,S=128"); "1k" is 1024. Numbers may be in
/// quotes, with a unit of their own, or np.float64(...); what is no positive finite number is a
/// gap, as are rows of another length (merged cells) and rows that are no problem. Errors: parse
/// (no table), invalid (no column of times, two of one side, a column twice, no sizes, no dtype, an
/// unknown unit, no row left).
Result<TableEvidence> read_measured_table(std::string_view text, std::string_view what,
                                          const TableReading& reading);

}  // namespace wb::analyze
