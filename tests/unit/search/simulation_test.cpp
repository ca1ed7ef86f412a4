// SPDX-License-Identifier: MIT
#include "search/simulation.hpp"
#include "core/json.hpp"

#include <fmt/format.h>

#include <set>

#include "core/files.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "tuning_world.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::search;
using namespace wb::variant;
using namespace wb::testing;

namespace {

constexpr StrategyKind k_all[] = {StrategyKind::exhaustive, StrategyKind::random,
                                  StrategyKind::hill_climb, StrategyKind::racing};

Manifest grid() {
  return lists_manifest({{"A", range(1, 6)}, {"B", {8, 16, 32, 64}}}, {"A * B <= 192"});
}

/// Optimum A=3 B=32 at 100 us; A=6 with B=8 fails.
RecordedWorld grid_world(std::uint64_t seed = 1) {
  RecordedWorld world;
  world.seed = seed;
  world.us = [](const Configuration& c) {
    const double a = static_cast<double>(c.at("A")), b = std::log2(c.at("B"));
    if (a == 6 && b == 3) return 0.0;
    return 100 + 30 * std::abs(a - 3) + 40 * std::abs(b - 5);
  };
  return world;
}

SimulationResult run(const Recording& recording, StrategyOptions strategy_options,
                     SimulationOptions options = {}) {
  options.resamples = 100;
  Strategy strategy = strategy_of(recording.space, std::move(strategy_options));
  return simulate(recording, strategy, options);
}

Json small_json() {
  return *parse_json(R"({"format": "sdpa-wb recording", "v": 1, "variant": "cpu_x",
    "problem": "B=1 Hq=2 Sq=64 D=32 f32", "tune_params": {"A": [1, 2]}, "restrictions": [],
    "points": [
      {"configuration": {"A": 1}, "build_s": 2, "turn_s": 0.1, "artifact": "x", "turns": [
        {"instance": 0, "round": 0, "samples_us": [10, 11]},
        {"instance": 1, "round": 0, "samples_us": [10.5]}]},
      {"configuration": {"A": 2}, "build_s": 1, "invalidity": "compile", "message": "no"}]})",
                     "test");
}

std::string refused(const Json& json) {
  const auto recording = recording_from_json(json, "test");
  REQUIRE_FALSE(recording.ok());
  return recording.error().message();
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every strategy finds the optimum of a recorded space", "[search][simulation]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Recording recording = recording_of(grid(), grid_world(seed));
    CHECK(recording.space.at(recording.optimum) == Configuration{{"A", 3}, {"B", 32}});
    for (const StrategyKind kind : k_all) {
      INFO(to_string(kind));
      const auto result = run(recording, {.kind = kind, .seed = seed}, {.seed = seed});
      CHECK(result.steps.back().fraction_of_optimum == 1);
      CHECK(*result.standing.best == recording.space.at(recording.optimum));
      CHECK(result.standing.told == recording.space.size());
      double before = 0;
      for (const SimulationStep& step : result.steps) {
        CHECK(step.elapsed_s >= before);
        before = step.elapsed_s;
        CHECK((step.fraction_of_optimum >= 0 && step.fraction_of_optimum <= 1));
      }
      CHECK(result.elapsed_s == Approx(result.measuring_s + result.waiting_s));
    }
  }
}

TEST_CASE("a simulation is the same again, and another by seed", "[search][simulation]") {
  const Recording recording = recording_of(grid(), grid_world());
  const auto speedups = [&](std::uint64_t seed) {
    std::vector<double> list;
    for (const auto& step : run(recording, {.kind = StrategyKind::random}, {.seed = seed}).steps) {
      if (!step.score.invalidity) list.push_back(step.score.speedup);
    }
    return list;
  };
  CHECK(speedups(1) == speedups(1));
  CHECK(speedups(1) != speedups(2));
}

TEST_CASE("budgets end a simulation between answers", "[search][simulation]") {
  const Recording recording = recording_of(grid(), grid_world());
  CHECK(run(recording, {}, {.evaluations = 7}).steps.size() == 7);
  CHECK(run(recording, {}, {.evaluations = 0}).steps.empty());
  const auto result = run(recording, {}, {.seconds = 5});
  CHECK(result.elapsed_s >= 5);
  REQUIRE(result.steps.size() > 1);
  CHECK(result.steps[result.steps.size() - 2].elapsed_s < 5);
}

