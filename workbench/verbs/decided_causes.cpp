// SPDX-License-Identifier: MIT
#include "verbs/decided_causes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "engine/context.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "engine/settings.hpp"
#include "measure/plan.hpp"
#include "outcome/outcome.hpp"
#include "outcome/siblings.hpp"
#include "problem/attention.hpp"
#include "report/facts.hpp"
#include "variant/restriction.hpp"
#include "verbs/situation.hpp"

namespace wb::verbs {

using advise::Situation;
using advise::Target;
using engine::Context;
using engine::member_of;
using engine::Services;
using engine::SessionSettings;
using engine::settings_from_json;
using engine::stored_variant;
using engine::text_of;
using measure::Finding;
using session::Session;
using session::SessionView;

Result<DecidedCauses> cause_catalogues(const Services& services) {
  DecidedCauses decided;
  WB_TRY_ASSIGN(decided.causes, catalogue::load_causes(services.file_system, services.search_path));
  WB_TRY_ASSIGN(decided.techniques,
                catalogue::load_techniques(services.file_system, services.search_path));
  WB_TRY_ASSIGN(decided.launches,
                catalogue::load_launches(services.file_system, services.search_path));
  return decided;
}

namespace {

/// What a variant's problems are called by how they came out, and how much they matter.
struct Place {
  int urgency = 0;
  std::string words;
};

Place place_of(const outcome::ProblemOutcome* problem, const std::string& subject) {
  using measure::ComparisonOutcome;
  const outcome::Standing* standing = problem == nullptr ? nullptr : problem->find(subject);
  const auto is = [](const std::optional<outcome::Figure>& figure, ComparisonOutcome wanted) {
    return figure && figure->outcome == wanted;
  };
  if (standing == nullptr) return {3, "with no rival beside"};
  if (is(standing->over_rival, ComparisonOutcome::slower)) return {0, "lost to a rival"};
  if (is(standing->over_start, ComparisonOutcome::slower)) return {1, "slower than the start"};
  if (is(standing->over_rival, ComparisonOutcome::faster)) return {4, "won"};
  if (standing->over_rival) return {2, "not shown ahead of a rival"};
  return {3, "with no rival beside"};
}

/// The suite's problems as the session came out of them, by text form; none before anything was
/// compared.
std::map<std::string, const outcome::ProblemOutcome*> outcomes_of(const outcome::Outcome& whole) {
  std::map<std::string, const outcome::ProblemOutcome*> by_text;
  if (whole.groups.empty() || !whole.groups.front().is_suite) return by_text;
  for (const outcome::ProblemOutcome& one : whole.groups.front().problems) {
    by_text[one.problem] = &one;
  }
  return by_text;
}

/// Puts each problem into the group of its place; what was said of its bound stays.
void set_groups(Target& target, const outcome::Outcome& whole) {
  const auto by_text = outcomes_of(whole);
  for (advise::TargetProblem& one : target.problems) {
    const auto found = by_text.find(to_text(one.problem));
    const Place place = place_of(found == by_text.end() ? nullptr : found->second, target.subject);
    const std::size_t bound = one.group.find(", ");
    one.group = place.words + (bound == std::string::npos ? "" : one.group.substr(bound));
    one.urgency = place.urgency;
  }
}

/// Marks the problems that the session's conclusion gives to other variants, where the subject is
/// one of those that it dispatches: what limits the subject there limits nobody.
void set_served(Target& target, const outcome::Outcome& whole) {
  const outcome::Recommendation& made = whole.recommendation;
  const bool is_part =
      made.advice == outcome::Advice::dispatch &&
      std::any_of(made.parts.begin(), made.parts.end(),
                  [&](const outcome::Part& part) { return part.variant == target.subject; });
  if (!is_part || made.group >= whole.groups.size()) return;
  std::map<std::string, std::string> served;
  for (const outcome::Part& part : made.parts) {
    if (part.variant == target.subject) continue;
    for (const std::size_t at : part.problems) {
      served[whole.groups[made.group].problems[at].problem] = part.variant;
    }
  }
  for (advise::TargetProblem& one : target.problems) {
    const auto found = served.find(to_text(one.problem));
    if (found != served.end()) one.served_by = found->second;
  }
}

bool has_code(const Session& session, const SessionView& view, const std::string& subject) {
  const auto stored = stored_variant(session, view, subject);
  return !stored.ok() || stored->first.manifest.backend != variant::Backend::python;
}

}  // namespace

Result<Target> target_of(const SessionView& view, const Situation& situation) {
  WB_TRY_ASSIGN(const SessionSettings settings, settings_from_json(view.opened.payload));
  Target target;
  target.subject = situation.incumbent;
  target.backend = situation.backend;
  target.architecture = situation.architecture;
  target.plan = to_string(settings.objective.plan);
  target.techniques = situation.techniques;
  target.has_others = !timed_rivals(view).empty();
  const report::Facts facts(view);
  for (const advise::RoadmapProblem& one : situation.problems) {
    advise::TargetProblem problem{one.problem, one.weight};
    // Findings of the present analyses call it as pages do.
    problem.problem.name = facts.title(to_text(one.problem));
    if (!one.bound.empty()) problem.group = ", " + one.bound + "-bound";
    target.problems.push_back(std::move(problem));
  }
  const outcome::Outcome whole = outcome::outcome_of(view);
  set_groups(target, whole);
  set_served(target, whole);
  return target;
}

Target target_for(const Target& incumbent, const Session& session, const SessionView& view,
                  const std::string& subject) {
  Target target = incumbent;
  target.subject = subject;
  for (advise::TargetProblem& one : target.problems) one.served_by.clear();
  target.techniques.clear();
  if (const auto stored = stored_variant(session, view, subject)) {
    target.techniques = variant::techniques_in(stored->first.manifest, stored->second);
  }
  target.has_machine_code = has_code(session, view, subject);
  set_groups(target, outcome::outcome_of(view));
  return target;
}

// What held the start up
// --------------------------------------------------------------------------------------------

namespace {

/// A step that won, its gain and the techniques that it added.
struct WonStep {
  std::int64_t iteration = 0, event = 0;
  double speedup = 1;
  std::vector<std::string> added;
};

/// Those that made the present incumbent, the largest gain first.
std::vector<WonStep> won_steps(const Session& session, const SessionView& view) {
  std::vector<WonStep> steps;
  TechniqueHistory history(session, view);
  const report::Facts facts(view);
  for (const IterationView* win : facts.wins) {
    const auto& changed = win->incumbent_changed;
    const auto speedup = number_of(changed->payload, "speedup");
    steps.push_back({win->number, changed->seq, speedup.value_or(1), history.added_by(*win)});
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const WonStep& a, const WonStep& b) { return a.speedup > b.speedup; });
  return steps;
}

/// Says of each cause of the start which step removed it: the largest with one of its remedies.
void add_removals(const Session& session, const SessionView& view,
                  const std::vector<advise::Diagnosis>& diagnoses, Json& causes) {
  const std::vector<WonStep> steps = won_steps(session, view);
  for (std::size_t at = 0; at < diagnoses.size(); ++at) {
    Json& removed = causes[at]["removed_by"] = nullptr;
    if (diagnoses[at].state != measure::HypothesisState::supported) continue;
    const std::vector<std::string>& remedies = diagnoses[at].cause->techniques;
    for (const WonStep& step : steps) {
      std::vector<std::string> with;
      std::copy_if(step.added.begin(), step.added.end(), std::back_inserter(with),
                   [&](const std::string& word) {
                     return std::find(remedies.begin(), remedies.end(), word) != remedies.end();
                   });
      if (with.empty()) continue;
      removed = {{"iteration", step.iteration},
                 {"event", step.event},
                 {"speedup", step.speedup},
                 {"techniques", with}};
      break;
    }
  }
}

/// True where more than the names in its manifest supports the cause.
bool is_seen(const advise::Diagnosis& diagnosis) {
  return std::any_of(
      diagnosis.evidence.begin(), diagnosis.evidence.end(), [](const advise::CauseEvidence& one) {
        return one.supports && one.shared_with.empty() && one.analysis != "configuration";
      });
}

/// What the start was held up by, as far as the session shows it: causes that more than a manifest
/// tells of, that the incumbent lacks, and that a step with one of their remedies removed; that of
/// the largest step first, then the strongest evidence.
Json held_up_by(const std::vector<advise::Diagnosis>& start, const Json& causes,
                const std::vector<advise::Diagnosis>& now) {
  struct Row {
    std::string cause;
    double speedup = 1;
    int strength = 0;
  };
  std::vector<Row> rows;
  for (std::size_t at = 0; at < start.size(); ++at) {
    const advise::Diagnosis& one = start[at];
    const Json& removed = causes[at]["removed_by"];
    const bool is_still = std::any_of(now.begin(), now.end(), [&](const advise::Diagnosis& other) {
      return other.cause->id == one.cause->id && other.state == measure::HypothesisState::supported;
    });
    if (!removed.is_object() || !one.strength || !is_seen(one) || is_still) continue;
    rows.push_back(
        {one.cause->id, removed["speedup"].get<double>(), static_cast<int>(*one.strength)});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.speedup != b.speedup ? a.speedup > b.speedup : a.strength < b.strength;
  });
  Json ids = Json::array();
  for (const Row& row : rows) ids.push_back(row.cause);
  return ids;
}

}  // namespace

