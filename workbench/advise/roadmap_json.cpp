// SPDX-License-Identifier: MIT
// A roadmap as JSON, for the verb `advise` and the event roadmap_made.
#include "advise/roadmap.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"

namespace wb::advise {
namespace {

Json entry_json(const RoadmapEntry& entry) {
  const catalogue::Technique& technique = *entry.technique;
  return {{"technique", technique.name},
          {"title", technique.title},
          {"low", entry.low},
          {"expected", entry.expected},
          {"high", entry.high},
          {"share_frac", entry.share_frac},
          {"strength", to_string(entry.strength)},
          {"why", entry.why},
          {"causes", entry.causes},
          {"events", entry.events},
          {"source", technique.impact_source},
          {"hours_low", technique.hours_low},
          {"hours_high", technique.hours_high},
          {"complexity", technique.complexity},
          {"risk", technique.risk},
          {"needs", technique.needs},
          {"pros", technique.pros},
          {"cons", technique.cons}};
}

}  // namespace

Json to_json(const Roadmap& roadmap) {
  Json entries = Json::array(), left = Json::array(), stages = Json::array();
  for (const RoadmapEntry& entry : roadmap.entries) entries.push_back(entry_json(entry));
  for (const NotAdvised& one : roadmap.not_advised) {
    left.push_back({{"technique", one.technique},
                    {"reason", one.reason},
                    {"event", one.event > 0 ? Json(one.event) : Json(nullptr)}});
  }
  for (const RoadmapStage& stage : roadmap.stages) {
    stages.push_back({{"techniques", stage.techniques},
                      {"low", stage.low},
                      {"expected", stage.expected},
                      {"high", stage.high},
                      {"rival_low", or_null(stage.rival_low)},
                      {"rival_expected", or_null(stage.rival_expected)}});
  }
  const auto& at = roadmap.reached_at_stage;
  return {{"calibration",
           {{"share", roadmap.calibration.share},
            {"count", roadmap.calibration.count},
            {"events", roadmap.calibration.events}}},
          {"entries", entries},
          {"not_advised", left},
          {"stages", stages},
          {"rival_ratio", or_null(roadmap.rival_ratio)},
          {"target_ratio", roadmap.target_ratio},
          {"reached_at_stage", at ? Json(*at) : Json(nullptr)},
          {"hours_low", roadmap.hours_low},
          {"hours_high", roadmap.hours_high},
          {"measuring_s", or_null(roadmap.measuring_s)},
          {"measuring_usd", or_null(roadmap.measuring_usd)},
          {"unseen", roadmap.unseen}};
}

}  // namespace wb::advise
