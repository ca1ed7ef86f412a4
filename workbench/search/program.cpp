// SPDX-License-Identifier: MIT
#include "search/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "search/strategy_state.hpp"

namespace wb::search {

using variant::Configuration;

namespace {

Json told_json(const Told& told) {
  return {{"configuration", variant::to_json(told.configuration)},
          {"log_time", std::isfinite(told.log_time) ? Json(told.log_time) : Json(nullptr)},
          {"invalidity", told.invalidity ? Json(to_string(*told.invalidity)) : Json(nullptr)}};
}

Error misunderstood(std::string cause) {
  return Error{ErrorCode::internal, "hear", "the program's answer", std::move(cause),
               "this is a fault of the workbench: please report it"};
}

Result<std::vector<Configuration>> configurations_of(const Json& answer) {
  const Json list = answer.value("configurations", Json());
  if (!list.is_array()) return misunderstood("it has no list of configurations");
  std::vector<Configuration> configurations;
  for (const Json& item : list) {
    Configuration& configuration = configurations.emplace_back();
    if (!item.is_object()) return misunderstood("a configuration is no map");
    for (const auto& [name, value] : item.items()) {
      const auto whole = whole_number(value);
      if (!whole) return misunderstood("a parameter's value is no integer");
      configuration[name] = *whole;
    }
  }
  return configurations;
}

}  // namespace

MakeProposer proposers_of(AskProgram ask, std::int64_t in_flight) {
  if (!ask) return {};
  return [ask = std::move(ask), in_flight](StrategyKind kind, const SearchSpace& space,
                                           std::uint64_t seed) -> Result<Proposer> {
    WB_TRY_ASSIGN(const Json begun, ask({{"ask", "search"},
                                         {"strategy", to_string(kind)},
                                         {"seed", seed},
                                         {"parameters", space.parameters()},
                                         {"in_flight", in_flight}}));
    const Json search = begun.value("search", Json());
    if (!search.is_number_integer()) return misunderstood("it names no search");
    const auto propose = [ask, search](std::span<const Told> news,
                                       std::size_t want) -> Result<std::vector<Configuration>> {
      Json told = Json::array();
      for (const Told& item : news) told.push_back(told_json(item));
      WB_TRY_ASSIGN(
          const Json answer,
          ask({{"ask", "propose"}, {"search", search}, {"told", std::move(told)}, {"want", want}}));
      return configurations_of(answer);
    };
    return Proposer{begun.value("about", ""), propose};
  };
}

// tpe, cma_es, gp: an external search proposes from the product of the lists. This class asks only
// valid configurations, and none twice.

namespace {

/// A sampler that keeps proposing known configurations has nothing left.
constexpr std::size_t k_refusals_max = 20;

Told told_of(const StrategyContext& context, Index index) {
  const KnownAnswer& known = *context.answers.find(index);
  return {context.space.at(index), known.is_valid() ? known.log_time : measure::k_unknown,
          known.score.invalidity};
}

}  // namespace

ExternalStrategy::ExternalStrategy(const StrategyContext& context, Proposer proposer)
    : m_proposer(std::move(proposer)),
      m_order(context.space.size(), scramble(context.options.seed + 2)) {
  if (context.start) m_asked.push_back(*context.start);
}

Result<ExternalStrategy> ExternalStrategy::make(const StrategyContext& context) {
  const std::string word(to_string(context.options.kind));
  if (!context.options.make_proposer) {
    return Error{
        ErrorCode::usage, "start the strategy", word,
        "its proposals are Optuna's, and only a Python program can ask Optuna",
        "call tune() of the package sdpa_workbench, or take exhaustive, random, hill_climb "
        "or racing"};
  }
  WB_TRY_ASSIGN(Proposer proposer, context.options.make_proposer(
                                       context.options.kind, context.space, context.options.seed));
  ExternalStrategy outside(context, std::move(proposer));
  WB_TRY(outside.ask(context));
  return outside;
}

std::optional<Question> ExternalStrategy::next(const StrategyContext& context) const {
  if (m_asked.empty()) return std::nullopt;
  return Question{.index = m_asked.front(), .confidence = context.options.confidence};
}

bool ExternalStrategy::accepts(const StrategyContext& context, Index index) const {
  return !context.answers.has(index);
}

Result<void> ExternalStrategy::told(StrategyContext& context, Index index) {
  if (context.answers.find(index)->score.outcome == measure::ComparisonOutcome::faster) {
    context.answers.promote(index);
  }
  m_asked.erase(std::remove(m_asked.begin(), m_asked.end(), index), m_asked.end());
  m_news.push_back(told_of(context, index));
  return ask(context);
}

/// False for a proposal that may not be asked; the proposer gets the reason with the next call.
bool ExternalStrategy::take(const StrategyContext& context,
                            const variant::Configuration& proposed) {
  const auto index = context.space.find(proposed);
  if (!index) {
    m_news.push_back({proposed, measure::k_unknown, Invalidity::constraints});
    return false;
  }
  if (context.answers.has(*index)) {
    m_news.push_back(told_of(context, *index));
    return false;
  }
  if (std::find(m_asked.begin(), m_asked.end(), *index) != m_asked.end()) return false;
  m_asked.push_back(*index);
  return true;
}

void ExternalStrategy::draw(const StrategyContext& context) {
  for (; m_position < m_order.size(); ++m_position) {
    const Index index = m_order.at(m_position);
    const bool is_asked = std::find(m_asked.begin(), m_asked.end(), index) != m_asked.end();
    if (context.answers.has(index) || is_asked) continue;
    m_asked.push_back(index);
    return;
  }
}

/// Asks until enough questions are open or nothing is left.
Result<void> ExternalStrategy::ask(const StrategyContext& context) {
  const auto wanted = static_cast<std::size_t>(context.options.in_flight);
  std::size_t refusals = 0;
  while (m_asked.size() < wanted &&
         context.answers.size() + m_asked.size() < context.space.size()) {
    if (refusals >= k_refusals_max) {
      draw(context);
      refusals = 0;
      continue;
    }
    const std::vector<Told> news = std::exchange(m_news, {});
    WB_TRY_ASSIGN(const auto proposed, m_proposer.propose(news, wanted - m_asked.size()));
    if (proposed.empty()) refusals = k_refusals_max;
    for (const variant::Configuration& configuration : proposed) {
      if (m_asked.size() >= wanted) break;
      refusals = take(context, configuration) ? 0 : refusals + 1;
    }
  }
  return {};
}

std::vector<IndexedGuess> ExternalStrategy::lookahead(const StrategyContext&, std::size_t n) const {
  std::vector<IndexedGuess> guesses;
  for (const Index index : m_asked) {
    if (guesses.size() < n) guesses.push_back({index, true});
  }
  return guesses;
}

}  // namespace wb::search