Json start_json(const Session& session, const SessionView& view, const DecidedCauses& decided,
                LogFindings& log) {
  const std::string start = report::Facts(view).start;
  if (start.empty() || start == decided.target.subject) return nullptr;
  const advise::Target target = target_for(decided.target, session, view, start);
  add_derived(decided.launches, session, view, target, log);
  const std::vector<advise::Diagnosis> diagnoses =
      advise::diagnose(decided.causes, decided.techniques, target, log.findings);
  Json causes = causes_list(diagnoses);
  add_removals(session, view, diagnoses, causes);
  Json held_up = held_up_by(diagnoses, causes, decided.diagnoses);
  return {{"subject", start}, {"causes", std::move(causes)}, {"held_up_by", std::move(held_up)}};
}

// The decision
// --------------------------------------------------------------------------------------------

Json causes_list(const std::vector<advise::Diagnosis>& diagnoses) {
  Json list = Json::array();
  for (const advise::Diagnosis& diagnosis : diagnoses) list.push_back(to_json(diagnosis));
  return list;
}

void decide(DecidedCauses& decided, const std::vector<Finding>& findings) {
  decided.diagnoses =
      advise::diagnose(decided.causes, decided.techniques, decided.target, findings);
}

namespace {

/// The distances to the bounds that the findings tell of the target.
void add_rooms(DecidedCauses& decided, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    const bool is_ours = finding.analysis == "roofline_share" && finding.figures.is_object() &&
                         text_of(finding.figures, "subject") == decided.target.subject &&
                         text_of(finding.figures, "plan") == decided.target.plan;
    const auto room = is_ours ? number_of(finding.figures, "headroom_ratio") : std::nullopt;
    if (!room || *room < 1) continue;
    decided.rooms[finding.problem] = {*room, text_of(finding.figures, "bound_words"),
                                      finding.events};
  }
}

