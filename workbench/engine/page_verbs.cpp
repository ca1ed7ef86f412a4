// SPDX-License-Identifier: MIT
#include "engine/page_verbs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/unfinished_folder.hpp"
#include "core/writing.hpp"
#include "engine/copies.hpp"
#include "engine/recorded.hpp"
#include "engine/verb_table.hpp"
#include "html/html.hpp"
#include "report/report.hpp"
#include "session/storage.hpp"

namespace wb::engine {

using html::SiteEntry;
using session::IterationView;
using session::Session;
using session::SessionView;

namespace {

using verbs::K;

/// Where the page of a session goes: beside the index.
fs::path page_file(const fs::path& index, const std::string& name) {
  return index.parent_path() / session::file_name(name, ".html");
}

/// Writes the page of one session; what keeps it from having one stands in the entry.
Result<SiteEntry> write_page(const Services& services, const fs::path& folder,
                             const fs::path& index) {
  SiteEntry entry;
  entry.name = session::listed_name(folder);
  const auto fault = [&](const Error& error) {
    SiteEntry without = entry;
    without.fault = error.message();
    return without;
  };
  const auto session = Session::open_reader(services.file_system, folder);
  if (!session) return fault(session.error());
  const auto page = html::session_html(*session, index.filename().string());
  if (!page) return fault(page.error());
  auto described = html::site_entry(*session, entry.name);
  if (!described) return fault(described.error());
  WB_TRY(write_named(services, page_file(index, entry.name), *page, Durability::none));
  return *std::move(described);
}

/// The iteration that is asked for, else the last that closed.
Result<const IterationView*> iteration_of(const SessionView& view, const Json& args) {
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

Result<std::string> page_of(const Session& session, const SessionView& view,
                            const std::string& kind, const Json& args) {
  if (kind == "root-cause") {
    const report::SourceChanges changes = report::source_changes(session, view);
    return report::render_root_cause(view, &changes);
  }
  if (kind == "bottleneck") return report::render_bottleneck(view);
  if (kind == "handover") return report::render_handover(view);
  if (kind != "iteration") return report::render_session(view);
  WB_TRY_ASSIGN(const IterationView* iteration, iteration_of(view, args));
  return report::render_iteration_report(view, *iteration);
}

/// The session that rests on this file, or would on one of that name.
std::optional<fs::path> session_around(const fs::path& path) {
  constexpr std::array<std::string_view, 5> k_parts{"session.json", "blobs", "kernels",
                                                    "iterations", ".git"};
  std::error_code fault;
  const fs::path file = fs::weakly_canonical(path, fault);
  if (fault || fs::is_directory(file, fault)) return std::nullopt;
  for (fs::path folder = file.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (!session::is_session(folder)) continue;
    const std::string part = file.lexically_relative(folder).begin()->string();
    const bool is_named = std::find(k_parts.begin(), k_parts.end(), part) != k_parts.end();
    return is_named || part.starts_with("events.") ? std::optional(folder) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Result<void> write_named(const Services& services, const fs::path& path, std::string_view bytes,
                         Durability durability) {
  if (const auto session = session_around(path)) {
    return Error{ErrorCode::usage, "write to", path.string(),
                 "it is a part of the session " + session->string(), "name another file"};
  }
  return write_output(services.file_system, path, bytes, durability, services.stop_requested);
}

Result<Json> verb_report(const Services& services, const Session& session, const Json& args) {
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
  if (is_html) {
    WB_TRY_ASSIGN(text, html::session_html(session));
  } else {
    WB_TRY_ASSIGN(const SessionView* current, session.current(session::FoldDepth::full));
    WB_TRY_ASSIGN(text, page_of(session, *current, kind, args));
  }
  if (!args.contains("output")) return Json{{"text", std::move(text)}, {"file", nullptr}};
  const fs::path output = args["output"].get<std::string>();
  WB_TRY(write_named(services, output, text, Durability::none));
  return Json{{"text", fmt::format("{}: {} bytes\n", output.string(), text.size())},
              {"file", output.string()}};
}

Result<Json> verb_site(Context& context, const Json& args) {
  FileSystem& files = context.services.file_system;
  const fs::path root = args["folder"].get<std::string>();
  const fs::path out = args.value("output_dir", "site");
  WB_TRY_ASSIGN(const auto folders, session::find_sessions(root));
  UnfinishedFolder made(out);
  WB_TRY(files.make_directories(out));
  // A session called "index" keeps its page; the index goes beside it.
  const bool is_taken = std::any_of(folders.begin(), folders.end(), [](const auto& folder) {
    return session::listed_name(folder) == "index";
  });
  const fs::path index = out / (is_taken ? "index-of-sessions.html" : "index.html");
  std::vector<SiteEntry> entries;
  Json pages = Json::array(), faults = Json::array();
  CopyFinder copies;
  for (const fs::path& folder : folders) {
    WB_TRY_ASSIGN(SiteEntry entry, write_page(context.services, folder, index));
    const auto session = Session::open_reader(files, folder);
    if (session) copies.add(entry.name, session->log());
    if (session && copies.common_of_last() > 0) entry.copy = words_of(copies.copies().back());
    if (entry.fault.empty()) {
      pages.push_back(page_file(index, entry.name).string());
    } else {
      faults.push_back({{"session", entry.name}, {"message", entry.fault}});
    }
    entries.push_back(std::move(entry));
  }
  const std::string heading =
      args.value("title", "Sessions in " + session::whole_path(root).filename().string());
  WB_TRY(
      write_named(context.services, index, html::site_index(entries, heading), Durability::none));
  made.keep();
  std::string text =
      fmt::format("{}\n{} page{}\n", index.string(), pages.size(), pages.size() == 1 ? "" : "s");
  for (const Json& fault : faults) {
    text += fmt::format("without a page: {}: {}\n", fault["session"].get<std::string>(),
                        fault["message"].get<std::string>());
  }
  for (const Copy& copy : copies.copies()) text += words_of(copy) + "\n";
  return Json{{"index", index.string()},
              {"pages", std::move(pages)},
              {"faults", std::move(faults)},
              {"copies", to_json(copies.copies())},
              {"text", std::move(text)}};
}

std::vector<VerbSpec> page_verb_specs() {
  return {
      {.name = "site",
       .doc = "pages of all sessions of a folder and an index over them, for a browser",
       .arguments = {{.name = "folder",
                      .kind = K::string,
                      .doc = "that sessions lie in",
                      .required = true,
                      .positional = true},
                     {.name = "output_dir",
                      .kind = K::string,
                      .doc = "where the pages go (default: site)"},
                     {.name = "title", .kind = K::string, .doc = "of the index"}},
       .result = {{"index", "string: the index page"},
                  {"pages", "list: one file a session"},
                  {"faults", "list: session and message of those that have no page"},
                  {"copies", "list: session, copy_of, common_events, apart, message of copies"},
                  {"text", "string: the same for people"}},
       .in_playbook = false},
      {.name = "pack",
       .doc = "one archive of a session, to be kept or given away; all that reads takes it",
       .arguments = {{.name = "recorded",
                      .kind = K::id,
                      .doc = "a session's folder or archive, or its name in --sessions",
                      .required = true,
                      .positional = true,
                      .is_path = true},
                     {.name = "output",
                      .kind = K::string,
                      .doc = "the archive (default: <name>.tar.gz, redacted: "
                             "<name>-redacted.tar.gz)",
                      .is_path = true},
                     {.name = "redact",
                      .kind = K::boolean,
                      .doc = "replace hosts, users, e-mail addresses, addresses and absolute paths "
                             "in log, blobs and pages (docs/guide/pages.md)"}},
       .result = {{"file", "string: the archive"},
                  {"bytes", "int: its size (bytes)"},
                  {"copies", "list: as of `site`, of the sessions beside it; redacted: none"},
                  {"warning", "string or null: which events the log lost, and what to do"},
                  {"files", "list: what is in it"},
                  {"left_out", "list: files of the session that are not"},
                  {"redacted",
                   "map or null: how often a path, email, host, user or url was replaced"},
                  {"kept", "list: redacted: sources that hold such words and are as they were"},
                  {"text", "string: the same for people"}},
       .in_playbook = false},
  };
}

}  // namespace wb::engine
