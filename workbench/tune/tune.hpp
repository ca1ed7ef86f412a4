// SPDX-License-Identifier: MIT
// One tune or race, from the verb's arguments to the configuration worth confirming. The strategy
// asks; Tuner builds, judges and times. Every answer is logged as an event before the strategy gets
// it. docs/guide/simulation.md has the strategies.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/json_fwd.hpp"
#include "engine/subject.hpp"
#include "search/strategy.hpp"
#include "session/view.hpp"
#include "tune/builds.hpp"
#include "tune/evaluation.hpp"
#include "tune/evaluation_exchange.hpp"

namespace wb::tune {

/// Limits of the search, without the confirmation. An absent member means no limit.
struct TuneBudget {
  std::optional<std::int64_t> evaluations;  ///< answers, including duplicates and failures
  std::optional<double> seconds, usd;  ///< including those of an interrupted run of the same tune
};

struct TunePlan {
  variant::Variant variant;
  /// For a race of any variants: its space has one parameter, `entrant`, that counts them from 1.
  /// Empty for a tune, whose configurations are those of `variant`.
  std::vector<Candidate> entrants;
  search::SearchSpace space;
  search::StrategyOptions options;
  TuneBudget budget;
  search::EarlyStop early_stop;
  measure::Effort effort;  ///< of one question; the options have its rounds
  std::optional<std::int64_t> ahead;
  /// Evaluations that the program's executor runs at a time; 0 without one.
  std::int64_t in_flight = 0;
  std::string id;  ///< equal for tunes whose answers may be joined

  [[nodiscard]] Candidate candidate(const variant::Configuration& configuration) const;
};
/// Errors: usage (no limit on a large space, a money budget without a rate), those of
/// read_proposal() and SearchSpace::make(); environment (no worker, no compiler).
Result<TunePlan> plan_tune(engine::Context& context, const Json& args);
/// Errors: usage (fewer than two variants, or one named twice), those of resolve_variant(), and the
/// last ones above.
Result<TunePlan> plan_race(engine::Context& context, const Json& args);
Json to_json(const TunePlan& plan);

/// Results of interrupted runs of the same tune: the abandoned iterations since it last finished.
struct TuneHistory {
  std::vector<TuneAnswer> answers;
  double seconds = 0, usd = 0;
};
Result<TuneHistory> tune_history(const session::SessionView& view, std::string_view tune_id);
/// The past answers that a strategy can be told. `environment` failures are left out, to be asked
/// again; if the strategy cannot continue without them (a race in a later stage), those without any
/// other answer stay.
Result<std::vector<TuneAnswer>> replayable(const TunePlan& plan, const TuneHistory& past);

struct TuneTotals {
  std::int64_t duplicates = 0, stopped_early = 0, replayed = 0, builds = 0;
  std::int64_t screened = 0;                       ///< answers with a screening only
  std::int64_t remote = 0;                         ///< answers measured by the program's executor
  double remote_build_s = 0, remote_device_s = 0;  ///< summed over those answers
  std::int64_t retracted = 0;                      ///< promising ones that failed the whole verdict
  double build_s = 0;                              ///< compilers' wall time, summed
  double wait_s = 0;     ///< time that the measuring side waited for builds
  double measure_s = 0;  ///< verdicts and turns
  double search_s = 0;   ///< total time
};

class Tuner {
 public:
  Tuner(engine::Context& context, const TunePlan& plan, search::Strategy strategy,
        const TuneHistory& past);

  /// Tells the strategy the known answers, before the search. Errors: damaged.
  Result<void> replay_past(const std::vector<TuneAnswer>& answers);
  /// Runs until the strategy has no question or a budget is used up. Returns why it ended. Errors:
  /// those of the log; canceled.
  Result<std::string> search();
  /// The subject of a configuration that was built before.
  Result<Outcome<engine::Subject>> subject(const variant::Configuration& configuration);

