// SPDX-License-Identifier: MIT
// Inside core only: system calls for files with EINTR handled, pipes to children, reads and writes
// that handle SIGPIPE, EINTR and blocking, and the capped capture of a child's output.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/files.hpp"

namespace wb::detail {

template <typename Call>
auto retry_on_signal(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// Moves a descriptor to number 3 or above. In a program that has closed one of the first three (a
/// daemon), our file would otherwise receive what others write to standard output.
inline UniqueFd above_stdio(UniqueFd fd) {
  if (!fd.valid() || fd.get() > 2) return fd;
  return UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
}

/// Returns an invalid descriptor on failure; errno says why.
inline UniqueFd open_fd(const fs::path& path, int flags, mode_t mode = 0) {
  return above_stdio(
      UniqueFd(retry_on_signal([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); })));
}

inline fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// Syncs the folder, so that its entries (a new file, a rename) survive a power cut. EINVAL from a
/// file system without folder sync is no error.
Result<void> sync_folder(const fs::path& folder);

using Deadline = std::chrono::steady_clock::time_point;

/// Capped at ten years, so that "no deadline" still allows subtraction.
inline Deadline deadline_after(std::chrono::milliseconds delay) {
  constexpr std::chrono::hours k_ten_years{87'600};
  const auto now = std::chrono::steady_clock::now();
  return now + (delay < k_ten_years ? delay : std::chrono::milliseconds(k_ten_years));
}

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The timeout for poll(): milliseconds left, rounded up, never negative.
int poll_timeout_ms(Deadline deadline);

struct Pipe {
  UniqueFd read_end, write_end;
};
/// Both ends are close-on-exec and numbered 3 or above. The caller may make its own end
/// non-blocking.
Result<Pipe> make_pipe();
Result<UniqueFd> open_dev_null(int flags);
void set_nonblocking(int fd);

constexpr std::size_t k_read_chunk_bytes = 64u << 10;
enum class ReadState { data, nothing, ended };

/// One read(2) of a non-blocking descriptor; `take` gets the bytes.
template <typename Take>
ReadState read_some(int fd, Take take) {
  std::array<char, k_read_chunk_bytes> chunk;
  ssize_t got = 0;
  do {
    got = ::read(fd, chunk.data(), chunk.size());
  } while (got == -1 && errno == EINTR);
  if (got > 0) {
    take(std::string_view(chunk.data(), static_cast<std::size_t>(got)));
    return ReadState::data;
  }
  return got == -1 && errno == EAGAIN ? ReadState::nothing : ReadState::ended;
}

/// write(2) that reports a closed reader as EPIPE and never as SIGPIPE, whatever the program does
/// with that signal: the signal is blocked for this thread and a new one is consumed.
ssize_t write_without_sigpipe(int fd, std::string_view bytes);

/// Keeps the first and the last half of a stream and counts the bytes dropped between.
class HeadTail {
 public:
  explicit HeadTail(std::size_t max_bytes) : m_max_bytes(max_bytes) {}
  void add(std::string_view bytes);
  [[nodiscard]] std::string text() const;

 private:
  std::size_t m_max_bytes;
  std::size_t m_cut_bytes = 0;
  std::string m_head, m_tail;  // m_tail may hold twice its share before it is trimmed
};

}  // namespace wb::detail
