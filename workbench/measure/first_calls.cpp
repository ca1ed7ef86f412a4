// SPDX-License-Identifier: MIT
#include "measure/first_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>

#include "core/json.hpp"
#include "measure/hierarchy.hpp"
#include "measure/quantiles.hpp"

namespace wb::measure {
namespace {

/// Disturbances only lengthen calls, so a low quantile estimates the undisturbed time; the minimum
/// would be a single call.
constexpr double k_fresh_quantile = 0.25;
/// Some chains seem too short, when the supervisor noticed the start late.
constexpr double k_chain_quantile = 0.4;
/// Above the confidence of a comparison, so that of fifty cheating kernels none passes by luck.
constexpr double k_fresh_confidence = 0.998;
constexpr int k_fresh_resamples = 200;
/// What waking threads and cold caches may cost a first call more than on the other side.
constexpr double k_cold_frac = 0.5, k_cold_us = 200;
/// The tolerance for repeated inputs, which cost both sides the same. Single calls of a kernel of
/// 0.2 us took 40 to 65 us and differed by up to 8 us between new and repeated inputs, by chance.
constexpr double k_again_frac = 0.1, k_again_single_us = 10;

/// Work that timed calls leave out, in us.
struct LeftOut {
  double value_us = 0, low_us = 0, high_us = 0;
};

/// The order statistic at the quantile; reorders its argument.
double low_of(std::vector<double>& times, double quantile) {
  const auto place =
      times.begin() + static_cast<std::ptrdiff_t>(quantile * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), place, times.end());
  return *place;
}

/// Lists with one entry per round. Rounds are drawn together, since a disturbance affects all
/// lists.
using Rounds = std::vector<const std::vector<double>*>;
/// Computes a figure from the lists' quantiles, in their order.
using Figure = std::function<double(const std::vector<double>&)>;

/// The figure with its interval, by a bootstrap over rounds.
LeftOut left_out(const Rounds& lists, double quantile, const Figure& figure, std::uint64_t seed) {
  const std::size_t n = lists.front()->size();
  std::mt19937_64 random(seed);
  std::vector<double> drawn(n), lows(lists.size()), draws;
  std::vector<std::size_t> rounds(n);
  for (int i = 0; i < k_fresh_resamples; ++i) {
    for (std::size_t& round : rounds) round = static_cast<std::size_t>(random() % n);
    for (std::size_t list = 0; list < lists.size(); ++list) {
      for (std::size_t j = 0; j < n; ++j) drawn[j] = (*lists[list])[rounds[j]];
      lows[list] = low_of(drawn, quantile);
    }
    draws.push_back(figure(lows));
  }
  const double half = student_t_quantile(0.5 + k_fresh_confidence / 2, static_cast<double>(n - 1)) *
                      hierarchy::standard_deviation(draws) * hierarchy::small_count_factor(n);
  for (std::size_t list = 0; list < lists.size(); ++list) {
    drawn = *lists[list];
    lows[list] = low_of(drawn, quantile);
  }
  const double value = figure(lows);
  return {value, value - half, value + half};
}

double quantile_of(const FirstCallPairs& calls) {
  return calls.are_chains ? k_chain_quantile : k_fresh_quantile;
}

/// The estimate from repeated inputs: fresh less repeated time.
LeftOut left_out_by_repeats(const FirstCallPairs& calls, std::uint64_t seed) {
  const auto spared = [](const std::vector<double>& low) { return low[0] - low[1]; };
  return left_out({&calls.candidate.fresh_us, &calls.candidate.again_us}, quantile_of(calls),
                  spared, seed);
}

/// The estimate from a first call's excess over a timed one, compared with the other side's excess:
/// messages, cold caches and waking threads affect both. Between two kinds of subjects, chains
/// without calls measure the difference. A candidate could inflate its own chains, so they excuse
/// at most what empty calls of its kind do.
LeftOut left_out_by_other(const FirstCallPairs& calls, const CallTimes& timed, std::uint64_t seed) {
  Rounds lists{&calls.candidate.fresh_us, &calls.other.fresh_us};
  const bool has_fills = calls.has_fills();
  if (has_fills) {
    lists.push_back(&calls.candidate.fill_us);
    lists.push_back(&calls.other.fill_us);
  }
  const double timed_us = timed.candidate_us - timed.other_us + calls.allowance_us;
  const auto beyond = [&](const std::vector<double>& low) {
    const double overhead_us =
        has_fills ? std::min(low[2] - low[3], calls.overhead_us) : calls.overhead_us;
    return low[0] - low[1] - timed_us - overhead_us;
  };
  return left_out(lists, quantile_of(calls), beyond, seed);
}

/// Converts to a speedup: the other's time over the candidate's plus the left-out work, which is at
/// least 0.
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
  add(candidate.fill_us, more.candidate.fill_us);
  add(other.fresh_us, more.other.fresh_us);
  add(other.again_us, more.other.again_us);
  add(other.fill_us, more.other.fill_us);
  overhead_us = more.overhead_us;
  allowance_us = more.allowance_us;
  disturbed = disturbed || more.disturbed;
  other_is_rough = other_is_rough || more.other_is_rough;
  are_chains = more.are_chains;
  if (!more.missing.empty()) missing = more.missing;
}

bool FirstCallPairs::has_fills() const {
  return are_chains && !candidate.fill_us.empty();
}

FreshOutcome judge_first_calls(const FirstCallPairs& calls, const CallTimes& timed,
                               const CallTimes& judged, std::uint64_t seed) {
  const std::size_t rounds = calls.rounds();
  const bool enough =
      rounds >= static_cast<std::size_t>(k_least_first_calls) &&
      are_times(calls.candidate.fresh_us, rounds) && are_times(calls.candidate.again_us, rounds) &&
      are_times(calls.other.fresh_us, rounds) &&
      (!calls.has_fills() ||
       (are_times(calls.candidate.fill_us, rounds) && are_times(calls.other.fill_us, rounds))) &&
      judged.candidate_us > 0 && judged.other_us > 0 && timed.candidate_us > 0 &&
      timed.other_us > 0;
  if (!enough) {
    FreshOutcome none;
    none.rounds = static_cast<std::int64_t>(rounds);
    none.reason = words_of(none, 0);
    if (!calls.missing.empty()) none.reason += ": " + calls.missing;
    return none;
  }
  const LeftOut again = left_out_by_repeats(calls, seed);
  const LeftOut beside = left_out_by_other(calls, timed, seed);
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
  const double tolerated_us =
      k_again_frac * timed.candidate_us + (calls.are_chains ? 0.0 : k_again_single_us);
  const bool remembers = by_again.state == FreshState::absent && again.low_us > tolerated_us;
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
  const bool known = is_shown(fresh.interval);
  return Json{{"state", to_string(fresh.state)},
              {"speedup", known ? Json(fresh.speedup) : Json(nullptr)},
              {"interval", known ? to_json(fresh.interval) : Json(nullptr)},
              {"rounds", fresh.rounds},
              {"reason", fresh.reason}};
}

}  // namespace wb::measure
