// SPDX-License-Identifier: MIT
// The answers of a search, in one order through the chain of bests.
#include "search/strategy_state.hpp"

#include <cmath>

namespace wb::search {

using measure::ComparisonOutcome;

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
