// SPDX-License-Identifier: MIT
#include "variant/cache_trim.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "variant/cache_entries.hpp"

namespace wb::variant {
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
