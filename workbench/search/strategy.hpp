// SPDX-License-Identifier: MIT
// Strategies: which configuration of a search space to evaluate next. Ask and tell: next() is a
// question, tell() its answer; nothing here builds, measures or knows a budget. The tune verb and
// the simulation drive them. What each does: docs/guide/simulation.md.
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

#include "core/invalidity.hpp"
#include "measure/statistics.hpp"
#include "search/search_space.hpp"

namespace wb::search {

enum class StrategyKind { exhaustive, random, hill_climb, racing, tpe, cma_es, gp };
std::string_view to_string(StrategyKind value);
std::optional<StrategyKind> parse_strategy_kind(std::string_view word);
/// Its proposals come from a search that lives elsewhere (Optuna's samplers, in a Python program).
bool is_outside(StrategyKind value);

/// An answer as a search elsewhere hears it: ln of the time over that of the first valid
/// configuration, k_unknown where there is none, and why there is none.
struct Told {
  variant::Configuration configuration;
  double log_time = 0;
  std::optional<Invalidity> invalidity = {};
};
/// Hears what was told since it was called last, then names up to `want` configurations, at least
/// one, of the product of the space's lists. It knows no restrictions and may name one twice: both
/// it is told at once, the first as `constraints`. Deterministic, as the strategy is.
struct Proposer {
  std::string about;  ///< who it is, with its version, for the log
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
  /// Asked first when it is valid: the manifest's defaults, or what the incumbent uses.
  std::optional<variant::Configuration> start = {};
  std::int64_t rounds = 2;     ///< ABBA rounds that each question asks for
  double confidence = 0.99;    ///< racing: of the whole race; else of each comparison
  std::int64_t entrants = 64;  ///< racing: the start and others drawn by the seed, at most these
  std::int64_t stages = 4;     ///< racing: fresh processes that the last survivors see
  double worthwhile_frac = 0;  ///< racing: who cannot beat the leader by more than this is out
  MakeProposer make_proposer = {};  ///< of the kinds that are outside
  std::int64_t in_flight = 1;       ///< outside: questions at a time that no answer is known for
};

/// One question. `against` is who must be timed beside it, nothing for the first valid one.
/// Racing asks again for survivors, one `stage` later: in a fresh process, and the answer compares
/// all rounds that the two took together so far.
struct Ask {
  variant::Configuration configuration = {};
  std::optional<variant::Configuration> against = {};
  std::int64_t stage = 0, rounds = 2;
  double confidence = 0.99;
};

/// The options with which an ask's turns are compared under a measured floor. Racing asks many
/// questions at once: its confidence, and the floor's reach between two processes (which is given
/// at 99 %), are widened alike.
measure::CompareOptions compare_options(const Ask& ask, const measure::NoiseFloor& floor,
                                        std::uint64_t seed);

/// What an evaluation gave: an invalidity, or the comparison with the best so far (`against` of the
/// ask). For the first valid configuration the comparison says nothing and is 1.
struct Score {
  std::optional<Invalidity> invalidity;
  measure::ComparisonOutcome outcome = measure::ComparisonOutcome::same;
  double speedup = 1;  ///< the best's time / this one's; may be k_unknown
  measure::Interval interval{1, 1, 0.99};
  std::int64_t turns = 0, samples = 0;  ///< of this configuration, used in the comparison
  bool is_duplicate = false;  ///< of an artifact that was measured under another configuration
};
Score invalid_score(Invalidity invalidity);
/// `turns`: the configuration's own.
Score score_of(const measure::Comparison& comparison, std::span<const measure::Turn> turns);
Score first_score(
    std::span<const measure::Turn> turns);  ///< of what had nothing to be compared with
/// Against what `other` is against, from `score` against what `other` is of.
Score chained(const Score& score, const Score& other);
Json to_json(const Score& score);
Result<Score> score_from_json(const Json& json);

/// Stop timing this configuration? After its first turns, when the interval against the best lies
/// wholly below `rule.speedup`. An interval that is not known stops nothing.
struct EarlyStop {
  double speedup = 0.5;  ///< twice as slow; 0: never
  std::int64_t min_rounds = 1;
};
[[nodiscard]] bool is_clearly_slow(const measure::Comparison& against_best, const EarlyStop& rule);
/// Stop after the first half of the first round? When the estimate lies below 1 by more than the
/// noise floor: to be called `faster` after all, the second half would have to make up for that and
/// for twice what two processes of the same code differ by. An interval that is not known stops
/// nothing.
[[nodiscard]] bool is_behind(const measure::Comparison& against_best);

/// A configuration that will need an artifact. Not certain: an answer may still lead elsewhere.
struct Guess {
  variant::Configuration configuration;
  bool is_certain = false;
};

/// Where the search stands. The outcome holds for the best against all other valid configurations
/// told: `faster` when each was found slower, else `ambiguous`; for one alone `same`.
struct Standing {
  std::optional<variant::Configuration> best;
  measure::ComparisonOutcome outcome = measure::ComparisonOutcome::same;
  std::uint64_t told = 0, valid = 0;  ///< configurations
  std::uint64_t contenders = 0;  ///< valid ones not found slower than the best, itself included
};

/// Deterministic: the same space, options and tells give the same questions, so telling a log again
/// in order brings a strategy back to where it was. Movable, not copyable.
class Strategy {
 public:
  /// Errors: usage (an option out of range; an outside kind without its proposer; a start outside
  /// the space is no error, it is left out), those of the proposer.
  static Result<Strategy> make(SearchSpace space, StrategyOptions options);
  Strategy(Strategy&&) noexcept;
  Strategy& operator=(Strategy&&) noexcept;
  ~Strategy();

