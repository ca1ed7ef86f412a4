// SPDX-License-Identifier: MIT
// Evaluates one question of a search on this process's device: judges it, times it beside the best
// so far, and scores it. Used by a tune, and by evaluate_request() for another process's tune.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/json_fwd.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "search/strategy.hpp"

namespace wb::tune {

/// What a configuration of the search means: something that can be built.
struct Candidate {
  variant::Variant variant;
  variant::Configuration configuration;
  std::string name;  ///< for people and the log
};

/// The part of an answer that another process measured (evaluation_exchange.hpp).
struct RemoteMeasurement {
  std::string device;                             ///< name of the device
  std::string reply;                              ///< blob with the whole reply, turns included
  std::optional<variant::Configuration> against;  ///< the best when it was asked
  search::Score score;                            ///< against that best
};

/// One `evaluation` event.
struct TuneAnswer {
  search::Evaluation evaluation;
  std::string artifact_id, message;
  std::int64_t stage = 0;
  std::optional<variant::Configuration> against, duplicate_of;
  engine::VerdictExtent proof =
      /// The verdict that it passed before it was told; a duplicate has its original's.
      engine::VerdictExtent::none;
  double build_s = 0;
  /// First and last event; 0: not timed in this process.
  std::pair<std::int64_t, std::int64_t> turns;
  std::optional<RemoteMeasurement> remote = {};
};
Json to_json(const TuneAnswer& answer);
Result<TuneAnswer> answer_from_json(const Json& payload);
/// Makes the answer this failure.
void fail(TuneAnswer& answer, const Failure& failure);

/// The two sides of a pair on each problem of the suite, over all stages.
using PairLanes = std::vector<std::array<engine::Lane, 2>>;
void append(PairLanes& lanes, const PairLanes& more);

/// The parts of a search's questions that do not change.
struct EvaluationTerms {
  search::StrategyKind kind = search::StrategyKind::random;
  std::int64_t placements = 1;
  search::EarlyStop early_stop = {};
};

/// The hash of a build's code; empty for Python. Failures: environment (the cache was removed, for
/// example), which says nothing about the configuration.
Outcome<std::string> code_hash_of(const engine::Context& context, const engine::Subject& subject);

/// Works by the context's settings (suite, objective, effort) and floors, and logs if a session is
/// held.
class Evaluator {
 public:
  /// Builds the other side of a pair, once the candidate passed its verdict.
  using SubjectOf = std::function<Result<Outcome<engine::Subject>>(const variant::Configuration&)>;
  Evaluator(engine::Context& context, const EvaluationTerms& terms, SubjectOf subject_of);

  /// Fills the answer's proof, turns, score and message; `lanes` gets the turns of a scored one.
  /// Returns whether it stopped before the last round. Errors: those of the log, of `subject_of`;
  /// canceled.
  Result<bool> judge_and_time(const search::Ask& ask, const engine::Subject& candidate,
                              PairLanes& lanes, TuneAnswer& answer);
  /// Judges in its own process, once per artifact, since a race asks for the same artifact again.
  Result<std::optional<Failure>> judge_wholly(const engine::Subject& candidate);
  [[nodiscard]] bool was_judged(const engine::Subject& subject) const {
    return m_judged.contains(subject.artifact.id);
  }
  /// Sets the answer's score from these lanes, or the failure that they hold.
  void set_score(const search::Ask& ask, const PairLanes& lanes, TuneAnswer& answer) const;
  [[nodiscard]] std::size_t place_in_suite(const std::string& problem) const;

  [[nodiscard]] std::vector<problem::Problem> problems_to_time(
      const engine::Subject& candidate) const;

 private:
  [[nodiscard]] bool may_be_screened(const search::Ask& ask,
                                     const engine::Subject& candidate) const;
  /// Judges before timing. Fills the answer's proof; a screened process is kept for timing.
  Result<std::optional<Failure>> judge_to_time(const search::Ask& ask,
                                               const engine::Subject& candidate,
                                               engine::SubjectProcesses& processes,
                                               TuneAnswer& answer);
  Result<bool> time(const search::Ask& ask, const engine::Subject& candidate,
                    engine::SubjectProcesses& processes, PairLanes& known, TuneAnswer& answer);
  /// Adds rounds from `first` on of the request's subjects to the lanes and to the answer's events.
  Result<void> take_rounds(engine::TimingRequest& request, std::int64_t first, std::int64_t rounds,
                           PairLanes& lanes, TuneAnswer& answer);
  [[nodiscard]] measure::Comparison compare_pair(const search::Ask& ask,
                                                 const PairLanes& lanes) const;

  engine::Context& m_context;
  EvaluationTerms m_terms;
  SubjectOf m_subject_of;
  std::set<std::string> m_judged;  ///< artifacts that passed the whole verdict in this process
};

}  // namespace wb::tune
