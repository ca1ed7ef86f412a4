// SPDX-License-Identifier: MIT
// What NVIDIA's tools print, as records: ncu's CSV and compute-sanitizer's text. Pure functions;
// the text comes from a process that ran a variant, so nothing in it is believed to be well formed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/json.hpp"

namespace wb::worker {

/// Fields of comma-separated values as RFC 4180 has them: quotes may hold commas, line ends and
/// doubled quotes. An open quote ends with the text.
std::vector<std::vector<std::string>> parse_csv(std::string_view text);

/// Kernel launches in a report of `ncu --csv --page details`: [{"kernel", "grid", "block",
/// "metrics": {name: {"value": number or text, "unit"}}}], in the order of their ids. Lines in
/// front of the table (ncu's own words) are passed over. At most `most` launches. Errors: invalid
/// (no table, or columns missing).
Result<Json> read_ncu_report(std::string_view text, std::size_t most);

/// Why ncu could not read the counters, in words that help; nothing when it says no such thing.
std::optional<std::string> why_ncu_is_blocked(std::string_view text);

struct SanitizerReport {
  bool finished = false;  ///< it printed its summary; without one nothing can be said
  std::int64_t errors = 0, warnings = 0;
  std::vector<std::string> messages;  ///< the first line of each, at most k_most_messages
};
inline constexpr std::size_t k_most_messages = 20;

/// The output of compute-sanitizer's memcheck, racecheck, initcheck or synccheck.
SanitizerReport read_sanitizer_report(std::string_view text);

}  // namespace wb::worker
