// SPDX-License-Identifier: MIT
// Private to html: from values to pixels, and round ticks to read them by.
#pragma once

#include <string>
#include <vector>

namespace wb::html {

/// Maps [low, high] to pixels [from, to]; by ratios when `log`. Values outside are clamped.
struct Scale {
  double low = 0, high = 1, from = 0, to = 1;
  bool log = false;
  [[nodiscard]] double operator()(double value) const;
};

/// Widens a range so that marks do not lie on the frame, keeps it finite and not empty; of a log
/// range both ends are above 0.
void give_room(double& low, double& high, bool log);

/// Round values inside the scale, about `wanted` of them. Of a log scale 1, 2 and 5 of each decade,
/// or decades alone, or round steps where it spans little.
std::vector<double> ticks(const Scale& scale, int wanted);
/// Without exponent: "0.05", "250", "1.5".
std::string tick_text(double value);

}  // namespace wb::html
