// SPDX-License-Identifier: MIT
// Turns of a real subject process (the built-in attention, on the CPU) beside a GPU that a fake
// NVML plays: what the supervisor reads, when, and which flags the turn gets.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_nvml.hpp"
#include "support/places.hpp"
#include "worker/process_table.hpp"
#include "worker/subject_factory.hpp"
#include "worker/turn.hpp"
#include "worker/turn_watch.hpp"
#include "worker_under_test.hpp"

using namespace std::chrono_literals;
using namespace wb;
using namespace wb::device;
using namespace wb::measure;
using namespace wb::worker;
using wb::testing::fake_nvml;
using wb::testing::FakeClock;
using wb::testing::FakeNvml;
using wb::worker::cuda::GpuMonitor;

namespace {

constexpr const char* k_turn_uuid = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";
constexpr unsigned k_stranger = 5'000'000;  // above the highest pid that Linux gives

/// Judge and subject of one worker, without the wire.
class TurnBench {
 public:
  explicit TurnBench(const GpuMonitor* gpu)
      : m_store(*Store::create()), m_factory(m_registry, m_store, setting()), m_gpu(gpu) {
    auto loaded = m_factory.load_builtin(SubjectKind::native, "canary", wait());
    REQUIRE(loaded.ok());
    m_subject.emplace(*std::move(loaded));
  }

  protocol::TurnResult turn(PlanKind kind = PlanKind::hot) {
    auto result = try_turn(kind, false, 0);  // nothing here says what an empty call costs
    if (!result.ok()) FAIL(result.error().message);
    return *std::move(result);
  }
  /// lone_us: what an empty call is said to take, in addition to what calls on fresh inputs may.
  Outcome<protocol::TurnResult> try_turn(PlanKind kind, bool fresh_calls, double lone_us) {
    protocol::TurnArgs args;
    args.problem.Hq = 2;
    args.problem.Sq = args.problem.Skv = 33;
    args.problem.D = args.problem.Dv = 16;
    args.plan.kind = kind;
    args.plan.settle_us = 1'000;
    args.plan.timed_us = 30'000;
    args.fresh_calls = fresh_calls;
    const TurnContext context{.judge = m_judge,
                              .empty_native = {.lone_us = lone_us},
                              .fresh = m_fresh,
                              .subject = "c",
                              .gpu = m_gpu};
    return conduct_turn(m_subject->process, args, context, wait());
  }
  /// Of the one problem and plan that there were turns of.
  [[nodiscard]] FreshRecord fresh_record() const {
    REQUIRE(m_fresh.size() == 1);
    return m_fresh.begin()->second;
  }
  [[nodiscard]] pid_t subject_pid() const { return m_subject->process.pid(); }

 private:
  static SubjectSetting setting() {
    SubjectSetting setting;
    setting.own_program = binary_dir() / "sdpa-wb-worker";
    for (const int cpu : allowed_cpus()) CPU_SET(static_cast<std::size_t>(cpu), &setting.cpus);
    return setting;
  }
  static Confinement confinement() {
    Confinement confinement;
    confinement.cpus = setting().cpus;
    return confinement;
  }
  static Wait wait() { return {deadline_in(30s), {}}; }

  ChildRegistry m_registry;
  Store m_store;
  SubjectFactory m_factory;
  const GpuMonitor* m_gpu;
  JudgeProcess m_judge{m_registry, setting().own_program, confinement(), std::nullopt};
  std::optional<LoadedSubject> m_subject;
  std::map<std::string, FreshRecord> m_fresh;
};

/// Whose processes are those below this one; the list of the fake NVML must hold one of them.
GpuMonitor own_monitor() {
  return {k_fake_nvml,
          k_turn_uuid,
          {[](std::int64_t pid) { return belongs_to_worker(static_cast<pid_t>(pid)); },
           [] { return 2; }}};
}

bool carries(const protocol::TurnResult& turn, std::string_view flag) {
  return std::find(turn.flags.begin(), turn.flags.end(), flag) != turn.flags.end();
}

}  // namespace

TEST_CASE("a turn on the CPU has no conditions", "[worker][conditions]") {
  TurnBench bench(nullptr);
  CHECK_FALSE(bench.turn().conditions);
}

