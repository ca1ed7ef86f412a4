// SPDX-License-Identifier: MIT
#include "simulating.hpp"
#include "core/json.hpp"

#include <cmath>

#include "search/simulation.hpp"

namespace wb::python {
namespace {

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json step_json(const search::SimulationStep& step) {
  const search::Score& score = step.score;
  return {{"configuration", variant::to_json(step.configuration)},
          {"outcome", score.invalidity ? to_string(*score.invalidity) : to_string(score.outcome)},
          {"promising_us", number_or_null(step.promising_us)},
          {"fraction_of_optimum", step.fraction_of_optimum},
          {"elapsed_s", step.elapsed_s}};
}

}  // namespace

Result<Json> simulate_recording(const fs::path& path, const Json& options,
                                const search::AskProgram& ask) {
  ObjectReader reader(options, "the options of the simulation");
  const std::string word = reader.string("strategy");
  constexpr std::int64_t k_seed_max = 4'294'967'295, k_count_max = 1'000'000;
  const std::int64_t seed = reader.integer_or("seed", 1, 0, k_seed_max);
  const std::int64_t evaluations = reader.integer_or("evaluations", 0, 0, k_count_max);
  const std::int64_t resamples = reader.integer_or("resamples", 2'000, 10, 100'000);
  const Json* start = reader.member("start");
  WB_TRY(reader.finish(true));
  search::StrategyOptions wanted;
  const auto kind = search::parse_strategy_kind(word);
  if (!kind) {
    return Error{ErrorCode::usage, "simulate", word, "there is no such strategy",
                 "docs/guide/simulation.md lists them"};
  }
  wanted.kind = *kind;
  wanted.seed = static_cast<std::uint64_t>(seed);
  wanted.make_proposer = search::proposers_of(ask, wanted.in_flight);
  if (start != nullptr && start->is_object()) {
    variant::Configuration& first = wanted.start.emplace();
    for (const auto& [name, value] : start->items()) {
      if (const auto whole = whole_number(value)) first[name] = *whole;
    }
  }
  const RealFileSystem file_system;
  WB_TRY_ASSIGN(const search::Recording recording, search::load_recording(file_system, path));
  WB_TRY_ASSIGN(search::Strategy strategy,
                search::Strategy::make(recording.space, std::move(wanted)));
  search::SimulationOptions how;
  how.seed = static_cast<std::uint64_t>(seed);
  how.resamples = static_cast<int>(resamples);
  if (evaluations > 0) how.evaluations = evaluations;
  const search::SimulationResult result = search::simulate(recording, strategy, how);
  Json steps = Json::array();
  for (const search::SimulationStep& step : result.steps) steps.push_back(step_json(step));
  return Json{{"space_size", recording.space.size()},
              {"optimum_us", recording.median_us[recording.optimum]},
              {"proposer", strategy.about()},
              {"elapsed_s", result.elapsed_s},
              {"steps", std::move(steps)}};
}

}  // namespace wb::python
