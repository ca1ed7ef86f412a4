// SPDX-License-Identifier: MIT
#include "report/fields.hpp"

#include <fmt/format.h>

#include <chrono>

#include "core/json.hpp"

namespace wb::report {
namespace {

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

/// Milliseconds since 1970, from "YYYY-MM-DDThh:mm:ss.mmmZ" (the fraction may be absent).
std::optional<std::int64_t> milliseconds(std::string_view time) {
  const auto year = digits(time, 0, 4), month = digits(time, 5, 2), day = digits(time, 8, 2);
  const auto hour = digits(time, 11, 2), minute = digits(time, 14, 2), second = digits(time, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const int fraction = digits(time, 20, 3).value_or(0);
  return ((days * 24 + *hour) * 60 + *minute) * 60'000 + *second * 1'000 + fraction;
}

}  // namespace

Ratio ratio(const Json& payload, std::string_view value_key) {
  Ratio result;
  result.value = number(payload, value_key);
  const Json& interval = field(payload, "interval");
  result.low = number(interval, "low");
  result.high = number(interval, "high");
  result.confidence = number(interval, "confidence").value_or(0);
  return result;
}

std::string hours_words(const Json& row) {
  const auto low = number(row, "hours_low"), high = number(row, "hours_high");
  return low && high ? fmt::format("{:g} to {:g} h", *low, *high) : "not known";
}

std::optional<double> seconds_between(std::string_view from, std::string_view to) {
  const auto start = milliseconds(from), end = milliseconds(to);
  if (!start || !end) return std::nullopt;
  return static_cast<double>(*end - *start) / 1'000;
}

}  // namespace wb::report
