// SPDX-License-Identifier: MIT
// Reads the output of NVIDIA's tools: compute-sanitizer's text as a record, and why ncu could not
// read counters (measure/ncu_report.hpp reads its report). Pure functions; the text comes from a
// process that ran a variant, so it is untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wb::worker {

/// Why ncu could not read the counters, with a remedy; nothing when it gives no such reason.
std::optional<std::string> why_ncu_is_blocked(std::string_view text);

struct SanitizerReport {
  bool finished = false;  ///< it printed its summary, without which nothing is known
  std::int64_t errors = 0, warnings = 0;
  std::vector<std::string> messages;  ///< the first line of each, at most k_most_messages
};
inline constexpr std::size_t k_most_messages = 20;

/// Reads the output of compute-sanitizer's memcheck, racecheck, initcheck or synccheck.
SanitizerReport read_sanitizer_report(std::string_view text);

}  // namespace wb::worker
