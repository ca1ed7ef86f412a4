// SPDX-License-Identifier: MIT
// Private to the strategies: their common state (the answers so far, relative to the first valid
// configuration) and the strategies, one class per kind.
#pragma once

#include <deque>
#include <limits>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "search/seeded_order.hpp"
#include "search/strategy.hpp"

namespace wb::search {

using Index = SearchSpace::Index;

/// One configuration's answer. Times are logs relative to the first valid configuration:
/// configurations that were never measured side by side are related through the chain of bests,
/// adding up the intervals' ends.
struct KnownAnswer {
  Score score;
  std::optional<Index> against;  ///< the best when it was told; nothing for the first valid one
  double log_time = 0, log_low = 0, log_high = 0;  ///< estimate and ends; k_unknown, ∓infinity

  [[nodiscard]] bool is_valid() const { return !score.invalidity; }
};

class Answers {
 public:
  [[nodiscard]] const KnownAnswer* find(Index index) const;
  [[nodiscard]] bool has(Index index) const { return find(index) != nullptr; }
  [[nodiscard]] std::size_t size() const { return m_known.size(); }
  [[nodiscard]] std::optional<Index> best() const { return m_best; }
  /// The valid configuration with the lowest estimated time.
  [[nodiscard]] std::optional<Index> promising() const { return m_promising; }
  /// Stores the answer against the present best. The first valid configuration becomes the best.
  const KnownAnswer& add(Index index, const Score& score);
  void promote(Index index) { m_best = index; }
  /// Marks it as failed. Its time remains a link of the chain for configurations compared with it.
  void retract(Index index, Invalidity invalidity);
  /// `index` against the present best: the told score if it was against that, else a chained one.
  [[nodiscard]] Score relative_to_best(Index index) const;
  [[nodiscard]] Standing standing(const SearchSpace& space) const;

 private:
  std::unordered_map<Index, KnownAnswer> m_known;
  void find_promising(Index changed);
  std::optional<Index> m_best, m_promising;
};

/// What a strategy reads. `start` is the options' start if it is valid.
struct StrategyContext {
  SearchSpace space;
  StrategyOptions options;
  std::optional<Index> start;
  Answers answers;
};

struct Question {
  Index index = 0;
  std::int64_t stage = 0;
  double confidence = 0.99;
};
struct IndexedGuess {
  Index index = 0;
  bool is_certain = false;
};

/// exhaustive and random: the start, then a fixed order.
class Walk {
 public:
  explicit Walk(const StrategyContext& context);
  [[nodiscard]] std::optional<Question> next(const StrategyContext& context) const;
  [[nodiscard]] bool accepts(const StrategyContext& context, Index index) const;
  void told(StrategyContext& context, Index index);
  [[nodiscard]] std::vector<IndexedGuess> lookahead(const StrategyContext& context,
                                                    std::size_t n) const;

 private:
  [[nodiscard]] Index at(std::uint64_t position) const;
  std::optional<SeededOrder> m_order;  ///< random only
  /// Of the first in the order that is not told, apart from the start.
  std::uint64_t m_position = 0;
};

/// From a start, tries the nearest values of each parameter in a seeded order, then all its other
/// values. Moves to a clearly better one at once; after all of a tier, to the best by estimate. At
/// a local optimum it restarts at a random point not yet told.
class HillClimb {
 public:
  explicit HillClimb(const StrategyContext& context);
  [[nodiscard]] std::optional<Question> next(const StrategyContext& context) const;
  [[nodiscard]] bool accepts(const StrategyContext& context, Index index) const;
  void told(StrategyContext& context, Index index);
  [[nodiscard]] std::vector<IndexedGuess> lookahead(const StrategyContext& context,
                                                    std::size_t n) const;

 private:
  void advance(const StrategyContext& context);
  void restart(const StrategyContext& context);
  void enter(const StrategyContext& context, Index center, Neighborhood tier);
  bool move_to_best(const StrategyContext& context);
  SeededOrder m_starts;
  std::uint64_t m_start_position = 0;
  std::optional<Index> m_center;
  Neighborhood m_tier = Neighborhood::adjacent;
  std::vector<Index> m_neighbors;
  std::size_t m_neighbor = 0;     ///< the first not yet visited
  std::optional<Index> m_wanted;  ///< the question
};

/// Successive elimination. In each stage every survivor is measured beside the leader; at its end
/// those found slower leave, and the clearest of those found faster leads the next stage.
class Racing {
 public:
  explicit Racing(const StrategyContext& context);
  [[nodiscard]] std::optional<Question> next(const StrategyContext& context) const;
  [[nodiscard]] bool accepts(const StrategyContext& context, Index index) const;
  void told(StrategyContext& context, Index index);
  [[nodiscard]] std::vector<IndexedGuess> lookahead(const StrategyContext& context,
                                                    std::size_t n) const;
  /// Survivors still to be asked in this stage, in order, at most n.
  [[nodiscard]] std::vector<Index> open(const StrategyContext& context, std::size_t n) const;

 private:
  void end_stages(StrategyContext& context);
  void end_stage(StrategyContext& context);
  [[nodiscard]] double confidence(const StrategyContext& context) const;
  std::vector<Index> m_survivors;  ///< in order of asking, the leader included
  std::size_t m_entrants = 0;
  std::unordered_set<Index> m_told_now;  ///< in this stage
  std::size_t m_position = 0;
  std::int64_t m_stage = 0;
};

/// tpe, cma_es, gp: asks each proposed configuration once. Proposals that may not be asked are
/// answered at once; after k_refusals_max such in a row, the next of a seeded order is asked
/// instead.
class ExternalStrategy {
 public:
  static Result<ExternalStrategy> make(const StrategyContext& context);
  [[nodiscard]] std::optional<Question> next(const StrategyContext& context) const;
  [[nodiscard]] bool accepts(const StrategyContext& context, Index index) const;
  Result<void> told(StrategyContext& context, Index index);
  [[nodiscard]] std::vector<IndexedGuess> lookahead(const StrategyContext& context,
                                                    std::size_t n) const;
  [[nodiscard]] const std::string& about() const { return m_proposer.about; }

 private:
  ExternalStrategy(const StrategyContext& context, Proposer proposer);
  Result<void> ask(const StrategyContext& context);
  bool take(const StrategyContext& context, const variant::Configuration& proposed);
  void draw(const StrategyContext& context);
  Proposer m_proposer;
  SeededOrder m_order;
  std::uint64_t m_position = 0;  ///< of the first in the order that is not told
  std::deque<Index> m_asked;     ///< without an answer; the next question first
  std::vector<Told> m_news;      ///< answers for the proposer
};

using AnyStrategy = std::variant<Walk, HillClimb, Racing, ExternalStrategy>;

}  // namespace wb::search
