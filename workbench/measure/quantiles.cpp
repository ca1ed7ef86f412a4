// SPDX-License-Identifier: MIT
#include "measure/quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "measure/figures.hpp"

namespace wb::measure {
namespace {

/// Regularized incomplete beta function I_x(a, b) by its continued fraction (modified Lentz), which
/// converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double k_tiny = 1e-300;
  const auto away_from_zero = [](double value) {
    return std::abs(value) < k_tiny ? k_tiny : value;
  };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= 300; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    const double step = d * c;
    fraction *= step;
    if (std::abs(step - 1) < 1e-15) break;
  }
  return fraction;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/// P(T > t) for t >= 0.
double upper_tail(double t, double degrees_of_freedom) {
  if (std::isinf(degrees_of_freedom)) return 0.5 * std::erfc(t / std::sqrt(2.0));
  return 0.5 * incomplete_beta(0.5 * degrees_of_freedom, 0.5,
                               degrees_of_freedom / (degrees_of_freedom + t * t));
}

}  // namespace

double quantile(std::vector<double> samples, double q) {
  if (samples.empty() || !(q >= 0 && q <= 1)) return k_unknown;
  if (std::any_of(samples.begin(), samples.end(), [](double x) { return std::isnan(x); })) {
    return k_unknown;
  }
  std::sort(samples.begin(), samples.end());
  const double position = q * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  if (below + 1 >= samples.size()) return samples.back();
  const double share = position - static_cast<double>(below);
  if (share == 0) return samples[below];  // also avoids an infinite neighbor
  return samples[below] + share * (samples[below + 1] - samples[below]);
}

double median(std::vector<double> samples) {
  return quantile(std::move(samples), 0.5);
}

double student_t_quantile(double probability, double degrees_of_freedom) {
  if (!(probability > 0 && probability < 1) || !(degrees_of_freedom >= 1)) {
    throw std::invalid_argument("student_t_quantile: probability or degrees of freedom");
  }
  const double tail = std::min(probability, 1 - probability);
  double low = 0, high = 1;
  while (upper_tail(high, degrees_of_freedom) > tail) {
    low = high;
    high *= 2;
  }
  for (int step = 0; step < 200 && high - low > 1e-13 * high; ++step) {
    const double middle = 0.5 * (low + high);
    (upper_tail(middle, degrees_of_freedom) > tail ? low : high) = middle;
  }
  const double t = 0.5 * (low + high);
  return probability == 0.5 ? 0.0 : probability > 0.5 ? t : -t;
}

}  // namespace wb::measure
