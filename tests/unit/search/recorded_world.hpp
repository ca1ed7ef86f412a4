// SPDX-License-Identifier: MIT
// Synthetic recordings: true times by formula, with the noise that measured machines have (a bias
// of each process, noise of turns and samples), as a full space of turns.
#pragma once

#include "search/recording.hpp"
#include "tuning_world.hpp"

namespace wb::testing {

struct RecordedWorld {
  TrueTime us;
  double process_sd = 0.01, turn_sd = 0.005, sample_sd = 0.005;
  std::int64_t instances = 3, rounds = 4;
  std::uint64_t seed = 1;
  double build_s = 1, turn_s = 0.02;
  std::function<std::string(const variant::Configuration&)> artifact =
      [](const variant::Configuration& c) { return to_text(c); };
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
