// SPDX-License-Identifier: MIT
// Forgiving reads of JSON that others wrote: payloads of a log, records of tools, figures of
// findings. A field that is missing, null or of another type counts as absent. ObjectReader
// (core/json.hpp) is the strict counterpart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.hpp"

namespace wb {

/// The member, or a JSON null when `json` is no object or has no such key.
const Json& member_of(const Json& json, std::string_view key);
/// The array, or an empty one.
const Json& list_of(const Json& json, std::string_view key);
/// Empty when it is not a string.
std::string text_of(const Json& json, std::string_view key);
std::string text_or(const Json& json, std::string_view key, std::string fallback);
/// Finite numbers only.
std::optional<double> number_of(const Json& json, std::string_view key);
/// Without the fraction; nothing beyond what an integer holds.
std::optional<std::int64_t> integer_of(const Json& json, std::string_view key);
bool is_true(const Json& json, std::string_view key);
/// The strings of an array; other elements are skipped.
std::vector<std::string> strings_of(const Json& json, std::string_view key);

/// For what may be unknown: null in its place.
Json or_null(const std::optional<double>& value);
Json or_null(const std::optional<std::int64_t>& value);
/// JSON has no infinity and no NaN.
Json finite_or_null(double value);

}  // namespace wb
