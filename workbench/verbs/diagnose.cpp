// SPDX-License-Identifier: MIT
// `diagnose`: why something is slow, by the findings (decided_causes.hpp); with --measure after the
// measurements that undecided causes need (diagnose_measure.cpp).
// A candidate that lost was usually not confirmed, so its selection and build are the evidence of
// --iteration.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/json.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "problem/problem.hpp"
#include "report/report.hpp"
#include "session/log.hpp"
#include "verbs/arguments.hpp"
#include "verbs/decided_causes.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/file_findings.hpp"
#include "verbs/situation.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using advise::Diagnosis;
using engine::candidate_of;
using engine::Services;
using engine::text_of;
using session::IterationView;
using session::Session;
using session::SessionView;

namespace {

/// True when it was timed: beside others, or alone in a baseline without rivals.
bool was_timed(const IterationView& iteration) {
  return iteration.closed && (!iteration.comparisons.empty() || !iteration.findings.empty());
}

/// The iteration that measured `subject` as its candidate; nullptr if none did.
const IterationView* measured_in(const SessionView& view, const std::string& subject) {
  const auto found = std::find_if(
      view.iterations.begin(), view.iterations.end(),
      [&](const IterationView& one) { return was_timed(one) && candidate_of(one) == subject; });
  return found == view.iterations.end() ? nullptr : &*found;
}

/// The causes of one iteration's candidate.
std::vector<Diagnosis> causes_of(const session::Session& session, const SessionView& view,
                                 const DecidedCauses& catalogues, const IterationView& iteration,
                                 LogFindings log) {
  const advise::Target target =
      target_for(catalogues.target, session, view, candidate_of(iteration));
  add_derived(catalogues.launches, session, view, target, log);
  return advise::diagnose(catalogues.causes, catalogues.techniques, target, log.findings);
}

/// Causes supported for the candidate and not for its parent.
std::vector<std::string> new_causes(const std::vector<Diagnosis>& own,
                                    const std::vector<Diagnosis>& before) {
  std::vector<std::string> ids;
  for (const Diagnosis& one : own) {
    if (one.state != measure::HypothesisState::supported) continue;
    const bool was_there = std::any_of(before.begin(), before.end(), [&](const Diagnosis& other) {
      return other.cause->id == one.cause->id && other.state == measure::HypothesisState::supported;
    });
    if (!was_there) ids.push_back(one.cause->id);
  }
  return ids;
}

std::string explanation(const IterationView& iteration, const std::string& parent,
                        bool is_parent_known, const std::vector<std::string>& causes) {
  const std::string head = fmt::format("Iteration {} ended as {}. ", iteration.number,
                                       text_of(iteration.closed->payload, "outcome"));
  if (!is_parent_known) {
    return head +
           "Its parent was not measured in this session, so nothing says which of these "
           "causes are new.\n\n";
  }
  if (causes.empty()) {
    return head + fmt::format(
                      "No cause is supported of it that {} has not: what was measured does "
                      "not explain the outcome.\n\n",
                      parent);
  }
  return head +
         fmt::format("Supported of it and not of {}: {}.\n\n", parent, fmt::join(causes, ", "));
}

/// Why the candidate of one iteration takes its time, by that iteration's measurements, and which
/// of its causes its parent does not have; these may explain why it lost. Errors: not_found (no
/// such iteration); invalid (it was never timed); those of the catalogues.
Result<Json> diagnose_iteration(const Services& services, const session::Session& session,
                                const SessionView& view, std::int64_t number) {
  const IterationView* iteration = view.find(number);
  const std::string what = fmt::format("iteration {}", number);
  if (iteration == nullptr) {
    return Error{ErrorCode::not_found, "diagnose", what,
                 fmt::format("the session has {} of them", view.iterations.size()),
                 "`sdpa-wb report` lists them"};
  }
  if (!was_timed(*iteration)) {
    return Error{ErrorCode::invalid, "diagnose", what,
                 iteration->closed ? "its candidate was never timed: " +
                                         text_of(iteration->closed->payload, "message")
                                   : std::string("it is still in flight"),
                 fmt::format("`sdpa-wb show i{}` tells what became of it", number)};
  }
  WB_TRY_ASSIGN(DecidedCauses decided, cause_catalogues(services));
  WB_TRY_ASSIGN(const advise::Situation situation, situation_of(session, view));
  WB_TRY_ASSIGN(decided.target, target_of(view, situation));
  LogFindings log = iteration_findings(decided.launches, session, view, *iteration);
  const auto own = causes_of(session, view, decided, *iteration, log);
  const std::string parent = text_of(iteration->opened.payload, "parent");
  const IterationView* before = measured_in(view, parent);
  std::vector<std::string> explains;
  if (before != nullptr) {
    explains =
        new_causes(own, causes_of(session, view, decided, *before,
                                  iteration_findings(decided.launches, session, view, *before)));
  }
  Json made{{"subject", candidate_of(*iteration)}, {"plan", decided.target.plan},
            {"causes", causes_list(own)},          {"start", nullptr},
            {"siblings", Json::array()},           {"explains", explains},
            {"measured", Json::array()},           {"gaps", std::move(log.gaps)}};
  made["text"] =
      explanation(*iteration, parent, before != nullptr, explains) + report::render_causes(made);
  return made;
}

void add_causes_text(Json& made) {
  made["text"] = report::render_causes(made);
}

}  // namespace

