// SPDX-License-Identifier: MIT
// One question of a search, answered on the device of this process: judged,
// timed beside the best so far, scored. A tune asks here, and so does evaluate_request() for a tune
// of another process.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "search/strategy.hpp"

namespace wb::tune {

/// What a configuration of the search stands for: something that can be built.
struct Candidate {
  variant::Variant variant;
  variant::Configuration configuration;
  std::string name;  ///< for people and the log
};

/// Of an answer that another process measured (evaluation_exchange.hpp).
struct MeasuredElsewhere {
  std::string device;                             ///< its name
  std::string reply;                              ///< blob: all that it said, its turns included
  std::optional<variant::Configuration> against;  ///< what was best when it was asked
  search::Score score;                            ///< against that
};

/// One `evaluation` event.
struct TuneAnswer {
  search::Evaluation evaluation;
  std::string artifact_id, message;
  std::int64_t stage = 0;
  std::optional<variant::Configuration> against, duplicate_of;
  engine::Proof proof =
      engine::Proof::none;  ///< that it passed before it was told; a duplicate's is its twin's
  double build_s = 0;
  std::pair<std::int64_t, std::int64_t> turns;  ///< first and last event; 0: not timed here
  std::optional<MeasuredElsewhere> elsewhere = {};
};
Json to_json(const TuneAnswer& answer);
Result<TuneAnswer> answer_from_json(const Json& payload);
/// The answer is this failure.
void fail(TuneAnswer& answer, const Failure& failure);

/// The two sides of a pair on each problem of the suite, over all stages.
using PairLanes = std::vector<std::array<engine::Lane, 2>>;
void append(PairLanes& lanes, const PairLanes& more);

/// What a search asks for in the same way every time.
struct EvaluationTerms {
  search::StrategyKind kind = search::StrategyKind::random;
  std::int64_t placements = 1;
  search::EarlyStop early_stop = {};
};

/// What the code of a build is told apart by; empty for Python. Failures: environment (the cache
/// went away, say: nothing that could be told of the configuration).
Outcome<std::string> code_hash_of(const engine::Context& context, const engine::Subject& subject);

/// By the context's settings (suite, objective, effort) and floors; what happens is logged where a
/// session is held.
class Evaluator {
 public:
  /// Builds the other side of a pair once the candidate passed its verdict.
  using SubjectOf = std::function<Result<Outcome<engine::Subject>>(const variant::Configuration&)>;
  Evaluator(engine::Context& context, const EvaluationTerms& terms, SubjectOf subject_of);

  /// Fills the answer's proof, turns, score and message; `lanes` gets the turns of one that has a
  /// score. Returns whether it saw enough before the last round. Errors: those of the log, of
  /// `subject_of`; canceled.
  Result<bool> judge_and_time(const search::Ask& ask, const engine::Subject& candidate,
                              PairLanes& lanes, TuneAnswer& answer);
  /// In a process of its own, and once an artifact: a race that asks again has it already.
  Result<std::optional<Failure>> judge_wholly(const engine::Subject& candidate);
  [[nodiscard]] bool was_judged(const engine::Subject& subject) const {
    return m_judged.contains(subject.artifact.id);
  }
  /// The answer's score from these lanes, or the failure that they hold.
  void set_score(const search::Ask& ask, const PairLanes& lanes, TuneAnswer& answer) const;
  [[nodiscard]] std::size_t place_in_suite(const std::string& problem) const;

  [[nodiscard]] std::vector<problem::Problem> problems_to_time(
      const engine::Subject& candidate) const;

 private:
  [[nodiscard]] bool may_be_screened(const search::Ask& ask,
                                     const engine::Subject& candidate) const;
  /// No time without it. Fills the answer's proof; a screened process stays, to be timed.
  Result<std::optional<Failure>> judge_to_time(const search::Ask& ask,
                                               const engine::Subject& candidate,
                                               engine::SubjectProcesses& processes,
                                               TuneAnswer& answer);
  Result<bool> time(const search::Ask& ask, const engine::Subject& candidate,
                    engine::SubjectProcesses& processes, PairLanes& known, TuneAnswer& answer);
  /// Rounds from `first` on of the request's subjects, added to the lanes and the answer's events.
  Result<void> take_rounds(engine::TimingRequest& request, std::int64_t first, std::int64_t rounds,
                           PairLanes& lanes, TuneAnswer& answer);
  [[nodiscard]] measure::Comparison compare_pair(const search::Ask& ask,
                                                 const PairLanes& lanes) const;

  engine::Context& m_context;
  EvaluationTerms m_terms;
  SubjectOf m_subject_of;
  std::set<std::string> m_judged;  ///< artifacts that passed the whole verdict here
};

}  // namespace wb::tune
