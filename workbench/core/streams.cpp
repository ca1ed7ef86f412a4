// SPDX-License-Identifier: MIT
#include "core/streams.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <utility>

namespace wb::detail {

int poll_timeout_ms(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX));
}

Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("create a pipe", {}, errno);
  Pipe pipe{above_stdio(UniqueFd(ends[0])), above_stdio(UniqueFd(ends[1]))};
  if (!pipe.read_end.valid() || !pipe.write_end.valid()) {
    return errno_error("create a pipe", {}, errno);
  }
  return pipe;
}

Result<UniqueFd> open_dev_null(int flags) {
  UniqueFd fd = open_fd("/dev/null", flags);
  if (!fd.valid()) return errno_error("open", "/dev/null", errno);
  return fd;
}

void set_nonblocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

ssize_t write_without_sigpipe(int fd, std::string_view bytes) {
  sigset_t pipe_signal, pending, before;
  ::sigemptyset(&pipe_signal);
  ::sigaddset(&pipe_signal, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  ::sigpending(&pending);
  const bool was_pending = ::sigismember(&pending, SIGPIPE) == 1;
  const ssize_t written = ::write(fd, bytes.data(), bytes.size());
  const int error_number = errno;
  if (written == -1 && error_number == EPIPE && !was_pending) {
    const timespec now{};
    while (::sigtimedwait(&pipe_signal, nullptr, &now) == -1 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error_number;
  return written;
}

void HeadTail::add(std::string_view bytes) {
  const std::size_t head_share = m_max_bytes - m_max_bytes / 2;
  const std::size_t tail_share = m_max_bytes / 2;
  const std::size_t to_head = std::min(bytes.size(), head_share - m_head.size());
  m_head += bytes.substr(0, to_head);
  bytes.remove_prefix(to_head);
  if (bytes.size() > tail_share) {  // only the end of a long piece can stay
    m_cut_bytes += bytes.size() - tail_share;
    bytes.remove_prefix(bytes.size() - tail_share);
  }
  m_tail += bytes;
  if (m_tail.size() > 2 * tail_share) {
    m_cut_bytes += m_tail.size() - tail_share;
    m_tail.erase(0, m_tail.size() - tail_share);
  }
}

std::string HeadTail::text() const {
  const std::size_t tail_share = m_max_bytes / 2;
  std::string_view tail = m_tail;
  std::size_t cut_bytes = m_cut_bytes;
  if (tail.size() > tail_share) {
    cut_bytes += tail.size() - tail_share;
    tail.remove_prefix(tail.size() - tail_share);
  }
  if (cut_bytes == 0) return m_head + std::string(tail);
  return fmt::format("{}\n[... {} bytes cut ...]\n{}", m_head, cut_bytes, tail);
}

}  // namespace wb::detail
