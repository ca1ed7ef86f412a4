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

namespace wb::report {

/// The member, or a JSON null when `json` is no object or has no such key.
const Json& field(const Json& json, std::string_view key);
/// Empty when it is not a string.
std::string text(const Json& json, std::string_view key);
/// Finite numbers only.
std::optional<double> number(const Json& json, std::string_view key);
std::optional<std::int64_t> integer(const Json& json, std::string_view key);
bool is_true(const Json& json, std::string_view key);
/// The strings of an array; other elements are skipped.
std::vector<std::string> strings(const Json& json, std::string_view key);

/// A ratio with its interval, as `speedup` and `interval` in several events.
struct Ratio {
  std::optional<double> value, low, high;
  double confidence = 0;  ///< 0: not recorded
};
Ratio ratio(const Json& payload, std::string_view value_key = "speedup");

/// Seconds between two "2026-11-20T18:03:22.123Z"; nothing when either is malformed.
std::optional<double> seconds_between(std::string_view from, std::string_view to);

}  // namespace wb::report
