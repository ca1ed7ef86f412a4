// SPDX-License-Identifier: MIT
// `site`: pages of all sessions of a folder, and an index of them.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "core/writing.hpp"
#include "engine/services.hpp"
#include "html/html.hpp"
#include "session/storage.hpp"
#include "verbs/arguments.hpp"
#include "verbs/copies.hpp"
#include "verbs/decided_causes.hpp"
#include "verbs/named_files.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Services;
using html::SiteEntry;
using session::Session;

namespace {

/// The path of a session's page, beside the index.
fs::path page_file(const fs::path& index, const std::string& name) {
  return index.parent_path() / session::file_name(name, ".html");
}

/// Writes the page of one session; the entry has the reason if there is none.
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
  const auto current = session->current(session::FoldDepth::full);
  if (!current) return fault(current.error());
  const session::SessionView view = view_of_report(services, *session, **current);
  const auto page = html::session_html(*session, index.filename().string(), &view);
  if (!page) return fault(page.error());
  auto described = html::site_entry(*session, entry.name);
  if (!described) return fault(described.error());
  WB_TRY(write_named(services, page_file(index, entry.name), *page, Durability::none));
  return *std::move(described);
}

Result<Json> site_body(const Services& services, const Json& args) {
  FileSystem& files = services.file_system;
  const fs::path root = args["folder"].get<std::string>();
  const fs::path out = args.value("output_dir", "site");
  WB_TRY_ASSIGN(const auto folders, session::find_sessions(root));
  UnfinishedFolder made(out);
  WB_TRY(files.make_directories(out));
  // A session called "index" keeps its page name; the index gets another one.
  const bool is_taken = std::any_of(folders.begin(), folders.end(), [](const auto& folder) {
    return session::listed_name(folder) == "index";
  });
  const fs::path index = out / (is_taken ? "index-of-sessions.html" : "index.html");
  std::vector<SiteEntry> entries;
  Json pages = Json::array(), faults = Json::array();
  CopyFinder copies;
  for (const fs::path& folder : folders) {
    WB_TRY_ASSIGN(SiteEntry entry, write_page(services, folder, index));
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
  WB_TRY(write_named(services, index, html::site_index(entries, heading), Durability::none));
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

}  // namespace

const Verb& verb_site() {
  static const Verb verb{
      .spec =
          {.name = "site",
           .doc = "pages of all sessions of a folder and an index over them, for a browser",
           .arguments = {string_argument("folder", "that sessions lie in").required().positional(),
                         string_argument("output_dir", "where the pages go (default: site)"),
                         string_argument("title", "of the index")},
           .result = {{"index", "string: the index page"},
                      {"pages", "list: one file a session"},
                      {"faults", "list: session and message of those that have no page"},
                      {"copies", "list: session, copy_of, common_events, apart, message of copies"},
                      {"text", "string: the same for people"}},
           .in_playbook = false},
      .body = [](const Call& call) { return site_body(call.services, call.args); }};
  return verb;
}

}  // namespace wb::verbs
