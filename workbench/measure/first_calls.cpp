// SPDX-License-Identifier: MIT
#include "measure/first_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "measure/hierarchy.hpp"

namespace wb::measure {
namespace {

/// Disturbances only ever lengthen a call, so a low quantile is what the call itself takes. Not the
/// least: that is of one call.
constexpr double k_fresh_quantile = 0.25;
/// More than a comparison's own: of fifty cheats none may pass by luck.
constexpr double k_fresh_confidence = 0.998;
constexpr int k_fresh_resamples = 200;
/// What threads that wake up and cold caches may cost a first call, beside the other side's.
constexpr double k_cold_frac = 0.5, k_cold_us = 200;
/// Inputs that are made again cost nobody anything, so what they spare is close to exact.
constexpr double k_again_frac = 0.1;

/// Work that timed calls leave out, us.
struct LeftOut {
  double value_us = 0, low_us = 0, high_us = 0;
};

/// The order statistic at the quantile; reorders its argument.
double low_of(std::vector<double>& times) {
  const auto place = times.begin() + static_cast<std::ptrdiff_t>(
                                         k_fresh_quantile * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), place, times.end());
  return *place;
}

/// Quantile of `a` less that of `b`, with a bootstrap over rounds: what disturbs a round is in
/// both.
LeftOut difference(const std::vector<double>& a, const std::vector<double>& b, double less_us,
                   std::uint64_t seed) {
  const std::size_t n = a.size();
  std::mt19937_64 random(seed);
  std::vector<double> drawn_a(n), drawn_b(n), draws;
  for (int i = 0; i < k_fresh_resamples; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const auto round = static_cast<std::size_t>(random() % n);
      drawn_a[j] = a[round];
      drawn_b[j] = b[round];
    }
    draws.push_back(low_of(drawn_a) - low_of(drawn_b));
  }
  const double half = student_t_quantile(0.5 + k_fresh_confidence / 2, static_cast<double>(n - 1)) *
                      hierarchy::standard_deviation(draws) * hierarchy::small_count_factor(n);
  drawn_a = a;
  drawn_b = b;
  const double value = low_of(drawn_a) - low_of(drawn_b) - less_us;
  return {value, value - half, value + half};
}

/// As a speedup: the other's time over the candidate's with the work that was left out. Calls leave
/// out no less than nothing.
FreshOutcome as_speedup(const LeftOut& left_out, const CallTimes& times) {
  FreshOutcome fresh;
  const auto speedup = [&](double us) {
    return times.other_us / (times.candidate_us + std::max(us, 0.0));
  };
  fresh.speedup = speedup(left_out.value_us);
  fresh.interval = {speedup(left_out.high_us), speedup(left_out.low_us), k_fresh_confidence};
  const double gain = times.other_us / times.candidate_us;
  fresh.state = FreshState::stands;
  if (gain > k_shown_gain && !(fresh.interval.low > 1)) fresh.state = FreshState::unclear;
  if (fresh.interval.high < std::sqrt(gain)) fresh.state = FreshState::absent;
  return fresh;
}

std::string words_of(const FreshOutcome& fresh, double gain) {
  const std::string figure = fmt::format(
      "{:.3f}x, {:g} % interval {:.3f} to {:.3f}, where timed calls gain {:.3f}x", fresh.speedup,
      100 * fresh.interval.confidence, fresh.interval.low, fresh.interval.high, gain);
  switch (fresh.state) {
    case FreshState::stands:
      return fmt::format("stands on fresh inputs: {}", figure);
    case FreshState::absent:
      return fmt::format("the gain is not there on fresh inputs: {}", figure);
    case FreshState::unclear:
      return fmt::format("first calls do not show the gain on fresh inputs: {}", figure);
    case FreshState::left_out:
      return fmt::format("fresh inputs: the timed calls leave out work that a first call does: {}",
                         figure);
    case FreshState::unmeasured:
      break;
  }
  return "there are too few first calls on fresh inputs";
}

constexpr std::array<std::string_view, 5> k_fresh_words{"stands", "absent", "unclear", "left_out",
                                                        "unmeasured"};

bool are_times(const std::vector<double>& times, std::size_t count) {
  return times.size() == count && std::all_of(times.begin(), times.end(), [](double us) {
           return us > 0 && std::isfinite(us);
         });
}

}  // namespace

