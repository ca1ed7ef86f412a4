// SPDX-License-Identifier: MIT
// `analyze`: explains earlier measurements, of a session or from files. Runs and logs nothing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analyze/analysis.hpp"
#include "catalogue/launches.hpp"
#include "core/json.hpp"
#include "engine/services.hpp"
#include "report/evidence.hpp"
#include "session/session.hpp"
#include "verbs/arguments.hpp"
#include "verbs/decided_causes.hpp"
#include "verbs/file_findings.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using device::Device;
using measure::Finding;

namespace {

constexpr std::size_t k_most_findings = 12;

/// All findings, and the most important ones in words.
struct Explained {
  const std::vector<Finding>& findings;
  const std::vector<std::string>& gaps;
  std::string subject;  ///< whom the reader asks about; empty: no one
  bool all = false;     ///< also the unimportant ones in words
};

Json findings_answer(const Device& device, const Explained& told) {
  const std::vector<Finding>& findings = told.findings;
  Json list = Json::array();
  for (const Finding& finding : findings) list.push_back(to_json(finding));
  const std::vector<std::size_t> order = analyze::by_importance(findings, told.subject);
  const std::size_t shown_lines = told.all ? order.size() : std::min(order.size(), k_most_findings);
  std::vector<std::string> unseen;  // without duplicates
  std::string text = device.name.empty() ? std::string() : "on " + device.name + "\n";
  for (std::size_t line = 0; line < shown_lines; ++line) {
    const Finding& finding = findings[order[line]];
    text += fmt::format("{}: {}", finding.analysis, finding.statement);
    if (!finding.events.empty()) {
      constexpr std::size_t k_most_events = 4;
      const std::size_t shown = std::min(finding.events.size(), k_most_events);
      text +=
          fmt::format(" [e{}{}]",
                      fmt::join(finding.events.begin(),
                                finding.events.begin() + static_cast<std::ptrdiff_t>(shown), ", e"),
                      finding.events.size() > shown ? ", …" : "");
    }
    text += "\n";
    const std::string words = finding.analysis + ": " + finding.unseen;
    const bool is_new = std::find(unseen.begin(), unseen.end(), words) == unseen.end();
    if (!finding.unseen.empty() && is_new) unseen.push_back(words);
  }
  if (shown_lines < order.size()) {
    text +=
        fmt::format("and {} more of less weight: --all shows them\n", order.size() - shown_lines);
  }
  for (const std::string& words : unseen) text += "not seen: " + words + "\n";
  for (const std::string& gap : told.gaps) text += "gap: " + gap + "\n";
  return {{"device", device.name},
          {"findings", std::move(list)},
          {"order", order},
          {"gaps", told.gaps},
          {"text", std::move(text)}};
}

}  // namespace

Result<Json> analyze_files(const FileSystem& files, const Json& args) {
  WB_TRY_ASSIGN(const FileFindings found, findings_of_files(files, args));
  return findings_answer(found.device,
                         {found.findings, found.gaps, found.subject, args.value("all", false)});
}

namespace {

Result<Json> analyze_body(const Call& call) {
  WB_TRY_ASSIGN(const bool is_of_files, reads_files(call));
  if (is_of_files) return analyze_files(call.services.file_system, call.args);
  WB_TRY_ASSIGN(const session::Session* session, session_to_read(call));
  WB_TRY_ASSIGN(const session::SessionView view, session->view(session::FoldDepth::full));
  report::LogEvidence log = report::log_evidence(view);
  // Without the catalogue of launches their manifests tell alone.
  const auto known = catalogue::load_launches(call.services.file_system, call.services.search_path);
  add_products(known.ok() ? *known : std::vector<catalogue::LaunchRule>(), *session, view,
               log.evidence);
  const std::vector<Finding> findings = analyze::analyze(log.evidence);
  return findings_answer(log.evidence.device,
                         {findings, log.gaps, view.incumbent, call.args.value("all", false)});
}

}  // namespace

const Verb& verb_analyze() {
  static const Verb verb{
      .spec = {.name = "analyze",
               .doc = "explain what was measured: of a session, or of files (a table of times, "
                      "ncu's CSV, a disassembly); runs nothing",
               .session = SessionNeed::reads,
               .arguments =
                   joined(findings_file_arguments(),
                          {flag_argument(
                              "all", "all findings in words, not the most important ones alone")}),
               .result = {{"device", "string: whose peaks; empty where none is known"},
                          {"findings",
                           "list: analysis, statement, problem, figures, events, unseen "
                           "(docs/contracts/analyses.md)"},
                          {"order", "list: positions in findings, the most important first"},
                          {"gaps", "list: what could not be read, and why"},
                          {"text", "string: the most important ones for people, at most 12"}},
               .reads_only = true,
               .in_playbook = false},
      .body = analyze_body};
  return verb;
}

}  // namespace wb::verbs
