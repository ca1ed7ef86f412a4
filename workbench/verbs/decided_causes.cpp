// SPDX-License-Identifier: MIT
#include "verbs/decided_causes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "analyze/analysis.hpp"
#include "analyze/compiled_code.hpp"
#include "analyze/derived.hpp"
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
#include "report/evidence.hpp"
#include "report/facts.hpp"
#include "report/report.hpp"
#include "variant/restriction.hpp"
#include "verbs/situation.hpp"

namespace wb::verbs {

using advise::Situation;
using advise::Target;
using engine::Context;
using engine::incumbent_iteration;
using engine::member_of;
using engine::Services;
using engine::SessionSettings;
using engine::settings_from_json;
using engine::stored_variant;
using engine::text_of;
using measure::Finding;
using session::IterationView;
using session::Session;
using session::SessionView;

namespace {

/// Findings on builds, once for each subject.
void add_build_findings(const SessionView& view, std::vector<Finding>& findings) {
  std::set<std::string> told;
  const auto add = [&](const IterationView& iteration) {
    for (const session::Fact& built : iteration.built) {
      const std::string subject = text_of(built.payload, "subject");
      const Json& ptxas = member_of(built.payload, "ptxas");
      if (!ptxas.is_object() || !told.insert(subject).second) continue;
      const auto record = variant::ptxas_record_from_json(ptxas);
      if (!record.ok()) continue;
      for (Finding& finding : analyze::build_findings(*record, subject)) {
        finding.figures["subject"] = subject;
        finding.events = {built.seq};
        findings.push_back(std::move(finding));
      }
    }
  };
  for (const IterationView& iteration : view.iterations) add(iteration);
  add(view.outside);
}

/// Recorded findings, without those on builds, which add_build_findings() adds.
void add_recorded(const IterationView& where, std::vector<Finding>& findings) {
  for (const session::Fact& fact : where.findings) {
    Json payload = fact.payload;
    if (payload.is_object()) payload.erase("iteration");
    auto finding = measure::finding_from_json(payload);
    if (!finding.ok() || finding->analysis == "ptxas") continue;
    finding->events.push_back(fact.seq);
    findings.push_back(*std::move(finding));
  }
}

/// The rivals of the log, with the comparisons in which each was timed.
std::map<std::string, std::vector<const session::Fact*>> timed_rivals(const SessionView& view) {
  std::map<std::string, std::vector<const session::Fact*>> rivals;
  const auto add = [&](const IterationView& part) {
    for (const session::Fact& one : part.comparisons) {
      if (text_of(one.payload, "role") != "rival") continue;
      rivals[text_of(one.payload, "against")].push_back(&one);
    }
  };
  for (const IterationView& iteration : view.iterations) add(iteration);
  add(view.outside);
  return rivals;
}

/// Every turn begins with calls that nobody times, until two blocks agree or their time is over;
/// the flag not_settled tells the latter.
void add_warming(const SessionView& view, std::vector<Finding>& findings) {
  for (const auto& [rival, comparisons] : timed_rivals(view)) {
    const auto is_unsettled = [](const session::Fact* one) {
      const auto flags = strings_of(one->payload, "flags");
      return std::find(flags.begin(), flags.end(), measure::k_flag_not_settled) != flags.end();
    };
    const auto unsettled = std::count_if(comparisons.begin(), comparisons.end(), is_unsettled);
    Finding finding;
    finding.analysis = "warming";
    finding.statement = fmt::format(
        "every turn of {} began with calls that nobody timed; its times had settled in {} of {} "
        "comparisons",
        rival, static_cast<std::int64_t>(comparisons.size()) - unsettled, comparisons.size());
    finding.figures = {{"subject", rival},
                       {"state", unsettled == 0 ? "settled" : "warmed"},
                       {"comparisons", comparisons.size()},
                       {"not_settled", unsettled}};
    finding.events = {comparisons.front()->seq, comparisons.back()->seq};
    findings.push_back(std::move(finding));
  }
}

/// The last record of the subject's build, with its event.
void add_build_record(const SessionView& view, analyze::DerivedInput& input) {
  const auto look = [&](const IterationView& part) {
    for (const session::Fact& built : part.built) {
      const Json& ptxas = member_of(built.payload, "ptxas");
      if (text_of(built.payload, "subject") != input.subject || !ptxas.is_object()) continue;
      auto record = variant::ptxas_record_from_json(ptxas);
      if (!record.ok() || record->kernels.empty()) continue;
      input.ptxas = *std::move(record);
      input.build_events = {built.seq};
    }
  };
  for (const IterationView& iteration : view.iterations) look(iteration);
  look(view.outside);
}

/// The findings of the analyses on the evidence. Where nothing was timed the recorded launches are
/// for derived findings only, which ask for problems that may be told.
std::vector<Finding> analyzed_with_launches(const SessionView& view, measure::Evidence& evidence) {
  std::vector<Finding> findings = analyze::analyze(evidence);
  if (evidence.observations.empty()) report::add_recorded_launches(view, evidence);
  return findings;
}

/// The present analyses' findings on the log, findings on builds, and those of probes, which were
/// taken outside iterations. A new session without rivals has no comparison; then the baseline's
/// recorded findings count.
LogFindings findings_of(const DecidedCauses& catalogues, const Session& session,
                        const SessionView& view) {
  report::LogEvidence log = report::log_evidence(view);
  add_products(catalogues.launches, session, view, log.evidence);
  LogFindings result{analyzed_with_launches(view, log.evidence), std::move(log.gaps), {}};
  if (log.evidence.observations.empty()) {
    if (const IterationView* holder = incumbent_iteration(view))
      add_recorded(*holder, result.findings);
  }
  result.evidence = std::move(log.evidence);
  add_build_findings(view, result.findings);
  add_recorded(view.outside, result.findings);
  add_warming(view, result.findings);
  return result;
}

}  // namespace

void add_products(const std::vector<catalogue::LaunchRule>& launches, const Session& session,
                  const SessionView& view, measure::Evidence& evidence) {
  std::set<std::string> subjects;
  for (const measure::Observation& one : evidence.observations) subjects.insert(one.subject);
  for (const std::string& subject : subjects) {
    const auto stored = stored_variant(session, view, subject);
    if (!stored.ok()) continue;
    const variant::Manifest& manifest = stored->first.manifest;
    analyze::add_rule_facts(evidence, subject, manifest, stored->second,
                            catalogue::find_rule(launches, manifest.name));
  }
}

LogFindings iteration_findings(const DecidedCauses& catalogues, const Session& session,
                               const SessionView& view, const IterationView& iteration) {
  report::LogEvidence log = report::iteration_evidence(view, iteration);
  add_products(catalogues.launches, session, view, log.evidence);
  LogFindings result{analyzed_with_launches(view, log.evidence), std::move(log.gaps), {}};
  if (log.evidence.observations.empty()) add_recorded(iteration, result.findings);
  result.evidence = std::move(log.evidence);
  add_build_findings(view, result.findings);
  add_warming(view, result.findings);
  return result;
}

void add_derived(const DecidedCauses& catalogues, const Session& session, const SessionView& view,
                 const Target& target, LogFindings& log) {
  const auto stored = stored_variant(session, view, target.subject);
  if (!stored.ok()) return;
  const variant::Manifest& manifest = stored->first.manifest;
  const auto complete = variant::complete_configuration(manifest, stored->second);
  analyze::DerivedInput input;
  input.subject = target.subject;
  input.manifest = &manifest;
  input.configuration = complete.ok() ? *complete : stored->second;
  add_build_record(view, input);
  input.rule = catalogue::find_rule(catalogues.launches, manifest.name);
  for (const advise::TargetProblem& one : target.problems) input.problems.push_back(one.problem);
  const bool hides = analyze::hides_latency(input);
  for (Finding& finding : log.findings) {
    const bool is_own = finding.analysis == "launch" && finding.figures.is_object() &&
                        text_of(finding.figures, "subject") == target.subject;
    if (is_own && finding.figures.contains("hides_latency")) {
      finding.figures["hides_latency"] = hides;
    }
  }
  std::vector<Finding> derived = analyze::derived_findings(input, log.evidence);
  const bool is_in_series = std::any_of(derived.begin(), derived.end(), [](const Finding& finding) {
    const auto splits = finding.figures.find("splits_keys");
    return splits != finding.figures.end() && *splits == false;
  });
  for (Finding& finding : derived) {
    // Blocks that share a tile of rows share its columns where the kernel never splits the keys.
    if (is_in_series && finding.analysis == "launch_rule") {
      finding.figures["walks_in_series"] = true;
    }
    log.findings.push_back(std::move(finding));
  }
}

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

}  // namespace

