// SPDX-License-Identifier: MIT
#include "session/storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "core/byte_source.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "session/log.hpp"
#include "session/session.hpp"

namespace wb::session {
namespace {

constexpr std::uint64_t k_max_identity_bytes = 1ull << 20;
constexpr std::uint64_t k_max_packed_bytes = 1ull << 30;

bool has_log(const SessionStorage& storage) {
  return storage.has(std::string(k_log_name)) || storage.has(std::string(k_packed_log_name));
}

bool is_session_folder(const fs::path& path) {
  const RealFileSystem files;
  std::error_code error;
  return fs::is_directory(path, error) && has_log(FolderStorage(files, path));
}

}  // namespace

Result<std::string> SessionStorage::read_unpacked(const std::string& name,
                                                  std::uint64_t max_bytes) const {
  const std::string packed = name + ".gz";
  if (has(name) || !has(packed)) return read(name, max_bytes);
  WB_TRY_ASSIGN(const std::string bytes, read(packed, max_bytes));
  return unpack_gzip(bytes, m_path / packed, max_bytes);
}

Result<void> SessionStorage::check_format() const {
  const std::string name = "session.json";
  WB_TRY_ASSIGN(const std::string text, read(name, k_max_identity_bytes));
  const std::string place = (m_path / name).string();
  const auto damaged = [&](const std::string& cause) {
    return Error{ErrorCode::damaged, "read", place, cause,
                 "it only repeats the first event of the log: remove it, and it is made again"};
  };
  const Result<Json> json = parse_json(text, name);
  if (!json.ok()) return damaged(json.error().cause);
  ObjectReader reader(*json, place);
  const std::int64_t format = reader.integer("format", 1, 1'000'000);
  if (const Result<void> done = reader.finish(true); !done.ok()) return damaged(done.error().cause);
  if (format <= k_session_format) return {};
  return Error{ErrorCode::too_new, "open the session", m_path.string(),
               fmt::format("it has format {}, this program knows formats up to {}", format,
                           k_session_format),
               "use the newer sdpa-wb that made it (its version stands in session.json)"};
}

Result<std::string> SessionStorage::read_blob(std::string_view sha256) const {
  if (!is_sha256(sha256)) {
    return Error{ErrorCode::invalid, "read the blob", printable(sha256),
                 "its name is not 64 hexadecimal digits", ""};
  }
  const std::string name = "blobs/" + std::string(sha256);
  WB_TRY_ASSIGN(std::string bytes, read(name));
  if (sha256_hex(bytes) == sha256) return bytes;
  // Recorded sessions may have packed blobs, under the hash of the unpacked content.
  if (bytes.starts_with("\x1f\x8b")) {
    WB_TRY_ASSIGN(std::string unpacked,
                  unpack_gzip(bytes, m_path / name, k_max_session_file_bytes));
    if (sha256_hex(unpacked) == sha256) return unpacked;
  }
  return Error{ErrorCode::damaged, "read the blob", (m_path / name).string(),
               "its content has another hash than its name", "put it back from a copy"};
}

Result<std::map<std::string, std::string>> SessionStorage::load_variant(
    std::string_view variant_id) const {
  if (!is_safe_name(variant_id)) {
    return Error{ErrorCode::invalid, "load the variant", printable(variant_id),
                 "its id is not a plain name",
                 "use a plain name of letters, digits, '.', '_', '-' and '@'"};
  }
  const std::string root = "kernels/" + std::string(variant_id);
  WB_TRY_ASSIGN(const std::vector<Entry> entries, list(root));
  std::map<std::string, std::string> files;
  for (const Entry& entry : entries) {
    if (!entry.is_file) {
      return Error{ErrorCode::damaged, "load the variant's file", (m_path / entry.path).string(),
                   "it is a link or a special file", "put the plain file in its place"};
    }
    WB_TRY_ASSIGN(std::string content, read(entry.path));
    files.emplace(entry.path.substr(root.size() + 1), std::move(content));
  }
  return files;
}

Result<std::string> SessionStorage::read_page(std::string_view name) const {
  if (is_safe_name(name)) return read("iterations/" + std::string(name));
  return Error{ErrorCode::invalid, "read the page", printable(name), "it is not a plain name",
               "use a plain name of letters, digits, '.', '_', '-' and '@'"};
}

Result<std::map<std::string, std::string>> SessionStorage::read_reports() const {
  std::map<std::string, std::string> reports;
  const auto entries = list("reports");
  if (!entries && entries.error().code == ErrorCode::not_found) return reports;
  if (!entries) return entries.error();
  for (const Entry& entry : *entries) {
    if (!entry.is_file || !is_safe_name(entry.path.substr(8))) continue;
    WB_TRY_ASSIGN(std::string text, read(entry.path));
    reports.emplace(entry.path, std::move(text));
  }
  return reports;
}

Result<fs::path> FolderStorage::resolve(const fs::path& relative) const {
  fs::path whole = path();
  for (const fs::path& part : relative) {
    whole /= part;
    std::error_code ignored;
    if (!fs::is_symlink(fs::symlink_status(whole, ignored))) continue;
    return Error{ErrorCode::invalid, "use", whole.string(),
                 "it is a link, and a session keeps all its files in its own folder",
                 "put the file or folder itself in the link's place"};
  }
  return whole;
}

Result<std::string> FolderStorage::read(const std::string& name, std::uint64_t max_bytes) const {
  if (!is_inside(name)) {
    return Error{ErrorCode::invalid, "read", printable(name), "it is no path in the session", ""};
  }
  WB_TRY_ASSIGN(const fs::path whole, resolve(name));
  return m_file_system->read(whole, max_bytes);
}

bool FolderStorage::has(const std::string& name) const {
  std::error_code error;
  return fs::symlink_status(path() / name, error).type() != fs::file_type::not_found && !error;
}

Result<std::vector<SessionStorage::Entry>> FolderStorage::list(const std::string& folder) const {
  WB_TRY_ASSIGN(const fs::path root, resolve(folder));
  std::vector<Entry> entries;
  std::error_code error;
  auto it = fs::recursive_directory_iterator(root, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const fs::file_status status = it->symlink_status(error);
    std::string name = it->path().lexically_relative(path()).generic_string();
    if (fs::is_directory(status) && name != ".git") continue;
    if (fs::is_directory(status)) it.disable_recursion_pending();
    entries.push_back({std::move(name), fs::is_regular_file(status)});
  }
  if (error) return errno_error("read the files in", root, error.value());
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.path < b.path; });
  return entries;
}

