// SPDX-License-Identifier: MIT
#include "core/json_fields.hpp"

#include <cmath>
#include <utility>

#include "core/json.hpp"

namespace wb {

const Json& member_of(const Json& json, std::string_view key) {
  static const Json k_nothing;
  if (!json.is_object()) return k_nothing;
  const auto found = json.find(key);
  return found == json.end() ? k_nothing : *found;
}

const Json& list_of(const Json& json, std::string_view key) {
  static const Json k_no_items = Json::array();
  const Json& value = member_of(json, key);
  return value.is_array() ? value : k_no_items;
}

std::string text_of(const Json& json, std::string_view key) {
  return text_or(json, key, {});
}

std::string text_or(const Json& json, std::string_view key, std::string fallback) {
  const Json& value = member_of(json, key);
  return value.is_string() ? value.get<std::string>() : std::move(fallback);
}

std::optional<double> number_of(const Json& json, std::string_view key) {
  const Json& value = member_of(json, key);
  if (!value.is_number()) return std::nullopt;
  const auto number = value.get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> integer_of(const Json& json, std::string_view key) {
  const auto number = number_of(json, key);
  if (!number || !(std::abs(*number) < 9e18)) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

bool is_true(const Json& json, std::string_view key) {
  const Json& value = member_of(json, key);
  return value.is_boolean() && value.get<bool>();
}

std::vector<std::string> strings_of(const Json& json, std::string_view key) {
  std::vector<std::string> strings;
  for (const Json& item : list_of(json, key)) {
    if (item.is_string()) strings.push_back(item.get<std::string>());
  }
  return strings;
}

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json or_null(const std::optional<std::int64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json finite_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

}  // namespace wb
