// SPDX-License-Identifier: MIT
#include "variant/cache.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "core/json.hpp"

namespace wb::variant {
namespace {

constexpr int k_lock_attempts = 100;
constexpr auto k_lock_pause = std::chrono::milliseconds(5);
/// Uses within this time are marked once, so that a hit costs no write.
constexpr time_t k_mark_every_s = 60;

void mark_used(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return;
  if (status.st_mtim.tv_sec + k_mark_every_s > ::time(nullptr)) return;
  ::futimens(fd, nullptr);  // fails for another user's cache: then its age is that of the build
}

}  // namespace

Result<UniqueFd> lock_cache(const fs::path& root) {
  const fs::path path = root / k_cache_lock_file;
  UniqueFd lock(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666));
  int locked = -1;
  if (lock.valid()) {
    do {
      locked = ::flock(lock.get(), LOCK_EX);
    } while (locked != 0 && errno == EINTR);
  }
  if (locked != 0) return errno_error("lock the artifact cache", path, errno);
  return lock;
}

void lock_pause() {
  std::this_thread::sleep_for(k_lock_pause);
}

UniqueFd hold_entry(const fs::path& folder, const std::function<void()>& pause) {
  // An exclusive lock is held for one rename only.
  for (int attempt = 0; attempt < k_lock_attempts; ++attempt) {
    UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) return fd;
    if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) {
      if (!is_held(fd, folder)) continue;  // removed by that rename: look again
      mark_used(fd.get());
      return fd;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) break;
    pause();
  }
  return {};
}

bool is_held(const UniqueFd& held, const fs::path& folder) {
  struct stat ours {};
  struct stat named {};
  return held.valid() && ::fstat(held.get(), &ours) == 0 && ::stat(folder.c_str(), &named) == 0 &&
         ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

namespace {

constexpr std::uint64_t k_entry_record_max_bytes = 1u << 20;

std::vector<fs::path> folders_in(const fs::path& parent) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored)) folders.push_back(it->path());
  }
  return folders;
}

bool is_made_of(const Json& record, const ArtifactInputs& made_of) {
  if (!record.is_object()) return false;
  const auto is = [](const Json& object, const char* key, const Json& value) {
    const auto found = object.find(key);
    return found != object.end() && *found == value;
  };
  const auto variant = record.find("variant");
  // Older records lack grants, which few variants need.
  const bool same_grants = is(record, "grants", made_of.grants) ||
                           (made_of.grants.empty() && !record.contains("grants"));
  return variant != record.end() && variant->is_object() &&
         is(*variant, "id", made_of.variant_id) &&
         is(record, "configuration", made_of.configuration) &&
         is(record, "target", made_of.target) && same_grants;
}

}  // namespace

std::vector<std::string> find_entries(const FileSystem& file_system, const fs::path& root,
                                      const ArtifactInputs& made_of) {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  for (const fs::path& shelf : folders_in(root)) {
    if (shelf.filename().string().size() != 2) continue;  // tmp, compilers
    for (const fs::path& folder : folders_in(shelf)) {
      const fs::path file = folder / "build.json";
      const auto text = file_system.read(file, k_entry_record_max_bytes);
      // Only records that mention this variant are parsed.
      if (!text.ok() || text->find(made_of.variant_id) == std::string::npos) continue;
      const auto record = parse_json(*text, file.string());
      if (!record.ok() || !is_made_of(*record, made_of)) continue;
      std::error_code error;
      const auto time = fs::last_write_time(file, error);
      if (!error) found.emplace_back(time, folder.filename().string());
    }
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> ids;
  ids.reserve(found.size());
  for (auto& [time, id] : found) ids.push_back(std::move(id));
  return ids;
}

namespace {

using Time = std::chrono::system_clock::time_point;

struct CacheEntry {
  fs::path folder;
  Time used;
  std::uint64_t bytes = 0;
};

bool is_hex(const std::string& word, std::size_t length) {
  return word.size() == length && std::all_of(word.begin(), word.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::optional<struct stat> folder_status(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return {};
  return status;
}

Time time_of(const struct stat& status) {
  return Time(
      std::chrono::duration_cast<Time::duration>(std::chrono::seconds(status.st_mtim.tv_sec) +
                                                 std::chrono::nanoseconds(status.st_mtim.tv_nsec)));
}

/// Size of all regular files below; links are not followed. Files that vanish meanwhile count 0.
std::uint64_t bytes_below(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (!fs::is_regular_file(it->symlink_status(ignored))) continue;
    const std::uintmax_t size = fs::file_size(it->path(), ignored);
    if (!ignored) bytes += size;
  }
  return bytes;
}

std::vector<fs::path> real_folders_in(const fs::path& parent) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    if (folder_status(it->path())) folders.push_back(it->path());
  }
  return folders;
}

/// <root>/<2 hex>/<64 hex that begin with them>; anything else is not ours.
std::vector<CacheEntry> list_entries(const fs::path& root) {
  std::vector<CacheEntry> entries;
  for (const fs::path& shelf : real_folders_in(root)) {
    const std::string prefix = shelf.filename().string();
    if (!is_hex(prefix, 2)) continue;
    for (const fs::path& folder : real_folders_in(shelf)) {
      const std::string name = folder.filename().string();
      const auto status = folder_status(folder);
      if (!is_hex(name, 64) || !name.starts_with(prefix) || !status) continue;
      entries.push_back({folder, time_of(*status), bytes_below(folder)});
    }
  }
  return entries;
}

void sort_by_use(std::vector<CacheEntry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) {
    return a.used != b.used ? a.used < b.used : a.folder < b.folder;
  });
}

