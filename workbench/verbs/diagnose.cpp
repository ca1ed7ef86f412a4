// SPDX-License-Identifier: MIT
// `diagnose`: why something is slow, by the findings (decided_causes.hpp); with --measure after the
// measurements that undecided causes need (diagnose_measure.cpp).
#include "core/json.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "engine/verb.hpp"
#include "problem/problem.hpp"
#include "report/report.hpp"
#include "verbs/arguments.hpp"
#include "verbs/decided_causes.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/file_findings.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Services;
using session::Session;
using session::SessionView;

namespace {

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
              {"measured", Json::array()}, {"gaps", Json::array()},
              {"text", "dry run"}};
}

}  // namespace

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
                 "undecided), strength, contradictory, where, share_frac, evidence, needs, "
                 "remedies, gain (speedup over the suite: low, expected, high); the most important "
                 "first (docs/contracts/causes.md)"},
                {"start", "map or null: subject and causes of the start, if another holds now"},
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
