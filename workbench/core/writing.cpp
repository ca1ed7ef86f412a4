// SPDX-License-Identifier: MIT
#include "core/writing.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/streams.hpp"

namespace wb {
namespace {

/// How soon a stop is noticed while waiting for a reader.
constexpr std::chrono::milliseconds k_stop_interval{50};
constexpr int k_most_links = 40;  // the system's own limit

bool is_stopped(const std::atomic<bool>* stop) {
  return stop != nullptr && stop->load();
}

Error write_error(const fs::path& name, int error_number) {
  Error error = errno_error("write to", name, error_number);
  if (error_number == EBADF) error.cause = "it is closed, or open for reading only";
  return error;
}

Error stopped_error(const fs::path& name) {
  return Error{ErrorCode::canceled, "write to", name.string(),
               "a stop was requested while its reader was waited for", ""};
}

/// The number of our open descriptor that this name denotes.
std::optional<int> descriptor_named(const fs::path& path) {
  std::error_code fault;
  const fs::path folder = fs::canonical(detail::folder_of(path), fault);
  if (fault) return std::nullopt;
  bool is_ours = false;
  for (const char* own : {"/proc/self/fd", "/proc/thread-self/fd"}) {
    is_ours = is_ours || folder == fs::canonical(own, fault);
  }
  const std::string name = path.filename().string();
  int number = -1;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = read.ec == std::errc() && read.ptr == name.data() + name.size();
  return is_ours && is_number ? std::optional(number) : std::nullopt;
}

/// The target of a name after following all links: a path, or a descriptor of ours, which must not
/// be opened again, since that would truncate or overwrite the file.
struct Target {
  fs::path path;
  std::optional<int> descriptor;
};

Result<Target> target_of(const fs::path& named) {
  if (named == "-") return Target{"standard output", STDOUT_FILENO};
  fs::path path = named;
  for (int links = 0; links < k_most_links; ++links) {
    if (const auto descriptor = descriptor_named(path)) return Target{named, descriptor};
    std::error_code fault;
    const fs::path next = fs::read_symlink(path, fault);
    if (fault) return Target{path, std::nullopt};  // no link: opening it shows what it is
    // Like the system, follow no link of another user in a world-writable folder.
    struct stat followed {};
    if (::stat(path.c_str(), &followed) != 0 && errno != ENOENT) return write_error(named, errno);
    path = detail::folder_of(path) / next;
  }
  return write_error(named, ELOOP);
}

Result<void> write_to_descriptor(int fd, const fs::path& name, std::string_view bytes,
                                 const std::atomic<bool>* stop) {
  const int flags = ::fcntl(fd, F_GETFD);
  struct stat facts {};
  if (flags == -1 || ::fstat(fd, &facts) != 0) {
    return Error{ErrorCode::usage, "write to", name.string(),
                 fmt::format("descriptor {} is not open", fd), "open it, or name a file"};
  }
  // Our own descriptors are close-on-exec, those given to the program are not.
  if (fd > 2 && (flags & FD_CLOEXEC) != 0 && S_ISREG(facts.st_mode)) {
    return Error{ErrorCode::usage, "write to", name.string(),
                 fmt::format("descriptor {} is a file that this program opened for itself", fd),
                 "name the file"};
  }
  WB_TRY(write_all(fd, bytes, name, stop));
  return {};
}

/// Opening a pipe without a reader would block, and a blocking open() cannot see the stop.
Result<UniqueFd> open_for_writing(const fs::path& path, bool is_pipe,
                                  const std::atomic<bool>* stop) {
  while (true) {
    UniqueFd fd = detail::open_fd(path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
    if (fd.valid()) return fd;
    if (errno != ENXIO || !is_pipe) return write_error(path, errno);
    if (is_stopped(stop)) return stopped_error(path);
    std::this_thread::sleep_for(k_stop_interval);
  }
}

Result<void> write_through(const fs::path& path, std::string_view bytes, bool is_pipe,
                           const std::atomic<bool>* stop) {
  WB_TRY_ASSIGN(const UniqueFd fd, open_for_writing(path, is_pipe, stop));
  WB_TRY(write_all(fd.get(), bytes, path, stop));
  return {};
}

/// True for a file that is itself a mount point, as in containers, which cannot be replaced.
bool is_mounted_by_itself(const fs::path& path) {
  constexpr std::uint64_t k_mount_root = 0x2000;  // STATX_ATTR_MOUNT_ROOT, of Linux 5.8
  struct statx facts {};
  return ::statx(AT_FDCWD, path.c_str(), 0, 0, &facts) == 0 &&
         (facts.stx_attributes & k_mount_root) != 0;
}

Result<void> replace_or_overwrite(FileSystem& files, const fs::path& path, std::string_view bytes,
                                  Durability durability, const struct stat& facts) {
  // Folder permissions might allow replacing a file that itself forbids writing.
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) return write_error(path, errno);
  const bool keeps_owner = ::geteuid() == 0 || facts.st_uid == ::geteuid();
  Result<void> replaced;
  if (keeps_owner) {
    replaced = files.write_atomic(path, bytes, durability);
    if (replaced.ok()) return replaced;
    const bool may_overwrite = replaced.error().code == ErrorCode::read_only;
    if (!may_overwrite && !is_mounted_by_itself(path)) return replaced;
  }
  const UniqueFd fd = detail::open_fd(path, O_WRONLY);
  if (!fd.valid()) return replaced.ok() ? write_error(path, errno) : replaced;
  WB_TRY(write_all(fd.get(), bytes, path));
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes.size())) != 0) {
    return write_error(path, errno);
  }
  return {};
}

}  // namespace

