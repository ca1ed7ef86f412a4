// SPDX-License-Identifier: MIT
// exhaustive and random: every configuration once, in an order independent of the answers.
#include "search/strategy_state.hpp"

namespace wb::search {

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

}  // namespace wb::search