TEST_CASE("a turn on a GPU that is well", "[worker][conditions]") {
  FakeNvml& script = fake_nvml(k_fake_nvml);
  const GpuMonitor monitor = own_monitor();
  TurnBench bench(&monitor);
  script.processes = {{static_cast<unsigned>(bench.subject_pid()), 1, 0, 0}};
  script.event_reasons = 0x1 | 0x4;  // idle between blocks, and capped in power
  const protocol::TurnResult turn = bench.turn();
  REQUIRE(turn.conditions);
  CHECK(turn.conditions->readings == script.readings);
  CHECK(turn.conditions->readings >= 2);  // after settling and after the last block
  CHECK(turn.conditions->sm_clock_mhz == ReadingRange{1'980, 1'980, 1'980});
  CHECK(turn.conditions->clocks_event_reasons == std::vector<std::string>{"sw_power_cap"});
  CHECK(turn.conditions->other_processes == OtherProcesses{0, 0, 0.0});
  // A power cap is no fault of the machine.
  CHECK_FALSE(carries(turn, k_flag_throttled));
  CHECK_FALSE(carries(turn, k_flag_foreign_process));
}

TEST_CASE("heat and hardware slowdowns keep a turn out", "[worker][conditions]") {
  FakeNvml& script = fake_nvml(k_fake_nvml);
  const GpuMonitor monitor = own_monitor();
  TurnBench bench(&monitor);
  for (const unsigned long long bit : {0x8ull, 0x20ull, 0x40ull, 0x80ull}) {
    script.event_reasons = bit;
    const protocol::TurnResult turn = bench.turn();
    INFO(bit);
    CHECK(carries(turn, k_flag_throttled));
    CHECK(is_disturbed(turn.flags));
    script.event_reasons = 0;
    CHECK_FALSE(carries(bench.turn(), k_flag_throttled));
  }
}

TEST_CASE("others on the GPU: busy, idle, or nobody knows", "[worker][conditions]") {
  FakeNvml& script = fake_nvml(k_fake_nvml);
  const GpuMonitor monitor = own_monitor();
  TurnBench bench(&monitor);
  const auto own = static_cast<unsigned>(bench.subject_pid());
  script.processes = {{own, 1, 0, 0}, {k_stranger, 5, 0, 0}};
  protocol::TurnResult turn = bench.turn();
  CHECK(turn.conditions->other_processes == OtherProcesses{1, 0, 5.0});
  CHECK_FALSE(carries(turn, k_flag_foreign_process));
  script.utilization = {{own, 1'000'000, 80, 0, 0, 0}, {k_stranger, 1'000'000, 20, 0, 0, 0}};
  turn = bench.turn();
  CHECK(carries(turn, k_flag_foreign_load));
  CHECK(std::count(turn.flags.begin(), turn.flags.end(), k_flag_foreign_load) == 1);
  script.statuses["nvmlDeviceGetProcessUtilization"] = cuda::NvmlStatus::no_permission;
  turn = bench.turn();
  CHECK(carries(turn, k_flag_foreign_process));
  CHECK(turn.conditions->unknown.at("other_processes.busy") == "Insufficient Permissions (4)");
}

TEST_CASE("without NVML turns go on and say why nothing is known", "[worker][conditions]") {
  const GpuMonitor monitor("libwb_no_such_nvml.so.1", k_turn_uuid,
                           {[](std::int64_t) { return false; }, [] { return 0; }});
  TurnBench bench(&monitor);
  const protocol::TurnResult turn = bench.turn();
  REQUIRE(turn.conditions);
  CHECK(turn.conditions->unknown.contains("nvml"));
  CHECK_FALSE(carries(turn, k_flag_throttled));
  CHECK_FALSE(carries(turn, k_flag_foreign_process));
}

TEST_CASE("readings are rare, and rarer where they are dear", "[worker][conditions]") {
  FakeNvml& script = fake_nvml(k_fake_nvml);
  FakeClock clock;
  const GpuMonitor monitor = own_monitor();
  // Of the looks at the clock around a reading, every second one comes behind it.
  std::chrono::microseconds cost{0};
  int read_before = 0;
  const Now now = [&] {
    if (script.readings != read_before) clock.advance(cost);
    read_before = script.readings;
    return clock.steady_now();
  };
  const auto readings_of = [&](std::chrono::microseconds takes, std::chrono::milliseconds block) {
    script.readings = read_before = 0;
    cost = takes;
    ConditionsWatch watch(&monitor, now);
    watch.after_work(true);
    for (int i = 0; i < 6; ++i) {
      clock.advance(block);
      watch.after_work(i == 5);
    }
    CHECK(watch.conditions()->readings == script.readings);
    return script.readings;
  };
  CHECK(readings_of(0us, k_between_readings) == 7);
  CHECK(readings_of(0us, k_between_readings - 1ms) == 4);  // the first, the last, every other block
  CHECK(readings_of(0us, 0ms) == 2);
  CHECK(readings_of(k_cheap_reading - 1us, k_between_readings) == 7);
  CHECK(readings_of(k_cheap_reading, k_between_readings) == 2);
}

TEST_CASE("a turn that asks for no fresh calls has none", "[worker][conditions]") {
  TurnBench bench(nullptr);
  bench.turn();
  CHECK(bench.fresh_record().checks == 0);
}

TEST_CASE("a turn with fresh calls takes down what they showed", "[worker][conditions]") {
  constexpr double k_always_us = 1e12, k_never_us = -1e12;
  TurnBench bench(nullptr);
  const auto passed = bench.try_turn(PlanKind::hot, true, k_always_us);
  if (!passed.ok()) FAIL(passed.error().message);
  CHECK(bench.fresh_record().checks == 1);
  CHECK(bench.fresh_record().passed);
  TurnBench accused(nullptr);
  const auto slow = accused.try_turn(PlanKind::hot, true, k_never_us);
  CHECK(accused.fresh_record().checks == 1);
  CHECK_FALSE(accused.fresh_record().passed);
  if (slow.ok()) {  // others had the CPUs, which leaves it open
    CHECK(accused.fresh_record().open == 1);
    CHECK(carries(*slow, k_flag_foreign_load));
  } else {
    CHECK(accused.fresh_record().open == 0);
    CHECK(slow.error().invalidity == Invalidity::runtime);
    CHECK(slow.error().message.find("fresh inputs") == 0);
  }
}

TEST_CASE("clocks of several readings are one range", "[worker][conditions]") {
  FakeNvml& script = fake_nvml(k_fake_nvml);
  const GpuMonitor monitor = own_monitor();
  ConditionsWatch watch(&monitor);
  for (const unsigned mhz : {1'980u, 1'500u, 1'980u}) {
    script.sm_clock_mhz = mhz;
    script.event_reasons = mhz == 1'500 ? 0x20 : 0x4;
    watch.after_work(true);
  }
  CHECK(watch.conditions()->sm_clock_mhz == ReadingRange{1'500, 1'820, 1'980});
  CHECK(watch.conditions()->clocks_event_reasons ==
        std::vector<std::string>{"sw_power_cap", "sw_thermal_slowdown"});
  CHECK(watch.flags() == std::vector<std::string>{"throttled"});
}

TEST_CASE("descendants are of this worker, others are not", "[worker][conditions]") {
  CHECK(belongs_to_worker(::getpid()));
  CHECK_FALSE(belongs_to_worker(::getppid()));
  CHECK_FALSE(belongs_to_worker(1));
  CHECK_FALSE(belongs_to_worker(0));
  CHECK_FALSE(belongs_to_worker(static_cast<pid_t>(k_stranger)));
  TurnBench bench(nullptr);
  CHECK(belongs_to_worker(bench.subject_pid()));
}

TEST_CASE("another worker's processes are no load: they wait for the device lock",
          "[worker][conditions]") {
  // Seen from a child of this process, neither it nor the subject descends from who asks.
  TurnBench bench(nullptr);
  const pid_t worker_process = bench.subject_pid(), other = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit((belongs_to_worker(worker_process) ? 1 : 0) + (belongs_to_worker(other) ? 2 : 0));
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 1);
}
