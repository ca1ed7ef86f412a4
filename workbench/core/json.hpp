// SPDX-License-Identifier: MIT
// Strict JSON: parsing with limits (depth, size, no duplicate keys, no NUL), and ObjectReader,
// which reads fields with clear messages. Used for manifests, suites, sessions and the wire.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

// Compiled once, in json.cpp, instead of in each source that uses JSON.
extern template class nlohmann::basic_json<>;

namespace wb {

/// Keys are sorted: dump() of equal values gives equal text, which is safe to hash.
using Json = nlohmann::json;

struct JsonLimits {
  std::size_t max_bytes = 16u << 20;
  int max_depth = 32;
};

/// Parses one JSON value. `what` names the source in messages ("kernels/x/kernel.json").
/// Errors: parse (with line and column), limit (size, depth), invalid (duplicate key, NUL).
Result<Json> parse_json(std::string_view text, std::string_view what, JsonLimits limits = {});

/// The value as an integer. A float without a fraction counts (Lua's 64 / 2 is 32.0, and JSON has
/// one kind of number) up to 2^53 in magnitude, where a double still holds every integer.
std::optional<std::int64_t> whole_number(const Json& value);

/// Reads the fields of one JSON object and remembers the first fault, so that a reader is a list of
/// fields followed by one finish(). Missing or ill-typed fields return the fallback (or "", min,
/// 0). Integers are read by whole_number().
class ObjectReader {
 public:
  /// `json` must outlive the reader. `what` names the object in messages.
  ObjectReader(const Json& json, std::string what);

  std::string string(std::string_view key);
  std::string string_or(std::string_view key, std::string fallback);
  std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max);
  std::int64_t integer_or(std::string_view key, std::int64_t fallback, std::int64_t min,
                          std::int64_t max);
  double real(std::string_view key);  ///< finite
  double real_or(std::string_view key, double fallback);
  bool boolean_or(std::string_view key, bool fallback);
  std::vector<std::string> strings_or(std::string_view key, std::vector<std::string> fallback);
  /// The member itself, nullptr when absent. Marks the key as known.
  const Json* member(std::string_view key);

  /// Records a fault found by the caller; the message reads: key "k": cause. Only the first fault
  /// is kept.
  void fail(std::string_view key, std::string cause);
  /// Returns the first fault; an unknown key is a fault unless `allow_unknown`.
  Result<void> finish(bool allow_unknown = false);

 private:
  const Json* require(std::string_view key);
  const Json& m_json;
  std::string m_what;
  std::set<std::string, std::less<>> m_known;
  std::string m_fault;
};

}  // namespace wb
