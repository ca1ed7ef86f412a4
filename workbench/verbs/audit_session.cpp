// SPDX-License-Identifier: MIT
// Checks a session against its log: the hash chain, the report and pages rendered again, the hashes
// in the log, and the commits of its repository. Writes and repairs nothing.
#include "verbs/audit_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "audit/figure.hpp"
#include "audit/repair.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "engine/services.hpp"
#include "report/report.hpp"
#include "session/repository.hpp"
#include "session/session.hpp"
#include "session/storage.hpp"
#include "verbs/audit_conclusions.hpp"
#include "verbs/audit_pages.hpp"
#include "verbs/brief_facts.hpp"
#include "verbs/decided_causes.hpp"
#include "verbs/situation.hpp"

namespace wb::verbs {

using audit::Severity;
using engine::Services;
using session::Repository;
using session::Session;
using session::SessionStorage;
using session::SessionView;

namespace {

constexpr std::uint64_t k_max_page_bytes = 64u << 20;

/// Where a session's report is: in the session, or NAME.md beside an archive without one.
std::pair<std::string, Result<std::string>> report_of(const FileSystem& files,
                                                      const SessionStorage& storage) {
  std::string file = "reports/session.md";
  const fs::path beside =
      storage.path().parent_path() / (session::session_name(storage.path()) + ".md");
  std::error_code error;
  if (!storage.is_archive() || storage.has(file) || !fs::is_regular_file(beside, error)) {
    auto text = storage.read(file, k_max_page_bytes);
    return {std::move(file), std::move(text)};
  }
  return {beside.filename().string(), files.read(beside, k_max_page_bytes)};
}

/// A report of one page, as versions before the report of two pages wrote it to session.md.
bool is_whole_report(std::string_view text) {
  return text.find("\n## Objective\n") != std::string_view::npos;
}

void check_report_text(const std::string& file, const std::string& text, const Concluded& concluded,
                       SessionAudit& audited) {
  const SessionView& view = concluded.view;
  const std::string said =
      is_whole_report(text) ? report::render_session(view) : report::render_summary(view);
  for (const std::string_view line : lines_of(said)) {
    audited.figures += audit::figures_in(audit::plain_of(line)).size();
  }
  // An open session's report may be older than the log's last event.
  const bool open = view.status != session::SessionStatus::closed;
  const Severity severity = open ? Severity::doubtful : Severity::contradiction;
  // What is stored as it is made now is read by check_made_pages().
  if (text != said) check_conclusions(file, text, concluded, severity, audited);
  compare_pages(file, text, said, severity,
                open ? "the session is open: its report may be older than the log, or was changed"
                     : "the report is not what the log gives",
                audited);
}

void check_reports(const FileSystem& files, const Session& session, const Concluded& concluded,
                   SessionAudit& audited) {
  const auto [file, text] = report_of(files, session.storage());
  if (text) {
    check_report_text(file, *text, concluded, audited);
  } else {
    audited.gaps.push_back("the report: " + text.error().message());
  }
  const std::string whole = "reports/session_full.md";
  if (!session.storage().has(whole)) return;
  const auto whole_text = session.storage().read(whole, k_max_page_bytes);
  if (whole_text) {
    check_report_text(whole, *whole_text, concluded, audited);
  } else {
    audited.gaps.push_back("the whole report: " + whole_text.error().message());
  }
}

/// What this version says of the session, page by page: none of it may contradict the outcome.
void check_made_pages(const Session& session, const Concluded& concluded, SessionAudit& audited) {
  const auto check = [&](const char* page, const std::string& text) {
    check_conclusions(page, text, concluded, Severity::contradiction, audited);
  };
  check("report", report::render_summary(concluded.view));
  check("report --kind full", report::render_session(concluded.view));
  check("report --kind handover", report::render_handover(concluded.view));
  const auto brief = brief_of(session);
  if (brief) {
    check("brief", brief_text(*brief));
  } else {
    audited.gaps.push_back("the brief: " + brief.error().message());
  }
}

void check_pages(const Session& session, const SessionView& view, SessionAudit& audited) {
  for (const session::IterationView& iteration : view.iterations) {
    if (!iteration.closed || !iteration.closed->payload.contains("pages")) continue;
    for (const auto& [name, hash] : iteration.closed->payload["pages"].items()) {
      if (!hash.is_string() || name.find('/') != std::string::npos) continue;
      const std::string file = "iterations/" + name;
      // Pages for programs may be packed in recorded sessions.
      const auto text = session.storage().read_unpacked(file, k_max_page_bytes);
      ++audited.pages;
      const std::string named = hash.get<std::string>();
      if (!text) {
        audited.add(file, {.line = 0,
                           .printed = "no such page",
                           .computed = fmt::format("event e{} names it with {}",
                                                   iteration.closed->seq, short_hash(named)),
                           .meaning = text.error().message()});
        continue;
      }
      const std::string have = sha256_hex(*text);
      if (have == named) continue;
      audited.add(file, {.line = 0,
                         .printed = short_hash(have),
                         .computed = fmt::format("event e{} names it with {}",
                                                 iteration.closed->seq, short_hash(named)),
                         .meaning = "the page was changed after its iteration closed"});
      if (name.ends_with(".md")) {
        compare_pages(file, *text, report::render_iteration(view, iteration), Severity::doubtful,
                      "beside the page as this version makes it from the log", audited);
      }
    }
  }
}

/// The sha256 of every blob that an event names: members that end in "_blob".
std::set<std::string> named_blobs(const session::EventLog& log) {
  constexpr std::string_view k_mark = "_blob\":\"";
  std::set<std::string> names;
  for (std::int64_t seq = 1; seq <= log.size(); ++seq) {
    const std::string_view text = log.envelope(seq).payload_text;
    for (std::size_t at = text.find(k_mark); at != std::string_view::npos;
         at = text.find(k_mark, at + 1)) {
      const std::string_view hex = text.substr(at + k_mark.size(), 64);
      if (is_sha256(hex)) names.emplace(hex);
    }
  }
  return names;
}

void check_blobs(const Session& session, SessionAudit& audited) {
  for (const std::string& name : named_blobs(session.log())) {
    ++audited.blobs;
    const auto bytes = session.read_blob(name);
    if (bytes) continue;
    const bool absent = bytes.error().code == ErrorCode::not_found;
    audited.add("blobs/" + name, {.line = 0,
                                  .printed = absent ? "no such blob" : "another content",
                                  .computed = "the log names it by the hash of its content",
                                  .meaning = bytes.error().message()});
  }
}

Result<Repository> open_history(const fs::path& folder, const SessionView& view,
                                std::string& prefix) {
  const Json& opened = view.opened.payload;
  if (opened.contains("repository") && opened["repository"].is_object()) {
    const Json& where = opened["repository"];
    prefix = "sessions/" + text_of(opened, "session") + "/";
    return Repository::open_branch((folder / text_of(where, "path")).lexically_normal(),
                                   text_of(where, "branch"));
  }
  return Repository::open_branch(folder / ".git", "main");
}

void check_commits(const fs::path& folder, const Session& session, const SessionView& view,
                   SessionAudit& audited) {
  std::string prefix;
  const bool any = std::any_of(view.iterations.begin(), view.iterations.end(),
                               [](const auto& one) { return one.committed.has_value(); });
  if (!any) return;
  std::error_code ignored;
  const bool own = !view.opened.payload.contains("repository");
  if (own && !fs::exists(folder / ".git", ignored)) {
    audited.gaps.push_back("commits: it is kept without its repository");
    return;
  }
  auto history = open_history(folder, view, prefix);
  if (!history) {
    audited.gaps.push_back("commits: " + history.error().message());
    return;
  }
  for (const session::IterationView& iteration : view.iterations) {
    if (!iteration.committed || !iteration.closed) continue;
    const std::string oid = text_of(iteration.committed->payload, "oid");
    ++audited.commits;
    const auto trailers = history->trailers(oid);
    const std::string where = fmt::format("commit {}", oid.substr(0, 12));
    if (!trailers) {
      audited.add(where, {.line = 0,
                          .printed = "no such commit",
                          .computed = fmt::format("event e{} names it", iteration.committed->seq),
                          .meaning = trailers.error().message()});
      continue;
    }
    const std::string head = session.log().line_hash(iteration.closed->seq);
    const auto named = std::find_if(trailers->begin(), trailers->end(), [](const auto& trailer) {
      return trailer.first == session::k_log_head_trailer;
    });
    if (named == trailers->end() || named->second != head) {
      audited.add(
          where,
          {.line = 0,
           .printed = named == trailers->end() ? std::string("no Log-Head")
                                               : "Log-Head " + short_hash(named->second),
           .computed = fmt::format("event e{} has {}", iteration.closed->seq, short_hash(head)),
           .meaning = "the commit belongs to another log"});
    }
    if (!iteration.closed->payload.contains("pages")) continue;
    for (const auto& [name, hash] : iteration.closed->payload["pages"].items()) {
      const auto text = history->file_at(oid, prefix + "iterations/" + name);
      if (!hash.is_string() || (text && sha256_hex(*text) == hash.get<std::string>())) continue;
      audited.add(where, {.line = 0,
                          .printed = "iterations/" + name +
                                     (text ? " has another content" : " is not in it"),
                          .computed = fmt::format("event e{} names {}", iteration.closed->seq,
                                                  short_hash(hash.get<std::string>())),
                          .meaning = "the commit does not hold the page that was closed"});
    }
  }
}

void check_identity(const Session& session, const SessionView& view, SessionAudit& audited) {
  const auto text = session.storage().read("session.json", k_max_page_bytes);
  if (!text) {
    audited.gaps.push_back("session.json: " + text.error().message());
    return;
  }
  auto identity = parse_json(*text, "session.json");
  if (!identity || !identity->is_object()) {
    audited.add("session.json", {.line = 1,
                                 .printed = "no JSON object",
                                 .computed = "event e1 has its content",
                                 .meaning = "the file was changed"});
    return;
  }
  identity->erase("format");
  for (const auto& [key, value] : view.opened.payload.items()) {
    if (identity->contains(key) && (*identity)[key] == value) continue;
    audited.add("session.json",
                {.line = 1,
                 .printed = key + ": " +
                            (identity->contains(key) ? printable((*identity)[key].dump(), 80)
                                                     : std::string("nothing")),
                 .computed = "event e1 says " + printable(value.dump(), 80),
                 .meaning = "the file is not what the session was opened with"});
  }
  for (const auto& [key, value] : identity->items()) {
    if (view.opened.payload.contains(key)) continue;
    audited.add("session.json", {.line = 1,
                                 .printed = printable(key) + ": " + printable(value.dump(), 80),
                                 .computed = "event e1 does not say it",
                                 .meaning = "the file is not what the session was opened with"});
  }
}

}  // namespace

Concluded::Concluded(const SessionView& seen, std::vector<std::string> known_losers)
    : view(seen), made(outcome::outcome_of(seen)), losers(std::move(known_losers)) {
  for (const session::IterationView& iteration : seen.iterations) {
    if (has_helped(iteration)) helped.insert(iteration.number);
  }
}

void SessionAudit::add(std::string file, audit::Finding finding) {
  files.push_back(std::move(file));
  findings.push_back(std::move(finding));
}

Result<SessionAudit> audit_session(const Services& services, const fs::path& folder) {
  WB_TRY_ASSIGN(const Session session, Session::open_reader(services.file_system, folder));
  WB_TRY_ASSIGN(const SessionView view, session.view(session::FoldDepth::full));
  SessionAudit audited;
  audited.name = session::session_name(folder);
  audited.events = session.log().size();
  check_identity(session, view, audited);
  const SessionView reported = view_of_report(services, session, view);
  // Without steps in the recorded roadmap no page advises a technique.
  std::vector<std::string> losers;
  if (view.roadmap && !list_of(view.roadmap->payload, "entries").empty()) {
    losers = known_losers(services, session, view);
  }
  const Concluded concluded(reported, std::move(losers));
  check_reports(services.file_system, session, concluded, audited);
  check_made_pages(session, concluded, audited);
  check_pages(session, view, audited);
  check_blobs(session, audited);
  check_commits(folder, session, view, audited);
  return audited;
}

Result<SessionAudit> audit_sentences(const Services& services, const fs::path& folder,
                                     const std::vector<NamedPage>& pages) {
  WB_TRY_ASSIGN(const Session session, Session::open_reader(services.file_system, folder));
  WB_TRY_ASSIGN(const SessionView view, session.view(session::FoldDepth::full));
  SessionAudit audited;
  audited.name = session::session_name(folder);
  audited.events = session.log().size();
  const SessionView present = with_present_causes(services, session, view);
  const Concluded concluded(present, known_losers(services, session, view));
  for (const auto& [name, text] : pages) {
    check_conclusions(name, text, concluded, Severity::contradiction, audited);
  }
  return audited;
}

}  // namespace wb::verbs
