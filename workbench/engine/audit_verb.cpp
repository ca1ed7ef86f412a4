// SPDX-License-Identifier: MIT
#include "engine/audit_verb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "audit/audit.hpp"
#include "audit/import.hpp"
#include "core/plain_text.hpp"
#include "core/writing.hpp"
#include "engine/page_verbs.hpp"
#include "engine/verb_table.hpp"
#include "session/storage.hpp"

namespace wb::engine {
namespace {

using audit::Audited;
using audit::Severity;

/// One whose log is gone is one, too: the audit says so.
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
      "# Audit of the session {}\n\n{} events are chained; {} figures of the report, {} pages, {} "
      "blobs and {} commits were held against them: {} contradiction{}, {} doubtful.\n",
      printable(audited.name), audited.events, audited.figures, audited.pages, audited.blobs,
      audited.commits, count(audited, Severity::contradiction),
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
                        {"file", audited.files[n]},
                        {"line", finding.line},
                        {"printed", finding.printed},
                        {"computed", finding.computed},
                        {"meaning", finding.meaning}});
  }
  return {{"session", audited.name}, {"events", audited.events},       {"figures", audited.figures},
          {"pages", audited.pages},  {"blobs", audited.blobs},         {"commits", audited.commits},
          {"gaps", audited.gaps},    {"findings", std::move(findings)}};
}

/// The last part of each path, where no two share it.
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

/// Kernels' sources among what was named: advice in the reports is held against them.
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

Result<std::string> read_report(const Services& services, const fs::path& path, const char* doing) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    return Error{ErrorCode::usage, doing, path.string(),
                 "it is a folder, and no session (it has no session.json and no log)",
                 "name the report's file, or a session's folder or archive"};
  }
  auto bytes = services.file_system.read(path, audit::k_max_document_bytes);
  if (!bytes && bytes.error().code == ErrorCode::limit) {
    return Error{ErrorCode::limit, doing, path.string(),
                 fmt::format("it is larger than {} MiB", audit::k_max_document_bytes >> 20),
                 "give the report itself, not data or logs"};
  }
  if (bytes) {
    if (const auto encoding = foreign_encoding(*bytes); !encoding.empty()) {
      return Error{ErrorCode::invalid, doing, path.string(), "it is " + std::string(encoding),
                   "save it as UTF-8"};
    }
  }
  return bytes;
}

Result<Audited> audit_file(const Services& services, const fs::path& path, const std::string& name,
                           const std::vector<audit::Source>& sources) {
  WB_TRY_ASSIGN(const std::string bytes, read_report(services, path, "audit"));
  return audit::audit_document(name, bytes, sources);
}

}  // namespace

std::vector<VerbSpec> audit_verb_specs() {
  return {
      {.name = "audit",
       .doc = "hold a session against its log, or the figures of any report against each other",
       .arguments =
           {{.name = "what",
             .kind = ArgumentKind::id_list,
             .doc = "sessions (folders or archives), Markdown or plain text reports of anyone, and "
                    "sources of kernels "
                    "(.cu, .cpp, .py …) that advice is held against",
             .positional = true}},
       .result =
           {{"contradictions", "int: what figures or limits exclude; above 0 the exit code is 1"},
            {"doubtful", "int: what does not follow, or rests on misleading figures"},
            {"unknown", "int: what cannot be told"},
            {"documents",
             "list: name, lines, tables, figures, repaired, gaps, findings {severity, check, "
             "line, also, section, printed, computed, meaning, tolerance}, held {check, line, "
             "what}"},
            {"sessions",
             "list: session, events, figures, pages, blobs, commits, gaps, findings {severity, "
             "file, line, printed, computed, meaning}"},
            {"text", "string: the same for people, in Markdown"}},
       .reads_only = true,
       .in_playbook = false},
      {.name = "import_report",
       .doc = "repair the text of a foreign report and take it apart: sections and tables",
       .arguments = {{.name = "report",
                      .kind = ArgumentKind::string,
                      .doc = "Markdown or plain text of anyone",
                      .required = true,
                      .positional = true},
                     {.name = "output",
                      .kind = ArgumentKind::string,
                      .doc = "a new file for the repaired text",
                      .is_path = true}},
       .result = {{"repaired", "string or null: what was mended"},
                  {"lines", "int: lines, which keep their numbers"},
                  {"sections", "list: line, level, title"},
                  {"tables", "list: line, section, complete, headers, rows {line, cells}"},
                  {"gaps", "list: what could not be read, in sentences"},
                  {"file", "string or null: where the text was written"},
                  {"text", "string: the repaired text; with output, what was done"}},
       .in_playbook = false}};
}

Result<Json> verb_import_report(const Services& services, const Json& args) {
  const fs::path path = args["report"].get<std::string>();
  WB_TRY_ASSIGN(const std::string bytes, read_report(services, path, "import"));
  WB_TRY_ASSIGN(audit::Imported imported, audit::import_report(path.filename().string(), bytes));
  std::string file;
  if (args.contains("output")) {
    file = args["output"].get<std::string>();
    std::error_code ignored;
    // It may be the report itself.
    if (fs::is_regular_file(file, ignored) && !is_standard_output(file)) {
      return Error{ErrorCode::invalid, "write the repaired report", file, "there is a file already",
                   "name another, or remove it"};
    }
    WB_TRY(write_named(services, file, imported.text, Durability::none));
    imported.text = fmt::format(
        "{}: {} lines, {} sections, {} tables\n{}\n", file, imported.lines,
        imported.sections.size(), imported.tables.size(),
        imported.repaired.empty() ? std::string("nothing had to be repaired") : imported.repaired);
    for (const Json& gap : imported.gaps) {
      imported.text += fmt::format("gap: {}\n", gap.get<std::string>());
    }
  }
  return Json{{"repaired", imported.repaired.empty() ? Json() : Json(imported.repaired)},
              {"lines", imported.lines},
              {"sections", std::move(imported.sections)},
              {"tables", std::move(imported.tables)},
              {"gaps", std::move(imported.gaps)},
              {"file", file.empty() ? Json() : Json(file)},
              {"text", std::move(imported.text)}};
}

Result<Json> verb_audit(const Services& services, const Json& args, const fs::path& folder) {
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
  std::string text;
  Json sessions = Json::array(), reports = Json::array();
  std::size_t contradictions = 0, doubtful = 0, unknown = 0;
  for (std::size_t n = 0; n < paths.size(); ++n) {
    if (is_source(paths[n])) continue;
    if (names_session(paths[n])) {
      WB_TRY_ASSIGN(const SessionAudit audited, audit_session(services, paths[n]));
      text += (text.empty() ? "" : "\n") + session_text(audited);
      sessions.push_back(session_json(audited));
      contradictions += count(audited, Severity::contradiction);
      doubtful += count(audited, Severity::doubtful);
      continue;
    }
    WB_TRY_ASSIGN(Audited audited, audit_file(services, paths[n], names[n], sources));
    contradictions += audited.count(Severity::contradiction);
    doubtful += audited.count(Severity::doubtful);
    unknown += audited.count(Severity::unknown);
    reports.push_back(audit::to_json(audited));
    documents.push_back(std::move(audited));
  }
  if (!documents.empty()) text += (text.empty() ? "" : "\n") + audit::render(documents);
  return Json{{"contradictions", contradictions},
              {"doubtful", doubtful},
              {"unknown", unknown},
              {"documents", std::move(reports)},
              {"sessions", std::move(sessions)},
              {"text", std::move(text)}};
}

}  // namespace wb::engine
