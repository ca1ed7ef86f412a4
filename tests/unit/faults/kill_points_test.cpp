// SPDX-License-Identifier: MIT
// Rows A1 and A3 of the fault plan: SIGKILL at nine places of each of sixty events, and a second
// SIGKILL while the first is being recovered from. Nothing that was acknowledged is lost, nothing
// stands twice, and the session that goes on ends up telling the same story.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>

#include "support/fault_calls.hpp"
#include "support/processes.hpp"
#include "support/torture.hpp"
#include "unit/faults/steps.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

using Action = CallFault::Action;

constexpr int k_events = 60;
constexpr int k_steps = k_events / k_events_of_a_step;

/// A counter that outlives the child which raises it.
class Acknowledged {
 public:
  Acknowledged()
      : m_memory(::mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (m_memory == MAP_FAILED) throw std::runtime_error("no shared memory");
  }
  Acknowledged(const Acknowledged&) = delete;
  Acknowledged& operator=(const Acknowledged&) = delete;
  ~Acknowledged() { ::munmap(m_memory, sizeof(std::int64_t)); }
  [[nodiscard]] std::int64_t& events() const { return *static_cast<std::int64_t*>(m_memory); }

 private:
  void* m_memory;
};

/// True when the child was killed by the fault, false when it ran to its end.
bool run_with(const CallFault& fault, const fs::path& folder, int steps, const Acknowledged& seen) {
  const int code = in_child([&] {
    RealFileSystem files;
    FakeClock clock;
    arm_call_fault(fault);
    const auto done = run_steps(files, clock, folder, steps,
                                [&](std::int64_t events) { seen.events() = events; });
    return done.ok() ? 0 : 1;
  });
  REQUIRE(code != 1);
  return code != 0;
}

/// The story of the same steps when nobody interferes.
std::vector<std::string> undisturbed(int steps) {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  must(run_steps(files, clock, scratch / "s", steps));
  return story_of(must(Session::open_reader(files, scratch / "s")));
}

/// Nothing acknowledged is gone; the next owner finds a sound state, goes on and ends up with the
/// undisturbed story.
void check_goes_on(const fs::path& folder, int steps, std::int64_t acknowledged,
                   const std::vector<std::string>& story) {
  RealFileSystem files;
  WaitingClock clock;  // a lock left behind has to grow old
  clock.advance(std::chrono::hours(2));
  {
    const Session opened = must(Session::open_owner(files, clock, folder));
    REQUIRE(opened.log().size() >= acknowledged);
    REQUIRE(fault_of(opened).empty());
  }
  must(run_steps(files, clock, folder, steps));
  const Session whole = must(Session::open_reader(files, folder));
  REQUIRE(fault_of(whole).empty());
  REQUIRE(story_of(whole) == story);
}

struct KillPoint {
  const char* name;
  SystemCall call;
  Action action;
  const char* path_part;
  double torn_share;
};

/// Of one event's line.
constexpr KillPoint k_of_a_line[] = {
    {"before write", SystemCall::write, Action::kill_before, "/events.jsonl", 0},
    {"torn after a byte", SystemCall::write, Action::kill_torn, "/events.jsonl", 0.004},
    {"torn after a third", SystemCall::write, Action::kill_torn, "/events.jsonl", 0.33},
    {"torn after two thirds", SystemCall::write, Action::kill_torn, "/events.jsonl", 0.67},
    {"torn before its end", SystemCall::write, Action::kill_torn, "/events.jsonl", 0.999},
    {"before sync", SystemCall::sync, Action::kill_before, "/events.jsonl", 0},
    {"after sync", SystemCall::sync, Action::kill_after, "/events.jsonl", 0},
};
/// Of one blob and of one commit: the moment it has its name and no event tells of it yet.
constexpr KillPoint k_after_blob{"after a blob's rename", SystemCall::rename, Action::kill_after,
                                 "/blobs/", 0};
constexpr KillPoint k_after_commit{"after a commit", SystemCall::rename, Action::kill_after,
                                   "/refs/heads/main", 0};

