// SPDX-License-Identifier: MIT
// Inside protocol only: reads the kinds of fields that several messages share, through
// ObjectReader.
#pragma once

#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "protocol/protocol.hpp"

namespace wb::protocol::detail {

inline constexpr std::int64_t k_max_number = std::int64_t{1} << 53;
inline constexpr std::int64_t k_max_deadline_ms = 24 * 60 * 60 * 1'000;
inline constexpr std::size_t k_max_list = 65'536;

inline std::int64_t read_count(ObjectReader& reader, std::string_view key) {
  return reader.integer(key, 0, k_max_number);
}
inline std::int64_t read_deadline_ms(ObjectReader& reader, std::int64_t fallback_ms) {
  return reader.integer_or("deadline_ms", fallback_ms, 1, k_max_deadline_ms);
}
/// 64 lower-case hex digits.
std::string read_sha256(ObjectReader& reader, std::string_view key);
problem::Problem read_problem(ObjectReader& reader);
problem::Draw read_draw(ObjectReader& reader);
/// A list of objects, each read by `read_one(const Json&) -> Result<void>`.
template <typename ReadOne>
void read_list(ObjectReader& reader, std::string_view key, const ReadOne& read_one) {
  const Json* list = reader.member(key);
  if (list == nullptr) return;
  if (!list->is_array() || list->size() > k_max_list) {
    reader.fail(key, "must be a list of at most 65536 items");
    return;
  }
  for (const Json& item : *list) {
    if (const Result<void> one = read_one(item); !one.ok()) {
      reader.fail(key, one.error().message());
      return;
    }
  }
}

/// Replaces NUL bytes, which the reader refuses even when escaped and which a variant may print.
std::string without_nul(std::string text);

Json file_refs_to_json(const std::vector<FileRef>& files);
std::vector<FileRef> read_file_refs(ObjectReader& reader);

}  // namespace wb::protocol::detail
