// SPDX-License-Identifier: MIT
// Row A4 of the fault plan, for a session and its git repository: the Nth open, write, sync,
// rename, link, mkdir, mmap, truncate and unlink of a session's life fails, once or from then on,
// until a run meets no fault. Each time there is a typed error, and what was acknowledged can be
// gone on with.
#include <cerrno>
#include <cstring>

#include "support/fault_calls.hpp"
#include "support/torture.hpp"
#include "unit/faults/steps.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

constexpr int k_more_than_enough = 5000;

/// Ours: libgit2 1.5 forgets the descriptor of an object or a ref whose fsync failed.
int open_descriptors() {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    const std::string path = fs::read_symlink(entry.path(), ignored).string();
    count += path.find("/.git/") == std::string::npos ? 1 : 0;
  }
  return count;
}

bool is_typed(ErrorCode code) {
  return code == ErrorCode::io || code == ErrorCode::no_space || code == ErrorCode::damaged ||
         code == ErrorCode::locked || code == ErrorCode::not_found;
}

/// What must hold of a session folder whatever failed under its writer.
void check_whole(const fs::path& folder, std::int64_t acknowledged) {
  RealFileSystem files;
  WaitingClock clock;
  clock.advance(std::chrono::hours(2));
  const Result<Session> opened = Session::open_owner(files, clock, folder);
  if (!opened.ok()) {
    // Only a session that was never handed out may be unusable, and it says so.
    INFO(opened.error().message());
    REQUIRE(acknowledged == 0);
    REQUIRE(is_typed(opened.error().code));
    return;
  }
  REQUIRE(opened->log().size() >= acknowledged);
  REQUIRE(fault_of(*opened) == "");
}

struct Run {
  CallFault fault;
  int steps;
};

/// One run with one fault; false when no call met it.
bool run_once(const Run& run, Points& points) {
  const Scratch scratch;
  RealFileSystem files;
  WaitingClock clock;
  std::int64_t acknowledged = 0;
  const int descriptors = open_descriptors();
  arm_call_fault(run.fault);
  Result<void> done = run_steps(files, clock, scratch / "s", run.steps,
                                [&](std::int64_t events) { acknowledged = events; });
  if (done.ok()) done = close_steps(files, clock, scratch / "s");
  disarm_call_fault();
  if (failed_calls() == 0) {
    REQUIRE(done.ok());
    return false;
  }
  points.begin();
  INFO(to_string(run.fault.call) << " " << run.fault.nth << " x " << run.fault.times << ": "
                                 << std::strerror(run.fault.error_number));
  if (!done.ok()) {
    INFO(done.error().message());
    REQUIRE(is_typed(done.error().code));
    REQUIRE_FALSE(done.error().cause.empty());
    REQUIRE(done.error().message().find('\n') == std::string::npos);
  }
  REQUIRE(open_descriptors() == descriptors);
  check_whole(scratch / "s", acknowledged);
  points.pass();
  return true;
}

}  // namespace

TEST_CASE("every failing call under a session is survived", "[faults][session]") {
  Points points("A4 session");
  const int steps = points_of(4, 2);
  for (const SystemCall call :
       {SystemCall::open, SystemCall::write, SystemCall::sync, SystemCall::rename, SystemCall::link,
        SystemCall::mkdir, SystemCall::mmap, SystemCall::truncate, SystemCall::unlink}) {
    for (const int error_number : {ENOSPC, EIO, EMFILE, EINTR}) {
      for (const bool stays : {false, true}) {
        // A call that is interrupted for ever would be repeated for ever.
        const int times = stays ? (error_number == EINTR ? 3 : k_for_ever) : 1;
        for (int nth = 1; nth < k_more_than_enough; nth += points_of(1, 41)) {
          const CallFault fault{
              .call = call, .nth = nth, .times = times, .error_number = error_number};
          if (!run_once({fault, steps}, points)) break;
        }
      }
    }
  }
  CHECK(points.passed() > points_of(3000, 60));
}
