// SPDX-License-Identifier: MIT
// The supervisor's loop over the wire: one request line, one reply line, until the wire closes.
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <iostream>
#include <optional>
#include <utility>

#include "core/inherited.hpp"
#include "core/json.hpp"
#include "worker/roles.hpp"
#include "worker/supervisor.hpp"

namespace wb::worker {
namespace {

/// A stop signal ends the worker and its children, like the end of the wire.
UniqueFd watch_signals() {
  const sigset_t set = stop_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

/// Lines from the host. A line that is too long is skipped and returned as empty, which is no valid
/// request.
class LineReader {
 public:
  LineReader(int fd, int signal_fd) : m_fd(fd), m_signal_fd(signal_fd) {}

  /// Nothing at the end of the wire or after a signal.
  std::optional<std::string> next() {
    while (true) {
      if (const std::size_t end = m_buffer.find('\n'); end != std::string::npos) {
        std::string line = m_skipping ? std::string() : m_buffer.substr(0, end);
        m_buffer.erase(0, end + 1);
        m_skipping = false;
        return line;
      }
      if (m_buffer.size() > protocol::k_max_line_bytes) {
        m_skipping = true;
        m_buffer.clear();
      }
      if (!read_more()) return std::nullopt;
    }
  }

 private:
  bool read_more() {
    std::array<pollfd, 2> waits{{{m_fd, POLLIN, 0}, {m_signal_fd, POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0) return errno == EINTR;
    if (waits[1].revents != 0) return false;
    std::array<char, 1u << 16> chunk;
    const ssize_t got = ::read(m_fd, chunk.data(), chunk.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (got <= 0) return false;
    m_buffer.append(chunk.data(), static_cast<std::size_t>(got));
    return true;
  }

  int m_fd, m_signal_fd;
  std::string m_buffer;
  bool m_skipping = false;
};

bool write_line(int fd, std::string line) {
  line += '\n';
  std::string_view left = line;
  while (!left.empty()) {
    const ssize_t written = ::write(fd, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// The id of a request that does not parse, if readable, so that the host can match the refusal.
std::int64_t guess_id(std::string_view line) {
  const auto json =
      parse_json(line, "the request", {protocol::k_max_line_bytes, protocol::k_max_depth});
  if (!json.ok() || !json->is_object()) return 0;
  const auto id = json->find("id");
  const bool usable = id != json->end() && id->is_number_integer() && *id >= 0;
  return usable ? id->get<std::int64_t>() : 0;
}

protocol::Reply answer(Supervisor& supervisor, const std::string& line, bool& bye) {
  Result<protocol::Request> request = protocol::parse_request(line);
  if (!request.ok()) {
    return {guess_id(line), Failure{Invalidity::environment, request.error().message(), {}}};
  }
  bye = request->verb == protocol::Verb::bye;
  return {request->id, supervisor.handle(*request)};
}

}  // namespace

int run_supervisor(int in_fd, int out_fd, const std::string& own_program) {
  const UniqueFd signals = watch_signals();
  // The wire moves to other numbers and 1 is redirected to 2, so that no print can reach the host.
  const UniqueFd in(::fcntl(in_fd, F_DUPFD_CLOEXEC, 10));
  const UniqueFd out(::fcntl(out_fd, F_DUPFD_CLOEXEC, 10));
  const UniqueFd dev_null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ::dup2(dev_null.get(), in_fd);
  ::dup2(STDERR_FILENO, out_fd);
  Result<Supervisor> supervisor = Supervisor::create(own_program, {in.get(), signals.get()});
  if (!supervisor.ok()) {
    std::cerr << "sdpa-wb-worker: " << supervisor.error().message() << "\n";
    return 1;
  }
  LineReader lines(in.get(), signals.get());
  bool bye = false;
  while (!bye) {
    const std::optional<std::string> line = lines.next();
    if (!line) break;
    if (!write_line(out.get(), to_line(answer(*supervisor, *line, bye)))) break;
    supervisor->idle();
  }
  supervisor->end();
  return 0;
}

}  // namespace wb::worker
