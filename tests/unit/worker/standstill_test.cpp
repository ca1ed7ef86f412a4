// SPDX-License-Identifier: MIT
#include "worker/standstill.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <ctime>
#include <functional>
#include <thread>

#include "support/catch.hpp"
#include "support/processes.hpp"
#include "worker/process_table.hpp"

using namespace std::chrono_literals;
using namespace wb;
using namespace wb::worker;
using wb::testing::until;

namespace {

/// Memory that processes of a test share.
struct Shared {
  std::atomic<std::uint64_t> counts[4];
  std::atomic<pid_t> pids[4];
};

class Scene {
 public:
  Scene() {
    void* memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    shared = new (memory) Shared{};
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;
  ~Scene() {
    for (auto& pid : shared->pids) {
      if (pid > 0) ::kill(pid, SIGKILL);
    }
    if (m_leader > 0) ::waitpid(m_leader, nullptr, 0);
    ::munmap(shared, sizeof(Shared));
  }
  /// A process that leads a group of its own and does `body`.
  pid_t start(const std::function<void(Shared&)>& body) {
    m_leader = ::fork();
    if (m_leader == 0) {
      ::setsid();
      shared->pids[0] = ::getpid();
      body(*shared);
      ::_exit(0);
    }
    registry.add(m_leader);
    return m_leader;
  }
  void await(int place) const {
    until([&] { return shared->counts[place] > 0; });
  }
  /// Whether a counter stands for a while.
  [[nodiscard]] bool stands(int place) const {
    const std::uint64_t before = shared->counts[place];
    std::this_thread::sleep_for(10ms);
    return shared->counts[place] == before;
  }
  /// Whether a counter moves.
  [[nodiscard]] bool goes_on(int place) const {
    const std::uint64_t before = shared->counts[place];
    return until([&] { return shared->counts[place] != before; });
  }

  ChildRegistry registry;
  Shared* shared = nullptr;

 private:
  pid_t m_leader = 0;
};

[[noreturn]] void count(Shared& shared, int place) {
  shared.pids[place] = ::getpid();
  while (true) ++shared.counts[place];
}

}  // namespace

TEST_CASE("all threads of a process stand still, and go on afterwards", "[worker][standstill]") {
  Scene scene;
  const pid_t leader = scene.start([](Shared& shared) {
    std::thread([&shared] { count(shared, 1); }).detach();
    count(shared, 0);
  });
  scene.await(0);
  scene.await(1);
  const auto states = [leader] {
    std::string letters;
    for (const ThreadState& thread : threads_of(leader)) letters += thread.state;
    return letters;
  };
  CHECK(states() == "RR");
  {
    const auto still = Standstill::of(leader, scene.registry, ProcessScope::threads_only, 2s);
    REQUIRE(still.ok());
    CHECK(states() == "TT");
    CHECK(scene.stands(0));
    CHECK(scene.stands(1));
    CHECK(still->is_unbroken());
  }
  CHECK(scene.goes_on(0));
}

TEST_CASE("children stand still too, those in another session and without a parent among them",
          "[worker][standstill][hostile]") {
  Scene scene;
  const pid_t leader = scene.start([](Shared& shared) {
    if (::fork() == 0) count(shared, 1);
    if (::fork() == 0) {  // a session of its own, and its parent ends
      ::setsid();
      if (::fork() == 0) count(shared, 2);
      ::_exit(0);
    }
    count(shared, 0);
  });
  for (const int place : {0, 1, 2}) scene.await(place);
  const auto still = Standstill::of(leader, scene.registry, ProcessScope::processes, 2s);
  REQUIRE(still.ok());
  CHECK(still->pids().size() >= 3);
  for (const int place : {0, 1, 2}) CHECK(scene.stands(place));
  CHECK(still->is_unbroken());
}

TEST_CASE("what left a process with namespaces of its own is found below their init",
          "[worker][standstill]") {
  Scene scene;
  const pid_t leader = scene.start([](Shared& shared) { count(shared, 0); });
  const auto child = [&scene](const auto& body) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      body(*scene.shared);
      ::_exit(0);
    }
    return pid;
  };
  const pid_t init = child([](Shared& shared) {
    if (::fork() == 0) count(shared, 1);
    ::pause();
  });
  const pid_t stray = child([](Shared& shared) { count(shared, 2); });
  scene.registry.add_init(init, leader);
  for (const int place : {0, 1, 2}) scene.await(place);
  std::vector<pid_t> scope{leader, scene.shared->pids[1]};
  std::sort(scope.begin(), scope.end());
  CHECK(processes_of(leader, scene.registry) == scope);
  // Of a process without namespaces an init is no stray.
  const auto others = processes_of(0, scene.registry);
  CHECK(std::find(others.begin(), others.end(), stray) != others.end());
  CHECK(std::find(others.begin(), others.end(), init) == others.end());
  for (const pid_t pid : {init, stray}) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