Json rooms_json(const DecidedCauses& decided) {
  Json rooms = Json::array();
  for (const auto& [problem, room] : decided.rooms) {
    rooms.push_back({{"problem", problem},
                     {"headroom_ratio", room.ratio},
                     {"bound", room.bound},
                     {"events", room.events}});
  }
  return rooms;
}

/// Names the problems that other variants are dispatched to, on which the subject's causes were not
/// asked for.
void add_served(const Target& target, std::vector<std::string>& gaps) {
  std::map<std::string, std::vector<std::string>> by_variant;
  for (const advise::TargetProblem& one : target.problems) {
    if (!one.served_by.empty()) by_variant[one.served_by].push_back(label(one.problem));
  }
  for (const auto& [variant, problems] : by_variant) {
    gaps.push_back(fmt::format("causes on {}: {} is dispatched there, not {}",
                               fmt::join(problems, ", "), variant, target.subject));
  }
}

/// Variants of the session that win on different problems, as one sentence each.
Json siblings_json(const SessionView& view) {
  Json all = Json::array();
  for (const outcome::Contrast& one : outcome::contrasts_of(outcome::outcome_of(view))) {
    all.push_back(to_json(one));
  }
  return all;
}

/// The decided causes, and the findings that decided them.
struct Decision {
  DecidedCauses causes;
  LogFindings log;
};

