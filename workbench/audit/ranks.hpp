// SPDX-License-Identifier: MIT
// Private to audit: names of quantiles, and of whom they are. Used by the check of quantiles.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace wb::audit {

struct Rank {
  double share = 0;     ///< 0 to 100
  std::string subject;  ///< what is left of the name
  bool sure = false;    ///< "p90" says what it is, "max" may be a limit
  bool given = false;   ///< the subject is that of the column to the left
};

/// "p99.9", "median", "min" in a name; nothing where there is none or more than one.
std::optional<Rank> rank_of(const std::string& name);
/// "p95 gate", "p99 target": what is asked for, not what was measured.
bool is_bound(const std::string& subject);
/// "life p50 | p90 | out p50 | p90": where a name stands twice, it is of the column to its left.
void give_subjects(std::vector<Rank>& ranks);
/// The difference of two p99 may be less than that of two medians.
bool is_difference(const std::string& lower);

}  // namespace wb::audit
