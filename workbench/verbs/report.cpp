// SPDX-License-Identifier: MIT
// `report`: renders a session's pages from its log, as Markdown or for a browser.
#include <fmt/format.h>

#include <algorithm>

#include "catalogue/loops.hpp"
#include "core/json.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "html/html.hpp"
#include "outcome/outcome.hpp"
#include "report/report.hpp"
#include "verbs/arguments.hpp"
#include "verbs/decided_causes.hpp"
#include "verbs/named_files.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Services;
using session::IterationView;
using session::Session;
using session::SessionView;

namespace {

/// The requested iteration, else the last closed one.
Result<const IterationView*> asked_iteration(const SessionView& view, const Json& args) {
  if (args.contains("iteration")) {
    const IterationView* found = view.find(args["iteration"].get<std::int64_t>());
    if (found != nullptr) return found;
    return Error{ErrorCode::not_found, "find",
                 fmt::format("iteration {}", args["iteration"].dump()),
                 fmt::format("the session has {} of them", view.iterations.size()),
                 "`sdpa-wb report` lists them"};
  }
  const auto last = std::find_if(view.iterations.rbegin(), view.iterations.rend(),
                                 [](const IterationView& one) { return one.is_closed(); });
  if (last != view.iterations.rend()) return &*last;
  return Error{ErrorCode::invalid, "render", "an iteration", "none of this session has closed",
               "`sdpa-wb resume` goes on with it"};
}

/// How a stored variant divides the work; without a family where its manifest does not tell.
report::LoopSide loop_side(const Session& session, const SessionView& view,
                           const std::vector<catalogue::LoopFamily>& families,
                           const std::string& label) {
  report::LoopSide side{label, nullptr, true};
  if (const auto stored = engine::stored_variant(session, view, label)) {
    side.family = catalogue::loop_of(
        families, variant::techniques_in(stored->first.manifest, stored->second));
  }
  return side;
}

Result<std::string> page_of(const Services& services, const Session& session,
                            const SessionView& view, const std::string& kind, const Json& args) {
  if (kind == "root-cause") {
    const report::SourceChanges changes = report::source_changes(session, view);
    return report::render_root_cause(view, &changes);
  }
  if (kind == "full") return report::render_session(view);
  if (kind == "session") return report::render_summary(view);
  // A catalogue that is missing or broken takes the pseudo-code from a page, not the page.
  const auto families = catalogue::load_loops(services.file_system, services.search_path);
  report::PageSources sources;
  sources.changes = report::source_changes(session, view);
  const outcome::Outcome made = outcome::outcome_of(view);
  if (families && !made.recommendation.parts.empty()) {
    sources.start = loop_side(session, view, *families, made.start);
    sources.winner = loop_side(session, view, *families, made.recommendation.parts.front().variant);
  }
  if (kind == "bottleneck") return report::render_bottleneck(view, &sources);
  if (kind == "handover") return report::render_handover(view, &sources);
  WB_TRY_ASSIGN(const IterationView* iteration, asked_iteration(view, args));
  return report::render_iteration_report(view, *iteration, &sources);
}

Result<Json> report_of(const Services& services, const Session& session, const Json& args) {
  const bool is_html = args.value("html", false);
  const std::string kind = args.value("kind", "session");
  if (is_html && kind != "session") {
    return Error{ErrorCode::usage, "render", kind,
                 "only the session's report is a page for a browser", "leave out --html or --kind"};
  }
  if (args.contains("iteration") && kind != "iteration") {
    return Error{ErrorCode::usage, "render", kind, "--iteration is for the page of one iteration",
                 "add --kind iteration"};
  }
  std::string text;
  WB_TRY_ASSIGN(const SessionView* current, session.current(session::FoldDepth::full));
  // Pages say what `diagnose` says of the same log.
  const bool explains = kind == "root-cause" || kind == "bottleneck" || kind == "handover";
  const SessionView view = explains ? with_present_causes(services, session, *current)
                                    : view_of_report(services, session, *current);
  if (is_html) {
    WB_TRY_ASSIGN(text, html::session_html(session, {}, &view));
  } else {
    WB_TRY_ASSIGN(text, page_of(services, session, view, kind, args));
  }
  if (!args.contains("output")) return Json{{"text", std::move(text)}, {"file", nullptr}};
  const fs::path output = args["output"].get<std::string>();
  WB_TRY(write_named(services, output, text, Durability::none));
  return Json{{"text", fmt::format("{}: {} bytes\n", output.string(), text.size())},
              {"file", output.string()}};
}

Result<Json> report_body(const Call& call) {
  WB_TRY_ASSIGN(const Session* session, session_to_read(call));
  if (call.in_playbook && call.args.contains("output")) {
    return Error{ErrorCode::usage, "write", "the report", "a playbook writes no files",
                 "take its text from the answer"};
  }
  return report_of(call.services, *session, call.args);
}

}  // namespace

const Verb& verb_report() {
  static const Verb verb{
      .spec = {.name = "report",
               .doc = "the session's report of two pages, made from its log: Markdown, or a page "
                      "for a browser",
               .session = SessionNeed::reads,
               .arguments =
                   {choice_argument(
                        "kind",
                        "which page (default session: two pages to decide by; full: all "
                        "that the log holds)",
                        {"session", "full", "iteration", "root-cause", "bottleneck", "handover"}),
                    integer_argument(
                        "iteration",
                        "of kind iteration: its number (default: the last that closed)")
                        .between(0, 1e6),
                    flag_argument(
                        "html", "one self-contained file of HTML with plots (docs/guide/pages.md)"),
                    string_argument("output", "the file to write (default: standard output)")
                        .as_path()},
               .result = {{"text", "string: Markdown or HTML; with output what was written"},
                          {"file", "string or null: output"}},
               .reads_only = true},
      .body = report_body};
  return verb;
}

}  // namespace wb::verbs