std::string_view to_string(FreshState value) {
  return k_fresh_words.at(static_cast<std::size_t>(value));
}

void FirstCallPairs::append(const FirstCallPairs& more) {
  const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  add(candidate.fresh_us, more.candidate.fresh_us);
  add(candidate.again_us, more.candidate.again_us);
  add(other.fresh_us, more.other.fresh_us);
  add(other.again_us, more.other.again_us);
  overhead_us = more.overhead_us;
  allowance_us = more.allowance_us;
  disturbed = disturbed || more.disturbed;
  other_is_rough = other_is_rough || more.other_is_rough;
  if (!more.missing.empty()) missing = more.missing;
}

FreshOutcome judge_first_calls(const FirstCallPairs& calls, const CallTimes& timed,
                               const CallTimes& judged, std::uint64_t seed) {
  const std::size_t rounds = calls.rounds();
  const bool enough = rounds >= static_cast<std::size_t>(k_least_first_calls) &&
                      are_times(calls.candidate.fresh_us, rounds) &&
                      are_times(calls.candidate.again_us, rounds) &&
                      are_times(calls.other.fresh_us, rounds) && judged.candidate_us > 0 &&
                      judged.other_us > 0 && timed.candidate_us > 0 && timed.other_us > 0;
  if (!enough) {
    FreshOutcome none;
    none.rounds = static_cast<std::int64_t>(rounds);
    none.reason = words_of(none, 0);
    if (!calls.missing.empty()) none.reason += ": " + calls.missing;
    return none;
  }
  // By what repeated inputs spare; and by what a first call takes beyond a timed one, beside what
  // the other side's takes: messages, cold caches and threads that wake up are in both.
  const LeftOut again = difference(calls.candidate.fresh_us, calls.candidate.again_us, 0, seed);
  const LeftOut beside = difference(
      calls.candidate.fresh_us, calls.other.fresh_us,
      timed.candidate_us - timed.other_us + calls.overhead_us + calls.allowance_us, seed);
  const FreshOutcome by_again = as_speedup(again, judged), by_other = as_speedup(beside, judged);
  // The clearer objection counts, else the smaller figure.
  const auto weight = [](const FreshOutcome& one) {
    return one.state == FreshState::absent ? 2 : one.state == FreshState::unclear ? 1 : 0;
  };
  const bool by_again_counts =
      (calls.other_is_rough && by_other.state != FreshState::absent) ||
      (weight(by_again) != weight(by_other) ? weight(by_again) > weight(by_other)
                                            : by_again.speedup < by_other.speedup);
  FreshOutcome fresh = by_again_counts ? by_again : by_other;
  const bool remembers =
      by_again.state == FreshState::absent && again.low_us > k_again_frac * timed.candidate_us;
  const bool is_beyond_cold =
      by_other.interval.high < 1 && beside.low_us > k_cold_frac * timed.candidate_us + k_cold_us;
  if (!calls.disturbed && (remembers || is_beyond_cold)) {
    fresh = remembers ? by_again : by_other;
    fresh.state = FreshState::left_out;
  }
  fresh.rounds = static_cast<std::int64_t>(rounds);
  fresh.reason = words_of(fresh, judged.other_us / judged.candidate_us);
  if (calls.disturbed) fresh.reason += "; others used the machine meanwhile";
  return fresh;
}

Comparison with_first_calls(const Comparison& own, const FreshOutcome& fresh) {
  Comparison result = own;
  if (fresh.state == FreshState::stands) {
    result.reason += "; " + fresh.reason;
    return result;
  }
  result.outcome = ComparisonOutcome::ambiguous;
  result.reason = fresh.reason + "; " + own.reason;
  const bool both = is_valid(own.interval) && is_valid(fresh.interval);
  result.interval.low = both ? std::min(own.interval.low, fresh.interval.low) : k_unknown;
  result.interval.high = both ? std::max(own.interval.high, fresh.interval.high) : k_unknown;
  result.instance_log_speedups.clear();
  return result;
}

Json to_json(const FreshOutcome& fresh) {
  const bool known = is_told(fresh.interval);
  return Json{{"state", to_string(fresh.state)},
              {"speedup", known ? Json(fresh.speedup) : Json(nullptr)},
              {"interval", known ? to_json(fresh.interval) : Json(nullptr)},
              {"rounds", fresh.rounds},
              {"reason", fresh.reason}};
}

}  // namespace wb::measure