/// The bytes of the line that the nth event will be.
std::size_t bytes_of_event(const fs::path& whole, std::int64_t seq) {
  RealFileSystem files;
  const Session session = must(Session::open_reader(files, whole));
  return session.log().text(seq).size() - session.log().text(seq - 1).size();
}

}  // namespace

TEST_CASE("a session killed at nine places of each of its events goes on", "[faults][kill]") {
  Points points("A1");
  const auto story = undisturbed(k_steps);
  const Scratch model;
  RealFileSystem files;
  FakeClock model_clock;
  must(run_steps(files, model_clock, model / "s", k_steps));
  const int stride = points_of(1, 7);
  for (const KillPoint& place : k_of_a_line) {
    for (int event = 1; event <= k_events; event += stride) {
      const Scratch scratch;
      const Acknowledged seen;
      // The first line is session_opened; before it is whole there is no session to go on with.
      CallFault fault{.call = place.call, .nth = event + 1, .action = place.action};
      fault.path_part = place.path_part;
      const auto size = static_cast<double>(bytes_of_event(model / "s", event + 1));
      fault.torn_bytes = static_cast<std::size_t>(std::max(1.0, size * place.torn_share));
      INFO(place.name << " of event " << event + 1);
      points.begin();
      // The folder is synced once, before the first line, when its log is new.
      REQUIRE(run_with(fault, scratch / "s", k_steps, seen));
      REQUIRE(seen.events() >= event - 1);
      check_goes_on(scratch / "s", k_steps, seen.events(), story);
      points.pass();
    }
  }
  const auto long_story = undisturbed(k_events);
  for (const KillPoint& place : {k_after_blob, k_after_commit}) {
    for (int nth = 1; nth <= k_events; nth += points_of(1, 20)) {
      const Scratch scratch;
      const Acknowledged seen;
      CallFault fault{.call = place.call, .nth = nth, .action = place.action};
      fault.path_part = place.path_part;
      if (&place == &k_after_commit) ++fault.nth;  // the root commit is made at open
      INFO(place.name << " " << nth);
      points.begin();
      REQUIRE(run_with(fault, scratch / "s", k_events, seen));
      check_goes_on(scratch / "s", k_events, seen.events(), long_story);
      points.pass();
    }
  }
  CHECK(points.passed() == points_of(540, 7 * 9 + 2 * 3));
}

TEST_CASE("a session killed again while it recovers goes on", "[faults][kill]") {
  Points points("A3");
  const auto story = undisturbed(k_steps);
  std::mt19937 dice(20261121);
  int calls_of_a_run = 0;
  {
    const Scratch scratch;
    RealFileSystem files;
    FakeClock clock;
    arm_call_fault({.call = SystemCall::any, .nth = k_for_ever});
    must(run_steps(files, clock, scratch / "s", k_steps));
    calls_of_a_run = counted_calls(SystemCall::any);
    disarm_call_fault();
  }
  const auto kill_at = [](int nth) {
    return CallFault{.call = SystemCall::any,
                     .nth = nth,
                     .action = nth % 2 == 0 ? Action::kill_before : Action::kill_after};
  };
  const int wanted = points_of(100, 8);
  for (int draw = 0; points.passed() < wanted; ++draw) {
    REQUIRE(draw < 20 * wanted);
    const Scratch scratch;
    const Acknowledged seen;
    const int first = std::uniform_int_distribution(1, calls_of_a_run)(dice);
    if (!run_with(kill_at(first), scratch / "s", k_steps, seen) || seen.events() == 0) continue;
    // A recovery makes some dozens of calls; a draw that lies behind its end is no point.
    const int second = std::uniform_int_distribution(1, 60)(dice);
    const int code = in_child([&] {
      RealFileSystem files;
      WaitingClock clock;
      arm_call_fault(kill_at(second));
      return Session::open_owner(files, clock, scratch / "s").ok() ? 0 : 1;
    });
    INFO("killed at call " << first << " of the run and at call " << second << " of recovery");
    REQUIRE(code != 1);
    if (code == 0) continue;
    points.begin();
    check_goes_on(scratch / "s", k_steps, seen.events(), story);
    points.pass();
  }
}
