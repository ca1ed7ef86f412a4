// SPDX-License-Identifier: MIT
// The search of a tune: ask, build ahead, answer, log, tell.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "engine/context.hpp"
#include "engine/spending.hpp"
#include "engine/subject.hpp"
#include "engine/worker.hpp"
#include "tune/builds.hpp"
#include "tune/evaluation.hpp"
#include "tune/tune.hpp"

namespace wb::tune {

using engine::Context;
using engine::StopDecision;
using engine::Subject;
using variant::Configuration;

namespace {

constexpr int k_attempts = 3;  ///< of an evaluation with `environment` failures
/// After this many `environment` failures in a row the search ends.
constexpr std::int64_t k_machine_failures = 3;
/// Guesses built ahead while builds overlap with turns; some are not needed.
constexpr std::size_t k_guesses_beside = 4;
constexpr auto k_patience = std::chrono::milliseconds(100);

}  // namespace

Tuner::Tuner(Context& context, const TunePlan& plan, search::Strategy strategy,
             const TuneHistory& past)
    : m_context(context),
      m_plan(plan),
      m_strategy(std::move(strategy)),
      m_past_seconds(past.seconds),
      m_past_usd(past.usd),
      m_started(context.services.clock.steady_now()),
      m_place(choose_build_cpus(context.worker->hello->device,
                                context.worker->client->description(), device::allowed_cpus())),
      m_queue(
          [this](const Configuration& wanted) {
            const Candidate made = m_plan.candidate(wanted);
            return build_subject(m_context, made.variant, made.configuration);
          },
          m_place),
      m_evaluator(context, {plan.options.kind, plan.effort.placements, plan.early_stop},
                  [this](const Configuration& wanted) { return subject(wanted); }) {
  if (plan.in_flight > 0) m_remote.emplace(context.services.ask_program, context.services.clock);
}

double Tuner::seconds_since(std::chrono::steady_clock::time_point begin) const {
  return std::chrono::duration<double>(m_context.services.clock.steady_now() - begin).count();
}

Result<void> Tuner::replay_past(const std::vector<TuneAnswer>& answers) {
  for (const TuneAnswer& answer : answers) {
    auto told = tell(answer);
    if (!told) {
      Error error = std::move(told).error();
      error.code = ErrorCode::damaged;
      return error;
    }
    ++m_totals.replayed;
  }
  m_past = answers;
  return {};
}

Result<std::optional<std::string>> Tuner::why_stop() const {
  const auto reason = [](std::string text) {
    return Result<std::optional<std::string>>(std::optional<std::string>(std::move(text)));
  };
  const TuneBudget& budget = m_plan.budget;
  if (budget.evaluations && m_told >= *budget.evaluations) {
    return reason(fmt::format("budget: {} of {} evaluations", m_told, *budget.evaluations));
  }
  const double spent_s = m_past_seconds + seconds_since(m_started);
  if (budget.seconds && !(spent_s < *budget.seconds)) {
    return reason(fmt::format("budget: {:.0f} of {:.0f} s", spent_s, *budget.seconds));
  }
  if (m_machine_failures >= k_machine_failures) {
    return reason(
        fmt::format("{} evaluations in a row failed for the machine's sake", m_machine_failures));
  }
  WB_TRY_ASSIGN(const session::SessionView* view,
                m_context.session->current(session::FoldDepth::brief));
  if (budget.usd) {
    const session::IterationView* own = view->find(m_context.iteration);
    const session::Ledger::Total total =
        own == nullptr ? session::Ledger::Total{} : own->ledger.total();
    const double usd = m_past_usd + total.usd;
    if (!(usd < *budget.usd)) {
      return reason(fmt::format("budget: ${:.4f} of ${:.4f}{}", usd, *budget.usd,
                                total.is_listed ? " (list price)" : ""));
    }
  }
  const StopDecision session = stop_decision(*view, m_context.settings.budget,
                                             m_context.settings.stop, m_context.elapsed_s());
  if (session.reason) return reason("the session's " + *session.reason);
  return std::optional<std::string>{};
}

Result<std::string> Tuner::search() {
  std::string ended = "every question was answered";
  m_is_searching = true;
  while (const auto ask = m_strategy.next()) {
    WB_TRY(m_context.check_stop());
    WB_TRY_ASSIGN(const auto stop, why_stop());
    if (stop) {
      ended = *stop;
      break;
    }
    WB_TRY(answer(*ask));
  }
  m_is_searching = false;
  if (m_remote) WB_TRY(dismiss_remote());
  // Unneeded builds were paid for all the same.
  m_queue.want({});
  while (!m_queue.is_idle()) WB_TRY(collect_builds(k_patience));
  WB_TRY(prove_promising());
  m_totals.search_s = seconds_since(m_started);
  return ended;
}

Result<void> Tuner::answer(const search::Ask& ask) {
  m_context.report_progress({.stage = "tune",
                             .what = m_plan.candidate(ask.configuration).name,
                             .done = m_told,
                             .total = m_plan.budget.evaluations.value_or(static_cast<std::int64_t>(
                                 std::min<std::uint64_t>(m_plan.space.size(), 1'000'000)))});
  TuneAnswer found;
  for (int attempt = 0; attempt < k_attempts; ++attempt) {
    WB_TRY(m_context.check_stop());
    if (m_remote) {
      WB_TRY_ASSIGN(auto replied, evaluate_remotely(ask));
      if (!replied) return {};
      found = *std::move(replied);
    } else {
      WB_TRY_ASSIGN(found, evaluate(ask));
    }
    if (found.evaluation.score.invalidity != Invalidity::environment) break;
    m_built.erase(ask.configuration);  // the build itself may have failed
  }
  WB_TRY(m_context.check_stop());  // a stop looks like a failure of the machine
  Json event = to_json(found);
  event["iteration"] = m_context.iteration;
  event["n"] = m_told + 1;
  if (!m_plan.entrants.empty()) event["variant"] = m_plan.candidate(ask.configuration).name;
  WB_TRY(m_context.log("evaluation", std::move(event)));
  WB_TRY(m_context.spending->debit_device(m_plan.candidate(ask.configuration).name));
  const bool is_machine = found.evaluation.score.invalidity == Invalidity::environment;
  m_machine_failures = is_machine ? m_machine_failures + 1 : 0;
  WB_TRY(tell(found));
  // The best is timed repeatedly; all others come from the cache if they are asked again.
  const auto best = m_strategy.best();
  std::erase_if(m_built, [&](const auto& built) {
    return m_place_of_answer.contains(built.first) && (!best || built.first != *best);
  });
  return {};
}

Result<void> Tuner::tell(const TuneAnswer& answer) {
  WB_TRY(m_strategy.tell(answer.evaluation.configuration, answer.evaluation.score));
  m_ledger.add(answer.evaluation);
  if (answer.evaluation.score.is_duplicate) ++m_totals.duplicates;
  ++m_told;
  const auto [place, is_new] =
      m_place_of_answer.emplace(answer.evaluation.configuration, m_answers.size());
  if (is_new) {
    m_answers.push_back(answer);
  } else {
    m_answers[place->second] = answer;
  }
  return {};
}

/// At most the number of answers that the budget leaves, at least one.
std::size_t Tuner::left_to_tell(std::size_t most) const {
  if (!m_plan.budget.evaluations) return most;
  const auto left = *m_plan.budget.evaluations - m_told;
  return std::min(most, static_cast<std::size_t>(std::max<std::int64_t>(left, 1)));
}

std::vector<Configuration> Tuner::wishes(const Configuration& first) const {
  if (!m_is_searching) return {first};
  // If building and measuring alternate, a batch that fills the builders twice wastes the least.
  // Guesses that an answer may overtake only fill idle builders, or a few builders that overlap
  // with turns. Certain questions keep all builders busy.
  const std::size_t usual_ahead =
      m_place.overlaps ? std::max(k_guesses_beside, m_place.builders) : 2 * m_place.builders - 1;
  std::size_t most = m_plan.ahead ? static_cast<std::size_t>(*m_plan.ahead) + 1 : usual_ahead + 1;
  const std::size_t most_guessed = m_plan.ahead ? most : k_guesses_beside + 1;
  most = left_to_tell(most);
  std::vector<Configuration> wished;
  if (!m_built.contains(first)) wished.push_back(first);
  std::size_t seen = 0;
  for (const search::Guess& guess : m_strategy.lookahead(most)) {
    const bool may_guess =
        m_place.overlaps ? seen < most_guessed : wished.size() < m_place.builders;
    const bool fits = guess.is_certain || may_guess;
    ++seen;
    if (!fits || guess.configuration == first || m_built.contains(guess.configuration)) continue;
    wished.push_back(guess.configuration);
  }
  if (wished.size() > most) wished.resize(most);
  return wished;
}

Result<void> Tuner::collect_builds(std::chrono::milliseconds patience) {
  for (BuildQueue::Built& built : m_queue.take(patience)) {
    const Configuration configuration = built.configuration;
    // Logged once, since the cache returns the same again. Failures are logged each time.
    if (!m_logged.contains(configuration)) {
      const Candidate made = m_plan.candidate(configuration);
      WB_TRY(log_built(m_context, made.variant, made.configuration, built.subject));
      if (built.subject) m_logged.insert(configuration);
      ++m_totals.builds;
      m_totals.build_s += built.wall_s;
    }
    m_built.insert_or_assign(configuration, std::move(built));
  }
  return {};
}

Result<const BuildQueue::Built*> Tuner::need(const Configuration& configuration) {
  WB_TRY(collect_builds(std::chrono::milliseconds(0)));
  const bool is_there = m_built.contains(configuration);
  if (!is_there || m_place.overlaps) m_queue.want(wishes(configuration));
  if (is_there) return &m_built.at(configuration);
  const auto begin = m_context.services.clock.steady_now();
  const auto collect_until = [&](const auto& is_enough) -> Result<void> {
    while (!is_enough()) {
      WB_TRY(m_context.check_stop());
      WB_TRY(collect_builds(k_patience));
    }
    return {};
  };
  // No compiler may run beside a turn on the same CPUs: the device's CPUs are lent while nothing
  // can be measured, and without other CPUs the whole batch is awaited.
  m_queue.lend(m_place.overlaps);
  const Result<void> came = collect_until([&] { return m_built.contains(configuration); });
  m_queue.lend(false);
  WB_TRY(came);
  WB_TRY(
      collect_until([&] { return m_place.overlaps ? m_queue.is_returned() : m_queue.is_idle(); }));
  m_totals.wait_s += seconds_since(begin);
  return &m_built.at(configuration);
}

Result<Outcome<Subject>> Tuner::subject(const Configuration& configuration) {
  WB_TRY_ASSIGN(const BuildQueue::Built* built, need(configuration));
  return built->subject;
}

}  // namespace wb::tune