Result<std::unique_ptr<ArchiveStorage>> ArchiveStorage::open(const FileSystem& file_system,
                                                             const fs::path& path,
                                                             const ArchiveLimits& limits) {
  WB_TRY_ASSIGN(const std::string bytes, file_system.read(path, k_max_packed_bytes));
  WB_TRY_ASSIGN(Archive archive, unpack_archive(bytes, path, limits));
  std::unique_ptr<ArchiveStorage> storage(new ArchiveStorage(path, std::move(archive.files)));
  if (has_log(*storage)) return storage;
  return Error{ErrorCode::not_found, "open the session", path.string(),
               "the archive holds no events.jsonl in its folder",
               "take an archive that `sdpa-wb pack` made"};
}

Result<std::string> ArchiveStorage::read(const std::string& name, std::uint64_t max_bytes) const {
  const auto found = m_files.find(name);
  if (found == m_files.end()) {
    return Error{ErrorCode::not_found, "read", (path() / name).string(),
                 "the archive has no such file", ""};
  }
  if (found->second.size() <= max_bytes) return found->second;
  return Error{ErrorCode::limit, "read", (path() / name).string(),
               fmt::format("it is longer than {} bytes", max_bytes), ""};
}

bool ArchiveStorage::has(const std::string& name) const {
  if (m_files.contains(name)) return true;
  const auto below = m_files.lower_bound(name + "/");
  return below != m_files.end() && below->first.starts_with(name + "/");
}

Result<std::vector<SessionStorage::Entry>> ArchiveStorage::list(const std::string& folder) const {
  const std::string prefix = folder.empty() ? "" : folder + "/";
  std::vector<Entry> entries;
  for (auto it = m_files.lower_bound(prefix); it != m_files.end(); ++it) {
    if (!it->first.starts_with(prefix)) break;
    entries.push_back({it->first, true});
  }
  if (!entries.empty()) return entries;
  return Error{ErrorCode::not_found, "read the files in", (path() / folder).string(),
               "the archive has no such folder", ""};
}

std::optional<fs::path> archive_at(const fs::path& path) {
  fs::path archive = plain_path(path);
  if (!archive.native().ends_with(k_archive_suffix)) archive += k_archive_suffix;
  std::error_code error;
  const std::string name = archive.filename().string();
  if (name == k_archive_suffix || !fs::is_regular_file(archive, error)) return std::nullopt;
  return archive;
}

Result<std::unique_ptr<SessionStorage>> open_storage(const FileSystem& file_system,
                                                     const fs::path& path) {
  std::unique_ptr<SessionStorage> storage;
  if (is_session_folder(path)) {
    storage = std::make_unique<FolderStorage>(file_system, path);
    return storage;
  }
  if (const auto archive = archive_at(path)) {
    WB_TRY_ASSIGN(storage, ArchiveStorage::open(file_system, *archive));
    return storage;
  }
  std::error_code error;
  const bool is_there = fs::is_directory(path, error);
  if (!error && is_there) (void)fs::exists(path / k_log_name, error);
  if (error && error != std::errc::no_such_file_or_directory) {
    return errno_error("open the session", path, error.value());
  }
  const bool is_file = !is_there && fs::exists(path, error);
  return Error{ErrorCode::not_found, "open the session", path.string(),
               is_there  ? "the folder holds no events.jsonl"
               : is_file ? "it is a file, and no archive NAME.tar.gz"
                         : "no such folder",
               "name a session's folder or archive, or open a new session"};
}

bool is_session(const fs::path& path) {
  return is_session_folder(path) || archive_at(path).has_value();
}

Result<std::vector<fs::path>> find_sessions(const fs::path& root) {
  std::map<std::string, fs::path> found;
  std::error_code error;
  for (auto it = fs::directory_iterator(root, error); it != fs::directory_iterator();
       it.increment(error)) {
    const fs::path& path = it->path();
    if (is_session_folder(path)) {
      found.insert_or_assign(listed_name(path), path);
    } else if (archive_at(path) == path) {
      found.try_emplace(listed_name(path), path);
    }
  }
  if (error) return errno_error("look for sessions in", root, error.value());
  if (found.empty()) {
    return Error{ErrorCode::not_found, "look for sessions in", root.string(),
                 "no folder or archive in it holds a session",
                 "name the folder that sessions lie in"};
  }
  std::vector<fs::path> paths;
  for (auto& [name, path] : found) paths.push_back(std::move(path));
  return paths;
}

bool is_safe_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-' || c == '@';
         });
}

}  // namespace wb::session
