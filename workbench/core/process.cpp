// SPDX-License-Identifier: MIT
#include "core/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <latch>
#include <utility>
#include <vector>

#include "core/spawn.hpp"

namespace wb {
namespace {

using detail::Child;
using detail::Deadline;
using detail::ReadState;
using std::chrono::milliseconds;

/// The most that a pipe can hold after its last writer was killed.
constexpr std::size_t k_last_drain_bytes = 1u << 20;
/// How long a descendant that outlives the leader may keep the streams open.
constexpr milliseconds k_stream_grace{200};

struct Stream {
  UniqueFd fd;
  detail::HeadTail text;

  void read_once() {
    const ReadState state =
        detail::read_some(fd.get(), [&](std::string_view bytes) { text.add(bytes); });
    if (state == ReadState::ended) fd.reset();
  }
  /// Limited, because a descendant that left the group may write forever.
  void drain() {
    std::size_t drained = 0;
    while (fd.valid() && drained < k_last_drain_bytes) {
      const ReadState state = detail::read_some(fd.get(), [&](std::string_view bytes) {
        text.add(bytes);
        drained += bytes.size();
      });
      if (state != ReadState::data) fd.reset();
    }
  }
};

/// Reads both streams until the child has ended and they are closed (or the grace period is over).
/// False at the deadline.
bool collect(const Child& child, std::array<Stream, 2>& streams, Deadline deadline) {
  std::optional<Deadline> grace;
  while (true) {
    const bool ended = detail::has_ended(child);
    if (ended && !grace) grace = detail::deadline_after(k_stream_grace);
    if (ended && !streams[0].fd.valid() && !streams[1].fd.valid()) return true;
    int left_ms = detail::poll_timeout_ms(ended ? *grace : deadline);
    if (left_ms == 0) return ended;
    if (!ended && !child.pidfd.valid()) left_ms = std::min(left_ms, 5);
    std::array<pollfd, 3> set{{{streams[0].fd.get(), POLLIN, 0},
                               {streams[1].fd.get(), POLLIN, 0},
                               {ended ? -1 : child.pidfd.get(), POLLIN, 0}}};
    ::poll(set.data(), set.size(), left_ms);
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (set[i].revents != 0) streams[i].read_once();
    }
  }
}

}  // namespace

Error process_refused(std::string attempted, std::string what, int error_number) {
  Error error = errno_error(std::move(attempted), std::move(what), error_number);
  error.code = ErrorCode::environment;
  if (error_number == EAGAIN) error.next = k_more_processes;
  return error;
}

Result<ProcessOutcome> run_process(const ProcessSpec& spec) {
  const auto started = std::chrono::steady_clock::now();
  const bool has_deadline = spec.deadline > milliseconds(0);
  const Deadline deadline =
      detail::deadline_after(has_deadline ? spec.deadline : milliseconds::max());
  WB_TRY_ASSIGN(UniqueFd in, detail::open_dev_null(O_RDONLY));
  WB_TRY_ASSIGN(detail::Pipe out, detail::make_pipe());
  WB_TRY_ASSIGN(detail::Pipe err, detail::make_pipe());
  detail::set_nonblocking(out.read_end.get());
  detail::set_nonblocking(err.read_end.get());
  WB_TRY_ASSIGN(const Child child,
                detail::spawn_child(spec, in.get(), out.write_end.get(), err.write_end.get()));
  out.write_end.reset();
  err.write_end.reset();
  std::array<Stream, 2> streams{
      Stream{std::move(out.read_end), detail::HeadTail(spec.capture_bytes)},
      Stream{std::move(err.read_end), detail::HeadTail(spec.capture_bytes)}};
  const bool in_time = collect(child, streams, deadline);
  ProcessOutcome outcome = detail::kill_and_reap(child);
  if (outcome.reaped_by_others) {
    return Error{ErrorCode::environment, "learn the end of", printable(spec.argv[0], 200),
                 "another part of this program took it (a handler of SIGCHLD that waits for all)",
                 "let it wait for its own children only"};
  }
  for (Stream& stream : streams) stream.drain();
  outcome.timed_out = !in_time;
  outcome.out = streams[0].text.text();
  outcome.err = streams[1].text.text();
  outcome.wall_s = detail::seconds_since(started);
  return outcome;
}

std::map<std::string, std::string> inherited_environment(std::initializer_list<const char*> names) {
  std::map<std::string, std::string> variables;
  for (const char* name : names) {
    if (const char* value = std::getenv(name); value != nullptr) variables[name] = value;
  }
  return variables;
}

Result<fs::path> find_program(std::string_view name) {
  const auto is_program = [](const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string_view::npos) {
    std::error_code error;
    fs::path path = fs::absolute(name, error);
    if (!error && is_program(path)) return path;
    const bool exists = fs::exists(path, error);
    const bool is_closed = error == std::errc::permission_denied;
    const char* missing = is_closed ? "a folder on the way may not be searched" : "no such file";
    return Error{ErrorCode::not_found, "find the program", std::string(name),
                 exists ? "it is not an executable file" : missing, "check the path"};
  }
  const char* variable = std::getenv("PATH");
  const std::string_view folders = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  for (std::size_t begin = 0; begin <= folders.size() && !name.empty();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const fs::path folder = folders.substr(begin, end - begin);
    // Skips relative folders (an empty one is the current), which could run an unrelated file.
    if (folder.is_absolute() && is_program(folder / name)) return folder / name;
    begin = end + 1;
  }
  return Error{ErrorCode::not_found, "find the program", std::string(name),
               "it is in no folder of PATH", "install it, or give its full path"};
}

namespace {

constexpr std::size_t k_small_stack_bytes = 256u << 10;

void* wait_for_latch(void* end) {
  static_cast<std::latch*>(end)->wait();
  return nullptr;
}

}  // namespace

int startable_threads(int wanted) {
  std::latch end(1);
  pthread_attr_t small;
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, k_small_stack_bytes);
  std::vector<pthread_t> threads;
  pthread_t thread{};
  while (static_cast<int>(threads.size()) < wanted &&
         ::pthread_create(&thread, &small, wait_for_latch, &end) == 0) {
    threads.push_back(thread);
  }
  ::pthread_attr_destroy(&small);
  end.count_down();
  for (const pthread_t started : threads) ::pthread_join(started, nullptr);
  return static_cast<int>(threads.size());
}

}  // namespace wb
