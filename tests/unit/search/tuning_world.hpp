// SPDX-License-Identifier: MIT
// Synthetic spaces, devices and recordings for tests of strategies: true times by formula, noise by
// seed, a driver that answers a strategy's questions from them, and full spaces of turns with the
// noise that measured machines have (a bias of each process, noise of turns and samples).
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "measure/comparison.hpp"
#include "search/recording.hpp"
#include "search/seeded_order.hpp"
#include "search/strategy.hpp"

namespace wb::testing {

inline variant::Manifest lists_manifest(std::map<std::string, std::vector<std::int64_t>> lists,
                                        std::vector<std::string> restrictions = {}) {
  variant::Manifest manifest;
  manifest.name = "cpu_x";
  manifest.tune_params = std::move(lists);
  manifest.restrictions = std::move(restrictions);
  return manifest;
}

inline problem::Problem small_problem() {
  return *problem::parse_problem("B=1 Hq=2 Sq=64 D=32 f32");
}

inline search::SearchSpace lists_space(std::map<std::string, std::vector<std::int64_t>> lists,
                                       std::vector<std::string> restrictions = {}) {
  return *search::SearchSpace::make(lists_manifest(std::move(lists), std::move(restrictions)),
                                    problem::suite_of(small_problem()));
}

inline std::vector<std::int64_t> range(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> values;
  for (std::int64_t v = first; v <= last; ++v) values.push_back(v);
  return values;
}

/// Sum of twelve uniforms: near enough to normal, mean 0, standard deviation 1.
inline double normal(search::SeededRandom& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.uniform();
  return sum;
}

/// True time of a configuration in us; not positive: it fails with `runtime`.
using TrueTime = std::function<double(const variant::Configuration&)>;

/// A device whose comparisons have log-normal noise of known size.
struct World {
  TrueTime us;
  double noise_frac = 0;  ///< standard deviation of one comparison's log speedup
  std::uint64_t seed = 1;
  std::function<std::string(const variant::Configuration&)> artifact =
      [](const variant::Configuration& c) { return variant::to_text(c); };

  [[nodiscard]] search::Score score(const search::Ask& ask) const {
    const double mine = us(ask.configuration);
    if (!(mine > 0)) return search::invalid_score(Invalidity::runtime);
    search::Score score;
    score.turns = 2 * ask.rounds;
    if (!ask.against) return score;
    std::uint64_t key = seed + static_cast<std::uint64_t>(ask.stage);
    for (const char c : variant::to_text(ask.configuration) + variant::to_text(*ask.against)) {
      key = search::scramble(key ^ static_cast<unsigned char>(c));
    }
    search::SeededRandom random(key);
    const double center = std::log(us(*ask.against) / mine) + noise_frac * normal(random);
    const double half = 2.576 * noise_frac;
    score.speedup = std::exp(center);
    score.interval = {std::exp(center - half), std::exp(center + half), 0.99};
    score.outcome = measure::classify(score.interval, 0.0, 0.02);
    return score;
  }
};

/// Asks and answers, duplicates told from their twins, at most `limit` times.
inline std::vector<search::Evaluation> drive(search::Strategy& strategy, const World& world,
                                             std::size_t limit, search::TuneLedger ledger = {}) {
  std::vector<search::Evaluation> done;
  while (done.size() < limit) {
    const auto ask = strategy.next();
    if (!ask) break;
    search::Evaluation evaluation{ask->configuration, world.artifact(ask->configuration), {}};
    const auto twin = ledger.first_with(evaluation.artifact);
    const auto copied = twin && *twin != ask->configuration ? strategy.duplicate_of(*twin)
                                                            : std::optional<search::Score>();
    evaluation.score = copied ? *copied : world.score(*ask);
    const auto told = strategy.tell(ask->configuration, evaluation.score);
    if (!told.ok()) throw std::logic_error(told.error().message());
    ledger.add(evaluation);
    done.push_back(std::move(evaluation));
  }
  return done;
}

inline search::Strategy strategy_of(const search::SearchSpace& space,
                                    search::StrategyOptions options) {
  return *search::Strategy::make(space, std::move(options));
}

struct RecordedWorld {
  TrueTime us;
  double process_sd = 0.01, turn_sd = 0.005, sample_sd = 0.005;
  std::int64_t instances = 3, rounds = 4;
  std::uint64_t seed = 1;
  double build_s = 1, turn_s = 0.02;
  std::function<std::string(const variant::Configuration&)> artifact =
      [](const variant::Configuration& c) { return variant::to_text(c); };
};

inline search::RecordedPoint recorded_point(const RecordedWorld& world,
                                            const variant::Configuration& c,
                                            search::SeededRandom& random) {
  search::RecordedPoint point{.configuration = c,
                              .invalidity = {},
                              .message = {},
                              .artifact = world.artifact(c),
                              .build_s = world.build_s,
                              .turn_s = world.turn_s,
                              .turns = {}};
  const double us = world.us(c);
  if (!(us > 0)) {
    point.invalidity = Invalidity::runtime;
    return point;
  }
  for (std::int64_t instance = 0; instance < world.instances; ++instance) {
    const double process_us = us * std::exp(world.process_sd * normal(random));
    for (std::int64_t turn_index = 0; turn_index < 2 * world.rounds; ++turn_index) {
      measure::Turn turn;
      turn.instance = instance;
      turn.round = turn_index / 2;
      const double turn_us = process_us * std::exp(world.turn_sd * normal(random));
      for (int s = 0; s < 3; ++s) {
        turn.samples_us.push_back(turn_us * std::exp(world.sample_sd * normal(random)));
      }
      point.turns.push_back(std::move(turn));
    }
  }
  return point;
}

inline search::Recording recording_of(const variant::Manifest& manifest,
                                      const RecordedWorld& world) {
  const search::SearchSpace space =
      *search::SearchSpace::make(manifest, problem::suite_of(small_problem()));
  search::SeededRandom random(world.seed);
  std::vector<search::RecordedPoint> points;
  for (search::SearchSpace::Index i = 0; i < space.size(); ++i) {
    points.push_back(recorded_point(world, space.at(i), random));
  }
  return *search::make_recording(manifest, small_problem(), std::move(points));
}

}  // namespace wb::testing
