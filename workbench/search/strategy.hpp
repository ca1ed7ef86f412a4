// SPDX-License-Identifier: MIT
// Strategies: which configuration of a search space to evaluate next. next() asks, tell() takes the
// answer; nothing here builds, measures or knows a budget. The tune verb and the simulation drive
// them. docs/guide/simulation.md describes each.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "measure/figures.hpp"
#include "measure/plan.hpp"
#include "search/search_space.hpp"

namespace wb::measure {
struct CompareOptions;  // statistics.hpp
}

namespace wb::search {

enum class StrategyKind { exhaustive, random, hill_climb, racing, tpe, cma_es, gp };
std::string_view to_string(StrategyKind value);
std::optional<StrategyKind> parse_strategy_kind(std::string_view word);
/// True for kinds whose proposals come from an external search (Optuna's samplers, in a Python
/// program).
bool is_external(StrategyKind value);

/// An answer in the form for an external search: ln of the time over that of the first valid
/// configuration, or k_unknown with the invalidity.
struct Told {
  variant::Configuration configuration;
  double log_time = 0;
  std::optional<Invalidity> invalidity = {};
};
/// Takes the answers since its last call, then proposes up to `want` configurations, at least one,
/// from the product of the space's lists. It does not know restrictions and may repeat itself: both
/// get an answer at once, the first as `constraints`. Deterministic, as the strategy is.
struct Proposer {
  std::string about;  ///< name and version, for the log
  std::function<Result<std::vector<variant::Configuration>>(std::span<const Told> news,
                                                            std::size_t want)>
      propose;
};
using MakeProposer = std::function<Result<Proposer>(StrategyKind kind, const SearchSpace& space,
                                                    std::uint64_t seed)>;

inline constexpr std::int64_t k_in_flight_max = 1'000;

struct StrategyOptions {
  StrategyKind kind = StrategyKind::random;
  std::uint64_t seed = 1;
  /// Asked first if valid: the manifest's defaults, or the incumbent's configuration.
  std::optional<variant::Configuration> start = {};
  std::int64_t rounds = 2;   ///< ABBA rounds of each question
  double confidence = 0.99;  ///< racing: of the whole race; else of each comparison
  /// Racing: at most this many; the start, and others drawn by the seed.
  std::int64_t entrants = 64;
  std::int64_t stages = 4;  ///< racing: fresh processes that the last survivors see
  /// Racing: candidates that cannot beat the leader by more than this are eliminated.
  double worthwhile_frac = 0;
  MakeProposer make_proposer = {};  ///< for external kinds
  std::int64_t in_flight = 1;       ///< external kinds: the most questions without an answer
};

/// One question. `against` is the configuration to time beside it, nothing for the first valid one.
/// Racing asks again for survivors, one `stage` later: in a fresh process, and the answer compares
/// all rounds that the two have had together.
struct Ask {
  variant::Configuration configuration = {};
  std::optional<variant::Configuration> against = {};
  std::int64_t stage = 0, rounds = 2;
  double confidence = 0.99;
};

/// The options for comparing an ask's turns under a measured floor. Racing asks many questions at
/// once, so its confidence and the floor between two processes (given at 99 %) are widened alike.
measure::CompareOptions compare_options(const Ask& ask, const measure::NoiseFloor& floor,
                                        std::uint64_t seed);

/// The result of an evaluation: an invalidity, or the comparison with the best so far (`against` of
/// the ask). For the first valid configuration the comparison is 1.
struct Score {
  std::optional<Invalidity> invalidity;
  measure::ComparisonOutcome outcome = measure::ComparisonOutcome::same;
  double speedup = 1;  ///< the best's time / this one's; may be k_unknown
  measure::Interval interval{1, 1, 0.99};
  std::int64_t turns = 0, samples = 0;  ///< of this configuration, used in the comparison
  bool is_duplicate = false;            ///< its artifact was measured under another configuration
};
Score invalid_score(Invalidity invalidity);
/// `turns`: those of the configuration itself.
Score score_of(const measure::Comparison& comparison, std::span<const measure::Turn> turns);
Score first_score(
    std::span<const measure::Turn> turns);  ///< for a configuration with nothing to compare it with
/// Chains two scores: from `score` (of a against b) and `other` (of b against c), the score of a
/// against c.
Score chained(const Score& score, const Score& other);
Json to_json(const Score& score);
Result<Score> score_from_json(const Json& json);

/// When to stop timing a configuration: after its first turns, if the interval against the best
/// lies wholly below `speedup`. An unknown interval stops nothing.
struct EarlyStop {
  double speedup = 0.5;  ///< twice as slow; 0: never
  std::int64_t min_rounds = 1;
};
[[nodiscard]] bool is_clearly_slow(const measure::Comparison& against_best, const EarlyStop& rule);
/// When to stop after the first half of the first round: if the estimate is below 1 by more than
/// the noise floor. To become `faster`, the second half would have to make up for that and for
/// twice the difference of two processes of the same code. An unknown interval stops nothing.
[[nodiscard]] bool is_behind(const measure::Comparison& against_best);

/// A configuration that may need an artifact soon; an answer may still change that.
struct Guess {
  variant::Configuration configuration;
  bool is_certain = false;
};

/// The state of the search. The outcome compares the best with all other valid answers: `faster`
/// when each was found slower, else `ambiguous`; `same` for a single one.
struct Standing {
  std::optional<variant::Configuration> best;
  measure::ComparisonOutcome outcome = measure::ComparisonOutcome::same;
  std::uint64_t told = 0, valid = 0;  ///< numbers of configurations
  std::uint64_t contenders = 0;  ///< valid ones not found slower than the best, itself included
};

/// Deterministic: the same space, options and tells give the same questions, so replaying a log in
/// order restores a strategy. Movable, not copyable.
class Strategy {
 public:
  /// Errors: usage (an option out of range; an external kind without its proposer), those of the
  /// proposer. A start outside the space is ignored.
  static Result<Strategy> make(SearchSpace space, StrategyOptions options);
  Strategy(Strategy&&) noexcept;
  Strategy& operator=(Strategy&&) noexcept;
  ~Strategy();

