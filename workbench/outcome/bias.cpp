// SPDX-License-Identifier: MIT
// The bias of figures that chose what they describe, by a bootstrap over the recorded intervals.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "measure/quantiles.hpp"
#include "outcome/choice.hpp"

namespace wb::outcome {

using measure::ComparisonOutcome;

namespace {

constexpr int k_draws = 400;

/// Draws that are the same on every machine and library. Each sequence is used with both signs, so
/// that a figure nothing was chosen by has no error at all.
class Normal {
 public:
  Normal(std::uint64_t sequence, double sign) : m_state(sequence << 32), m_sign(sign) {}
  double operator()() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return m_sign * radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  /// In (0, 1], by splitmix64.
  double uniform() {
    std::uint64_t x = (m_state += 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (static_cast<double>(x >> 11) + 1) * 0x1.0p-53;
  }
  std::uint64_t m_state;
  double m_sign;
};

/// ln of a ratio as drawn: normal, with the interval as its quantiles.
struct Spread {
  double log = 0, half = 0, deviation = 0;
};

std::optional<Spread> spread_of(const std::optional<Figure>& figure) {
  if (!figure || !(figure->speedup > 0) || !measure::is_valid(figure->interval)) {
    return std::nullopt;
  }
  const double z = measure::student_t_quantile((1 + figure->interval.confidence) / 2,
                                               std::numeric_limits<double>::infinity());
  Spread spread;
  spread.log = std::log(figure->speedup);
  spread.half = 0.5 * std::log(figure->interval.high / figure->interval.low);
  spread.deviation = spread.half / z;
  return spread;
}

struct Candidate {
  Spread over_base;
  std::vector<Spread> over_rivals;
};

/// What could have been chosen on one problem; the base first.
std::vector<Candidate> candidates_of(const Field& field, const Row& row,
                                     const ProblemOutcome& problem, const std::string& base,
                                     bool may_change) {
  const std::set<std::string>& rivals = field.measured.rivals;
  std::vector<Candidate> candidates;
  const auto add = [&](const std::string& variant) {
    Candidate candidate;
    if (variant != base) {
      const auto over = spread_of(row.figure(variant, base, rivals));
      if (!over) return;
      candidate.over_base = *over;
    }
    for (const std::string& rival : row.subjects()) {
      if (!field.measured.is_rival(rival)) continue;
      if (const auto over = spread_of(row.figure(variant, rival, rivals))) {
        candidate.over_rivals.push_back(*over);
      }
    }
    if (!candidate.over_rivals.empty()) candidates.push_back(std::move(candidate));
  };
  add(base);
  if (candidates.empty()) return candidates;
  for (const Standing& standing : problem.standings) {
    if (may_change && standing.variant != base) add(standing.variant);
  }
  return candidates;
}

/// By how much one drawn choice flatters: the drawn figures of what it takes less the true ones.
double drawn_error(const std::vector<Candidate>& candidates, Normal normal) {
  const Candidate* taken = &candidates.front();
  double best = 0, error = 0;
  for (const Candidate& candidate : candidates) {
    if (&candidate == &candidates.front()) continue;
    const Spread& over = candidate.over_base;
    const double drawn = over.log + over.deviation * normal();
    if (drawn - over.half <= 0 || drawn <= best) continue;  // not shown, or not the fastest
    taken = &candidate;
    best = drawn;
    error = drawn - over.log;
  }
  double lowest = std::numeric_limits<double>::infinity(), rival_error = 0;
  for (const Spread& over : taken->over_rivals) {
    const double drawn = over.log + over.deviation * normal();
    if (drawn >= lowest) continue;
    lowest = drawn;
    rival_error = drawn - over.log;
  }
  return error + rival_error;
}

}  // namespace

double selection_bias(const Field& field, const Group& group, const Choice& choice) {
  double sum = 0, weights = 0;
  std::uint64_t sequence = 0;
  const bool may_change = &choice == &group.by_problem;
  for (std::size_t i = 0; i < group.problems.size(); ++i) {
    const ProblemOutcome& problem = group.problems[i];
    if (problem.held_out || !(problem.weight > 0)) continue;
    const std::string& base =
        group.single.variants.empty() ? choice.variants[i] : group.single.variants[i];
    const auto candidates = candidates_of(field, *field.rows[i], problem, base, may_change);
    if (candidates.empty()) continue;
    weights += problem.weight;
    if (candidates.size() == 1 && candidates.front().over_rivals.size() == 1) continue;
    double error = 0;
    for (int draw = 0; draw < k_draws; ++draw) {
      ++sequence;
      for (const double sign : {1.0, -1.0}) error += drawn_error(candidates, {sequence, sign});
    }
    sum += problem.weight * error / (2 * k_draws);
  }
  return weights > 0 ? std::exp(sum / weights) : 1;
}

}  // namespace wb::outcome
