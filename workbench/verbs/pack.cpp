// SPDX-License-Identifier: MIT
// `pack`: writes the files of a session as one archive, which all session readers accept. Files
// that are packed individually in a recorded folder are stored unpacked. A redacted archive is
// first made in a temporary folder: log and blobs are rewritten, and pages and report rendered
// again.
#include <fmt/format.h>

#include <algorithm>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "report/report.hpp"
#include "session/redact.hpp"
#include "session/storage.hpp"
#include "verbs/arguments.hpp"
#include "verbs/copies.hpp"
#include "verbs/decided_causes.hpp"
#include "verbs/named_files.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::member_of;
using engine::Services;
using session::ArchiveFiles;
using session::k_log_name;
using session::Redactor;
using session::Session;
using session::SessionStorage;

namespace {

struct Contents {
  ArchiveFiles files;
  std::vector<std::string> left_out, kept;
};

/// True for files named in docs/contracts/session_format.md; links, the git history and other files
/// are left out.
bool belongs(const std::string& path) {
  for (const std::string_view folder : {"blobs/", "kernels/", "iterations/", "reports/"}) {
    if (path.starts_with(folder)) return path.find("/.") == std::string::npos;
  }
  return path == "session.json" || path == k_log_name || path == session::k_packed_log_name ||
         path.starts_with("events.torn-");
}

/// A page, blob or other file in unpacked form, with its name.
Result<std::pair<std::string, std::string>> unpacked(const SessionStorage& storage,
                                                     const std::string& path) {
  if (path.starts_with("iterations/") && path.ends_with(".gz")) {
    const std::string name = path.substr(0, path.size() - 3);
    WB_TRY_ASSIGN(std::string page, storage.read_unpacked(name));
    return std::pair{name, std::move(page)};
  }
  if (path.starts_with("blobs/")) {
    // A blob that fails its hash is included unchanged; readers will report it.
    if (auto blob = storage.read_blob(path.substr(6))) return std::pair{path, *std::move(blob)};
  }
  WB_TRY_ASSIGN(std::string content, storage.read(path));
  return std::pair{path, std::move(content)};
}

Result<Contents> contents_of(const Session& session) {
  const SessionStorage& storage = session.storage();
  WB_TRY_ASSIGN(const auto entries, storage.list(""));
  Contents contents;
  for (const SessionStorage::Entry& entry : entries) {
    if (!entry.is_file || !belongs(entry.path)) {
      contents.left_out.push_back(entry.path);
    } else if (entry.path != k_log_name && entry.path != session::k_packed_log_name) {
      WB_TRY_ASSIGN(auto file, unpacked(storage, entry.path));
      contents.files.insert(std::move(file));
    }
  }
  // The log as of opening, so that a line being written is not included in part.
  contents.files[std::string(k_log_name)] = session.log().text(session.log().size());
  return contents;
}

/// Writes the log and its identity into `folder` and opens the session.
Result<Session> reopened(FileSystem& files, const fs::path& folder, const std::string& log) {
  WB_TRY(files.write_atomic(folder / k_log_name, log, Durability::none));
  WB_TRY_ASSIGN(const session::EventLog whole, session::EventLog::open_reader(files, folder));
  WB_TRY_ASSIGN(const Json opened, whole.payload(1));
  WB_TRY(files.write_atomic(folder / "session.json", session::identity_text(opened),
                            Durability::none));
  return Session::open_reader(files, folder);
}

/// The pages that the log names, rendered from it.
Result<ArchiveFiles> pages_of(const Session& session) {
  WB_TRY_ASSIGN(const session::SessionView* view, session.current(session::FoldDepth::full));
  ArchiveFiles pages;
  for (const session::IterationView& iteration : view->iterations) {
    if (!iteration.closed || !member_of(iteration.closed->payload, "pages").is_object()) continue;
    for (const auto& [name, hash] : iteration.closed->payload["pages"].items()) {
      if (name.ends_with(".md")) pages[name] = report::render_iteration(*view, iteration);
      if (name.ends_with(".json"))
        pages[name] = report::iteration_json(*view, iteration).dump(2) + "\n";
    }
  }
  return pages;
}

std::map<std::string, std::string> hashes_of(const ArchiveFiles& files) {
  std::map<std::string, std::string> hashes;
  for (const auto& [name, content] : files) hashes[name] = sha256_hex(content);
  return hashes;
}

/// Blobs under their new names. Sources stay unchanged, since their hash is the variant's id.
void take_files(Contents& original, Redactor& redactor, session::NewHashes& hashes,
                Contents& redacted) {
  for (auto& [path, content] : original.files) {
    if (path.starts_with("blobs/")) {
      redactor.learn_homes(content);
    }
  }
  for (auto& [path, content] : original.files) {
    if (path.starts_with("blobs/")) {
      std::string changed = session::redacted_blob(content, redactor);
      const std::string name = sha256_hex(changed);
      hashes.blobs[path.substr(6)] = name;
      redacted.files["blobs/" + name] = std::move(changed);
    } else if (path.starts_with("kernels/")) {
      Redactor probe = redactor;
      if (probe.text(content) != content || probe.text(path) != path) redacted.kept.push_back(path);
      redacted.files[path] = std::move(content);
    } else if (path.starts_with("events.torn-") ||
               (path.starts_with("reports/") && path != "reports/session.md" &&
                path != "reports/session_full.md")) {
      redacted.left_out.push_back(path);
    }
  }
}

Result<Contents> redacted_contents(const Services& services, const Session& session,
                                   Contents original, Redactor& redactor) {
  FileSystem& files = services.file_system;
  Contents redacted;
  redacted.left_out = original.left_out;
  session::NewHashes hashes;
  WB_TRY(redactor.learn(session.log()));
  take_files(original, redactor, hashes, redacted);
  WB_TRY_ASSIGN(const TempDirectory scratch, TempDirectory::create("sdpa-wb-pack-"));
  // Pages are rendered from the log, and the log has their hashes, so the log is made twice: first
  // without, then with them. Both use a copy of the learned redactor, so that its replacements are
  // equal.
  const Redactor learned = redactor;
  WB_TRY_ASSIGN(const std::string draft, session::redacted_log(session.log(), redactor, hashes));
  WB_TRY_ASSIGN(const Session drafted, reopened(files, scratch.path(), draft));
  WB_TRY_ASSIGN(const ArchiveFiles pages, pages_of(drafted));
  hashes.pages = hashes_of(pages);
  redactor = learned;
  WB_TRY_ASSIGN(redacted.files[std::string(k_log_name)],
                session::redacted_log(session.log(), redactor, hashes));
  WB_TRY_ASSIGN(const Session whole,
                reopened(files, scratch.path(), redacted.files[std::string(k_log_name)]));
  WB_TRY_ASSIGN(const ArchiveFiles again, pages_of(whole));
  if (again != pages) {
    return Error{ErrorCode::internal, "redact", session.folder().string(),
                 "its pages say the hashes of its log", "pack it without --redact"};
  }
  for (const auto& [name, page] : pages) redacted.files["iterations/" + name] = page;
  WB_TRY_ASSIGN(const session::SessionView* view, whole.current(session::FoldDepth::full));
  const session::SessionView said = view_of_report(services, session, *view);
  redacted.files["reports/session.md"] = report::render_summary(said);
  redacted.files["reports/session_full.md"] = report::render_session(said);
  WB_TRY_ASSIGN(redacted.files["session.json"], whole.storage().read("session.json"));
  return redacted;
}

std::string text_of_pack(const Json& answer) {
  std::string text = fmt::format("{}: {} files, {} bytes\n", answer["file"].get<std::string>(),
                                 answer["files"].size(), answer["bytes"].get<std::size_t>());
  if (answer["redacted"].is_object()) {
    for (const auto& [kind, times] : answer["redacted"].items()) {
      text += fmt::format("replaced: {} {}\n", times.get<std::int64_t>(), kind);
    }
    text += "the copy says that it is redacted; its chain is its own\n";
  }
  if (!answer["warning"].is_null()) {
    text += "WARNING: " + answer["warning"].get<std::string>() + "\n";
  }
  for (const Json& copy : answer["copies"]) text += copy["message"].get<std::string>() + "\n";
  for (const Json& path : answer["kept"]) {
    text += fmt::format("kept as it is, look at it: {}\n", path.get<std::string>());
  }
  for (const Json& path : answer["left_out"]) {
    text += fmt::format("left out: {}\n", path.get<std::string>());
  }
  return text;
}

/// Sessions beside this one with the same identity, which a reader of two archives could not
/// detect. An archive beside a folder of the same name is its packed form.
Json copies_beside(FileSystem& files, const Session& session) {
  const fs::path own = session::whole_path(session.folder());
  const std::string name = session::listed_name(own);
  CopyFinder finder;
  std::vector<fs::path> beside;
  if (const auto found = session::find_sessions(own.parent_path())) beside = *found;
  const std::string first = session.log().line_hash(1);
  for (const fs::path& folder : beside) {
    if (session::listed_name(folder) == name || session::whole_path(folder) == own) continue;
    const auto other = Session::open_reader(files, folder);
    if (other && other->log().line_hash(1) == first) {
      finder.add(session::listed_name(folder), other->log());
    }
  }
  finder.add(name, session.log());
  Json copies = Json::array();
  for (const Json& copy : to_json(finder.copies())) {
    if (copy["session"] == name) copies.push_back(copy);
  }
  return copies;
}

Result<Json> pack_body(const Services& services, const Json& args) {
  FileSystem& files = services.file_system;
  WB_TRY_ASSIGN(const Session session,
                open_recorded(services, args["recorded"].get<std::string>()));
  WB_TRY_ASSIGN(Contents contents, contents_of(session));
  const bool redact = args.value("redact", false);
  std::string name = session::session_name(session.folder());
  Json redacted = nullptr;
  if (redact) {
    Redactor redactor;
    WB_TRY_ASSIGN(contents, redacted_contents(services, session, std::move(contents), redactor));
    redacted = redactor.counts();
    name = session::file_name(redactor.text(name), "-redacted");
  }
  WB_TRY_ASSIGN(const std::string warning, session.warning());
  const Json copies = redact ? Json::array() : copies_beside(files, session);
  WB_TRY_ASSIGN(const std::string bytes, session::pack_archive(name, contents.files));
  Json listed = Json::array();
  for (const auto& [path, content] : contents.files) listed.push_back(path);
  const fs::path output = args.value("output", session::file_name(name, session::k_archive_suffix));
  WB_TRY(write_named(services, output, bytes, Durability::synced));
  Json answer{{"file", output.string()},
              {"bytes", bytes.size()},
              {"files", std::move(listed)},
              {"left_out", contents.left_out},
              {"redacted", std::move(redacted)},
              {"kept", contents.kept},
              {"copies", copies},
              {"warning", warning.empty() ? Json(nullptr) : Json(warning)}};
  answer["text"] = text_of_pack(answer);
  return answer;
}

}  // namespace

const Verb& verb_pack() {
  static const Verb verb{
      .spec =
          {.name = "pack",
           .doc = "one archive of a session, to be kept or given away; all that reads takes it",
           .arguments =
               {id_argument("recorded", "a session's folder or archive, or its name in --sessions")
                    .required()
                    .positional()
                    .as_path(),
                string_argument(
                    "output",
                    "the archive (default: <name>.tar.gz, redacted: <name>-redacted.tar.gz)")
                    .as_path(),
                flag_argument("redact",
                              "replace hosts, users, e-mail addresses, addresses and absolute "
                              "paths in log, blobs and pages (docs/guide/pages.md)")},
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
      .body = [](const Call& call) { return pack_body(call.services, call.args); }};
  return verb;
}

}  // namespace wb::verbs