Result<Json> diagnose_session(const Services& services, const Session& session, const Json& args) {
  WB_TRY_ASSIGN(const SessionView* view, session.current(session::FoldDepth::full));
  if (args.contains("iteration")) {
    return diagnose_iteration(services, session, *view, args["iteration"].get<std::int64_t>());
  }
  WB_TRY_ASSIGN(Json made, causes_json(services, session, *view));
  made["measured"] = Json::array();
  made["explains"] = Json::array();
  add_causes_text(made);
  return made;
}

namespace {

Result<Json> diagnose_files(const Services& services, const Json& args) {
  WB_TRY_ASSIGN(DecidedCauses decided, cause_catalogues(services));
  WB_TRY_ASSIGN(FileFindings files, findings_of_files(services.file_system, args));
  decided.target.subject = files.subject;
  decided.target.backend = files.device.backend;
  decided.target.architecture = files.device.architecture;
  decided.target.plan = args.value("plan", "hot");
  for (problem::Problem& problem : files.problems) {
    decided.target.problems.push_back({std::move(problem), 1});
  }
  decide(decided, files.findings);
  Json made{{"subject", files.subject},
            {"plan", decided.target.plan},
            {"causes", causes_list(decided.diagnoses)},
            {"start", nullptr},
            {"siblings", Json::array()},
            {"explains", Json::array()},
            {"measured", Json::array()},
            {"gaps", files.gaps}};
  add_causes_text(made);
  return made;
}

Result<Json> diagnose_body(const Call& call) {
  const Json& args = call.args;
  if (args.value("measure", false)) {
    WB_TRY(check_analyze_arguments(args, true));
    if (args.contains("iteration")) {
      return Error{ErrorCode::usage, "measure", "an iteration",
                   "only the incumbent is measured again", "leave out --measure or --iteration"};
    }
    return diagnose_measuring(call.context, args);
  }
  WB_TRY_ASSIGN(const bool is_of_files, reads_files(call));
  if (is_of_files) return diagnose_files(call.services, args);
  WB_TRY_ASSIGN(const Session* session, session_to_read(call));
  return diagnose_session(call.services, *session, args);
}

Result<Json> diagnose_sample(FakeEngine& fake, const Json&) {
  return Json{{"subject", fake.incumbent}, {"plan", "hot"},
              {"causes", Json::array()},   {"start", nullptr},
              {"siblings", Json::array()}, {"explains", Json::array()},
              {"measured", Json::array()}, {"gaps", Json::array()},
              {"text", "dry run"}};
}

/// Leaves out of each cause what is beyond so many pieces of evidence, and counts it.
void keep_evidence(Json& causes, std::size_t most) {
  for (Json& cause : causes) {
    Json& evidence = cause["evidence"];
    if (evidence.size() <= most) continue;
    cause["evidence_left_out"] =
        cause["evidence_left_out"].get<std::size_t>() + evidence.size() - most;
    evidence.erase(evidence.begin() + std::ptrdiff_t(most), evidence.end());
  }
}

}  // namespace

void fit_in_event(Json& made) {
  // The envelope of an event takes less than this.
  constexpr std::size_t k_room = session::k_max_event_line_bytes - 1024;
  const auto fits = [&] { return made.dump().size() <= k_room; };
  for (const std::size_t most : {4, 2, 1}) {
    for (Json* causes : {&made["start"], &made}) {
      if (fits()) return;
      if (causes->is_object()) keep_evidence((*causes)["causes"], most);
    }
  }
  if (!fits()) made["start"] = nullptr;
  if (!fits()) made["rooms"] = Json::array();
  for (Json& cause : made["causes"]) {
    if (fits()) return;
    cause["groups"] = Json::array();
    cause["where"] = Json::array();
  }
}

const Verb& verb_diagnose() {
  static const Verb verb{
      .spec =
          {.name = "diagnose",
           .doc =
               "why it is slow: known causes held against what was found, of a session or of files",
           .session = SessionNeed::reads,
           .arguments = joined(
               {flag_argument("measure",
                              "first measure what undecided causes need (in an open session)"),
                integer_argument("iteration",
                                 "the candidate of that iteration instead of the incumbent, by its "
                                 "own measurements, and what its parent has not")
                    .between(0, 1e6),
                effort_argument()},
               findings_file_arguments()),
           .result =
               {{"subject", "string: what was diagnosed; empty where files name none"},
                {"plan", "string: of the objective"},
                {"causes",
                 "list: cause, title, theory, test, prediction, state (supported, refuted, "
                 "undecided), strength, contradictory, not_applicable, where, groups (lost to a "
                 "rival, won and others: problems, state), share_frac, evidence, needs, decided_by "
                 "(the one measurement for an open cause: command, probe, counter, brings), "
                 "remedies, gain (speedup over the suite: low, expected, high) and gain_there "
                 "(where it is at work); the most important first (docs/contracts/causes.md)"},
                {"start",
                 "map or null: subject and causes of the start, if another holds now, each with "
                 "removed_by (iteration, event, speedup, techniques); held_up_by: those that a "
                 "winning step removed, of the largest step first"},
                {"siblings",
                 "list: variants that win on different problems: above, below, property, from, "
                 "ahead, behind, says"},
                {"explains",
                 "list: with iteration: causes supported of its candidate and not of its parent"},
                {"measured", "list: probe, outcome, message of what --measure took"},
                {"gaps", "list: what could not be read, and why"},
                {"text", "string: the same for people"}},
           .is_long = true,
           .writes_if = "measure"},
      .body = diagnose_body,
      .sample = diagnose_sample};
  return verb;
}

}  // namespace wb::verbs
