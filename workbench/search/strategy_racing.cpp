// SPDX-License-Identifier: MIT
// racing: successive elimination by interval. A configuration that may be as fast as the leader
// stays, whatever its estimate. Each comparison's confidence is such that the whole race keeps the
// requested one (Bonferroni over entrants and stages).
#include <algorithm>
#include <cmath>

#include "search/strategy_state.hpp"

namespace wb::search {

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
