// SPDX-License-Identifier: MIT
// Private to html: maps values to pixels and chooses round ticks.
#pragma once

#include <string>
#include <vector>

namespace wb::html {

/// Maps [low, high] to pixels [from, to], logarithmically when `log`. Values outside are clamped.
struct Scale {
  double low = 0, high = 1, from = 0, to = 1;
  bool log = false;
  [[nodiscard]] double operator()(double value) const;
};

/// Widens a range so that marks do not touch the frame, and keeps it finite and not empty; both
/// ends of a log range stay above 0.
void give_room(double& low, double& high, bool log);

/// About `wanted` round values inside the scale. For a log scale: 1, 2 and 5 of each decade, or
/// decades only, or round steps over a small range.
std::vector<double> ticks(const Scale& scale, int wanted);
/// Without exponent: "0.05", "250", "1.5".
std::string tick_text(double value);

}  // namespace wb::html
