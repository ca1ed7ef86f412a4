// SPDX-License-Identifier: MIT
// hill_climb: steps between neighbors, with restarts. No configuration is asked twice, and known
// points are passed over at no cost. Every step lowers the estimated time, so a climb ends.
#include <algorithm>

#include "search/strategy_state.hpp"

namespace wb::search {
namespace {

std::uint64_t order_seed(const StrategyContext& context, Index center, Neighborhood tier) {
  return scramble(scramble(context.options.seed) ^ center) + static_cast<std::uint64_t>(tier);
}

std::vector<Index> neighbors_in_order(const StrategyContext& context, Index center,
                                      Neighborhood tier) {
  std::vector<Index> neighbors = context.space.neighbors(center, tier);
  SeededRandom(order_seed(context, center, tier)).shuffle(neighbors);
  return neighbors;
}

/// Faster beyond its interval. The overall best counts too: it was `faster` than something at least
/// as fast, which the added-up ends of a chain might not show.
bool is_clearly_faster(const StrategyContext& context, Index index, const KnownAnswer& known,
                       const KnownAnswer& than) {
  if (!known.is_valid() || !(known.log_time < than.log_time)) return false;
  return context.answers.best() == index || known.log_high < than.log_low;
}

}  // namespace

HillClimb::HillClimb(const StrategyContext& context)
    : m_starts(context.space.size(), scramble(context.options.seed + 1)), m_wanted(context.start) {
  advance(context);
}

std::optional<Question> HillClimb::next(const StrategyContext& context) const {
  if (!m_wanted) return std::nullopt;
  return Question{.index = *m_wanted, .confidence = context.options.confidence};
}

bool HillClimb::accepts(const StrategyContext& context, Index index) const {
  return !context.answers.has(index);
}

void HillClimb::told(StrategyContext& context, Index index) {
  if (context.answers.find(index)->score.outcome == measure::ComparisonOutcome::faster) {
    context.answers.promote(index);
  }
  advance(context);
}

void HillClimb::enter(const StrategyContext& context, Index center, Neighborhood tier) {
  m_center = center;
  m_tier = tier;
  m_neighbors = neighbors_in_order(context, center, tier);
  m_neighbor = 0;
}

/// Asks for the next start, or enters the requested start once it is known.
void HillClimb::restart(const StrategyContext& context) {
  if (m_wanted) {
    const KnownAnswer* known = context.answers.find(*m_wanted);
    if (known == nullptr) return;
    const Index start = *m_wanted;
    m_wanted.reset();
    if (known->is_valid()) return enter(context, start, Neighborhood::adjacent);
  }
  for (; m_start_position < m_starts.size(); ++m_start_position) {
    const Index start = m_starts.at(m_start_position);
    if (context.answers.has(start)) continue;
    m_wanted = start;
    return;
  }
}

bool HillClimb::move_to_best(const StrategyContext& context) {
  std::optional<Index> best;
  double best_log_time = context.answers.find(*m_center)->log_time;
  for (const Index index : m_neighbors) {
    const KnownAnswer& known = *context.answers.find(index);
    if (!known.is_valid() || !(known.log_time < best_log_time)) continue;
    best = index;
    best_log_time = known.log_time;
  }
  if (best) enter(context, *best, Neighborhood::adjacent);
  return best.has_value();
}

void HillClimb::advance(const StrategyContext& context) {
  if (m_center) m_wanted.reset();
  while (true) {
    if (!m_center) {
      restart(context);
      if (!m_center) return;  // a start is requested, or none is left
    }
    const KnownAnswer& center = *context.answers.find(*m_center);
    bool moved = false;
    for (; m_neighbor < m_neighbors.size() && !moved; ++m_neighbor) {
      const Index index = m_neighbors[m_neighbor];
      const KnownAnswer* known = context.answers.find(index);
      if (known == nullptr) {
        m_wanted = index;
        return;
      }
      if (!is_clearly_faster(context, index, *known, center)) continue;
      enter(context, index, Neighborhood::adjacent);
      moved = true;
      break;
    }
    if (moved || move_to_best(context)) continue;
    if (m_tier == Neighborhood::adjacent) {
      enter(context, *m_center, Neighborhood::one_parameter);
    } else {
      m_center.reset();
    }
  }
}

std::vector<IndexedGuess> HillClimb::lookahead(const StrategyContext& context,
                                               std::size_t n) const {
  std::vector<IndexedGuess> guesses;
  std::set<Index> seen;
  const auto guess = [&](Index index) {
    if (guesses.size() >= n || context.answers.has(index) || !seen.insert(index).second) return;
    guesses.push_back({index, index == m_wanted});
  };
  if (!m_wanted || n == 0) return guesses;
  guess(*m_wanted);
  const Index center = m_center.value_or(*m_wanted);
  for (const auto tier : {Neighborhood::adjacent, Neighborhood::one_parameter}) {
    if (m_center && tier < m_tier) continue;
    for (const Index index : neighbors_in_order(context, center, tier)) guess(index);
  }
  for (std::uint64_t p = m_start_position; p < m_starts.size() && guesses.size() < n; ++p) {
    guess(m_starts.at(p));
  }
  return guesses;
}

}  // namespace wb::search
