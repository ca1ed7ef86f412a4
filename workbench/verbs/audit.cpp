// SPDX-License-Identifier: MIT
// `audit`: checks sessions against their logs, and any other report against itself.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "audit/audit.hpp"
#include "core/json.hpp"
#include "engine/services.hpp"
#include "session/storage.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/arguments.hpp"
#include "verbs/audit_session.hpp"
#include "verbs/named_files.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Services;

namespace {

using audit::Audited;
using audit::Severity;

/// A session whose log is gone counts too: the audit reports it.
bool names_session(const fs::path& path) {
  std::error_code ignored;
  return session::is_session(path) || fs::exists(path / "session.json", ignored);
}

std::size_t count(const SessionAudit& audited, Severity severity) {
  return static_cast<std::size_t>(
      std::count_if(audited.findings.begin(), audited.findings.end(),
                    [&](const auto& finding) { return finding.severity == severity; }));
}

std::string session_text(const SessionAudit& audited) {
  std::string text = fmt::format(
      "# Audit of the session {}\n\n{} events are chained; {} figures of the report, {} sentences, "
      "{} pages, {} blobs and {} commits were held against them: {} contradiction{}, {} "
      "doubtful.\n",
      printable(audited.name), audited.events, audited.figures, audited.sentences, audited.pages,
      audited.blobs, audited.commits, count(audited, Severity::contradiction),
      count(audited, Severity::contradiction) == 1 ? "" : "s", count(audited, Severity::doubtful));
  if (!audited.findings.empty()) text += "\n";
  for (std::size_t n = 0; n < audited.findings.size(); ++n) {
    const audit::Finding& finding = audited.findings[n];
    text += fmt::format("- **{}{}** {}: printed {}; {}. {}.\n", audited.files[n],
                        finding.line > 0 ? fmt::format(":{}", finding.line) : "",
                        to_string(finding.severity), finding.printed, finding.computed,
                        finding.meaning);
  }
  if (!audited.gaps.empty()) text += "\n";
  for (const std::string& gap : audited.gaps) text += fmt::format("- not checked: {}\n", gap);
  return text;
}

Json session_json(const SessionAudit& audited) {
  Json findings = Json::array();
  for (std::size_t n = 0; n < audited.findings.size(); ++n) {
    const audit::Finding& finding = audited.findings[n];
    findings.push_back({{"severity", to_string(finding.severity)},
                        {"check", finding.check},
                        {"file", audited.files[n]},
                        {"line", finding.line},
                        {"printed", finding.printed},
                        {"computed", finding.computed},
                        {"meaning", finding.meaning}});
  }
  return {{"session", audited.name},        {"events", audited.events},
          {"figures", audited.figures},     {"sentences", audited.sentences},
          {"pages", audited.pages},         {"blobs", audited.blobs},
          {"commits", audited.commits},     {"gaps", audited.gaps},
          {"findings", std::move(findings)}};
}

/// The last part of each path, if these are distinct.
std::vector<std::string> short_names(const std::vector<std::string>& paths) {
  std::map<std::string, int> seen;
  for (const std::string& path : paths) ++seen[fs::path(path).filename().string()];
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    const std::string last = fs::path(path).filename().string();
    names.push_back(seen[last] == 1 ? last : path);
  }
  return names;
}

bool is_source(const fs::path& path) {
  static const std::set<std::string> k_endings{".cu",  ".cuh", ".c",   ".cc",
                                               ".cpp", ".h",   ".hpp", ".py"};
  return k_endings.contains(path.extension().string());
}

/// Kernels' sources among the named files; advice in the reports is checked against them.
Result<std::vector<audit::Source>> read_sources(const Services& services,
                                                const std::vector<std::string>& paths) {
  std::vector<audit::Source> sources;
  for (const std::string& path : paths) {
    if (!is_source(path)) continue;
    WB_TRY_ASSIGN(const std::string text,
                  services.file_system.read(path, audit::k_max_document_bytes));
    sources.push_back({fs::path(path).filename().string(), audit::lower_of(text)});
  }
  return sources;
}

