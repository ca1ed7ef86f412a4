// SPDX-License-Identifier: MIT
#include "search/strategy.hpp"
#include "measure/comparison.hpp"
#include "measure/quantiles.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "search/strategy_state.hpp"

namespace wb::search {

using variant::Configuration;

namespace {

constexpr std::array<std::string_view, 7> k_kinds = {"exhaustive", "random", "hill_climb", "racing",
                                                     "tpe",        "cma_es", "gp"};
constexpr std::int64_t k_count_max = 1'000'000;

Result<AnyStrategy> make_kind(const StrategyContext& context) {
  if (is_external(context.options.kind)) {
    WB_TRY_ASSIGN(ExternalStrategy outside, ExternalStrategy::make(context));
    return AnyStrategy(std::move(outside));
  }
  switch (context.options.kind) {
    case StrategyKind::hill_climb:
      return AnyStrategy(HillClimb(context));
    case StrategyKind::racing:
      return AnyStrategy(Racing(context));
    default:
      return AnyStrategy(Walk(context));
  }
}

Error refused(const Configuration& configuration, std::string cause, std::string next) {
  return Error{ErrorCode::invalid, "take the result of", variant::to_text(configuration),
               std::move(cause), std::move(next)};
}

std::optional<std::string> bad_option(const StrategyOptions& options) {
  if (!(options.rounds >= 1 && options.rounds <= k_count_max)) return "rounds must be 1 or more";
  if (!(options.confidence > 0.5 && options.confidence < 1)) {
    return "confidence must lie between 0.5 and 1";
  }
  if (!(options.entrants >= 2 && options.entrants <= k_count_max)) {
    return "a race needs 2 to 1000000 entrants";
  }
  if (!(options.stages >= 1 && options.stages <= 1000)) return "a race has 1 to 1000 stages";
  if (!(options.in_flight >= 1 && options.in_flight <= k_in_flight_max)) {
    return "1 to 1000 questions may be in flight";
  }
  if (!(options.worthwhile_frac >= 0 && options.worthwhile_frac < 1)) {
    return "worthwhile_frac must lie in [0, 1)";
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(StrategyKind value) {
  return k_kinds[static_cast<std::size_t>(value)];
}

std::optional<StrategyKind> parse_strategy_kind(std::string_view word) {
  for (std::size_t i = 0; i < k_kinds.size(); ++i) {
    if (k_kinds[i] == word) return static_cast<StrategyKind>(i);
  }
  return {};
}

bool is_external(StrategyKind value) {
  return value >= StrategyKind::tpe;
}

measure::CompareOptions compare_options(const Ask& ask, const measure::NoiseFloor& floor,
                                        std::uint64_t seed) {
  measure::CompareOptions options = compare_options(floor, seed);
  options.confidence = ask.confidence;
  if (!options.between_instance_floor_frac) return options;
  const double freedom = floor.degrees_of_freedom >= 1
                             ? static_cast<double>(floor.degrees_of_freedom)
                             : std::numeric_limits<double>::infinity();
  // The floor between processes is at the quantile 0.996 of Student's t
  // (docs/contracts/measurement.md).
  const double wider = measure::student_t_quantile(0.5 + ask.confidence / 2, freedom) /
                       measure::student_t_quantile(0.996, freedom);
  if (wider > 1) {
    options.between_instance_floor_frac =
        std::expm1(wider * std::log1p(*options.between_instance_floor_frac));
  }
  return options;
}

bool is_clearly_slow(const measure::Comparison& against_best, const EarlyStop& rule) {
  return against_best.rounds >= rule.min_rounds && is_valid(against_best.interval) &&
         against_best.interval.high < rule.speedup;
}

bool is_behind(const measure::Comparison& against_best) {
  return is_valid(against_best.interval) &&
         against_best.speedup < 1 - against_best.noise_floor_frac;
}

struct Strategy::State {
  StrategyContext context;
  AnyStrategy kind;
};

Strategy::Strategy(std::unique_ptr<State> state) : m_state(std::move(state)) {}
Strategy::Strategy(Strategy&&) noexcept = default;
Strategy& Strategy::operator=(Strategy&&) noexcept = default;
Strategy::~Strategy() = default;

Result<Strategy> Strategy::make(SearchSpace space, StrategyOptions options) {
  if (auto cause = bad_option(options)) {
    return Error{ErrorCode::usage, "start the strategy", std::string(to_string(options.kind)),
                 *std::move(cause), "change the option"};
  }
  const auto start = options.start ? space.find(*options.start) : std::nullopt;
  StrategyContext context{std::move(space), std::move(options), start, {}};
  WB_TRY_ASSIGN(AnyStrategy kind, make_kind(context));
  return Strategy(std::make_unique<State>(State{std::move(context), std::move(kind)}));
}

std::optional<Ask> Strategy::next() const {
  const StrategyContext& context = m_state->context;
  const auto question =
      std::visit([&](const auto& kind) { return kind.next(context); }, m_state->kind);
  if (!question) return std::nullopt;
  return Ask{.configuration = context.space.at(question->index),
             .against = best(),
             .stage = question->stage,
             .rounds = context.options.rounds,
             .confidence = question->confidence};
}

std::vector<Ask> Strategy::certain(std::size_t n) const {
  std::vector<Ask> asks;
  const auto first = next();
  if (!first || n == 0) return asks;
  const auto add = [&](const Configuration& configuration) {
    asks.push_back(*first);
    asks.back().configuration = configuration;
  };
  if (const auto* race = std::get_if<Racing>(&m_state->kind)) {
    for (const Index index : race->open(m_state->context, n)) {
      add(m_state->context.space.at(index));
    }
    return asks;
  }
  for (const Guess& guess : lookahead(n)) {
    if (guess.is_certain) add(guess.configuration);
  }
  return asks;
}

Result<void> Strategy::tell(const Configuration& configuration, const Score& score) {
  StrategyContext& context = m_state->context;
  const auto index = context.space.find(configuration);
  if (!index) {
    return refused(configuration, "it is not a configuration of the search space",
                   "the manifest's parameters or restrictions changed; start a new tune");
  }
  if (!std::visit([&](const auto& kind) { return kind.accepts(context, *index); }, m_state->kind)) {
    return refused(configuration, "its result was told before", "tell each result once");
  }
  const bool decided = score.outcome != measure::ComparisonOutcome::ambiguous;
  if (!score.invalidity && decided && !is_valid(score.interval)) {
    return refused(configuration,
                   fmt::format("it is called {} without an interval", to_string(score.outcome)),
                   "compare it with the best, or call it ambiguous");
  }
  context.answers.add(*index, score);
  return std::visit(
      [&](auto& kind) -> Result<void> {
        if constexpr (std::is_void_v<decltype(kind.told(context, *index))>) {
          kind.told(context, *index);
          return {};
        } else {
          return kind.told(context, *index);
        }
      },
      m_state->kind);
}

Result<void> Strategy::retract(const Configuration& configuration, Invalidity invalidity) {
  StrategyContext& context = m_state->context;
  const auto index = context.space.find(configuration);
  if (!index || !context.answers.has(*index)) {
    return refused(configuration, "it was never told", "retract only what was told");
  }
  context.answers.retract(*index, invalidity);
  return {};
}

std::vector<Guess> Strategy::lookahead(std::size_t n) const {
  const StrategyContext& context = m_state->context;
  std::vector<Guess> guesses;
  for (const IndexedGuess& guess :
       std::visit([&](const auto& kind) { return kind.lookahead(context, n); }, m_state->kind)) {
    guesses.push_back({context.space.at(guess.index), guess.is_certain});
  }
  return guesses;
}

std::optional<Configuration> Strategy::best() const {
  const auto best = m_state->context.answers.best();
  if (!best) return std::nullopt;
  return m_state->context.space.at(*best);
}

std::optional<Configuration> Strategy::promising() const {
  const auto promising = m_state->context.answers.promising();
  if (!promising) return std::nullopt;
  return m_state->context.space.at(*promising);
}

Standing Strategy::standing() const {
  return m_state->context.answers.standing(m_state->context.space);
}

std::optional<Score> Strategy::duplicate_of(const Configuration& measured) const {
  const StrategyContext& context = m_state->context;
  const auto index = context.space.find(measured);
  if (!index || !context.answers.has(*index)) return std::nullopt;
  Score score = context.answers.relative_to_best(*index);
  if (score.invalidity == Invalidity::environment) return std::nullopt;
  score.is_duplicate = true;
  return score;
}

const SearchSpace& Strategy::space() const {
  return m_state->context.space;
}

const StrategyOptions& Strategy::options() const {
  return m_state->context.options;
}

const std::string& Strategy::about() const {
  static const std::string own;
  const auto* outside = std::get_if<ExternalStrategy>(&m_state->kind);
  return outside != nullptr ? outside->about() : own;
}

std::optional<Configuration> TuneLedger::first_with(std::string_view artifact) const {
  const auto found = m_first.find(artifact);
  if (artifact.empty() || found == m_first.end()) return std::nullopt;
  return found->second;
}

void TuneLedger::add(const Evaluation& evaluation) {
  if (evaluation.artifact.empty()) return;
  if (evaluation.score.invalidity == Invalidity::environment) return;
  m_first.emplace(evaluation.artifact, evaluation.configuration);
}

Result<void> replay(Strategy& strategy, TuneLedger& ledger,
                    std::span<const Evaluation> evaluations) {
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    auto told = strategy.tell(evaluations[i].configuration, evaluations[i].score);
    if (!told.ok()) {
      Error error = std::move(told).error();
      error.cause = fmt::format("evaluation {} of {}: {}", i + 1, evaluations.size(), error.cause);
      return error;
    }
    ledger.add(evaluations[i]);
  }
  return {};
}

}  // namespace wb::search
