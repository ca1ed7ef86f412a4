// SPDX-License-Identifier: MIT
// The file under the session log: one holder, whole lines or none.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <utility>

#include "core/ascii.hpp"
#include "core/files.hpp"
#include "core/streams.hpp"

namespace wb {
namespace {

using detail::retry_on_signal;

/// The pid that holds a flock on the file according to /proc/locks; 0 when unknown.
long holder_pid(const struct stat& facts) {
  const std::string wanted =
      fmt::format("{:02x}:{:02x}:{}", major(facts.st_dev), minor(facts.st_dev), facts.st_ino);
  const std::string wanted_inode = fmt::format(":{}", facts.st_ino);
  long by_inode = 0;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    // "1: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF"; waiting locks have "->" after the number.
    const auto words = ascii::words(line);
    if (words.size() < 6 || words[1] != "FLOCK") continue;
    const auto pid = ascii::number<long>(words[4]);
    if (!pid) continue;
    if (words[5] == wanted) return *pid;
    // Layered file systems show another device number than fstat; the inode still agrees.
    if (words[5].ends_with(wanted_inode)) by_inode = *pid;
  }
  return by_inode;
}

Error locked_error(const fs::path& path, int fd) {
  struct stat facts {};
  const long pid = ::fstat(fd, &facts) == 0 ? holder_pid(facts) : 0;
  const std::string holder = pid > 0 ? fmt::format("process {} holds its lock", pid)
                                     : std::string("another process holds its lock");
  const std::string next =
      pid > 0 ? fmt::format("wait until that process ends, or stop it with: kill {}", pid)
              : std::string("wait until that process ends");
  return Error{ErrorCode::locked, "open for appending", path.string(), holder, next};
}

class RealAppendFile final : public AppendFile {
 public:
  /// Unlocks explicitly, since a process forked meanwhile shares the lock.
  ~RealAppendFile() override {
    if (m_fd.valid()) (void)::flock(m_fd.get(), LOCK_UN);
  }
  RealAppendFile(fs::path path, UniqueFd fd, std::uint64_t size_bytes)
      : m_path(std::move(path)), m_fd(std::move(fd)), m_size_bytes(size_bytes) {}

  Result<void> append_synced(std::string_view bytes) override {
    if (m_broken) return broken_error();
    if (bytes.empty()) return {};
    const ssize_t written =
        retry_on_signal([&] { return ::write(m_fd.get(), bytes.data(), bytes.size()); });
    if (written == -1) {
      Error error = errno_error("append to", m_path, errno);
      cut_back();
      return error;
    }
    if (static_cast<std::size_t>(written) != bytes.size()) {
      cut_back();
      return Error{ErrorCode::no_space, "append to", m_path.string(),
                   fmt::format("only {} of {} bytes fitted", written, bytes.size()),
                   "free some disk space (or raise the file size limit) and try again"};
    }
    if (retry_on_signal([&] { return ::fdatasync(m_fd.get()); }) == -1) {
      Error error = errno_error("sync", m_path, errno);
      cut_back();
      m_broken = true;
      return error;
    }
    m_size_bytes += bytes.size();
    return {};
  }

  Result<void> truncate(std::uint64_t size_bytes) override {
    if (m_broken) return broken_error();
    if (size_bytes > m_size_bytes) {
      return Error{ErrorCode::invalid, "cut", m_path.string(),
                   fmt::format("it has {} bytes, fewer than {}", m_size_bytes, size_bytes), ""};
    }
    const auto length = static_cast<off_t>(size_bytes);
    if (retry_on_signal([&] { return ::ftruncate(m_fd.get(), length); }) == -1) {
      return errno_error("cut", m_path, errno);
    }
    m_size_bytes = size_bytes;
    if (retry_on_signal([&] { return ::fdatasync(m_fd.get()); }) == -1) {
      m_broken = true;
      return errno_error("sync", m_path, errno);
    }
    return {};
  }

  std::uint64_t size_bytes() const override { return m_size_bytes; }

 private:
  Error broken_error() const {
    return Error{ErrorCode::io, "append to", m_path.string(),
                 "an earlier write could not be synced or undone, so its end is unknown",
                 "check the disk, then open the file again"};
  }
  void cut_back() {
    const auto length = static_cast<off_t>(m_size_bytes);
    if (retry_on_signal([&] { return ::ftruncate(m_fd.get(), length); }) == -1) m_broken = true;
  }

  fs::path m_path;
  UniqueFd m_fd;
  std::uint64_t m_size_bytes;
  bool m_broken = false;
};

}  // namespace

std::optional<long> lock_holder(const fs::path& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return std::nullopt;
  const long pid = holder_pid(facts);
  return pid > 0 ? std::optional(pid) : std::nullopt;
}

Result<std::unique_ptr<AppendFile>> RealFileSystem::open_append(const fs::path& path) {
  UniqueFd fd = detail::open_fd(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0666);
  if (!fd.valid()) return errno_error("open for appending", path, errno);
  struct stat facts {};
  if (::fstat(fd.get(), &facts) == 0 && !S_ISREG(facts.st_mode)) {
    return Error{ErrorCode::io, "open for appending", path.string(), "it is not a regular file",
                 "name a regular file"};
  }
  if (retry_on_signal([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) == -1) {
    if (errno == EWOULDBLOCK) return locked_error(path, fd.get());
    Error error = errno_error("lock", path, errno);
    if (error.next.empty()) {
      error.next =
          "a file system without locks (some network disks) cannot hold a session: choose "
          "a local one";
    }
    return error;
  }
  // Read the size under the lock: another process may have appended before.
  if (::fstat(fd.get(), &facts) != 0) return errno_error("open for appending", path, errno);
  if (facts.st_size == 0) WB_TRY(detail::sync_folder(detail::folder_of(path)));
  return std::unique_ptr<AppendFile>(std::make_unique<RealAppendFile>(
      path, std::move(fd), static_cast<std::uint64_t>(facts.st_size)));
}

}  // namespace wb