TEST_CASE("what goes on while it is stopped is noticed", "[worker][standstill][hostile]") {
  Scene scene;
  const pid_t leader = scene.start([](Shared& shared) { count(shared, 0); });
  scene.await(0);
  const auto still = Standstill::of(leader, scene.registry, ProcessScope::threads_only, 2s);
  REQUIRE(still.ok());
  CHECK(still->is_unbroken());
  const std::uint64_t before = scene.shared->counts[0];
  ::kill(leader, SIGCONT);  // as a timer of its own may do
  REQUIRE(until([&] { return scene.shared->counts[0] != before; }));
  ::kill(leader, SIGSTOP);
  REQUIRE(until([&] { return threads_of(leader).front().state == 'T'; }));
  CHECK_FALSE(still->is_unbroken());
}

TEST_CASE("what goes on and has a CPU yet is noticed at once", "[worker][standstill][hostile]") {
  Scene scene;
  const pid_t leader = scene.start([](Shared& shared) { count(shared, 0); });
  scene.await(0);
  // Few of these moments have a clock tick, at which the kernel's account follows.
  for (int i = 0; i < 50; ++i) {
    const auto still = Standstill::of(leader, scene.registry, ProcessScope::threads_only, 2s);
    REQUIRE(still.ok());
    const std::uint64_t before = scene.shared->counts[0];
    ::kill(leader, SIGCONT);
    while (scene.shared->counts[0] == before) {
    }
    REQUIRE_FALSE(still->is_unbroken());
  }
}

TEST_CASE("an honest process on a crowded machine is never told to have gone on",
          "[worker][standstill]") {
  // More threads than CPUs, of the subject and of others, so that threads lose their CPU at any
  // instruction, those of their own stop among them.
  const unsigned crowd = 4 * std::max(1u, std::thread::hardware_concurrency());
  Scene scene;
  const pid_t leader = scene.start([crowd](Shared& shared) {
    for (unsigned i = 1; i < crowd; ++i) std::thread([&shared] { count(shared, 1); }).detach();
    count(shared, 0);
  });
  scene.await(0);
  scene.await(1);
  std::atomic<bool> ends = false;
  std::vector<std::jthread> others;
  for (unsigned i = 0; i < crowd; ++i) {
    others.emplace_back([&ends] {
      while (!ends) ::sched_yield();
    });
  }
  int broken = 0;
  for (int i = 0; i < 300; ++i) {
    const auto still = Standstill::of(leader, scene.registry, ProcessScope::threads_only, 10s);
    REQUIRE(still.ok());
    std::this_thread::sleep_for(std::chrono::microseconds(i % 4 * 300));
    if (!still->is_unbroken()) ++broken;
  }
  ends = true;
  CHECK(broken == 0);
}

TEST_CASE("the kernel says whether a thread has its CPU", "[worker][process_table]") {
  Scene scene;
  const pid_t leader = scene.start([](Shared& shared) { count(shared, 0); });
  scene.await(0);
  // It has one most of the time, and waits for one at others.
  bool has_one = false;
  for (int i = 0; i < 1'000 && !has_one; ++i) has_one = is_on_cpu(leader, leader) == OnCpu::yes;
  CHECK(has_one);
  {
    const auto still = Standstill::of(leader, scene.registry, ProcessScope::threads_only, 10s);
    REQUIRE(still.ok());
    CHECK(is_on_cpu(leader, leader) == OnCpu::no);
  }
  CHECK(is_on_cpu(leader, leader + 1) == OnCpu::unknown);
}

TEST_CASE("where the kernel does not say who has a CPU, time is looked at",
          "[worker][standstill]") {
  Scene scene;
  const pid_t observer = ::fork();
  if (observer == 0) {
    // A process that nobody may look into, and an observer who is not root.
    if (::getuid() == 0 && (::setgid(65'534) != 0 || ::setuid(65'534) != 0)) ::_exit(2);
    const pid_t leader = scene.start([](Shared& shared) {
      ::prctl(PR_SET_DUMPABLE, 0);
      count(shared, 0);
    });
    scene.await(0);
    int code = is_on_cpu(leader, leader) == OnCpu::unknown ? 0 : 3;
    for (int i = 0; i < 20 && code == 0; ++i) {
      const auto still = Standstill::of(leader, scene.registry, ProcessScope::threads_only, 10s);
      if (!still.ok()) code = 4;
      if (code == 0 && !scene.stands(0)) code = 5;
    }
    ::kill(leader, SIGKILL);
    ::_exit(code);
  }
  int status = 0;
  REQUIRE(::waitpid(observer, &status, 0) == observer);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("who has ended cannot be stopped", "[worker][standstill]") {
  Scene scene;
  const pid_t leader = scene.start([](Shared&) {});
  siginfo_t end{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(leader), &end, WEXITED | WNOWAIT) == 0);
  CHECK_FALSE(Standstill::of(leader, scene.registry, ProcessScope::threads_only, 200ms).ok());
}

TEST_CASE("descendants are found in any order of a list", "[worker][process_table]") {
  const std::vector<ProcessLink> links{{5, 4}, {3, 2}, {4, 3}, {9, 8}, {2, 1}};
  const std::vector<pid_t> roots{2};
  auto found = descendants_in(links, roots);
  std::sort(found.begin(), found.end());
  CHECK(found == std::vector<pid_t>{3, 4, 5});
  CHECK(descendants_in({}, roots).empty());
  // A ring, as a number that was given anew may make one, ends.
  const std::vector<ProcessLink> ring{{1, 2}, {2, 1}};
  CHECK(descendants_in(ring, roots).size() == 1);
}
