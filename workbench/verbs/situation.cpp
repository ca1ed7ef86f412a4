// SPDX-License-Identifier: MIT
#include "verbs/situation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "advise/candidates.hpp"
#include "core/ascii.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "engine/context.hpp"
#include "engine/recorded.hpp"
#include "engine/settings.hpp"
#include "measure/prediction.hpp"
#include "report/causes.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"
#include "variant/restriction.hpp"
#include "verbs/decided_causes.hpp"
#include "verbs/trials.hpp"

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

bool has_helped(const IterationView& iteration) {
  const auto decided = session::decided_prediction(iteration);
  return decided && decided->mechanism == measure::Mechanism::confirmed;
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
                                    const std::vector<report::Room>& rooms,
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
  for (const report::Room& room : rooms) {
    if (room.problem != title) continue;
    result.room_ratio = room.factor;
    result.room_bound = room.bound;
    result.events.insert(result.events.end(), room.events.begin(), room.events.end());
  }
  const report::Compared* sdpa = report::fastest_rival(facts, page.held, problem, facts.plan);
  if (sdpa != nullptr) result.rival_ratio = sdpa->ratio.value;
  return result;
}

/// The mean wall time of the iterations.
void add_pace(const SessionView& view, Situation& situation) {
  double seconds = 0;
  std::int64_t tries = 0;
  for_each_closed_iteration(view, [&](const session::IterationView& iteration, const Json& closed) {
    if (!is_about_variant(closed)) return;
    if (const auto took_s = report::seconds_between(iteration.opened.t, iteration.closed->t)) {
      seconds += *took_s;
      ++tries;
    }
  });
  if (tries > 0) situation.iteration_s = seconds / static_cast<double>(tries);
}

/// What the session tried, newest first. An iteration that added several techniques is evidence of
/// none of them alone, which the roadmap says.
void add_tries(const std::vector<advise::Trial>& own, Situation& situation) {
  for (auto trial = own.rbegin(); trial != own.rend(); ++trial) {
    for (const std::string& word : trial->added) {
      situation.tries.push_back({.technique = word,
                                 .speedup = trial->speedup,
                                 .won = trial->won(),
                                 .event = trial->event,
                                 .is_alone = trial->isolated == word});
    }
    for (const std::string& id : trial->ideas) {
      situation.tries.push_back({.technique = id,
                                 .speedup = trial->speedup,
                                 .won = trial->won(),
                                 .event = trial->event,
                                 .is_alone = trial->is_single});
    }
  }
}

/// "PADDING=16" for each technique that one parameter turns on in the kernel as it is configured.
std::map<std::string, std::string> switches_of(const variant::Manifest& manifest,
                                               const variant::Configuration& configuration) {
  std::map<std::string, std::string> switches;
  for (const auto& [technique, text] : manifest.technique_conditions) {
    const auto condition = variant::Restriction::parse(text);
    if (!condition.ok()) continue;
    const auto now = condition->holds(configuration);
    if (!now.ok() || *now) continue;
    for (const std::string& name : condition->names()) {
      const auto values = manifest.tune_params.find(name);
      if (values == manifest.tune_params.end()) continue;
      for (const std::int64_t value : values->second) {
        variant::Configuration changed = configuration;
        changed[name] = value;
        const auto then = condition->holds(changed);
        if (!then.ok() || !*then || switches.contains(technique)) continue;
        switches[technique] = fmt::format("{}={}", name, value);
      }
    }
  }
  return switches;
}

/// Whether code for the architecture of the manifest runs on the device: "sm_80" on any later one,
/// "sm_90a" on its own family alone.
bool runs_on(const variant::Manifest& manifest, std::string_view device) {
  const auto generation = [](std::string_view word) {
    constexpr std::string_view k_prefix = "sm_";
    if (word.starts_with(k_prefix)) word.remove_prefix(k_prefix.size());
    return ascii::number<int>(word.substr(0, word.find_first_not_of("0123456789"))).value_or(0);
  };
  return manifest.architectures.empty() ||
         std::any_of(manifest.architectures.begin(), manifest.architectures.end(),
                     [&](const std::string& word) {
                       const int own = generation(word), there = generation(device);
                       return word == device ||
                              (own > 0 && (word.ends_with('a') ? own == there : own <= there));
                     });
}