  /// Returns the same question until it is answered; nothing when there is no further one.
  [[nodiscard]] std::optional<Ask> next() const;

  /// Answers a question, against the present best(). Also accepts a configuration that was not
  /// asked, such as a duplicate, which is then not asked. An `environment` failure is an answer
  /// too: retry before telling it. Errors: invalid (not in the space; told before, for racing in
  /// this stage; a comparison without a usable interval that is not ambiguous), those of the
  /// proposer, which leave the answer told.
  Result<void> tell(const variant::Configuration& configuration, const Score& score);

  /// Marks a valid answer as failed by a later verdict: it is not promising() any more. Only after
  /// the last question, since a replay of the answers does not include it. Errors: invalid (never
  /// told).
  Result<void> retract(const variant::Configuration& configuration, Invalidity invalidity);

  /// At most n questions: next(), and those that follow whatever the answers are. All are against
  /// the present best().
  [[nodiscard]] std::vector<Ask> certain(std::size_t n) const;

  /// Configurations to build ahead, soonest first, at most n, next() included, without those told
  /// already.
  [[nodiscard]] std::vector<Guess> lookahead(std::size_t n) const;

  /// The configuration that the next answers are compared with: the first valid one, then each one
  /// found `faster`.
  [[nodiscard]] std::optional<variant::Configuration> best() const;
  /// The configuration with the lowest estimated time, which is confirmed in fresh processes when
  /// the search ends. It may never have been found faster than best().
  [[nodiscard]] std::optional<variant::Configuration> promising() const;
  [[nodiscard]] Standing standing() const;

  /// The score of a configuration whose artifact equals that of `measured`, against the present
  /// best. Nothing when `measured` was not told or failed by the environment.
  [[nodiscard]] std::optional<Score> duplicate_of(const variant::Configuration& measured) const;

  [[nodiscard]] const SearchSpace& space() const;
  [[nodiscard]] const StrategyOptions& options() const;
  /// Proposer::about; empty for our own strategies.
  [[nodiscard]] const std::string& about() const;

 private:
  struct State;
  explicit Strategy(std::unique_ptr<State> state);
  std::unique_ptr<State> m_state;
};

/// One evaluation in the form of the log.
struct Evaluation {
  variant::Configuration configuration;
  std::string artifact;  ///< hash of the code; empty without one
  Score score;
};

/// The first configuration of each artifact, so that equal code is timed once.
class TuneLedger {
 public:
  /// The configuration first told with this artifact, possibly the one in question (a race asks
  /// again); nothing for a new or an empty hash.
  [[nodiscard]] std::optional<variant::Configuration> first_with(std::string_view artifact) const;
  /// `environment` failures are not stored under their artifact.
  void add(const Evaluation& evaluation);

 private:
  std::map<std::string, variant::Configuration, std::less<>> m_first;
};

/// Resume: tells a log's evaluations in their order. Errors: those of tell(), naming the
/// evaluation.
Result<void> replay(Strategy& strategy, TuneLedger& ledger,
                    std::span<const Evaluation> evaluations);

}  // namespace wb::search
