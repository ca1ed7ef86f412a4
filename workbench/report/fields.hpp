// SPDX-License-Identifier: MIT
// Shared by report and html: tolerant reads of event payloads. Any log that the session module
// accepts must give a page, so a field that is missing, null or of another type counts as absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/json_fields.hpp"

namespace wb::report {

// The pages' short names for core/json_fields.hpp.
inline const Json& field(const Json& json, std::string_view key) {
  return member_of(json, key);
}
inline std::string text(const Json& json, std::string_view key) {
  return text_of(json, key);
}
inline std::optional<double> number(const Json& json, std::string_view key) {
  return number_of(json, key);
}
inline std::optional<std::int64_t> integer(const Json& json, std::string_view key) {
  return integer_of(json, key);
}
inline std::vector<std::string> strings(const Json& json, std::string_view key) {
  return strings_of(json, key);
}

using wb::is_true;

/// A ratio with its interval, as `speedup` and `interval` in several events.
struct Ratio {
  std::optional<double> value, low, high;
  double confidence = 0;  ///< 0: not recorded
};
Ratio ratio(const Json& payload, std::string_view value_key = "speedup");

/// "2 to 5 h", or "not known": the work of a roadmap or of an entry.
std::string hours_words(const Json& row);

/// Seconds between two "2026-11-20T18:03:22.123Z"; nothing when either is malformed.
std::optional<double> seconds_between(std::string_view from, std::string_view to);

}  // namespace wb::report
