// SPDX-License-Identifier: MIT
// The strategies that are built in: exhaustive, random, hill_climb and racing.
#include <algorithm>
#include <cmath>

#include "search/strategy_state.hpp"

namespace wb::search {

// exhaustive and random: every configuration once, in an order independent of the answers.

Walk::Walk(const StrategyContext& context) {
  if (context.options.kind == StrategyKind::random) {
    m_order.emplace(context.space.size(), context.options.seed);
  }
}

Index Walk::at(std::uint64_t position) const {
  return m_order ? m_order->at(position) : position;
}

std::optional<Question> Walk::next(const StrategyContext& context) const {
  const double confidence = context.options.confidence;
  if (context.start && !context.answers.has(*context.start)) {
    return Question{.index = *context.start, .confidence = confidence};
  }
  if (m_position >= context.space.size()) return std::nullopt;
  return Question{.index = at(m_position), .confidence = confidence};
}

bool Walk::accepts(const StrategyContext& context, Index index) const {
  return !context.answers.has(index);
}

void Walk::told(StrategyContext& context, Index index) {
  if (context.answers.find(index)->score.outcome == measure::ComparisonOutcome::faster) {
    context.answers.promote(index);
  }
  while (m_position < context.space.size() && context.answers.has(at(m_position))) ++m_position;
}

std::vector<IndexedGuess> Walk::lookahead(const StrategyContext& context, std::size_t n) const {
  std::vector<IndexedGuess> guesses;
  const bool start_first = context.start && !context.answers.has(*context.start);
  if (start_first && n > 0) guesses.push_back({*context.start, true});
  for (std::uint64_t p = m_position; p < context.space.size() && guesses.size() < n; ++p) {
    const Index index = at(p);
    if (context.answers.has(index) || (start_first && index == *context.start)) continue;
    guesses.push_back({index, true});
  }
  return guesses;
}

// hill_climb: steps between neighbors, with restarts. No configuration is asked twice, and known
// points are passed over at no cost. Every step lowers the estimated time, so a climb ends.

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

// racing: successive elimination by interval. A configuration that may be as fast as the leader
// stays, whatever its estimate. Each comparison's confidence is such that the whole race keeps the
// requested one (Bonferroni over entrants and stages).

Racing::Racing(const StrategyContext& context) {
  const auto wanted = static_cast<std::uint64_t>(context.options.entrants);
  const SeededOrder order(context.space.size(), context.options.seed);
  if (context.start) m_survivors.push_back(*context.start);
  for (std::uint64_t p = 0; p < order.size() && m_survivors.size() < wanted; ++p) {
    const Index index = order.at(p);
    if (index != context.start) m_survivors.push_back(index);
  }
  m_entrants = m_survivors.size();
}

double Racing::confidence(const StrategyContext& context) const {
  const auto comparisons = static_cast<double>(std::max<std::size_t>(m_entrants, 2) - 1) *
                           static_cast<double>(context.options.stages);
  return 1 - (1 - context.options.confidence) / comparisons;
}

std::optional<Question> Racing::next(const StrategyContext& context) const {
  if (m_position >= m_survivors.size()) return std::nullopt;
  return Question{
      .index = m_survivors[m_position], .stage = m_stage, .confidence = confidence(context)};
}

bool Racing::accepts(const StrategyContext& context, Index index) const {
  if (!context.answers.has(index)) return true;
  if (index == context.answers.best() || m_told_now.contains(index)) return false;
  const auto rest = m_survivors.begin() + static_cast<std::ptrdiff_t>(m_position);
  return std::find(rest, m_survivors.end(), index) != m_survivors.end();
}

void Racing::told(StrategyContext& context, Index index) {
  m_told_now.insert(index);
  end_stages(context);
}

/// Skips configurations without a question; ends stages while that leaves none to ask.
void Racing::end_stages(StrategyContext& context) {
  while (m_position < m_survivors.size()) {
    const Index index = m_survivors[m_position];
    const bool leads = m_stage > 0 && index == context.answers.best();
    if (!leads && !m_told_now.contains(index)) return;
    if (++m_position == m_survivors.size()) end_stage(context);
  }
}

void Racing::end_stage(StrategyContext& context) {
  Answers& answers = context.answers;
  const auto score = [&](Index index) -> const Score& { return answers.find(index)->score; };
  std::erase_if(m_survivors,
                [&](Index index) { return score(index).invalidity || score(index).is_duplicate; });
  const auto leader = answers.best();
  std::optional<Index> next;
  for (const Index index : m_survivors) {
    if (index == leader || score(index).outcome != measure::ComparisonOutcome::faster) continue;
    if (!next || score(index).interval.low > score(*next).interval.low) next = index;
  }
  // Against the old leader; exactly 1 for itself. Written so that an unknown interval stays in.
  const double bar = next ? score(*next).interval.low : 1 + context.options.worthwhile_frac;
  std::erase_if(m_survivors, [&](Index index) {
    if (index == next) return false;
    if (index == leader) return next.has_value();
    if (score(index).outcome == measure::ComparisonOutcome::slower) return true;
    return score(index).interval.high < bar;
  });
  if (next) answers.promote(*next);
  m_told_now.clear();
  m_position = 0;
  // A single survivor wins; after the last stage no more questions are asked.
  if (++m_stage >= context.options.stages || m_survivors.size() < 2) m_survivors.clear();
}

std::vector<Index> Racing::open(const StrategyContext& context, std::size_t n) const {
  std::vector<Index> open;
  for (std::size_t p = m_position; p < m_survivors.size() && open.size() < n; ++p) {
    const bool leads = m_stage > 0 && m_survivors[p] == context.answers.best();
    if (!leads && !m_told_now.contains(m_survivors[p])) open.push_back(m_survivors[p]);
  }
  return open;
}

std::vector<IndexedGuess> Racing::lookahead(const StrategyContext& context, std::size_t n) const {
  std::vector<IndexedGuess> guesses;
  for (std::size_t p = m_position; p < m_survivors.size() && guesses.size() < n; ++p) {
    if (!context.answers.has(m_survivors[p])) guesses.push_back({m_survivors[p], true});
  }
  return guesses;
}

}  // namespace wb::search
