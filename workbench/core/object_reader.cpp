// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "core/json.hpp"

namespace wb {
namespace {

std::string describe(const Json& value) {
  return printable(value.dump(-1, ' ', false, Json::error_handler_t::replace), 60);
}

/// The kind of a value, for "must be a string, not …", without its content for containers.
std::string kind_words(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return describe(value);
}

}  // namespace

std::optional<std::int64_t> whole_number(const Json& value) {
  constexpr double k_exact = 9'007'199'254'740'992;  // 2^53
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (!(std::abs(number) <= k_exact) || number != std::floor(number)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  constexpr auto k_most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > k_most) return std::nullopt;
  return value.get<std::int64_t>();
}

ObjectReader::ObjectReader(const Json& json, std::string what)
    : m_json(json), m_what(std::move(what)) {
  if (!m_json.is_object()) m_fault = "it must be an object, not " + kind_words(m_json);
}

const Json* ObjectReader::member(std::string_view key) {
  if (!m_json.is_object()) return nullptr;
  m_known.emplace(key);
  const auto found = m_json.find(key);
  return found == m_json.end() ? nullptr : &*found;
}

const Json* ObjectReader::require(std::string_view key) {
  const Json* value = member(key);
  if (value == nullptr && m_fault.empty()) m_fault = fmt::format("key \"{}\" is missing", key);
  return value;
}

void ObjectReader::fail(std::string_view key, std::string cause) {
  if (m_fault.empty()) m_fault = fmt::format("key \"{}\": {}", printable(key), cause);
}

std::string ObjectReader::string(std::string_view key) {
  return require(key) == nullptr ? std::string() : string_or(key, {});
}

std::string ObjectReader::string_or(std::string_view key, std::string fallback) {
  const Json* value = member(key);
  if (value == nullptr) return fallback;
  if (value->is_string()) return value->get<std::string>();
  fail(key, "must be a string, not " + kind_words(*value));
  return fallback;
}

std::int64_t ObjectReader::integer(std::string_view key, std::int64_t min, std::int64_t max) {
  return require(key) == nullptr ? min : integer_or(key, min, min, max);
}

std::int64_t ObjectReader::integer_or(std::string_view key, std::int64_t fallback, std::int64_t min,
                                      std::int64_t max) {
  const Json* value = member(key);
  if (value == nullptr) return fallback;
  if (const auto number = whole_number(*value); number && *number >= min && *number <= max) {
    return *number;
  }
  fail(key, fmt::format("must be an integer from {} to {}, not {}", min, max, kind_words(*value)));
  return fallback;
}

double ObjectReader::real(std::string_view key) {
  return require(key) == nullptr ? 0.0 : real_or(key, 0.0);
}

double ObjectReader::real_or(std::string_view key, double fallback) {
  const Json* value = member(key);
  if (value == nullptr) return fallback;
  if (value->is_number()) {
    const auto number = value->get<double>();
    if (std::isfinite(number)) return number;
  }
  fail(key, "must be a finite number, not " + kind_words(*value));
  return fallback;
}

bool ObjectReader::boolean_or(std::string_view key, bool fallback) {
  const Json* value = member(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  fail(key, "must be true or false, not " + kind_words(*value));
  return fallback;
}

std::vector<std::string> ObjectReader::strings_or(std::string_view key,
                                                  std::vector<std::string> fallback) {
  const Json* value = member(key);
  if (value == nullptr) return fallback;
  bool all_strings = value->is_array();
  std::vector<std::string> list;
  for (std::size_t i = 0; all_strings && i < value->size(); ++i) {
    const Json& item = (*value)[i];
    all_strings = item.is_string();
    if (all_strings) list.push_back(item.get<std::string>());
  }
  if (all_strings) return list;
  fail(key, "must be a list of strings");
  return fallback;
}

Result<void> ObjectReader::finish(bool allow_unknown) {
  std::string next;
  if (m_fault.empty() && !allow_unknown) {
    for (const auto& [key, value] : m_json.items()) {
      if (m_known.contains(key)) continue;
      m_fault = fmt::format("key \"{}\" is not known here", printable(key));
      next = fmt::format("known keys: {}", fmt::join(m_known, ", "));
      break;
    }
  }
  if (m_fault.empty()) return {};
  return Error{ErrorCode::invalid, "read", m_what, m_fault, std::move(next)};
}

}  // namespace wb