/// By technique the present kernel, other than the incumbent's, that has it and takes most of the
/// problems, at least half of them; of equals the one that has most of the incumbent's techniques.
std::map<std::string, std::string> kernels_with_techniques(const ChangeBook& book,
                                                           const Situation& situation) {
  std::map<std::string, std::string> kernels;
  std::map<std::string, std::pair<std::size_t, std::size_t>> most;
  for (const auto& one : book.kernels) {
    const std::string& name = one.first;
    const variant::Manifest& manifest = one.second;
    const bool is_other = name != advise::kernel_of(situation.incumbent) &&
                          to_string(manifest.backend) == situation.backend &&
                          runs_on(manifest, situation.architecture);
    if (!is_other) continue;
    const auto taken = static_cast<std::size_t>(std::count_if(
        situation.problems.begin(), situation.problems.end(), [&](const auto& member) {
          return !variant::unsupported_reason(manifest, member.problem);
        }));
    if (taken == 0 || 2 * taken < situation.problems.size()) continue;
    const auto shared = static_cast<std::size_t>(std::count_if(
        manifest.techniques.begin(), manifest.techniques.end(), [&](const std::string& word) {
          const auto& own = situation.techniques;
          return std::find(own.begin(), own.end(), word) != own.end();
        }));
    for (const std::string& technique : manifest.techniques) {
      auto& known = most[technique];
      if (std::pair(taken, shared) <= known) continue;
      known = {taken, shared};
      kernels[technique] = name;
    }
  }
  return kernels;
}

}  // namespace

Result<Situation> informed_situation(const ChangeBook& book, const Session& session,
                                     const SessionView& view, std::vector<advise::Trial> others,
                                     const std::vector<advise::Diagnosis>& diagnoses) {
  WB_TRY_ASSIGN(Situation situation, situation_of(session, view));
  WB_TRY_ASSIGN(const auto stored, stored_variant(session, view, view.incumbent));
  const variant::Manifest manifest = with_conditions(stored.first.manifest, book);
  situation.techniques = variant::techniques_in(manifest, stored.second);
  situation.configuration = stored.second;
  situation.switches = switches_of(manifest, stored.second);
  situation.kernels_with = kernels_with_techniques(book, situation);
  situation.ideas = book.ideas;
  for (catalogue::Idea& idea : session_ideas(view)) situation.ideas.push_back(std::move(idea));
  ChangeBook own_book = book;
  own_book.ideas = situation.ideas;
  auto own = trials_of(own_book, session, view, text_of(view.opened.payload, "session"));
  for (advise::Trial& trial : own) trial.is_own = true;
  add_tries(own, situation);
  situation.trials = std::move(others);
  // The own ones first, newest first, as the log's readers list them.
  std::reverse(own.begin(), own.end());
  situation.trials.insert(situation.trials.begin(), std::make_move_iterator(own.begin()),
                          std::make_move_iterator(own.end()));
  situation.predictions = predictions_of(situation.trials, own_book);
  situation.causes = advise::remedied_by(diagnoses);
  for (const advise::Diagnosis& diagnosis : diagnoses) {
    if (!diagnosis.decided_by) continue;
    const advise::DecidingMeasurement& by = *diagnosis.decided_by;
    const bool is_taken = !by.probe.empty() && view.status != session::SessionStatus::closed;
    situation.pending.push_back({.cause = diagnosis.cause->id,
                                 .title = diagnosis.cause->title,
                                 .command = is_taken ? "sdpa-wb diagnose --measure" : by.command});
  }
  return situation;
}

namespace {

/// `decided` may be null: a roadmap may lack causes.
Result<Json> roadmap_with(const ChangeBook& book, const Session& session, const SessionView& view,
                          std::vector<advise::Trial> others, const DecidedCauses* decided,
                          double target_ratio) {
  WB_TRY_ASSIGN(Situation situation,
                informed_situation(
                    book, session, view, std::move(others),
                    decided != nullptr ? decided->diagnoses : std::vector<advise::Diagnosis>()));
  if (decided != nullptr) use_rooms(*decided, situation);
  situation.target_ratio = target_ratio;
  Json made = to_json(advise::make_roadmap(book.techniques, situation));
  made["incumbent"] = situation.incumbent;
  return made;
}

}  // namespace

Result<Json> roadmap_json(const Services& services, const Session& session, double target_ratio) {
  WB_TRY_ASSIGN(const ChangeBook book, load_change_book(services));
  WB_TRY_ASSIGN(const SessionView* view, session.current(session::FoldDepth::full));
  WB_TRY_ASSIGN(const Situation plain, situation_of(session, *view));
  const auto decided = decide_causes(services, session, *view, plain);
  return roadmap_with(book, session, *view, trials_of_others(book, services, &session),
                      decided ? &*decided : nullptr, target_ratio);
}