TEST_CASE("builds run ahead of the measuring side", "[search][simulation]") {
  RecordedWorld world = grid_world();
  world.build_s = 1;
  world.turn_s = 0.25;  // an evaluation beside the best: 2 rounds x 2 x 2 turns = 2 s
  const Recording recording = recording_of(grid(), world);
  const auto waiting = [&](std::size_t builders, std::size_t ahead) {
    return run(recording, {.kind = StrategyKind::random},
               {.builders = builders, .ahead = ahead, .early_stop = {.speedup = 0}})
        .waiting_s;
  };
  const auto size = static_cast<double>(recording.space.size());
  CHECK(waiting(1, 0) == Approx(size));  // one after the other
  CHECK(waiting(1, 4) < 4);              // only the first builds are waited for
  CHECK(waiting(2, 4) <= waiting(1, 4));
  world.turn_s = 0.001;  // the compiler is the slower side: two builders halve the time
  const Recording fast = recording_of(grid(), world);
  const auto elapsed = [&](std::size_t builders) {
    return run(fast, {}, {.builders = builders}).elapsed_s;
  };
  CHECK(elapsed(2) < 0.6 * elapsed(1));
  const auto climbed = run(recording, {.kind = StrategyKind::hill_climb}, {.evaluations = 8});
  CHECK(climbed.builds - climbed.builds_unused == 8);
}

TEST_CASE("clearly slow ones get fewer turns", "[search][simulation]") {
  RecordedWorld world;
  world.us = [](const Configuration& c) { return c.at("A") == 1 ? 100.0 : 400.0; };
  const Recording recording = recording_of(lists_manifest({{"A", range(1, 9)}}), world);
  const auto stopped = run(recording, {.kind = StrategyKind::exhaustive});
  const auto whole =
      run(recording, {.kind = StrategyKind::exhaustive}, {.early_stop = {.speedup = 0}});
  CHECK(stopped.stopped_early == 8);
  CHECK(whole.stopped_early == 0);
  CHECK(stopped.measuring_s < 0.6 * whole.measuring_s);
  for (const auto& result : {stopped, whole}) {
    CHECK(result.standing.outcome == ComparisonOutcome::faster);
  }
  CHECK(stopped.steps.back().score.turns == 2);
  CHECK(whole.steps.back().score.turns == 4);
}

TEST_CASE("equal artifacts cost one measurement", "[search][simulation]") {
  RecordedWorld world = grid_world();
  world.us = [](const Configuration& c) { return 100.0 + static_cast<double>(c.at("A")); };
  world.artifact = [](const Configuration& c) { return std::to_string(c.at("A")); };
  const Recording recording = recording_of(grid(), world);
  for (const StrategyKind kind : k_all) {
    INFO(to_string(kind));
    const auto result = run(recording, {.kind = kind});
    CHECK(result.duplicates == recording.space.size() - 6);
    CHECK(result.standing.told == recording.space.size());
  }
}

TEST_CASE("a race takes new processes as long as the recording has some", "[search][simulation]") {
  RecordedWorld world;
  world.us = [](const Configuration&) { return 100.0; };
  world.instances = 3;
  const Recording recording = recording_of(lists_manifest({{"A", range(1, 5)}}), world);
  const auto result = run(recording, {.kind = StrategyKind::racing, .rounds = 2, .stages = 4});
  std::map<std::string, std::vector<std::int64_t>> turns;
  for (const SimulationStep& step : result.steps) {
    turns[to_text(step.configuration)].push_back(step.score.turns);
  }
  int leaders = 0;
  for (const auto& [configuration, counts] : turns) {
    if (counts.size() == 1) {
      ++leaders;
      continue;
    }
    CHECK(counts == std::vector<std::int64_t>{4, 8, 12, 12});
  }
  CHECK(leaders == 1);
}

TEST_CASE("the recorded space of cpu_tiled", "[search][simulation]") {
  RealFileSystem file_system;
  const auto recording =
      load_recording(file_system, source_dir() / "tests/data/cpu_tiled_space_2026-11-21.json");
  INFO((recording.ok() ? std::string() : recording.error().message()));
  REQUIRE(recording.ok());
  CHECK(recording->space.size() == 19);
  CHECK(recording->space.unrestricted_size() == 20);
  CHECK(recording->space.at(recording->optimum) == Configuration{{"TILE_M", 128}, {"TILE_N", 128}});
  // Processes of one configuration differ by less than configurations do.
  CHECK(recording->floor.floor_frac < 0.05);
  for (const StrategyKind kind : k_all) {
    INFO(to_string(kind));
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const auto result = run(*recording, {.kind = kind, .seed = seed}, {.seed = seed});
      CHECK(result.standing.told == 19);
      CHECK(result.steps.back().fraction_of_optimum > 0.97);
      CHECK(result.duplicates == 0);
      CHECK(result.elapsed_s > 19 * 0.04);
    }
  }
}

