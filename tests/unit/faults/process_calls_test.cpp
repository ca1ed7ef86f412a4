// SPDX-License-Identifier: MIT
// Row A4 of the fault plan, for child processes: the Nth fork, pipe, open, write or mmap of a start
// fails. Each time there is a typed error or the child's own answer, no descriptor stays open and
// no child is left.
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "support/catch.hpp"
#include "support/fault_calls.hpp"
#include "support/process_probe.hpp"
#include "support/torture.hpp"

using namespace wb;
using namespace wb::testing;
using namespace std::chrono_literals;

namespace {

std::size_t open_descriptors() {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

/// Runs `use` under every fault until none fires; `use` answers its error, if any.
template <typename TechniqueCounts>
void fail_each_call(Points& points, TechniqueCounts use) {
  for (const SystemCall call : {SystemCall::fork, SystemCall::pipe, SystemCall::open,
                                SystemCall::write, SystemCall::mmap}) {
    for (const int error_number : {EAGAIN, ENOMEM, EMFILE, EIO, EINTR}) {
      for (const int times : {1, 3}) {
        for (int nth = 1;; ++nth) {
          const std::size_t descriptors = open_descriptors();
          arm_call_fault({.call = call, .nth = nth, .times = times, .error_number = error_number});
          const std::optional<Error> error = use();
          disarm_call_fault();
          if (failed_calls() == 0) {
            REQUIRE_FALSE(error);
            break;
          }
          points.begin();
          INFO(to_string(call) << " " << nth << " x " << times << ": "
                               << std::strerror(error_number));
          if (error) {
            INFO(error->message());
            REQUIRE(error->code != ErrorCode::internal);
            REQUIRE_FALSE(error->cause.empty());
          }
          REQUIRE(open_descriptors() == descriptors);
          REQUIRE(::waitpid(-1, nullptr, WNOHANG) == -1);
          REQUIRE(errno == ECHILD);
          points.pass();
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("every failing call under a program run to its end is survived", "[faults][process]") {
  Points points("A4 process");
  fail_each_call(points, []() -> std::optional<Error> {
    ProcessSpec spec = shell("echo out; echo err >&2");
    spec.deadline = 20s;
    const auto done = run_process(spec);
    if (!done.ok()) return done.error();
    REQUIRE(done->success());
    REQUIRE(done->out == "out\n");
    return std::nullopt;
  });
  CHECK(points.passed() > 20);
}

TEST_CASE("every failing call under a child that answers lines is survived", "[faults][process]") {
  Points points("A4 process");
  fail_each_call(points, []() -> std::optional<Error> {
    auto child = ChildProcess::spawn(shell("read line; echo \"$line\""));
    if (!child.ok()) return child.error();
    if (auto said = child->write_line("word", 20s); !said.ok()) return said.error();
    const auto answer = child->read_line(20s, 1000);
    if (!answer.ok()) return answer.error();
    REQUIRE(*answer == "word");
    return std::nullopt;
  });
  CHECK(points.passed() > 20);
}
