// SPDX-License-Identifier: MIT
// Quantiles of samples and of Student's t.
#pragma once

#include <vector>

namespace wb::measure {

/// Linear-interpolation quantile, q in [0, 1]; NaN for no samples. Any NaN sample gives NaN.
double quantile(std::vector<double> samples, double q);
double median(std::vector<double> samples);

/// Quantile of Student's t: P(T <= result) = probability, for degrees_of_freedom >= 1 (infinite:
/// the normal distribution) and probability in (0, 1).
double student_t_quantile(double probability, double degrees_of_freedom);

}  // namespace wb::measure