  /// The same until it is told; nothing when there is nothing left to ask.
  [[nodiscard]] std::optional<Ask> next() const;

  /// The answer, against best() as it is now. Also for a configuration that was not asked, such as
  /// a duplicate: it will not be asked then. A failure for the machine's sake is an answer too: try
  /// again before telling it. Errors: invalid (not in the space; told before, for
  /// racing in this stage; a comparison without a usable interval that is not ambiguous), those of
  /// the proposer, which leave the answer told.
  Result<void> tell(const variant::Configuration& configuration, const Score& score);

  /// What was told as valid failed a longer look: it is no longer promising(). Only once nothing
  /// more is asked: replaying the answers knows nothing of it. Errors: invalid (never told).
  Result<void> retract(const variant::Configuration& configuration, Invalidity invalidity);

  /// next() and what will be asked after it, whatever the answers are, at most n in all. All are
  /// against best() as it is now.
  [[nodiscard]] std::vector<Ask> certain(std::size_t n) const;

  /// What to build ahead, soonest first, at most n, next() included: configurations never told.
  [[nodiscard]] std::vector<Guess> lookahead(std::size_t n) const;

  /// Who the next answers are compared with: the first valid one, then whoever was `faster`.
  [[nodiscard]] std::optional<variant::Configuration> best() const;
  /// The lowest estimated time: what to confirm, in fresh processes, when the search ends. It may
  /// be one that was never called faster than best().
  [[nodiscard]] std::optional<variant::Configuration> promising() const;
  [[nodiscard]] Standing standing() const;

  /// The score for a configuration whose artifact is the one of `measured`, against the present
  /// best. Nothing when `measured` was not told, or failed for the machine's sake.
  [[nodiscard]] std::optional<Score> duplicate_of(const variant::Configuration& measured) const;

  [[nodiscard]] const SearchSpace& space() const;
  [[nodiscard]] const StrategyOptions& options() const;
  [[nodiscard]] const std::string& about() const;  ///< Proposer::about; empty for our own

 private:
  struct State;
  explicit Strategy(std::unique_ptr<State> state);
  std::unique_ptr<State> m_state;
};

/// One evaluation as the log keeps it.
struct Evaluation {
  variant::Configuration configuration;
  std::string artifact;  ///< hash of the code; empty when there was none
  Score score;
};

/// Which configuration stands for each artifact, so that equal code is timed once.
class TuneLedger {
 public:
  /// The configuration first told with this artifact, which may be the one in question itself (a
  /// race asks again); nothing for a new or an empty hash.
  [[nodiscard]] std::optional<variant::Configuration> first_with(std::string_view artifact) const;
  /// Failures for the machine's sake do not stand for an artifact.
  void add(const Evaluation& evaluation);

 private:
  std::map<std::string, variant::Configuration, std::less<>> m_first;
};

/// Resume: tells a log's evaluations in their order. Errors: those of tell(), naming which.
Result<void> replay(Strategy& strategy, TuneLedger& ledger,
                    std::span<const Evaluation> evaluations);

}  // namespace wb::search
