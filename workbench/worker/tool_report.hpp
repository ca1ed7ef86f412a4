// SPDX-License-Identifier: MIT
// What NVIDIA's tools print: compute-sanitizer's text as a record, and why ncu could not look (what
// it saw is read by measure/ncu_report.hpp). Pure functions; the text comes from a process that ran
// a variant, so nothing in it is believed to be well formed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wb::worker {

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