Result<Json> audit_body(const Services& services, const Json& args, const fs::path& folder) {
  std::vector<std::string> paths;
  for (const Json& path : args.value("what", Json::array())) paths.push_back(path);
  if (paths.empty() && !folder.empty()) paths.push_back(folder.string());
  if (std::all_of(paths.begin(), paths.end(), is_source)) {  // sources alone are no report
    return Error{ErrorCode::usage, "audit", "nothing", "no session and no report was named",
                 "give a session's folder or archive, or files"};
  }
  const std::vector<std::string> names = short_names(paths);
  WB_TRY_ASSIGN(const auto sources, read_sources(services, paths));
  std::vector<Audited> documents;
  std::vector<NamedPage> pages;
  std::string text;
  Json sessions = Json::array(), reports = Json::array();
  std::size_t contradictions = 0, doubtful = 0, unknown = 0;
  const auto add_session = [&](const SessionAudit& audited) {
    text += (text.empty() ? "" : "\n") + session_text(audited);
    sessions.push_back(session_json(audited));
    contradictions += count(audited, Severity::contradiction);
    doubtful += count(audited, Severity::doubtful);
  };
  for (std::size_t n = 0; n < paths.size(); ++n) {
    if (is_source(paths[n])) continue;
    if (names_session(paths[n])) {
      WB_TRY_ASSIGN(const SessionAudit audited, audit_session(services, paths[n]));
      add_session(audited);
      continue;
    }
    WB_TRY_ASSIGN(const std::string bytes, read_report(services, paths[n], "audit"));
    WB_TRY_ASSIGN(Audited audited, audit::audit_document(names[n], bytes, sources));
    pages.emplace_back(names[n], bytes);
    contradictions += audited.count(Severity::contradiction);
    doubtful += audited.count(Severity::doubtful);
    unknown += audited.count(Severity::unknown);
    reports.push_back(audit::to_json(audited));
    documents.push_back(std::move(audited));
  }
  if (!folder.empty() && !pages.empty()) {
    WB_TRY_ASSIGN(const SessionAudit audited, audit_sentences(services, folder, pages));
    add_session(audited);
  }
  if (!documents.empty()) text += (text.empty() ? "" : "\n") + audit::render(documents);
  return Json{{"contradictions", contradictions},
              {"doubtful", doubtful},
              {"unknown", unknown},
              {"documents", std::move(reports)},
              {"sessions", std::move(sessions)},
              {"text", std::move(text)}};
}

ExitCode audit_exit_code(const Json& answer) {
  return answer.value("contradictions", 0) > 0 ? ExitCode::variant_failed : ExitCode::ok;
}

}  // namespace

const Verb& verb_audit() {
  static const Verb verb{
      .spec =
          {.name = "audit",
           .doc = "hold a session against its log, or the figures of any report against each other",
           .arguments =
               {ids_argument(
                    "what",
                    "sessions (folders or archives), Markdown or plain text reports of anyone, and "
                    "sources of kernels (.cu, .cpp, .py …) that advice is held against; with "
                    "--session what reports say is held against that session, too")
                    .positional()},
           .result = {{"contradictions",
                       "int: what figures or limits exclude; above 0 the exit code is 1"},
                      {"doubtful", "int: what does not follow, or rests on misleading figures"},
                      {"unknown", "int: what cannot be told"},
                      {"documents",
                       "list: name, lines, tables, figures, repaired, gaps, findings {severity, "
                       "check, line, also, section, printed, computed, meaning, tolerance}, held "
                       "{check, line, what}"},
                      {"sessions",
                       "list: session, events, figures, sentences, pages, blobs, commits, gaps, "
                       "findings {severity, check (conclusions, or empty), file, line, printed, "
                       "computed, meaning}"},
                      {"text", "string: the same for people, in Markdown"}},
           .reads_only = true,
           .in_playbook = false},
      .body = [](const Call& call) { return audit_body(call.services, call.args, call.folder); },
      .exit_code = audit_exit_code};
  return verb;
}

}  // namespace wb::verbs
