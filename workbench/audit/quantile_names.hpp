// SPDX-License-Identifier: MIT
// Private to audit: quantiles in names, and their subjects. Used by the check of quantiles.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace wb::audit {

struct QuantileName {
  double share = 0;     ///< 0 to 100
  std::string subject;  ///< the rest of the name
  bool sure = false;    ///< true for "p90"; "max" may be a limit
  bool given = false;   ///< the subject was taken from the column to the left
};

/// "p99.9", "median", "min" in a name; nothing when there is none or more than one.
std::optional<QuantileName> quantile_of(const std::string& name);
/// True for "p95 gate", "p99 target": required values, not measured ones.
bool is_bound(const std::string& subject);
/// "life p50 | p90 | out p50 | p90": a name without a subject gets that of the column to its left.
void give_subjects(std::vector<QuantileName>& ranks);
/// True for a difference of quantiles: that of two p99 may be smaller than that of two medians.
bool is_difference(const std::string& lower);

}  // namespace wb::audit
