// SPDX-License-Identifier: MIT
// tpe, cma_es, gp: a search elsewhere proposes. It draws from the product of the lists, so here is
// seen to it that only valid configurations are asked, and none twice.
#include <fmt/format.h>

#include <algorithm>

#include "search/strategy_state.hpp"

namespace wb::search {
namespace {

/// A sampler that goes on naming what it knows has nothing left to say.
constexpr std::size_t k_refusals_max = 20;

Told told_of(const Field& field, Index index) {
  const Known& known = *field.answers.find(index);
  return {field.space.at(index), known.is_valid() ? known.log_time : measure::k_unknown,
          known.score.invalidity};
}

}  // namespace

Outside::Outside(const Field& field, Proposer proposer)
    : m_proposer(std::move(proposer)),
      m_order(field.space.size(), scramble(field.options.seed + 2)) {
  if (field.start) m_asked.push_back(*field.start);
}

Result<Outside> Outside::make(const Field& field) {
  const std::string word(to_string(field.options.kind));
  if (!field.options.make_proposer) {
    return Error{
        ErrorCode::usage, "start the strategy", word,
        "its proposals are Optuna's, and only a Python program can ask Optuna",
        "call tune() of the package sdpa_workbench, or take exhaustive, random, hill_climb "
        "or racing"};
  }
  WB_TRY_ASSIGN(Proposer proposer,
                field.options.make_proposer(field.options.kind, field.space, field.options.seed));
  Outside outside(field, std::move(proposer));
  WB_TRY(outside.ask(field));
  return outside;
}

std::optional<Question> Outside::next(const Field& field) const {
  if (m_asked.empty()) return std::nullopt;
  return Question{.index = m_asked.front(), .confidence = field.options.confidence};
}

bool Outside::accepts(const Field& field, Index index) const {
  return !field.answers.has(index);
}

Result<void> Outside::told(Field& field, Index index) {
  if (field.answers.find(index)->score.outcome == measure::ComparisonOutcome::faster) {
    field.answers.promote(index);
  }
  m_asked.erase(std::remove(m_asked.begin(), m_asked.end(), index), m_asked.end());
  m_news.push_back(told_of(field, index));
  return ask(field);
}

/// False for what may not be asked; the proposer hears why with the next call.
bool Outside::take(const Field& field, const variant::Configuration& proposed) {
  const auto index = field.space.find(proposed);
  if (!index) {
    m_news.push_back({proposed, measure::k_unknown, Invalidity::constraints});
    return false;
  }
  if (field.answers.has(*index)) {
    m_news.push_back(told_of(field, *index));
    return false;
  }
  if (std::find(m_asked.begin(), m_asked.end(), *index) != m_asked.end()) return false;
  m_asked.push_back(*index);
  return true;
}

void Outside::draw(const Field& field) {
  for (; m_position < m_order.size(); ++m_position) {
    const Index index = m_order.at(m_position);
    const bool is_asked = std::find(m_asked.begin(), m_asked.end(), index) != m_asked.end();
    if (field.answers.has(index) || is_asked) continue;
    m_asked.push_back(index);
    return;
  }
}

/// Until as many questions are open as may be, or nothing is left.
Result<void> Outside::ask(const Field& field) {
  const auto wanted = static_cast<std::size_t>(field.options.in_flight);
  std::size_t refusals = 0;
  while (m_asked.size() < wanted && field.answers.size() + m_asked.size() < field.space.size()) {
    if (refusals >= k_refusals_max) {
      draw(field);
      refusals = 0;
      continue;
    }
    const std::vector<Told> news = std::exchange(m_news, {});
    WB_TRY_ASSIGN(const auto proposed, m_proposer.propose(news, wanted - m_asked.size()));
    if (proposed.empty()) refusals = k_refusals_max;
    for (const variant::Configuration& configuration : proposed) {
      if (m_asked.size() >= wanted) break;
      refusals = take(field, configuration) ? 0 : refusals + 1;
    }
  }
  return {};
}

std::vector<IndexGuess> Outside::lookahead(const Field&, std::size_t n) const {
  std::vector<IndexGuess> guesses;
  for (const Index index : m_asked) {
    if (guesses.size() < n) guesses.push_back({index, true});
  }
  return guesses;
}

}  // namespace wb::search
