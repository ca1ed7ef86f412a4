// SPDX-License-Identifier: MIT
#include "search/simulation.hpp"
#include "measure/comparison.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "search/seeded_order.hpp"

namespace wb::search {

using measure::Turn;

namespace {

/// Builders beside the measuring side: a guess starts as soon as a builder is free.
class RecordedBuilds {
 public:
  RecordedBuilds(const Recording& recording, std::size_t builders)
      : m_recording(recording), m_free_s(builders, 0.0) {}

  void request(SearchSpace::Index index, double now_s) {
    if (m_ready_s.contains(index)) return;
    const auto builder = std::min_element(m_free_s.begin(), m_free_s.end());
    *builder = std::max(*builder, now_s) + m_recording.points[index].build_s;
    m_ready_s[index] = *builder;
  }
  double take(SearchSpace::Index index) {
    m_used.insert(index);
    return m_ready_s.at(index);
  }
  [[nodiscard]] std::uint64_t builds() const { return m_ready_s.size(); }
  [[nodiscard]] std::uint64_t unused() const { return m_ready_s.size() - m_used.size(); }

 private:
  const Recording& m_recording;
  std::vector<double> m_free_s;
  std::map<SearchSpace::Index, double> m_ready_s;
  std::set<SearchSpace::Index> m_used;
};

struct Timed {
  Score score;
  double measuring_s = 0;
  bool stopped_early = false;
};

class Simulator {
 public:
  Simulator(const Recording& recording, Strategy& strategy, const SimulationOptions& options)
      : m_recording(recording),
        m_strategy(strategy),
        m_options(options),
        m_builds(recording, options.builders) {}

  SimulationResult run() {
    while (!is_spent()) {
      const auto ask = m_strategy.next();
      if (!ask) break;
      for (const Guess& guess : m_strategy.lookahead(m_options.ahead + 1)) {
        m_builds.request(index_of(guess.configuration), m_result.elapsed_s);
      }
      answer(*ask);
    }
    m_result.builds = m_builds.builds();
    m_result.builds_unused = m_builds.unused();
    m_result.standing = m_strategy.standing();
    return std::move(m_result);
  }

 private:
  using Cell = std::pair<std::int64_t, std::int64_t>;  ///< instance, round

  [[nodiscard]] bool is_spent() const {
    const auto done = static_cast<std::int64_t>(m_result.steps.size());
    if (m_options.evaluations && done >= *m_options.evaluations) return true;
    return m_options.seconds && !(m_result.elapsed_s < *m_options.seconds);
  }

  [[nodiscard]] SearchSpace::Index index_of(const variant::Configuration& configuration) const {
    return m_recording.space.find(configuration).value();
  }

  void answer(const Ask& ask) {
    const SearchSpace::Index index = index_of(ask.configuration);
    const RecordedPoint& point = m_recording.points[index];
    const double ready_s = m_builds.take(index);
    m_result.waiting_s += std::max(0.0, ready_s - m_result.elapsed_s);
    m_result.elapsed_s = std::max(m_result.elapsed_s, ready_s);
    const Score score = score_of_point(ask, index, point);
    const auto told = m_strategy.tell(ask.configuration, score);
    if (!told.ok()) throw std::logic_error(told.error().message());
    m_ledger.add({ask.configuration, point.artifact, score});
    keep_step(ask.configuration, score);
  }

  Score score_of_point(const Ask& ask, SearchSpace::Index index, const RecordedPoint& point) {
    if (point.invalidity) return invalid_score(*point.invalidity);
    const auto twin = m_ledger.first_with(point.artifact);
    if (twin && *twin != ask.configuration) {
      if (auto score = m_strategy.duplicate_of(*twin)) {
        ++m_result.duplicates;
        return *score;
      }
    }
    const Timed timed = measure(ask, index);
    m_result.elapsed_s += timed.measuring_s;
    m_result.measuring_s += timed.measuring_s;
    if (timed.stopped_early) ++m_result.stopped_early;
    return timed.score;
  }