  [[nodiscard]] const search::Strategy& strategy() const { return m_strategy; }
  [[nodiscard]] const TuneTotals& totals() const { return m_totals; }
  [[nodiscard]] const BuildCpus& place() const { return m_place; }
  /// The last answer for each configuration, in order of first asking.
  [[nodiscard]] const std::vector<TuneAnswer>& answers() const { return m_answers; }
  [[nodiscard]] bool was_judged(const engine::Subject& subject) const {
    return m_evaluator.was_judged(subject);
  }

 private:
  [[nodiscard]] Result<std::optional<std::string>> why_stop() const;
  Result<void> answer(const search::Ask& ask);
  Result<TuneAnswer> evaluate(const search::Ask& ask);
  Result<PairLanes*> lanes_of(const search::Ask& ask);
  Result<void> restore_lanes(const TuneAnswer& answer, PairLanes& lanes) const;
  Result<void> tell(const TuneAnswer& answer);
  [[nodiscard]] std::size_t left_to_tell(std::size_t most) const;
  /// If equal code was measured under another configuration: takes its score and returns true.
  bool take_duplicate_score(const search::Ask& ask, TuneAnswer& answer) const;

  // remote_evaluation.cpp
  /// The answer of the program's executor; nothing when a budget was used up meanwhile.
  Result<std::optional<TuneAnswer>> evaluate_remotely(const search::Ask& ask);
  /// Keeps the executor busy with `first` and the questions that follow whatever its answer is.
  Result<void> send_out(const search::Ask& first);
  Result<void> send(const search::Ask& ask);
  Result<void> collect_replies();
  Result<void> dismiss_remote();
  [[nodiscard]] Result<EvaluationRequest> request_for(const search::Ask& ask) const;
  [[nodiscard]] std::optional<std::string> missing_of(const EvaluationRequest& request,
                                                      const PairLanes& lanes) const;
  Result<void> take_reply(const search::Ask& ask, const RemoteEvaluator::Sent& sent,
                          TuneAnswer& answer);

  /// Judges the promising configuration wholly, and retracts those that fail, until one passes.
  Result<void> prove_promising();

  [[nodiscard]] double seconds_since(std::chrono::steady_clock::time_point begin) const;
  Result<const BuildQueue::Built*> need(const variant::Configuration& configuration);
  Result<void> collect_builds(std::chrono::milliseconds patience);
  [[nodiscard]] std::vector<variant::Configuration> wishes(
      const variant::Configuration& first) const;

  engine::Context& m_context;
  const TunePlan& m_plan;
  search::Strategy m_strategy;
  search::TuneLedger m_ledger;
  TuneTotals m_totals;
  double m_past_seconds, m_past_usd;
  std::chrono::steady_clock::time_point m_started;
  bool m_is_searching = false;
  std::int64_t m_told = 0, m_machine_failures = 0;  ///< the latter in a row
  std::vector<TuneAnswer> m_answers, m_past;
  std::map<variant::Configuration, std::size_t> m_place_of_answer;
  std::map<std::pair<variant::Configuration, variant::Configuration>, PairLanes>
      m_lanes;  ///< racing only
  std::map<variant::Configuration, BuildQueue::Built> m_built;
  std::set<variant::Configuration> m_logged;  ///< builds with an event in this iteration
  BuildCpus m_place;
  BuildQueue m_queue;
  Evaluator m_evaluator;
  std::optional<RemoteEvaluator> m_remote;  ///< if the plan has one
};

/// The verb `tune`: an iteration that searches a variant's space and confirms the most promising
/// configuration. Errors: those of plan_tune() and of the log; canceled.
Result<Json> tune_variant(engine::Context& context, const Json& args);
/// The verb `race`: the same for a list of variants. Errors: those of plan_race() and of the log;
/// canceled.
Result<Json> race_variants(engine::Context& context, const Json& args);

}  // namespace wb::tune
