// SPDX-License-Identifier: MIT
// Diagnoses and roadmaps as JSON, for the verbs `diagnose` and `advise` and the events
// causes_decided and roadmap_made.
#include "core/json.hpp"
#include "advise/diagnosis.hpp"
#include "advise/roadmap.hpp"
#include "core/json_fields.hpp"

namespace wb::advise {

Json to_json(const Diagnosis& diagnosis) {
  const catalogue::Cause& cause = *diagnosis.cause;
  Json evidence = Json::array(), needs = Json::array();
  for (const CauseEvidence& one : diagnosis.evidence) {
    evidence.push_back({{"says", one.supports ? "supported" : "refuted"},
                        {"strength", to_string(one.strength)},
                        {"analysis", one.analysis},
                        {"statement", one.statement},
                        {"problem", one.problem},
                        {"by", one.by},
                        {"events", one.events}});
    if (!one.shared_with.empty()) evidence.back()["shared_with"] = one.shared_with;
  }
  if (diagnosis.state == measure::HypothesisState::undecided) {
    for (const catalogue::CauseNeed& need : cause.needs) {
      needs.push_back({{"verb", need.verb},
                       {"arguments", need.arguments},
                       {"brings", need.brings},
                       {"probe", need.probe.empty() ? Json(nullptr) : Json(need.probe)}});
    }
  }
  Json decided_by;
  if (diagnosis.decided_by) {
    const auto text_or_null = [](const std::string& text) {
      return text.empty() ? Json(nullptr) : Json(text);
    };
    decided_by = {{"command", diagnosis.decided_by->command},
                  {"probe", text_or_null(diagnosis.decided_by->probe)},
                  {"counter", text_or_null(diagnosis.decided_by->counter)},
                  {"brings", diagnosis.decided_by->brings}};
  }
  Json groups = Json::array();
  for (const GroupState& group : diagnosis.groups) {
    groups.push_back({{"group", group.group},
                      {"problems", group.problems},
                      {"state", to_string(group.state)},
                      {"supported", group.supported}});
  }
  const auto range = [](const std::optional<GainRange>& gain) -> Json {
    if (!gain) return nullptr;
    return {{"low", gain->low}, {"expected", gain->expected}, {"high", gain->high}};
  };
  return {{"cause", cause.id},
          {"title", cause.title},
          {"theory", cause.theory},
          {"test", cause.test},
          {"prediction", cause.prediction},
          {"state", to_string(diagnosis.state)},
          {"strength", diagnosis.strength ? Json(to_string(*diagnosis.strength)) : Json(nullptr)},
          {"contradictory", diagnosis.is_contradictory},
          {"not_applicable",
           diagnosis.not_applicable.empty() ? Json(nullptr) : Json(diagnosis.not_applicable)},
          {"where", diagnosis.where},
          {"groups", std::move(groups)},
          {"share_frac", diagnosis.share_frac},
          {"evidence", std::move(evidence)},
          {"evidence_left_out", diagnosis.evidence_left_out},
          {"needs", std::move(needs)},
          {"decided_by", std::move(decided_by)},
          {"remedies", diagnosis.remedies},
          {"gain", range(diagnosis.gain)},
          {"gain_there", range(diagnosis.gain_there)}};
}

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
          {"ideas", entry.ideas},
          {"how", entry.how},
          {"family", technique.family},
          {"calibration", entry.calibration},
          {"effect", entry.effect.tried > 0 ? to_json(entry.effect) : Json(nullptr)},
          {"foreign", entry.is_foreign},
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
  Json room = Json::array(), families = Json::object();
  for (const RoadmapEntry& entry : roadmap.entries) entries.push_back(entry_json(entry));
  for (const NotAdvised& one : roadmap.not_advised) {
    left.push_back({{"technique", one.technique},
                    {"reason", one.reason},
                    {"event", one.event > 0 ? Json(one.event) : Json(nullptr)},
                    {"loser", one.is_loser},
                    {"expected", or_null(one.expected)}});
  }
  for (const RoomLeft& one : roadmap.room) {
    room.push_back({{"bound", one.bound},
                    {"room", one.room},
                    {"problems", one.problems},
                    {"steps", one.steps},
                    {"measure", one.measure},
                    {"says", one.says},
                    {"events", one.events}});
  }
  for (const auto& [family, calibration] : roadmap.families) {
    families[family] = {{"share", calibration.share}, {"count", calibration.count}};
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
            {"events", roadmap.calibration.events},
            {"families", std::move(families)}}},
          {"room", std::move(room)},
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
          {"measuring_by_list_price", roadmap.is_list_price},
          {"unseen", roadmap.unseen}};
}

}  // namespace wb::advise
