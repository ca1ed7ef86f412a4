// SPDX-License-Identifier: MIT
// The answers of a search: their scores, from comparisons and as the log stores them, and their one
// order through the chain of bests.
#include "search/strategy_state.hpp"

#include <cmath>

#include "core/json.hpp"
#include "measure/comparison.hpp"
#include "search/strategy.hpp"

namespace wb::search {

using measure::ComparisonOutcome;
using measure::k_unknown;
using measure::Turn;

namespace {

Json number_or_null(double value) {
  return value > 0 && value < std::numeric_limits<double>::infinity() ? Json(value) : Json(nullptr);
}

void count(Score& score, std::span<const Turn> turns) {
  score.turns = static_cast<std::int64_t>(turns.size());
  for (const Turn& turn : turns) score.samples += static_cast<std::int64_t>(turn.samples_us.size());
}

}  // namespace

Score invalid_score(Invalidity invalidity) {
  Score score;
  score.invalidity = invalidity;
  score.outcome = measure::ComparisonOutcome::ambiguous;
  score.speedup = k_unknown;
  score.interval.low = score.interval.high = k_unknown;
  return score;
}

Score score_of(const measure::Comparison& comparison, std::span<const Turn> turns) {
  Score score;
  score.outcome = comparison.outcome;
  score.speedup = comparison.speedup;
  score.interval = comparison.interval;
  if (measure::is_uninformative(score.interval))
    score.interval.low = score.interval.high = k_unknown;
  count(score, turns);
  return score;
}

Score first_score(std::span<const Turn> turns) {
  Score score;
  count(score, turns);
  return score;
}

Score chained(const Score& score, const Score& other) {
  if (score.invalidity) return score;
  Score joined = score;
  joined.speedup = score.speedup * other.speedup;
  joined.interval.low = joined.interval.high = k_unknown;
  if (measure::is_valid(score.interval) && measure::is_valid(other.interval)) {
    joined.interval.low = score.interval.low * other.interval.low;
    joined.interval.high = score.interval.high * other.interval.high;
  }
  joined.outcome = measure::classify(joined.interval, 0, 0);
  return joined;
}

Json to_json(const Score& score) {
  return {
      {"outcome", score.invalidity ? to_string(*score.invalidity) : to_string(score.outcome)},
      {"speedup", score.invalidity ? Json(nullptr) : number_or_null(score.speedup)},
      {"interval", !score.invalidity && measure::is_shown(score.interval) ? to_json(score.interval)
                                                                          : Json(nullptr)},
      {"turns", score.turns},
      {"samples", score.samples},
      {"duplicate", score.is_duplicate}};
}

Result<Score> score_from_json(const Json& json) {
  ObjectReader reader(json, "the score");
  const std::string outcome = reader.string("outcome");
  Score score = invalid_score(Invalidity::environment);
  score.invalidity = parse_invalidity(outcome);
  if (!score.invalidity) {
    const auto word = measure::parse_comparison_outcome(outcome);
    if (word) score.outcome = *word;
    if (!word) reader.fail("outcome", "is neither an outcome nor an invalidity");
  }
  const Json* speedup = reader.member("speedup");
  if (speedup != nullptr && !speedup->is_null()) score.speedup = reader.real("speedup");
  const Json* interval = reader.member("interval");
  constexpr std::int64_t k_max = std::int64_t{1} << 53;
  score.turns = reader.integer_or("turns", 0, 0, k_max);
  score.samples = reader.integer_or("samples", 0, 0, k_max);
  score.is_duplicate = reader.boolean_or("duplicate", false);
  WB_TRY(reader.finish(true));
  if (interval != nullptr && !interval->is_null()) {
    WB_TRY_ASSIGN(score.interval, measure::interval_from_json(*interval));
  }
  return score;
}

namespace {

constexpr double k_infinity = std::numeric_limits<double>::infinity();

/// ln of the time relative to the first valid configuration, from the best's and the ratio to it.
void place(KnownAnswer& known, const KnownAnswer& best) {
  const Score& score = known.score;
  known.log_time = score.speedup > 0 ? best.log_time - std::log(score.speedup) : measure::k_unknown;
  const bool usable = is_valid(score.interval);
  known.log_low = usable ? best.log_low - std::log(score.interval.high) : -k_infinity;
  known.log_high = usable ? best.log_high - std::log(score.interval.low) : k_infinity;
}

}  // namespace

const KnownAnswer* Answers::find(Index index) const {
  const auto found = m_known.find(index);
  return found == m_known.end() ? nullptr : &found->second;
}

const KnownAnswer& Answers::add(Index index, const Score& score) {
  KnownAnswer known{.score = score, .against = m_best};
  if (known.is_valid()) {
    if (m_best) {
      place(known, m_known.at(*m_best));
    } else {
      m_best = index;
    }
  }
  m_known[index] = known;
  find_promising(index);
  return m_known.at(index);
}

void Answers::retract(Index index, Invalidity invalidity) {
  m_known.at(index).score = invalid_score(invalidity);
  find_promising(index);
}

void Answers::find_promising(Index changed) {
  const KnownAnswer& known = m_known.at(changed);
  const bool competes = known.is_valid() && std::isfinite(known.log_time);
  if (!m_promising) {
    if (competes) m_promising = changed;
  } else if (changed != *m_promising) {
    if (competes && known.log_time < m_known.at(*m_promising).log_time) m_promising = changed;
  } else {
    // Its own estimate changed, so another may lead now. Ties go to the lower index, whatever the
    // table's order.
    m_promising.reset();
    for (const auto& [index, other] : m_known) {
      if (!other.is_valid() || !std::isfinite(other.log_time)) continue;
      const double lowest = m_promising ? m_known.at(*m_promising).log_time : k_infinity;
      const bool ties = m_promising && other.log_time == lowest && index < *m_promising;
      if (other.log_time < lowest || ties) m_promising = index;
    }
  }
}

Score Answers::relative_to_best(Index index) const {
  const KnownAnswer& known = m_known.at(index);
  if (!known.is_valid()) return known.score;
  Score score = known.score;
  if (index == *m_best) {
    score.outcome = ComparisonOutcome::same;
    score.speedup = 1;
    score.interval.low = score.interval.high = 1;
    return score;
  }
  if (known.against == m_best) return score;
  const KnownAnswer& best = m_known.at(*m_best);
  score.speedup = std::exp(best.log_time - known.log_time);
  score.interval.low = std::exp(best.log_low - known.log_high);
  score.interval.high = std::exp(best.log_high - known.log_low);
  if (!is_valid(score.interval)) {
    score.interval.low = score.interval.high = measure::k_unknown;
  }
  score.outcome = measure::classify(score.interval, 0, 0);
  return score;
}

Standing Answers::standing(const SearchSpace& space) const {
  Standing standing;
  standing.told = m_known.size();
  if (!m_best) return standing;
  standing.best = space.at(*m_best);
  for (const auto& [index, known] : m_known) {
    if (!known.is_valid()) continue;
    ++standing.valid;
    if (relative_to_best(index).outcome != ComparisonOutcome::slower) ++standing.contenders;
  }
  standing.outcome = standing.valid == 1        ? ComparisonOutcome::same
                     : standing.contenders == 1 ? ComparisonOutcome::faster
                                                : ComparisonOutcome::ambiguous;
  return standing;
}

}  // namespace wb::search
