// SPDX-License-Identifier: MIT
#include "verbs/situation.hpp"

#include <algorithm>

#include "core/json.hpp"
#include "engine/context.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "engine/settings.hpp"
#include "measure/prediction.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"
#include "verbs/decided_causes.hpp"

namespace wb::verbs {

using advise::Situation;
using engine::Context;
using engine::for_each_closed_iteration;
using engine::incumbent_iteration;
using engine::is_about_variant;
using engine::member_of;
using engine::number_of;
using engine::Services;
using engine::SessionSettings;
using engine::settings_from_json;
using engine::stored_variant;
using engine::techniques_of;
using engine::text_of;
using session::IterationView;
using session::Session;
using session::SessionView;

std::optional<advise::PastPrediction> sized_prediction(const IterationView& iteration) {
  const auto decided = session::decided_prediction(iteration);
  if (!decided || decided->size == measure::GainSize::undecided) return std::nullopt;
  const auto predicted = number_of(iteration.hypothesis->payload, "predicted_speedup");
  const auto measured = number_of(iteration.hypothesis->payload, "measured_speedup");
  if (!predicted || !measured || !(*predicted > 0) || !(*measured > 0)) return std::nullopt;
  return advise::PastPrediction{*predicted, *measured, iteration.hypothesis->seq};
}

const std::vector<std::string>& TechniqueHistory::of(const std::string& subject) {
  const auto [slot, is_new] = m_known.try_emplace(subject);
  if (!is_new) return slot->second;
  const auto stored = stored_variant(m_session, m_view, subject);
  if (stored) slot->second = variant::techniques_in(stored->first.manifest, stored->second);
  return slot->second;
}

std::vector<std::string> TechniqueHistory::added_by(const IterationView& iteration) {
  const std::vector<std::string>& before = of(text_of(iteration.opened.payload, "parent"));
  std::vector<std::string> added = techniques_of(iteration);
  std::erase_if(added, [&before](const std::string& word) {
    return std::find(before.begin(), before.end(), word) != before.end();
  });
  return added;
}

namespace {

advise::RoadmapProblem held_problem(const report::Page& page,
                                    const std::vector<report::Headroom>& rooms,
                                    const problem::SuiteProblem& member) {
  const report::Facts& facts = page.facts;
  const std::string problem = to_text(member.problem), title = facts.title(problem);
  advise::RoadmapProblem result;
  result.problem = member.problem;
  result.weight = member.weight;
  for (const session::Fact& finding : facts.holder->findings) {
    const Json& figures = member_of(finding.payload, "figures");
    const std::string regime = text_of(figures, "regime");
    // Recorded once per problem, under the fastest plan.
    const bool is_ours = text_of(finding.payload, "analysis") == "regime" && regime != "unknown" &&
                         facts.title(text_of(finding.payload, "problem")) == title;
    if (!is_ours) continue;
    result.bound = regime;
    result.events.push_back(finding.seq);
  }
  for (const report::Headroom& room : rooms) {
    if (facts.title(room.problem) != title) continue;
    result.room_ratio = room.factor;
    result.events.push_back(room.finding->seq);
  }
  const report::Compared* sdpa = report::fastest_rival(facts, page.held, problem, facts.plan);
  if (sdpa != nullptr) result.rival_ratio = sdpa->ratio.value;
  return result;
}

void add_past(const Session& session, const SessionView& view, Situation& situation) {
  TechniqueHistory techniques(session, view);
  double seconds = 0;
  std::int64_t tries = 0;
  for_each_closed_iteration(view, [&](const session::IterationView& iteration, const Json& closed) {
    if (!is_about_variant(closed)) return;
    if (const auto took_s = report::seconds_between(iteration.opened.t, iteration.closed->t)) {
      seconds += *took_s;
      ++tries;
    }
    for (const std::string& word : techniques.added_by(iteration)) {
      situation.tries.push_back({.technique = word,
                                 .speedup = number_of(closed, "speedup"),
                                 .won = text_of(closed, "outcome") == "win",
                                 .event = iteration.closed->seq});
    }
    if (const auto past = sized_prediction(iteration)) situation.predictions.push_back(*past);
  });
  if (tries > 0) situation.iteration_s = seconds / static_cast<double>(tries);
}

}  // namespace

Result<Json> roadmap_json(const Services& services, const Session& session, double target_ratio) {
  WB_TRY_ASSIGN(const auto catalogue,
                catalogue::load_techniques(services.file_system, services.search_path));
  WB_TRY_ASSIGN(const SessionView* view, session.current(session::FoldDepth::full));
  WB_TRY_ASSIGN(Situation situation, situation_of(session, *view));
  situation.target_ratio = target_ratio;
  // A roadmap may lack causes.
  if (const auto decided = decide_causes(services, session, *view, situation)) {
    situation.causes = advise::remedied_by(decided->diagnoses);
  }
  Json made = to_json(advise::make_roadmap(catalogue, situation));
  made["incumbent"] = situation.incumbent;
  return made;
}

Result<Situation> situation_of(const Session& session, const SessionView& view) {
  if (incumbent_iteration(view) == nullptr || view.incumbent.empty()) {
    return Error{ErrorCode::invalid, "advise on", session.folder().string(),
                 "its baseline was not measured", "`sdpa-wb resume` goes on with it"};
  }
  WB_TRY_ASSIGN(const SessionSettings settings, settings_from_json(view.opened.payload));
  Situation situation;
  situation.incumbent = view.incumbent;
  situation.backend = settings.backend;
  if (view.environment) {
    situation.architecture =
        text_of(member_of(view.environment->payload, "device"), "architecture");
  }
  WB_TRY_ASSIGN(const auto stored, stored_variant(session, view, view.incumbent));
  situation.techniques = variant::techniques_in(stored.first.manifest, stored.second);
  const report::Page page(view);
  const std::vector<report::Headroom> rooms = report::headroom(page);
  for (const problem::SuiteProblem& member : settings.suite.problems) {
    if (!member.held_out) situation.problems.push_back(held_problem(page, rooms, member));
  }
  situation.device_usd_per_hour = settings.prices.rates.device_usd_per_hour;
  situation.is_list_price = settings.prices.is_listed(session::CostItem::device);
  add_past(session, view, situation);
  return situation;
}

Result<void> record_roadmap(Context& context) {
  WB_TRY_ASSIGN(const SessionView* view, context.session->current(session::FoldDepth::brief));
  if (view->incumbent.empty()) return {};
  auto made = roadmap_json(context.services, *context.session, 1.0);
  if (!made) {
    WB_TRY(context.log(
        "note", {{"text", "no roadmap: " + made.error().message()}, {"iteration", nullptr}}));
    return {};
  }
  WB_TRY(context.log("roadmap_made", *std::move(made)));
  return {};
}

}  // namespace wb::verbs
