// SPDX-License-Identifier: MIT
#include "worker/cpu_time.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "support/catch.hpp"
#include "worker/idle_watch.hpp"

using namespace wb::worker;
using namespace std::chrono_literals;

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
    while (cpu_time(m_pid).value_or(cpu) < cpu) std::this_thread::sleep_for(1ms);
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
  burner.wait_for(1s);
  const double with_burner = all.mean().value(), without = others.mean().value();
  INFO(with_burner << " CPUs and " << without);
  // The burner had a second. On a busy machine that took longer, so the means are compared as
  // times.
  CHECK(with_burner > without);
  CHECK(with_burner > 0.1);
  CHECK_FALSE(ForeignCpus(0x7ffffff).mean().has_value());
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