namespace {

std::vector<advise::NotAdvised> losers_now(const Services& services, const Session& session,
                                           const SessionView& view) {
  const auto book = load_change_book(services);
  if (!book) return {};
  const auto situation = informed_situation(*book, session, view, {}, {});
  if (!situation) return {};
  std::vector<advise::NotAdvised> losers =
      advise::make_roadmap(book->techniques, *situation).not_advised;
  std::erase_if(losers, [](const advise::NotAdvised& one) { return !one.is_loser; });
  return losers;
}

}  // namespace

std::vector<std::string> known_losers(const Services& services, const Session& session,
                                      const SessionView& view) {
  std::vector<std::string> names;
  for (advise::NotAdvised& one : losers_now(services, session, view)) {
    names.push_back(std::move(one.technique));
  }
  return names;
}

namespace {

/// The part of `steps` that comes before the first with a known loser.
Json stages_before_losers(const Json& stages,
                          const std::map<std::string, advise::NotAdvised>& losers) {
  Json kept = Json::array();
  for (const Json& stage : stages) {
    for (const std::string& step : strings_of(stage, "techniques")) {
      if (losers.contains(step)) return kept;
    }
    kept.push_back(stage);
  }
  return kept;
}

void drop_known_losers(const Services& services, const Session& session, SessionView& view) {
  if (list_of(view.roadmap->payload, "entries").empty()) return;
  std::map<std::string, advise::NotAdvised> losers;
  for (const advise::NotAdvised& one : losers_now(services, session, view)) {
    losers.emplace(one.technique, one);
  }
  Json& roadmap = view.roadmap->payload;
  Json kept = Json::array(), left = list_of(roadmap, "not_advised");
  for (const Json& entry : list_of(roadmap, "entries")) {
    const std::string step = text_of(entry, "technique");
    const auto loser = losers.find(step);
    if (loser == losers.end()) {
      kept.push_back(entry);
      continue;
    }
    const std::int64_t event = loser->second.event;
    left.push_back({{"technique", step},
                    {"reason", loser->second.reason},
                    {"event", event > 0 ? Json(event) : Json()},
                    {"loser", true}});
  }
  if (kept.size() == list_of(roadmap, "entries").size()) return;
  roadmap["entries"] = std::move(kept);
  roadmap["not_advised"] = std::move(left);
  roadmap["stages"] = stages_before_losers(list_of(roadmap, "stages"), losers);
  // Sums over all of its steps.
  for (const char* sum : {"hours_low", "hours_high", "measuring_s", "measuring_usd"}) {
    roadmap[sum] = nullptr;
  }
  const auto reached = integer_of(roadmap, "reached_at_stage");
  if (reached && *reached > static_cast<std::int64_t>(roadmap["stages"].size())) {
    roadmap["reached_at_stage"] = nullptr;
  }
}

}  // namespace

void use_present_roadmap(const Services& services, const Session& session,
                         const DecidedCauses& decided, SessionView& view) {
  if (view.roadmap && view.roadmap->payload.contains("room")) {
    drop_known_losers(services, session, view);
    return;
  }
  const auto book = load_change_book(services);
  if (!book) return;
  const double target =
      view.roadmap ? number_of(view.roadmap->payload, "target_ratio").value_or(1.0) : 1.0;
  auto made = roadmap_with(*book, session, view, {}, &decided, target);
  if (made) view.roadmap = session::Fact{0, view.last_t, *std::move(made)};
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
    situation.device = text_of(member_of(view.environment->payload, "device"), "name");
  }
  WB_TRY_ASSIGN(const auto stored, stored_variant(session, view, view.incumbent));
  situation.techniques = variant::techniques_in(stored.first.manifest, stored.second);
  const report::Page page(view);
  const std::vector<report::Room> rooms = report::rooms_now(page);
  for (const problem::SuiteProblem& member : settings.suite.problems) {
    if (!member.held_out) situation.problems.push_back(held_problem(page, rooms, member));
  }
  situation.device_usd_per_hour = settings.prices.rates.device_usd_per_hour;
  situation.is_list_price = settings.prices.is_listed(session::CostItem::device);
  add_pace(view, situation);
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