Result<Written> write_all(int fd, std::string_view bytes, const fs::path& name,
                          const std::atomic<bool>* stop) {
  while (!bytes.empty()) {
    if (is_stopped(stop)) return stopped_error(name);
    const ssize_t written = detail::write_without_sigpipe(fd, bytes);
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    const int fault = written == 0 ? EAGAIN : errno;
    if (fault == EPIPE || fault == ECONNRESET) return Written::reader_left;
    if (fault == EINTR) continue;
    if (fault != EAGAIN) return write_error(name, fault);
    pollfd ready{fd, POLLOUT, 0};
    ::poll(&ready, 1, static_cast<int>(k_stop_interval.count()));
  }
  return Written::all;
}

Result<void> write_output(FileSystem& files, const fs::path& named, std::string_view bytes,
                          Durability durability, const std::atomic<bool>* stop) {
  WB_TRY_ASSIGN(const Target target, target_of(named));
  if (target.descriptor) {
    return write_to_descriptor(*target.descriptor, target.path, bytes, stop);
  }
  const fs::path& path = target.path;
  const auto refuse = [&named](const char* cause, const char* next) {
    return Error{ErrorCode::usage, "write to", named.string(), cause, next};
  };
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    if (!path.has_filename()) return refuse("it is the name of a folder", "name a file");
    return files.write_atomic(path, bytes, durability);
  }
  if (S_ISDIR(facts.st_mode)) return refuse("it is a folder", "name a file in it");
  if (S_ISSOCK(facts.st_mode)) return refuse("it is a socket", "name a pipe or a file");
  if (S_ISREG(facts.st_mode)) return replace_or_overwrite(files, path, bytes, durability, facts);
  return write_through(path, bytes, S_ISFIFO(facts.st_mode), stop);
}

bool is_standard_output(const fs::path& path) {
  const auto target = target_of(path);
  return target.ok() && target->descriptor == STDOUT_FILENO;
}

UnfinishedFolder::UnfinishedFolder(fs::path folder) : m_folder(std::move(folder)) {
  std::error_code fault;
  for (fs::path at = m_folder; !at.empty() && !fs::exists(at, fault) && !fault;
       at = at.parent_path()) {
    if (at.has_filename()) m_missing.push_back(at);
  }
  m_takes_content = !m_missing.empty() || (fs::is_empty(m_folder, fault) && !fault);
}

UnfinishedFolder::~UnfinishedFolder() {
  if (m_is_whole) return;
  std::error_code ignored;
  if (m_takes_content) {
    for (const auto& entry : fs::directory_iterator(m_folder, ignored)) {
      fs::remove_all(entry.path(), ignored);
    }
  }
  for (const fs::path& folder : m_missing) fs::remove(folder, ignored);
}

}  // namespace wb
