// SPDX-License-Identifier: MIT
#include "core/clock.hpp"

#include <fmt/format.h>

namespace wb {
namespace {

/// The decimal number in text[begin, begin + length), whose characters are known to be digits.
int number_at(std::string_view text, std::size_t begin, std::size_t length) {
  int value = 0;
  for (const char digit : text.substr(begin, length)) value = value * 10 + (digit - '0');
  return value;
}

}  // namespace

std::string to_iso8601(std::chrono::system_clock::time_point time) {
  namespace ch = std::chrono;
  // floor, not a cast: a time before 1970 must not round up into the next millisecond.
  const auto day = ch::floor<ch::days>(time);
  const ch::year_month_day date{day};
  const ch::hh_mm_ss clock{ch::floor<ch::milliseconds>(time - day)};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

std::optional<std::chrono::system_clock::time_point> parse_iso8601(std::string_view text) {
  namespace ch = std::chrono;
  constexpr std::string_view k_form = "dddd-dd-ddTdd:dd:dd.dddZ";
  if (text.size() != k_form.size()) return std::nullopt;
  for (std::size_t i = 0; i < k_form.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (k_form[i] == 'd' ? !digit : text[i] != k_form[i]) return std::nullopt;
  }
  const ch::year_month_day date{ch::year{number_at(text, 0, 4)},
                                ch::month{static_cast<unsigned>(number_at(text, 5, 2))},
                                ch::day{static_cast<unsigned>(number_at(text, 8, 2))}};
  const ch::hours hours{number_at(text, 11, 2)};
  const ch::minutes minutes{number_at(text, 14, 2)};
  const ch::seconds seconds{number_at(text, 17, 2)};
  if (!date.ok() || hours >= ch::hours{24} || minutes >= ch::minutes{60} ||
      seconds >= ch::seconds{60}) {
    return std::nullopt;
  }
  return ch::sys_days{date} + hours + minutes + seconds + ch::milliseconds{number_at(text, 20, 3)};
}

}  // namespace wb
