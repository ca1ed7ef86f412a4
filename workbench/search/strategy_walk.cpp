// SPDX-License-Identifier: MIT
// exhaustive and random: every configuration once, in an order that no answer changes.
#include "search/strategy_state.hpp"

namespace wb::search {

Walk::Walk(const Field& field) {
  if (field.options.kind == StrategyKind::random) {
    m_order.emplace(field.space.size(), field.options.seed);
  }
}

Index Walk::at(std::uint64_t position) const {
  return m_order ? m_order->at(position) : position;
}

std::optional<Question> Walk::next(const Field& field) const {
  const double confidence = field.options.confidence;
  if (field.start && !field.answers.has(*field.start)) {
    return Question{.index = *field.start, .confidence = confidence};
  }
  if (m_position >= field.space.size()) return std::nullopt;
  return Question{.index = at(m_position), .confidence = confidence};
}

bool Walk::accepts(const Field& field, Index index) const {
  return !field.answers.has(index);
}

void Walk::told(Field& field, Index index) {
  if (field.answers.find(index)->score.outcome == measure::ComparisonOutcome::faster) {
    field.answers.promote(index);
  }
  while (m_position < field.space.size() && field.answers.has(at(m_position))) ++m_position;
}

std::vector<IndexGuess> Walk::lookahead(const Field& field, std::size_t n) const {
  std::vector<IndexGuess> guesses;
  const bool start_first = field.start && !field.answers.has(*field.start);
  if (start_first && n > 0) guesses.push_back({*field.start, true});
  for (std::uint64_t p = m_position; p < field.space.size() && guesses.size() < n; ++p) {
    const Index index = at(p);
    if (field.answers.has(index) || (start_first && index == *field.start)) continue;
    guesses.push_back({index, true});
  }
  return guesses;
}

}  // namespace wb::search