  /// Cells of both sides not yet used for this pair: of one process, at most `rounds`. A recording
  /// is limited, so later stages may get none.
  [[nodiscard]] std::vector<Cell> new_cells(SearchSpace::Index index, SearchSpace::Index best,
                                            const std::set<Cell>& used, std::int64_t rounds) const {
    std::set<Cell> mine, both;
    for (const Turn& turn : m_recording.points[index].turns)
      mine.insert({turn.instance, turn.round});
    for (const Turn& turn : m_recording.points[best].turns) {
      if (mine.contains({turn.instance, turn.round})) both.insert({turn.instance, turn.round});
    }
    std::set<std::int64_t> used_instances, fresh;
    for (const Cell& cell : used) used_instances.insert(cell.first);
    for (const Cell& cell : both) {
      if (!used_instances.contains(cell.first)) fresh.insert(cell.first);
    }
    if (fresh.empty()) return {};
    SeededRandom random(scramble(m_options.seed) ^ scramble(index * 2 + 1) ^ used.size());
    const std::vector<std::int64_t> instances(fresh.begin(), fresh.end());
    const std::int64_t instance = instances[random.below(instances.size())];
    std::vector<Cell> cells;
    for (const Cell& cell : both) {
      if (cell.first == instance) cells.push_back(cell);
    }
    random.shuffle(cells);
    if (static_cast<std::int64_t>(cells.size()) > rounds) {
      cells.resize(static_cast<std::size_t>(rounds));
    }
    return cells;
  }

  [[nodiscard]] std::vector<Turn> turns_in(SearchSpace::Index index,
                                           const std::set<Cell>& cells) const {
    std::vector<Turn> turns;
    for (const Turn& turn : m_recording.points[index].turns) {
      if (cells.contains({turn.instance, turn.round})) turns.push_back(turn);
    }
    return turns;
  }

  Timed measure(const Ask& ask, SearchSpace::Index index) {
    const bool alone = !ask.against;
    const SearchSpace::Index best = alone ? index : index_of(*ask.against);
    std::set<Cell>& used = m_used[{index, best}];
    const auto added = new_cells(index, best, used, ask.rounds);
    const measure::CompareOptions options = [&] {
      measure::CompareOptions made = compare_options(ask, m_recording.floor, m_options.seed);
      made.resamples = m_options.resamples;
      return made;
    }();
    Timed timed;
    measure::Comparison comparison;
    for (std::size_t i = 0; i < added.size() || i == 0; ++i) {
      if (i < added.size()) used.insert(added[i]);
      const bool is_last = i + 1 >= added.size();
      // Only the first turns may end it early.
      if (!alone && (i == 0 || is_last)) {
        comparison = measure::compare(turns_in(index, used), turns_in(best, used), options);
      }
      timed.stopped_early = !alone && !is_last && i == 0 && ask.stage == 0 &&
                            is_clearly_slow(comparison, m_options.early_stop);
      if (timed.stopped_early) break;
    }
    const std::vector<Turn> turns = turns_in(index, used);
    timed.score = alone ? first_score(turns) : score_of(comparison, turns);
    const auto rounds = static_cast<double>(timed.stopped_early ? 1 : added.size());
    timed.measuring_s = rounds * 2 * m_recording.points[index].turn_s;
    if (!alone) timed.measuring_s += rounds * 2 * m_recording.points[best].turn_s;
    return timed;
  }

  void keep_step(const variant::Configuration& configuration, const Score& score) {
    SimulationStep step{.configuration = configuration, .score = score, .promising = {}};
    step.elapsed_s = m_result.elapsed_s;
    if (const auto promising = m_strategy.promising()) {
      step.promising = *promising;
      step.promising_us = m_recording.median_us[index_of(*promising)];
      step.fraction_of_optimum = m_recording.median_us[m_recording.optimum] / step.promising_us;
    }
    m_result.steps.push_back(std::move(step));
  }

  const Recording& m_recording;
  Strategy& m_strategy;
  const SimulationOptions& m_options;
  RecordedBuilds m_builds;
  TuneLedger m_ledger;
  /// The cells that each pair (configuration, best) was compared on so far.
  std::map<std::pair<SearchSpace::Index, SearchSpace::Index>, std::set<Cell>> m_used;
  SimulationResult m_result;
};

}  // namespace

SimulationResult simulate(const Recording& recording, Strategy& strategy,
                          const SimulationOptions& options) {
  if (options.builders == 0) throw std::invalid_argument("simulate: no builder");
  if (strategy.space().size() != recording.space.size() ||
      !recording.space.find(strategy.space().at(0))) {
    throw std::invalid_argument("simulate: the strategy searches another space");
  }
  return Simulator(recording, strategy, options).run();
}

}  // namespace wb::search
