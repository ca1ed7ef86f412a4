// SPDX-License-Identifier: MIT
// Who had the CPUs during a turn: by the kernel's accounts of this process, and from planted /proc
// and /sys what a turn records of quotas and shared cores.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <vector>

#include "core/files.hpp"
#include "support/catch.hpp"
#include "support/processes.hpp"
#include "worker/cpu_time.hpp"
#include "worker/turn_watch.hpp"

using namespace std::chrono_literals;
using namespace wb::worker;
using namespace wb;

namespace {

/// A process that takes a CPU until it is ended.
class Burner {
 public:
  Burner() : m_pid(::fork()) {
    if (m_pid != 0) return;
    volatile unsigned i = 0;
    for (;;) i = i + 1;
  }
  Burner(const Burner&) = delete;
  Burner& operator=(const Burner&) = delete;
  ~Burner() {
    ::kill(m_pid, SIGKILL);
    ::waitpid(m_pid, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return m_pid; }
  /// Until it had that much CPU time.
  void wait_for(std::chrono::nanoseconds cpu) const {
    REQUIRE(wb::testing::until([&] { return cpu_time(m_pid).value_or(cpu) >= cpu; }));
  }

 private:
  pid_t m_pid;
};

}  // namespace

TEST_CASE("a process's CPU time grows by what it spends, and is not told once it is gone",
          "[worker][cpu_time]") {
  pid_t gone = 0;
  {
    const Burner burner;
    gone = burner.pid();
    burner.wait_for(50ms);
    CHECK(cpu_time(burner.pid()).value() >= 50ms);
  }
  CHECK_FALSE(cpu_time(gone).has_value());
}

TEST_CASE("what others take is foreign, what the subject takes is its own", "[worker][cpu_time]") {
  REQUIRE(busy_time().has_value());
  const Burner burner;
  const ForeignCpus all(::getpid()), others(burner.pid());
  burner.wait_for(300ms);  // far more than what clock ticks leave in doubt
  const double with_burner = all.mean().value(), without = others.mean().value();
  INFO(with_burner << " CPUs and " << without);
  CHECK(with_burner > without);
  CHECK_FALSE(ForeignCpus(0x7ffffff).mean().has_value());
}

TEST_CASE("the kernel's account of CPUs is read, and what ticks leave in doubt is nobody's",
          "[worker][cpu_time]") {
  const std::string stat =
      "cpu  999 999 999 999 999 999 999 999 0 0\n"
      "cpu0 10 1 100 5000 7 2 3 4 0 0\n"
      "cpu1 20 0 0 6000 0 0 0 0 50 50\n"
      "cpu10 1000 0 0 0 0 0 0 0 0 0\n"
      "intr 5 6\n";
  CHECK(busy_ticks(stat, {0}) == 120);  // without idle and iowait, with what a hypervisor took
  CHECK(busy_ticks(stat, {1}) == 20);   // guests' time is in user already
  CHECK(busy_ticks(stat, {0, 1, 10}) == 1'140);
  CHECK_FALSE(busy_ticks(stat, {2}));
  CHECK_FALSE(busy_ticks("cpu0 10 1\n", {0}));
  CHECK_FALSE(busy_ticks("", {0}));
  const auto tick = std::chrono::nanoseconds(1s) / ::sysconf(_SC_CLK_TCK);
  CHECK(mean_cpus(1s, 2s, 0) == Approx(0.5));
  CHECK(mean_cpus(1s + 4 * tick, 2s, 2) == Approx(0.5));
  CHECK(mean_cpus(3 * tick, 2s, 2) == 0);
  CHECK(mean_cpus(-1s, 2s, 2) == 0);
}

TEST_CASE("work between a flush and a cold call is seen, whoever does it",
          "[worker][idle_watch][hostile]") {
  struct Gap {
    int flush_us, others_in_flush_us, main_before_call_us, others_before_call_us;
    bool runs;
  };
  const auto facts_of = [](const std::vector<Gap>& gaps, bool fills) {
    std::chrono::nanoseconds all{0}, main{0};
    bool runs = false;
    IdleWatch watch({[&] { return std::optional(all); }, [&] { return std::optional(main); },
                     [&] { return runs; }});
    for (const Gap& gap : gaps) {
      watch.before_flush(fills);
      main += std::chrono::microseconds(gap.flush_us);
      all += std::chrono::microseconds(gap.flush_us + gap.others_in_flush_us);
      watch.after_flush();
      main += std::chrono::microseconds(gap.main_before_call_us);
      all += std::chrono::microseconds(gap.main_before_call_us + gap.others_before_call_us);
      runs = gap.runs;
      watch.before_call();
      all += 1s;  // the call itself
      main += 1s;
    }
    return watch.facts();
  };
  const std::vector<Gap> idle(20, Gap{5'000, 0, 10, 0, false});
  CHECK_FALSE(was_busy(facts_of(idle, false)));
  CHECK(facts_of(idle, false).gaps == 20);
  // A thread beside the main one fetches, while that one flushes or behind it.
  CHECK(was_busy(facts_of(std::vector<Gap>(20, Gap{5'000, 30, 10, 0, false}), false)));
  CHECK(was_busy(facts_of(std::vector<Gap>(20, Gap{5'000, 0, 10, 60, false}), false)));
  CHECK(was_busy(facts_of(std::vector<Gap>(20, Gap{5'000, 0, 10, 0, true}), false)));
  // So does the main thread, once it has said that it is ready.
  CHECK(was_busy(facts_of(std::vector<Gap>(20, Gap{5'000, 0, 60, 0, false}), false)));
  // Threads that make inputs there may work until the answer, but not behind it.
  CHECK_FALSE(was_busy(facts_of(std::vector<Gap>(20, Gap{5'000, 9'000, 10, 0, false}), true)));
  CHECK(was_busy(facts_of(std::vector<Gap>(20, Gap{5'000, 9'000, 10, 60, false}), true)));
  // Accounts that nobody tells accuse nobody.
  IdleWatch blind({[] { return std::nullopt; }, [] { return std::nullopt; }, [] { return false; }});
  blind.before_flush(false);
  blind.after_flush();
  blind.before_call();
  CHECK_FALSE(was_busy(blind.facts()));
}

TEST_CASE("a subject was busy before cold calls by its account, or by threads that have a CPU",
          "[worker][idle_watch]") {
  IdleFacts facts;
  facts.gaps = 20;
  CHECK_FALSE(was_busy(facts));
  facts.others_us = facts.after_us = 300;  // 15 us a gap: the main thread going back to wait
  facts.running = 5;                       // on their way to sleep
  CHECK_FALSE(was_busy(facts));
  // A thread that never sleeps, on a CPU of its own: no clock tick fell into these gaps.
  facts.running = 6;
  CHECK(was_busy(facts));
  // One that sleeps when it is looked for has been accounted for.
  facts.running = 0;
  facts.others_us = 500;
  CHECK(was_busy(facts));
  facts.others_us = 0;
  facts.after_us = 1'100;
  CHECK(was_busy(facts));
}

namespace {

struct PlantedQuota {
  TempDirectory folder = TempDirectory::create("wb-quota").value();
  const fs::path& root = folder.path();

  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  void has_quota() const {
    write("proc/self/cgroup", "0::/g\n");
    write("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    write("sys/fs/cgroup/g/cpu.max", "30000 100000\n");
    was_stopped(0);
  }
  void was_stopped(int times) const {
    write("sys/fs/cgroup/g/cpu.stat", "nr_throttled " + std::to_string(times) + "\n");
  }
};

}  // namespace

TEST_CASE("a stretch in which a quota stopped the group is told, no other", "[worker][quota]") {
  const PlantedQuota host;
  host.has_quota();
  QuotaWatch watch(host.root);
  watch.begin();
  watch.end();
  CHECK_FALSE(watch.was_stopped());
  host.was_stopped(1);  // between two stretches: no call was under way
  watch.begin();
  watch.end();
  CHECK_FALSE(watch.was_stopped());
  watch.begin();
  host.was_stopped(2);
  watch.end();
  watch.begin();
  watch.end();
  CHECK(watch.was_stopped());
  watch.forget();
  CHECK_FALSE(watch.was_stopped());
}

TEST_CASE("without a quota nothing is read and nothing told", "[worker][quota]") {
  const PlantedQuota host;
  host.has_quota();
  host.write("sys/fs/cgroup/g/cpu.max", "max 100000\n");
  QuotaWatch watch(host.root);
  watch.begin();
  host.was_stopped(7);
  watch.end();
  CHECK_FALSE(watch.was_stopped());
}

TEST_CASE("work on the other thread of a core is told", "[worker][quota]") {
  const PlantedQuota host;
  WorkerCpus place{.root = host.root, .allowed = {0}, .siblings = {1}, .cores = 1};
  host.write("proc/stat", "cpu0 0 0 0 0 0 0 0 0\ncpu1 10 0 0 0 0 0 0 0\n");
  const SiblingWatch watch(place);
  CHECK(watch.mean() == 0);
  host.write("proc/stat", "cpu0 0 0 0 0 0 0 0 0\ncpu1 100000 0 0 0 0 0 0 0\n");
  CHECK(watch.mean() > 0.25);
  CHECK(SiblingWatch(WorkerCpus{.root = host.root}).mean() == 0);
  CHECK(SiblingWatch(WorkerCpus{.root = "/no/such/root", .siblings = {1}}).mean() == 0);
}

TEST_CASE("who works on a core of the subject's shares it", "[worker][quota]") {
  // Two hardware threads a core: what others do on the one is felt on the other.
  const WorkerCpus one_core{.allowed = {0, 1}, .cores = 1},
      four{.allowed = {0, 1, 2, 3, 4, 5, 6, 7}, .cores = 4};
  CHECK(shares_cores(one_core, 1, 0, 1.0));
  CHECK_FALSE(shares_cores(one_core, 1, 0, 0.1));
  CHECK_FALSE(shares_cores(four, 2, 0, 1.0));  // there are cores for both
  CHECK(shares_cores(four, 4, 0, 1.0));
  // Without such threads, who waits is asked, as ever; and so it is where it has all of them.
  CHECK_FALSE(shares_cores({.allowed = {0, 1}, .cores = 2}, 2, 0, 1.0));
  CHECK_FALSE(shares_cores(one_core, 2, 0, 1.0));
  CHECK_FALSE(shares_cores(one_core, 1, 0, std::nullopt));
  // CPUs that may not be used here.
  CHECK(shares_cores({.allowed = {0}, .siblings = {1}, .cores = 1}, 1, 0.5, 0.0));
  CHECK_FALSE(shares_cores({.allowed = {0}, .siblings = {1}, .cores = 1}, 1, 0.2, 0.0));
}