Result<Json> causes_json(const Services& services, const Session& session,
                         const SessionView& view) {
  WB_TRY_ASSIGN(DecidedCauses decided, cause_catalogues(services));
  WB_TRY_ASSIGN(const Situation situation, situation_of(session, view));
  WB_TRY_ASSIGN(decided.target, target_of(view, situation));
  decided.target.has_machine_code = has_code(session, view, decided.target.subject);
  LogFindings log = findings_of(decided, session, view);
  add_derived(decided, session, view, decided.target, log);
  decide(decided, log.findings);
  add_served(decided.target, log.gaps);
  add_rooms(decided, log.findings);
  return Json{{"subject", decided.target.subject},
              {"plan", decided.target.plan},
              {"causes", causes_list(decided.diagnoses)},
              {"start", start_json(session, view, decided, log)},
              {"siblings", siblings_json(view)},
              {"rooms", rooms_json(decided)},
              {"gaps", std::move(log.gaps)}};
}

namespace {

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

SessionView with_present_causes(const Services& services, const Session& session,
                                const SessionView& view) {
  SessionView present = view;
  drop_known_losers(services, session, present);
  auto made = causes_json(services, session, view);
  if (!made.ok()) return present;
  // What no event holds is cited by none.
  const bool is_recorded = present.causes && says_the_same(present.causes->payload, *made);
  const session::Fact fact{is_recorded ? present.causes->seq : 0,
                           is_recorded ? present.causes->t : view.last_t, *std::move(made)};
  present.causes = fact;
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
  WB_TRY_ASSIGN(DecidedCauses decided, cause_catalogues(services));
  WB_TRY_ASSIGN(decided.target, target_of(view, situation));
  decided.target.has_machine_code = has_code(session, view, decided.target.subject);
  LogFindings log = findings_of(decided, session, view);
  add_derived(decided, session, view, decided.target, log);
  decide(decided, log.findings);
  decided.gaps = std::move(log.gaps);
  add_rooms(decided, log.findings);
  return decided;
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
