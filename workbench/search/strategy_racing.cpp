// SPDX-License-Identifier: MIT
// racing: successive elimination by interval. Whoever might be as fast as the leader stays, however
// its estimate looks; the confidence of one comparison is such that the whole race keeps the one
// that was asked for (Bonferroni over entrants and stages).
#include <algorithm>
#include <cmath>

#include "search/strategy_state.hpp"

namespace wb::search {

Racing::Racing(const Field& field) {
  const auto wanted = static_cast<std::uint64_t>(field.options.entrants);
  const SeededOrder order(field.space.size(), field.options.seed);
  if (field.start) m_survivors.push_back(*field.start);
  for (std::uint64_t p = 0; p < order.size() && m_survivors.size() < wanted; ++p) {
    const Index index = order.at(p);
    if (index != field.start) m_survivors.push_back(index);
  }
  m_entrants = m_survivors.size();
}

double Racing::confidence(const Field& field) const {
  const auto comparisons = static_cast<double>(std::max<std::size_t>(m_entrants, 2) - 1) *
                           static_cast<double>(field.options.stages);
  return 1 - (1 - field.options.confidence) / comparisons;
}

std::optional<Question> Racing::next(const Field& field) const {
  if (m_position >= m_survivors.size()) return std::nullopt;
  return Question{
      .index = m_survivors[m_position], .stage = m_stage, .confidence = confidence(field)};
}

bool Racing::accepts(const Field& field, Index index) const {
  if (!field.answers.has(index)) return true;
  if (index == field.answers.best() || m_told_now.contains(index)) return false;
  const auto rest = m_survivors.begin() + static_cast<std::ptrdiff_t>(m_position);
  return std::find(rest, m_survivors.end(), index) != m_survivors.end();
}

void Racing::told(Field& field, Index index) {
  m_told_now.insert(index);
  end_stages(field);
}

/// Passes over who needs no question; ends stages as long as that leaves nobody to ask.
void Racing::end_stages(Field& field) {
  while (m_position < m_survivors.size()) {
    const Index index = m_survivors[m_position];
    const bool leads = m_stage > 0 && index == field.answers.best();
    if (!leads && !m_told_now.contains(index)) return;
    if (++m_position == m_survivors.size()) end_stage(field);
  }
}

void Racing::end_stage(Field& field) {
  Answers& answers = field.answers;
  const auto score = [&](Index index) -> const Score& { return answers.find(index)->score; };
  std::erase_if(m_survivors,
                [&](Index index) { return score(index).invalidity || score(index).is_duplicate; });
  const auto leader = answers.best();
  std::optional<Index> next;
  for (const Index index : m_survivors) {
    if (index == leader || score(index).outcome != measure::ComparisonOutcome::faster) continue;
    if (!next || score(index).interval.low > score(*next).interval.low) next = index;
  }
  // Against the old leader; exactly 1 for itself. Written so that an unknown interval stays.
  const double bar = next ? score(*next).interval.low : 1 + field.options.worthwhile_frac;
  std::erase_if(m_survivors, [&](Index index) {
    if (index == next) return false;
    if (index == leader) return next.has_value();
    if (score(index).outcome == measure::ComparisonOutcome::slower) return true;
    return score(index).interval.high < bar;
  });
  if (next) answers.promote(*next);
  m_told_now.clear();
  m_position = 0;
  // One survivor leads alone; after the last stage nobody is asked again.
  if (++m_stage >= field.options.stages || m_survivors.size() < 2) m_survivors.clear();
}

std::vector<Index> Racing::open(const Field& field, std::size_t n) const {
  std::vector<Index> open;
  for (std::size_t p = m_position; p < m_survivors.size() && open.size() < n; ++p) {
    const bool leads = m_stage > 0 && m_survivors[p] == field.answers.best();
    if (!leads && !m_told_now.contains(m_survivors[p])) open.push_back(m_survivors[p]);
  }
  return open;
}

std::vector<IndexGuess> Racing::lookahead(const Field& field, std::size_t n) const {
  std::vector<IndexGuess> guesses;
  for (std::size_t p = m_position; p < m_survivors.size() && guesses.size() < n; ++p) {
    if (!field.answers.has(m_survivors[p])) guesses.push_back({m_survivors[p], true});
  }
  return guesses;
}

}  // namespace wb::search
