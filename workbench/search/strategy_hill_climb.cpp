// SPDX-License-Identifier: MIT
// hill_climb: steps between neighbors, and again from somewhere else. No configuration is asked
// twice; points that an earlier climb left known are passed over at no cost. Every step lowers the
// estimated time, so a climb ends.
#include <algorithm>

#include "search/strategy_state.hpp"

namespace wb::search {
namespace {

std::uint64_t order_seed(const Field& field, Index center, Neighborhood tier) {
  return scramble(scramble(field.options.seed) ^ center) + static_cast<std::uint64_t>(tier);
}

std::vector<Index> neighbors_in_order(const Field& field, Index center, Neighborhood tier) {
  std::vector<Index> neighbors = field.space.neighbors(center, tier);
  SeededRandom(order_seed(field, center, tier)).shuffle(neighbors);
  return neighbors;
}

/// Faster beyond its interval. What is the best of all was `faster` than something at least as
/// fast, which a chain of added-up ends might not show.
bool is_clearly_faster(const Field& field, Index index, const Known& known, const Known& than) {
  if (!known.is_valid() || !(known.log_time < than.log_time)) return false;
  return field.answers.best() == index || known.log_high < than.log_low;
}

}  // namespace

HillClimb::HillClimb(const Field& field)
    : m_starts(field.space.size(), scramble(field.options.seed + 1)), m_wanted(field.start) {
  advance(field);
}

std::optional<Question> HillClimb::next(const Field& field) const {
  if (!m_wanted) return std::nullopt;
  return Question{.index = *m_wanted, .confidence = field.options.confidence};
}

bool HillClimb::accepts(const Field& field, Index index) const {
  return !field.answers.has(index);
}

void HillClimb::told(Field& field, Index index) {
  if (field.answers.find(index)->score.outcome == measure::ComparisonOutcome::faster) {
    field.answers.promote(index);
  }
  advance(field);
}

void HillClimb::enter(const Field& field, Index center, Neighborhood tier) {
  m_center = center;
  m_tier = tier;
  m_neighbors = neighbors_in_order(field, center, tier);
  m_neighbor = 0;
}

/// Wants the next start, or enters the one that was wanted and is now known.
void HillClimb::restart(const Field& field) {
  if (m_wanted) {
    const Known* known = field.answers.find(*m_wanted);
    if (known == nullptr) return;
    const Index start = *m_wanted;
    m_wanted.reset();
    if (known->is_valid()) return enter(field, start, Neighborhood::adjacent);
  }
  for (; m_start_position < m_starts.size(); ++m_start_position) {
    const Index start = m_starts.at(m_start_position);
    if (field.answers.has(start)) continue;
    m_wanted = start;
    return;
  }
}

bool HillClimb::move_to_best(const Field& field) {
  std::optional<Index> best;
  double best_log_time = field.answers.find(*m_center)->log_time;
  for (const Index index : m_neighbors) {
    const Known& known = *field.answers.find(index);
    if (!known.is_valid() || !(known.log_time < best_log_time)) continue;
    best = index;
    best_log_time = known.log_time;
  }
  if (best) enter(field, *best, Neighborhood::adjacent);
  return best.has_value();
}

void HillClimb::advance(const Field& field) {
  if (m_center) m_wanted.reset();
  while (true) {
    if (!m_center) {
      restart(field);
      if (!m_center) return;  // a start is wanted, or there is none left
    }
    const Known& center = *field.answers.find(*m_center);
    bool moved = false;
    for (; m_neighbor < m_neighbors.size() && !moved; ++m_neighbor) {
      const Index index = m_neighbors[m_neighbor];
      const Known* known = field.answers.find(index);
      if (known == nullptr) {
        m_wanted = index;
        return;
      }
      if (!is_clearly_faster(field, index, *known, center)) continue;
      enter(field, index, Neighborhood::adjacent);
      moved = true;
      break;
    }
    if (moved || move_to_best(field)) continue;
    if (m_tier == Neighborhood::adjacent) {
      enter(field, *m_center, Neighborhood::one_parameter);
    } else {
      m_center.reset();
    }
  }
}

std::vector<IndexGuess> HillClimb::lookahead(const Field& field, std::size_t n) const {
  std::vector<IndexGuess> guesses;
  std::set<Index> seen;
  const auto guess = [&](Index index) {
    if (guesses.size() >= n || field.answers.has(index) || !seen.insert(index).second) return;
    guesses.push_back({index, index == m_wanted});
  };
  if (!m_wanted || n == 0) return guesses;
  guess(*m_wanted);
  const Index center = m_center.value_or(*m_wanted);
  for (const auto tier : {Neighborhood::adjacent, Neighborhood::one_parameter}) {
    if (m_center && tier < m_tier) continue;
    for (const Index index : neighbors_in_order(field, center, tier)) guess(index);
  }
  for (std::uint64_t p = m_start_position; p < m_starts.size() && guesses.size() < n; ++p) {
    guess(m_starts.at(p));
  }
  return guesses;
}

}  // namespace wb::search
