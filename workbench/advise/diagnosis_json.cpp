// SPDX-License-Identifier: MIT
// A diagnosis as JSON, for the verb `diagnose` and the event causes_decided.
#include "advise/diagnosis.hpp"
#include "core/json.hpp"

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
  }
  if (diagnosis.state == measure::HypothesisState::undecided) {
    for (const catalogue::CauseNeed& need : cause.needs) {
      needs.push_back({{"verb", need.verb},
                       {"arguments", need.arguments},
                       {"brings", need.brings},
                       {"probe", need.probe.empty() ? Json(nullptr) : Json(need.probe)}});
    }
  }
  Json gain;
  if (diagnosis.gain) {
    gain = {{"low", diagnosis.gain->low},
            {"expected", diagnosis.gain->expected},
            {"high", diagnosis.gain->high}};
  }
  return {{"cause", cause.id},
          {"title", cause.title},
          {"theory", cause.theory},
          {"test", cause.test},
          {"prediction", cause.prediction},
          {"state", to_string(diagnosis.state)},
          {"strength", diagnosis.strength ? Json(to_string(*diagnosis.strength)) : Json(nullptr)},
          {"contradictory", diagnosis.is_contradictory},
          {"where", diagnosis.where},
          {"share_frac", diagnosis.share_frac},
          {"evidence", std::move(evidence)},
          {"evidence_left_out", diagnosis.evidence_left_out},
          {"needs", std::move(needs)},
          {"remedies", diagnosis.remedies},
          {"gain", std::move(gain)}};
}

}  // namespace wb::advise
