// SPDX-License-Identifier: MIT
// Which body answers which verb.
#include <fmt/format.h>

#include "engine/adopt.hpp"
#include "engine/advise.hpp"
#include "engine/agent_verbs.hpp"
#include "engine/analyze_verb.hpp"
#include "engine/audit_verb.hpp"
#include "engine/diagnose.hpp"
#include "engine/engine_state.hpp"
#include "engine/experience.hpp"
#include "engine/export.hpp"
#include "engine/floors.hpp"
#include "engine/jobs.hpp"
#include "engine/loops_verb.hpp"
#include "engine/memory_verbs.hpp"
#include "engine/milestones.hpp"
#include "engine/page_verbs.hpp"
#include "engine/recorded.hpp"
#include "engine/trace_verbs.hpp"
#include "engine/verb_bodies.hpp"

namespace wb::engine {
namespace {

/// A note that names a phase begins it.
Result<Json> write_note(Context& context, const Json& args) {
  if (args.contains("planned_minutes") && !args.contains("phase")) {
    return Error{ErrorCode::usage, "plan minutes for", "a note", "it begins no phase",
                 "name one with --phase"};
  }
  Json note{{"text", args["text"]}, {"iteration", nullptr}};
  for (const char* key : {"phase", "planned_minutes"}) {
    if (args.contains(key)) note[key] = args[key];
  }
  WB_TRY_ASSIGN(const std::int64_t seq, context.log("note", std::move(note)));
  return Json{{"event", seq}};
}

}  // namespace

Result<Json> Engine::State::run_reading(const VerbSpec& verb, const Json& args,
                                        const fs::path& folder) {
  const session::Session* read = context.session ? &*context.session : nullptr;
  const bool is_code = verb.name == "show" && asks_for_code(args);
  if (verb.name == "analyze" || verb.name == "diagnose") {
    WB_TRY(check_analyze_arguments(args, context.session.has_value() || !folder.empty()));
    if (asks_for_files(args) && in_playbook) {
      return Error{ErrorCode::usage, "read", "files", "a playbook reads none",
                   "diagnose the session that it runs in"};
    }
    if (asks_for_files(args) && args.contains("iteration")) {
      return Error{ErrorCode::usage, "diagnose", "an iteration", "files have none",
                   "leave out the files or --iteration"};
    }
    if (asks_for_files(args)) {
      return verb.name == "analyze" ? verb_analyze_files(context.services.file_system, args)
                                    : verb_diagnose_files(context.services, args);
    }
  }
  if (!context.session) {
    if (folder.empty() && is_code) return verb_show_code(context, nullptr, args);
    if (folder.empty()) {
      return Error{ErrorCode::usage, "read", "the session", "no session was named",
                   "give --session DIR"};
    }
    if (verb.name == "get_job") return verb_get_job(context, args, folder);
    if (verb.name == "cancel_job") return verb_cancel_job(context, folder);
    WB_TRY_ASSIGN(read, context.recent.read(context.services.file_system, folder));
  }
  const session::Session& session = *read;
  if (is_code) return verb_show_code(context, &session, args);
  if (verb.name == "analyze") {
    WB_TRY_ASSIGN(const session::SessionView view, session.view(session::FoldDepth::full));
    return verb_analyze_session(view);
  }
  if (verb.name == "status") return verb_status(session, context.services.clock);
  if (verb.name == "report") {
    if (in_playbook && args.contains("output")) {
      return Error{ErrorCode::usage, "write", "the report", "a playbook writes no files",
                   "take its text from the answer"};
    }
    return verb_report(context.services, session, args);
  }
  if (verb.name == "brief") return verb_brief(session);
  if (verb.name == "history") return verb_history(session, args);
  if (verb.name == "diagnose") return verb_diagnose(context.services, session, args);
  if (verb.name == "advise") return verb_advise(context.services, session, args);
  if (verb.name == "read_ref") return verb_read_ref(context, session, args);
  if (verb.name == "proof") return verb_proof(context, session, args);
  if (verb.name == "export") return verb_export(context, session, args);
  return verb_show(session, args);
}

Result<Json> Engine::State::close_session(const Json& args) {
  WB_TRY_ASSIGN(const session::SessionView* view,
                context.session->current(session::FoldDepth::brief));
  const bool won = confirmed_gain(*view).has_value();
  WB_TRY(record_causes(context));
  WB_TRY(record_roadmap(context));
  WB_TRY(write_session_report(context));
  WB_TRY_ASSIGN(const std::string oid,
                context.session->close({{"reason", args.value("reason", "finished")},
                                        {"outcome", won ? "improved" : "unchanged"},
                                        {"recommendation", args.value("recommendation", "")}}));
  // The report now knows how the session ended; the log and this page agree.
  WB_TRY(write_session_report(context));
  tell_end(context, "closed", args.value("reason", "finished"));
  return closed_answer(oid);
}

Json Engine::State::closed_answer(const std::string& commit) const {
  const fs::path folder = context.session->folder();
  return Json{{"session", folder.string()},
              {"report", (folder / "reports" / "session.md").string()},
              {"commit", commit}};
}

Result<Json> Engine::State::run_body(Engine& engine, const VerbSpec& verb, const Json& args,
                                     const fs::path& folder) {
  if (const auto body = bodies.find(verb.name); body != bodies.end()) {
    return body->second(engine, args, folder);
  }
  if (verb.name == "open") return verb_open(context, args, folder);
  if (verb.name == "doctor") return verb_doctor(context);
  if (verb.name == "suites") return verb_suites(context, args);
  if (verb.name == "kernels") return verb_kernels(context, args);
  if (verb.name == "new") return verb_new(context, args, folder);
  if (verb.name == "diff") return verb_diff(context.services, args);
  if (verb.name == "audit") return verb_audit(context.services, args, folder);
  if (verb.name == "import_report") return verb_import_report(context.services, args);
  if (verb.name == "gc") return verb_gc(context, args);
  if (verb.name == "best") return verb_best(context, args);
  if (verb.name == "dispatch_adopt") {
    return verb_dispatch_adopt(context, args, [this](const std::string& reason) {
      return close_session({{"reason", reason}});
    });
  }
  if (verb.name == "site") return verb_site(context, args);
  if (verb.name == "experience") return verb_experience(context.services, args);
  if (verb.name == "loops") return verb_loops(context, args);
  if (verb.name == "pack") return verb_pack(context, args);
  if (verb.name == "reproduce") return verb_reproduce(context, args);
  if (verb.name.starts_with("trace_")) return verb_trace(context, verb.name, args);
  if (verb.name == "build") return verb_build(context, args);
  if (verb.name == "check") return verb_check(context, args);
  if (verb.name == "measure") return verb_measure(context, args);
  if (verb.name == "profile") return verb_profile(context, args);
  if (verb.name == "sanitize") return verb_sanitize(context, args);
  if (verb.name == "compare") return verb_compare(context, args);
  if (asks_to_measure(verb, args)) {
    WB_TRY(check_analyze_arguments(args, true));
    if (args.contains("iteration")) {
      return Error{ErrorCode::usage, "measure", "an iteration",
                   "only the incumbent is measured again", "leave out --measure or --iteration"};
    }
    return verb_diagnose_measuring(context, args);
  }
  if (verb.session == SessionNeed::reads) return run_reading(verb, args, folder);
  const bool proposes = verb.name == "propose" || verb.name == "propose_many";
  if (proposes || verb.name == "iterate" || verb.name == "tune" || verb.name == "race") {
    if (!context.incumbent) {
      return Error{ErrorCode::invalid, std::string(verb.name) + " in",
                   context.session->folder().string(), "its baseline never closed",
                   "run `sdpa-wb resume` first"};
    }
    if (!context.device_checked) WB_TRY(environment_since_open(context));
    if (verb.name == "propose") return verb_propose(context, args);
    if (verb.name == "propose_many") return verb_propose_many(context, args);
    if (verb.name == "tune") return verb_tune(context, args);
    return verb.name == "race" ? verb_race(context, args) : verb_iterate(context, args);
  }
  if (verb.name == "note") return write_note(context, args);
  if (verb.name == "record_decision") {
    WB_TRY_ASSIGN(
        const std::int64_t seq,
        context.log("decision_recorded", {{"question", args["question"]},
                                          {"options", args.value("options", Json::array())},
                                          {"choice", args["choice"]},
                                          {"reason", args["reason"]}}));
    return Json{{"event", seq}};
  }
  if (verb.name == "remeasure_floor") return verb_remeasure_floor(context, args);
  if (verb.name == "record_usage") return verb_record_usage(context, args);
  if (verb.name == "close") return close_session(args);
  return Error{ErrorCode::internal, "call the verb", std::string(verb.name), "it has no body here",
               "the verb is offered by the command line only"};
}

}  // namespace wb::engine
