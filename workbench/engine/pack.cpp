// SPDX-License-Identifier: MIT
// `pack`: the files of a session as one archive. A redacted one is made in a folder of its own
// first: log and blobs are rewritten, pages and report made again from the rewritten log.
#include <fmt/format.h>

#include <algorithm>

#include "core/hash.hpp"
#include "core/tar_gz.hpp"
#include "engine/page_verbs.hpp"
#include "engine/recorded.hpp"
#include "report/report.hpp"
#include "session/redacted_copy.hpp"

namespace wb {
namespace {

constexpr std::uint64_t k_max_file_bytes = 2ull << 30;

using Files = std::map<std::string, std::string>;  ///< path below the session -> content

struct Contents {
  Files files;
  std::vector<std::string> left_out, kept;
};

/// What docs/session_format.md names; links, history and whatever else lies there is left out.
bool belongs(const std::string& path) {
  for (const std::string_view folder : {"blobs/", "kernels/", "iterations/", "reports/"}) {
    if (path.starts_with(folder)) return path.find("/.") == std::string::npos;
  }
  return path == "session.json" || path == k_log_name || path == k_packed_log_name ||
         path.starts_with("events.torn-");
}

Result<Contents> contents_of(const FileSystem& files, const Session& session) {
  const fs::path& root = session.folder();
  Contents contents;
  std::error_code error;
  auto it = fs::recursive_directory_iterator(root, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const fs::file_status status = it->symlink_status(error);
    const std::string path = it->path().lexically_relative(root).generic_string();
    if (fs::is_directory(status)) {
      if (path == ".git") {
        contents.left_out.push_back(path);
        it.disable_recursion_pending();
      }
      continue;
    }
    if (!fs::is_regular_file(status) || !belongs(path)) {
      contents.left_out.push_back(path);
      continue;
    }
    // The log as it was when it was opened: a line that is being written is not half in it.
    if (path == k_log_name) {
      contents.files[path] = session.log().text(session.log().size());
      continue;
    }
    WB_TRY_ASSIGN(contents.files[path], files.read(it->path(), k_max_file_bytes));
  }
  if (error) return errno_error("read the session in", root, error.value());
  std::sort(contents.left_out.begin(), contents.left_out.end());
  return contents;
}

/// Writes the log and its identity into `folder` and opens what is there.
Result<Session> reopened(FileSystem& files, const fs::path& folder, const std::string& log) {
  WB_TRY(files.write_atomic(folder / k_log_name, log, Durability::none));
  WB_TRY_ASSIGN(const EventLog whole, EventLog::open_reader(files, folder));
  WB_TRY_ASSIGN(const Json opened, whole.payload(1));
  WB_TRY(files.write_atomic(folder / "session.json", identity_text(opened), Durability::none));
  return Session::open_reader(files, folder);
}

/// The pages that the log names, made from it.
Result<Files> pages_of(const Session& session) {
  WB_TRY_ASSIGN(const SessionView* view, session.current(FoldDepth::full));
  Files pages;
  for (const IterationView& iteration : view->iterations) {
    if (!iteration.closed || !member_of(iteration.closed->payload, "pages").is_object()) continue;
    for (const auto& [name, hash] : iteration.closed->payload["pages"].items()) {
      if (name.ends_with(".md")) pages[name] = render_iteration(*view, iteration);
      if (name.ends_with(".json")) pages[name] = iteration_json(*view, iteration).dump(2) + "\n";
    }
  }
  return pages;
}

std::map<std::string, std::string> hashes_of(const Files& files) {
  std::map<std::string, std::string> hashes;
  for (const auto& [name, content] : files) hashes[name] = sha256_hex(content);
  return hashes;
}

/// Blobs under their new names; sources as they are: their hash is the variant's id.
void take_files(Contents& original, Redactor& redactor, NewHashes& hashes, Contents& redacted) {
  for (auto& [path, content] : original.files) {
    if (path.starts_with("blobs/")) {
      redactor.learn_homes(content);
    }
  }
  for (auto& [path, content] : original.files) {
    if (path.starts_with("blobs/")) {
      std::string changed = redacted_blob(content, redactor);
      const std::string name = sha256_hex(changed);
      hashes.blobs[path.substr(6)] = name;
      redacted.files["blobs/" + name] = std::move(changed);
    } else if (path.starts_with("kernels/")) {
      Redactor probe = redactor;
      if (probe.text(content) != content || probe.text(path) != path) redacted.kept.push_back(path);
      redacted.files[path] = std::move(content);
    } else if (path.starts_with("events.torn-") ||
               (path.starts_with("reports/") && path != "reports/session.md")) {
      redacted.left_out.push_back(path);
    }
  }
}

Result<Contents> redacted_contents(FileSystem& files, const Session& session, Contents original,
                                   Redactor& redactor) {
  Contents redacted;
  redacted.left_out = original.left_out;
  NewHashes hashes;
  WB_TRY(redactor.learn(session.log()));
  take_files(original, redactor, hashes, redacted);
  WB_TRY_ASSIGN(const TempDirectory scratch, TempDirectory::create("sdpa-wb-pack-"));
  // Pages come from the log and the log names their hashes: so once without, then with them. Each
  // time with what the redactor knows now, so that its words are the same.
  const Redactor learned = redactor;
  WB_TRY_ASSIGN(const std::string draft, redacted_log(session.log(), redactor, hashes));
  WB_TRY_ASSIGN(const Session drafted, reopened(files, scratch.path(), draft));
  WB_TRY_ASSIGN(const Files pages, pages_of(drafted));
  hashes.pages = hashes_of(pages);
  redactor = learned;
  WB_TRY_ASSIGN(redacted.files[std::string(k_log_name)],
                redacted_log(session.log(), redactor, hashes));
  WB_TRY_ASSIGN(const Session whole,
                reopened(files, scratch.path(), redacted.files[std::string(k_log_name)]));
  WB_TRY_ASSIGN(const Files again, pages_of(whole));
  if (again != pages) {
    return Error{ErrorCode::internal, "redact", session.folder().string(),
                 "its pages say the hashes of its log", "pack it without --redact"};
  }
  for (const auto& [name, page] : pages) redacted.files["iterations/" + name] = page;
  WB_TRY_ASSIGN(const SessionView* view, whole.current(FoldDepth::full));
  redacted.files["reports/session.md"] = render_session(*view);
  WB_TRY_ASSIGN(redacted.files["session.json"],
                files.read(scratch.path() / "session.json", k_max_file_bytes));
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
  for (const Json& path : answer["kept"]) {
    text += fmt::format("kept as it is, look at it: {}\n", path.get<std::string>());
  }
  for (const Json& path : answer["left_out"]) {
    text += fmt::format("left out: {}\n", path.get<std::string>());
  }
  return text;
}

}  // namespace

Result<Json> verb_pack(Context& context, const Json& args) {
  FileSystem& files = context.services.file_system;
  WB_TRY_ASSIGN(const Session session,
                open_recorded(context.services, args["recorded"].get<std::string>()));
  WB_TRY_ASSIGN(Contents contents, contents_of(files, session));
  const bool redact = args.value("redact", false);
  std::string name = folder_name(session.folder());
  Json redacted = nullptr;
  if (redact) {
    Redactor redactor;
    WB_TRY_ASSIGN(contents, redacted_contents(files, session, std::move(contents), redactor));
    redacted = redactor.counts();
    name = redactor.text(name) + "-redacted";
  }
  TarGz archive;
  Json listed = Json::array();
  for (const auto& [path, content] : contents.files) {
    WB_TRY(archive.add(name + "/" + path, content));
    listed.push_back(path);
  }
  const std::string bytes = archive.finish();
  const fs::path output = args.value("output", name + ".tar.gz");
  WB_TRY(files.write_atomic(output, bytes, Durability::synced));
  Json answer{{"file", output.string()},         {"bytes", bytes.size()},
              {"files", std::move(listed)},      {"left_out", contents.left_out},
              {"redacted", std::move(redacted)}, {"kept", contents.kept}};
  answer["text"] = text_of_pack(answer);
  return answer;
}

}  // namespace wb