// The table of docs/guide/simulation.md: unit_search "[figures]".
TEST_CASE("how fast strategies come near the optimum of cpu_tiled", "[.][search][figures]") {
  RealFileSystem file_system;
  const auto recording =
      load_recording(file_system, source_dir() / "tests/data/cpu_tiled_space_2026-11-21.json");
  REQUIRE(recording.ok());
  constexpr std::size_t k_marks[] = {3, 5, 10, 19};
  constexpr int k_seeds = 200;
  const Configuration worst{{"TILE_M", 8}, {"TILE_N", 256}};
  for (const StrategyKind kind : k_all) {
    double fractions[4] = {}, elapsed_s = 0, measuring_s = 0, unused = 0, answers = 0;
    for (std::uint64_t seed = 1; seed <= k_seeds; ++seed) {
      const auto result =
          run(*recording, {.kind = kind, .seed = seed, .start = worst}, {.seed = seed});
      for (int m = 0; m < 4; ++m) {
        fractions[m] += result.steps[k_marks[m] - 1].fraction_of_optimum / k_seeds;
      }
      elapsed_s += result.elapsed_s / k_seeds;
      measuring_s += result.measuring_s / k_seeds;
      const auto ten = run(*recording, {.kind = kind, .seed = seed, .start = worst},
                           {.seed = seed, .evaluations = 10});
      unused += static_cast<double>(ten.builds_unused) / k_seeds;
      answers += static_cast<double>(result.steps.size()) / k_seeds;
    }
    fmt::print("| `{}` | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n",
               to_string(kind), fractions[0], fractions[1], fractions[2], fractions[3], answers,
               elapsed_s, measuring_s, unused);
  }
}

TEST_CASE("recordings are read strictly", "[search][simulation]") {
  const auto good = recording_from_json(small_json(), "test");
  REQUIRE(good.ok());
  CHECK(good->points[0].turns.size() == 2);
  CHECK(good->points[1].invalidity == Invalidity::compile);
  CHECK(to_json(good->points[0]) == small_json()["points"][0]);
  CHECK(to_json(good->points[1]) == small_json()["points"][1]);

  const auto changed = [](const std::string& pointer, const Json& value) {
    Json json = small_json();
    json[Json::json_pointer(pointer)] = value;
    return refused(json);
  };
  CHECK(has(changed("/format", "other"), "sdpa-wb recording"));
  CHECK(has(changed("/v", 2), "version is 2"));
  CHECK(has(changed("/problem", "B=0"), "B"));
  CHECK(has(changed("/tune_params", 3), "object of lists"));
  CHECK(has(changed("/tune_params/A/1", "two"), "A must be a list of integers"));
  CHECK(has(changed("/tune_params/A", 2), "A must be a list of integers"));
  CHECK(has(changed("/tune_params/A/2", 3), "2 points of a space of 3"));
  CHECK(has(changed("/restrictions/0", "A > 2"), "holds for none"));
  CHECK(has(changed("/points", 5), "must be a list"));
  CHECK(has(changed("/points/1/configuration/A", 1), "stands twice"));
  CHECK(has(changed("/points/1/configuration/A", 7), "not a configuration"));
  CHECK(has(changed("/points/1/invalidity", "sad"), "no invalidity"));
  CHECK(has(changed("/points/0/turns/0/samples_us/0", -1), "usable samples"));
  CHECK(has(changed("/points/0/turns/0/samples_us", Json::array()), "usable samples"));
  CHECK(has(changed("/points/0/turns/0/samples_us", 4), "must be a list"));
  CHECK(has(changed("/points/0/turns", Json::array()), "neither turns nor"));
  CHECK(has(changed("/points/0/invalidity", "runtime"), "turns and an invalidity"));
  CHECK(has(changed("/points/0/build_s", -2), "build_s"));
  CHECK(has(changed("/points/0/surprise", 1), "surprise"));
  Json failed = small_json();
  failed["points"][0] = failed["points"][1];
  failed["points"][0]["configuration"]["A"] = 1;
  CHECK(has(refused(failed), "every configuration failed"));
}

TEST_CASE("a strategy for another space is a mistake", "[search][simulation]") {
  const Recording recording = recording_of(grid(), grid_world());
  Strategy strategy = strategy_of(lists_space({{"X", range(1, 3)}}), {});
  CHECK_THROWS_AS(simulate(recording, strategy, {}), std::invalid_argument);
  Strategy right = strategy_of(recording.space, {});
  CHECK_THROWS_AS(simulate(recording, right, {.builders = 0}), std::invalid_argument);
}
