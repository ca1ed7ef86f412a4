// SPDX-License-Identifier: MIT
#include "html/scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/ascii.hpp"

namespace wb::html {
namespace {

std::vector<double> linear_ticks(double low, double high, int wanted) {
  const double raw = (high - low) / std::max(wanted, 1);
  if (!(raw > 0) || !std::isfinite(raw)) return {low};
  const double decade = std::pow(10.0, std::floor(std::log10(raw)));
  double step = decade * 10;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * decade >= raw * 0.999) {
      step = factor * decade;
      break;
    }
  }
  std::vector<double> result;
  for (double n = std::ceil(low / step - 1e-9); n * step <= high * (1 + 1e-12) + step * 1e-9; ++n) {
    result.push_back(n * step == 0 ? 0 : n * step);
  }
  return result;
}

}  // namespace

double Scale::operator()(double value) const {
  const double clamped = std::clamp(value, low, high);
  const double share =
      log ? std::log(clamped / low) / std::log(high / low) : (clamped - low) / (high - low);
  return from + share * (to - from);
}

void give_room(double& low, double& high, bool log) {
  if (!std::isfinite(low) || !std::isfinite(high) || low > high) {
    low = log ? 0.5 : 0;
    high = log ? 2 : 1;
  }
  if (log) {
    low = std::max(low, 1e-12);
    high = std::max(high, low);
    const double room = std::max(std::pow(high / low, 0.06), 1.02);
    low /= room;
    high *= room;
    return;
  }
  if (high == low) high = low + (low == 0 ? 1 : std::abs(low) * 0.1);
}

std::vector<double> ticks(const Scale& scale, int wanted) {
  if (!scale.log || scale.high / scale.low < 3) return linear_ticks(scale.low, scale.high, wanted);
  const double decades = std::log10(scale.high / scale.low);
  std::vector<double> factors{1, 2, 5};
  if (decades < 1.2) factors = {1, 1.5, 2, 3, 5, 7};
  int every = 1;
  if (3 * decades > wanted * 1.5) {
    factors = {1};
    every = std::max(1, static_cast<int>(std::ceil(decades / wanted)));
  }
  std::vector<double> result;
  const int first = static_cast<int>(std::floor(std::log10(scale.low)));
  const int last = static_cast<int>(std::ceil(std::log10(scale.high)));
  for (int decade = first; decade <= last; ++decade) {
    if (decade % every != 0) continue;
    for (const double factor : factors) {
      const double value = factor * std::pow(10.0, decade);
      if (value >= scale.low * 0.9999 && value <= scale.high * 1.0001) result.push_back(value);
    }
  }
  return result.size() >= 2 ? result : linear_ticks(scale.low, scale.high, wanted);
}

std::string tick_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-9)) return fmt::format("{:.1g}", value);
  std::string text =
      fmt::format("{:.9f}", ascii::number<double>(fmt::format("{:.4g}", value)).value_or(value));
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace wb::html