Result<Decision> decision_of(const Services& services, const Session& session,
                             const SessionView& view, const Situation& situation) {
  Decision made;
  DecidedCauses& decided = made.causes;
  WB_TRY_ASSIGN(decided, cause_catalogues(services));
  WB_TRY_ASSIGN(decided.target, target_of(view, situation));
  decided.target.has_machine_code = has_code(session, view, decided.target.subject);
  made.log = findings_of(decided.launches, session, view);
  add_derived(decided.launches, session, view, decided.target, made.log);
  decide(decided, made.log.findings);
  add_rooms(decided, made.log.findings);
  return made;
}

Json answer_of(Decision made, const Session& session, const SessionView& view) {
  const DecidedCauses& decided = made.causes;
  add_served(decided.target, made.log.gaps);
  return Json{{"subject", decided.target.subject},
              {"plan", decided.target.plan},
              {"causes", causes_list(decided.diagnoses)},
              {"start", start_json(session, view, decided, made.log)},
              {"siblings", siblings_json(view)},
              {"rooms", rooms_json(decided)},
              {"gaps", std::move(made.log.gaps)}};
}

/// Whether recorded causes say what is decided now; later keys, such as groups, are no difference.
bool says_the_same(const Json& recorded, const Json& now) {
  const Json &before = member_of(recorded, "causes"), &after = member_of(now, "causes");
  if (!before.is_array() || !after.is_array() || before.size() != after.size()) return false;
  return std::equal(before.begin(), before.end(), after.begin(),
                    [](const Json& one, const Json& other) {
                      constexpr std::array<const char*, 6> k_said{
                          "cause", "state", "strength", "where", "share_frac", "evidence"};
                      return std::all_of(k_said.begin(), k_said.end(), [&](const char* key) {
                        return member_of(one, key) == member_of(other, key);
                      });
                    });
}

}  // namespace

Result<Json> causes_json(const Services& services, const Session& session,
                         const SessionView& view) {
  WB_TRY_ASSIGN(const Situation situation, situation_of(session, view));
  WB_TRY_ASSIGN(Decision made, decision_of(services, session, view, situation));
  return answer_of(std::move(made), session, view);
}

SessionView with_present_causes(const Services& services, const Session& session,
                                const SessionView& view) {
  const auto situation = situation_of(session, view);
  if (!situation) return view;
  auto made = decision_of(services, session, view, *situation);
  if (!made) return view;
  SessionView present = view;
  use_present_roadmap(services, session, made->causes, present);
  Json causes = answer_of(*std::move(made), session, view);
  // What no event holds is cited by none.
  const bool is_recorded = present.causes && says_the_same(present.causes->payload, causes);
  present.causes = session::Fact{is_recorded ? present.causes->seq : 0,
                                 is_recorded ? present.causes->t : view.last_t, std::move(causes)};
  return present;
}

SessionView view_of_report(const Services& services, const Session& session,
                           const SessionView& view) {
  return view.status == session::SessionStatus::closed
             ? with_present_causes(services, session, view)
             : view;
}

Result<DecidedCauses> decide_causes(const Services& services, const Session& session,
                                    const SessionView& view, const Situation& situation) {
  WB_TRY_ASSIGN(Decision made, decision_of(services, session, view, situation));
  made.causes.gaps = std::move(made.log.gaps);
  return std::move(made.causes);
}

void use_rooms(const DecidedCauses& decided, Situation& situation) {
  for (const advise::TargetProblem& one : decided.target.problems) {
    const auto room = decided.rooms.find(label(one.problem));
    if (room == decided.rooms.end()) continue;
    for (advise::RoadmapProblem& problem : situation.problems) {
      if (to_text(problem.problem) != to_text(one.problem)) continue;
      problem.room_ratio = room->second.ratio;
      problem.room_bound = room->second.bound;
    }
  }
}

Result<void> record_causes(Context& context) {
  WB_TRY_ASSIGN(const SessionView* view, context.session->current(session::FoldDepth::full));
  if (view->incumbent.empty()) return {};
  auto made = causes_json(context.services, *context.session, *view);
  if (!made) {
    WB_TRY(context.log("note",
                       {{"text", "no causes: " + made.error().message()}, {"iteration", nullptr}}));
    return {};
  }
  fit_in_event(*made);
  WB_TRY(context.log("causes_decided", *std::move(made)));
  return {};
}

}  // namespace wb::verbs
