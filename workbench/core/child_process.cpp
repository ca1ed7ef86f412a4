// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <stdexcept>
#include <utility>

#include "core/process.hpp"
#include "core/spawn.hpp"

namespace wb {
namespace {

using detail::Deadline;
using detail::read_some;
using detail::ReadState;
using detail::seconds_since;
using detail::write_without_sigpipe;
using std::chrono::milliseconds;

/// Lines read ahead while waiting for a write or for the child's end; the pipe holds the rest.
constexpr std::size_t k_read_ahead_bytes = 2u << 20;

/// A memory file with a size cap, whose writer gets an error instead of a signal. A whole number of
/// pages, since a write that crosses the end of the last page is refused entirely.
Result<UniqueFd> make_capture_file(std::size_t max_bytes) {
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t file_bytes = (max_bytes + page_bytes - 1) / page_bytes * page_bytes;
  UniqueFd fd(::memfd_create("capture", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd.valid() && fd.get() < 3) fd = UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
  if (!fd.valid() || ::ftruncate(fd.get(), static_cast<off_t>(file_bytes)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0) {
    return errno_error("create a capture file", {}, errno);
  }
  return fd;
}

Result<UniqueFd> own_stderr() {
  UniqueFd fd(::fcntl(2, F_DUPFD_CLOEXEC, 3));
  if (fd.valid()) return fd;
  return detail::open_dev_null(O_WRONLY);
}

}  // namespace

struct ChildProcess::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { end(false); }

  detail::Child child;
  UniqueFd in, out, err_file;
  std::size_t capture_bytes = 0;
  std::string buffer;  ///< read from the child, not yet returned as lines
  std::optional<ProcessOutcome> outcome;
  std::chrono::steady_clock::time_point started;

  ReadState fill() {
    if (!out.valid()) return ReadState::ended;
    const ReadState state =
        read_some(out.get(), [&](std::string_view bytes) { buffer.append(bytes); });
    if (state == ReadState::ended) out.reset();
    return state;
  }

  const ProcessOutcome& end(bool timed_out) {
    if (outcome || child.pid <= 0) return outcome ? *outcome : outcome.emplace();
    outcome = detail::kill_and_reap(child);
    outcome->timed_out = timed_out;
    outcome->wall_s = seconds_since(started);
    outcome->err = stderr_text();
    return *outcome;
  }

  std::string stderr_text() const {
    if (!err_file.valid()) return {};
    // The child shares our file offset, which tells how much was written.
    const off_t written = ::lseek(err_file.get(), 0, SEEK_CUR);
    std::string text(std::min(static_cast<std::size_t>(std::max<off_t>(written, 0)), capture_bytes),
                     '\0');
    const ssize_t got = ::pread(err_file.get(), text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (text.size() == capture_bytes) text += "\n[... the rest was cut ...]\n";
    return text;
  }

  Error error(ErrorCode code, std::string attempted, std::string cause) const {
    return Error{code, std::move(attempted), fmt::format("process {}", child.pid), std::move(cause),
                 ""};
  }
};

ChildProcess::ChildProcess() = default;
ChildProcess::ChildProcess(ChildProcess&&) noexcept = default;
ChildProcess& ChildProcess::operator=(ChildProcess&&) noexcept = default;
ChildProcess::~ChildProcess() = default;

ChildProcess::State& ChildProcess::state() const {
  if (m_state == nullptr) throw std::logic_error("a moved-from ChildProcess was used");
  return *m_state;
}

Result<ChildProcess> ChildProcess::spawn(const ProcessSpec& spec, bool inherit_stderr) {
  WB_TRY_ASSIGN(detail::Pipe in, detail::make_pipe());
  WB_TRY_ASSIGN(detail::Pipe out, detail::make_pipe());
  WB_TRY_ASSIGN(UniqueFd err,
                inherit_stderr ? own_stderr() : make_capture_file(spec.capture_bytes));
  detail::set_nonblocking(in.write_end.get());
  detail::set_nonblocking(out.read_end.get());
  ChildProcess process;
  process.m_state = std::make_unique<State>();
  State& state = *process.m_state;
  state.started = std::chrono::steady_clock::now();
  WB_TRY_ASSIGN(state.child,
                detail::spawn_child(spec, in.read_end.get(), out.write_end.get(), err.get()));
  state.in = std::move(in.write_end);
  state.out = std::move(out.read_end);
  if (!inherit_stderr) state.err_file = std::move(err);
  state.capture_bytes = spec.capture_bytes;
  return process;
}

Result<void> ChildProcess::write_line(std::string_view line, milliseconds deadline) {
  State& peer = state();
  if (line.find('\n') != std::string_view::npos) {
    return peer.error(ErrorCode::invalid, "write to", "the line holds a line end");
  }
  const Deadline end = detail::deadline_after(deadline);
  const std::string text = std::string(line) + '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    if (!peer.in.valid()) return peer.error(ErrorCode::canceled, "write to", "its input is closed");
    const ssize_t written = write_without_sigpipe(peer.in.get(), rest);
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EPIPE) {
      peer.in.reset();
      return peer.error(ErrorCode::canceled, "write to", "it closed its input");
    }
    if (errno != EAGAIN) return errno_error("write to a child process", {}, errno);
    const int left_ms = detail::poll_timeout_ms(end);
    if (left_ms == 0) {
      // A partly written line cannot be taken back: the next write would be read as its end.
      if (rest.size() != text.size()) peer.in.reset();
      return peer.error(ErrorCode::limit, "write to",
                        fmt::format("it did not read a line within {} ms", deadline.count()));
    }
    // A peer that is busy writing does not read, so take its lines meanwhile.
    const bool read_ahead = peer.out.valid() && peer.buffer.size() < k_read_ahead_bytes;
    std::array<pollfd, 2> set{
        {{peer.in.get(), POLLOUT, 0}, {read_ahead ? peer.out.get() : -1, POLLIN, 0}}};
    ::poll(set.data(), set.size(), left_ms);
    if (set[1].revents != 0) peer.fill();
  }
  return {};
}

Result<std::string> ChildProcess::read_line(milliseconds deadline, std::size_t max_bytes) {
  State& peer = state();
  const Deadline end = detail::deadline_after(deadline);
  std::size_t searched = 0;
  while (true) {
    const std::size_t at = peer.buffer.find('\n', searched);
    const std::size_t length = at == std::string::npos ? peer.buffer.size() : at;
    if (length > max_bytes) {
      return peer.error(ErrorCode::limit, "read a line from",
                        fmt::format("it is longer than {} bytes", max_bytes));
    }
    if (at != std::string::npos) {
      std::string line = peer.buffer.substr(0, at);
      peer.buffer.erase(0, at + 1);
      return line;
    }
    searched = length;
    const int left_ms = detail::poll_timeout_ms(end);
    std::array<pollfd, 2> set{{{peer.out.get(), POLLIN, 0}, {peer.child.pidfd.get(), POLLIN, 0}}};
    if (peer.out.valid()) ::poll(set.data(), set.size(), left_ms);
    const ReadState read = peer.fill();
    if (read == ReadState::data) continue;
    // A descendant may hold the stream open after the child has ended; that counts as the end too.
    if (read == ReadState::ended || set[1].revents != 0) {
      return peer.error(ErrorCode::canceled, "read a line from",
                        fmt::format("its output ended after {} bytes of a line", length));
    }
    if (left_ms == 0) {
      return peer.error(ErrorCode::limit, "read a line from",
                        fmt::format("no whole line came within {} ms", deadline.count()));
    }
  }
}

void ChildProcess::close_stdin() {
  state().in.reset();
}

pid_t ChildProcess::pid() const {
  return m_state == nullptr ? -1 : m_state->child.pid;
}

bool ChildProcess::running() {
  return m_state != nullptr && !m_state->outcome && !detail::has_ended(m_state->child);
}

void ChildProcess::signal_group(int signal_number) {
  // A reaped pid may belong to another process.
  if (m_state != nullptr && !m_state->outcome) ::kill(-m_state->child.pid, signal_number);
}

ProcessOutcome ChildProcess::kill_and_wait() {
  return state().end(false);
}

ProcessOutcome ChildProcess::wait(milliseconds deadline) {
  State& peer = state();
  const Deadline end = detail::deadline_after(deadline);
  bool ended = peer.outcome.has_value() || detail::has_ended(peer.child);
  while (!ended) {
    int left_ms = detail::poll_timeout_ms(end);
    if (left_ms == 0) break;
    if (!peer.child.pidfd.valid()) left_ms = std::min(left_ms, 5);
    const bool read_ahead = peer.out.valid() && peer.buffer.size() < k_read_ahead_bytes;
    std::array<pollfd, 2> set{
        {{read_ahead ? peer.out.get() : -1, POLLIN, 0}, {peer.child.pidfd.get(), POLLIN, 0}}};
    ::poll(set.data(), set.size(), left_ms);
    if (set[0].revents != 0) peer.fill();
    ended = detail::has_ended(peer.child);
  }
  return peer.end(!ended);
}

std::string ChildProcess::captured_stderr() const {
  return state().stderr_text();
}

}  // namespace wb
