// SPDX-License-Identifier: MIT
#include "variant/cache_entries.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

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

}  // namespace wb::variant