enum class Removal { removed, in_use, failed };

/// A private folder on the same file system, to which entries are moved for deletion.
std::optional<fs::path> make_grave(const fs::path& root) {
  std::error_code ignored;
  fs::create_directories(root / "tmp", ignored);
  std::string pattern = (root / "tmp" / "gc-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return {};
  return fs::path(pattern);
}

/// Takes the cache's lock, so that no entry is replaced, and the entry's, so that it is unused.
Result<Removal> remove_entry(const fs::path& root, const CacheEntry& entry, bool dry_run) {
  WB_TRY_ASSIGN(const UniqueFd cache, lock_cache(root));
  const UniqueFd fd(::open(entry.folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return errno == ENOENT ? Removal::in_use : Removal::failed;
  // Without locks the entry may be in use, so it stays.
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return Removal::in_use;
  const auto status = folder_status(entry.folder);
  if (!status || !is_held(fd, entry.folder) || time_of(*status) != entry.used) {
    return Removal::in_use;  // used or replaced since it was listed
  }
  if (dry_run) return Removal::removed;
  const auto grave = make_grave(root);
  if (!grave) return Removal::failed;
  const bool moved = ::rename(entry.folder.c_str(), (*grave / "entry").c_str()) == 0;
  std::error_code error;
  fs::remove_all(*grave, error);
  return moved && !error ? Removal::removed : Removal::failed;
}

void remove_leftovers(const fs::path& root, const TrimRule& rule, Time now, TrimResult& result) {
  for (const fs::path& folder : real_folders_in(root / "tmp")) {
    const auto status = folder_status(folder);
    if (!status || !(now - time_of(*status) > k_stale_after)) continue;
    const std::uint64_t bytes = bytes_below(folder);
    std::error_code error;
    if (!rule.dry_run) fs::remove_all(folder, error);
    if (error) {
      ++result.failed;
      continue;
    }
    ++result.leftovers;
    result.freed_bytes += bytes;
  }
}

}  // namespace

Result<TrimResult> trim_cache(const fs::path& root, const TrimRule& rule, Time now) {
  TrimResult result;
  struct stat status {};
  if (::stat(root.c_str(), &status) != 0) {  // the root itself may be a link
    if (errno == ENOENT) return result;
    return errno_error("trim the artifact cache", root, errno);
  }
  if (!S_ISDIR(status.st_mode)) {
    return Error{ErrorCode::invalid, "trim the artifact cache", root.string(), "it is no folder",
                 "name the cache with --cache DIR"};
  }
  std::vector<CacheEntry> entries = list_entries(root);
  sort_by_use(entries);
  result.entries = static_cast<std::int64_t>(entries.size());
  for (const CacheEntry& entry : entries) result.bytes += entry.bytes;
  std::uint64_t left = result.bytes;
  for (const CacheEntry& entry : entries) {
    const bool old = rule.older_than && now - entry.used > *rule.older_than;
    const bool over = rule.max_bytes && left > *rule.max_bytes;
    if (!old && !over) continue;
    if (!(now - entry.used >= rule.grace)) {
      ++result.recent;
      continue;
    }
    WB_TRY_ASSIGN(const Removal removal, remove_entry(root, entry, rule.dry_run));
    if (removal == Removal::in_use) ++result.in_use;
    if (removal == Removal::failed) ++result.failed;
    if (removal != Removal::removed) continue;
    ++result.removed;
    result.freed_bytes += entry.bytes;
    left -= entry.bytes;
  }
  remove_leftovers(root, rule, now, result);
  return result;
}

}  // namespace wb::variant
