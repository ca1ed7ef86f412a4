// SPDX-License-Identifier: MIT
// The supervisor and its machine: what it determines at hello, and whether the machine still works
// after a failure.
#include <fmt/format.h>

#include "core/json.hpp"
#include "measure/quantiles.hpp"
#include "worker/calibrate.hpp"
#include "worker/failure.hpp"
#include "worker/hello.hpp"
#include "worker/process_table.hpp"
#include "worker/run.hpp"
#include "worker/supervisor.hpp"

namespace wb::worker {

using device::Device;
using problem::Problem;

namespace {

constexpr std::int64_t k_canary_deadline_ms = 10'000;
constexpr std::int64_t k_empty_call_deadline_ms = 30'000;
/// On a GPU an interpreter loads much, and up to nine start in parallel.
constexpr std::int64_t k_empty_start_deadline_ms = 60'000;
constexpr std::chrono::milliseconds k_gpu_start{20'000};  // for an unused driver
constexpr int k_canary_tries = 3;

/// Small, with a causal rule and grouped heads, so that more than a copy is tested.
Problem canary_problem() {
  Problem problem;
  problem.Hq = 2;
  problem.Sq = 16;
  problem.Skv = 24;
  problem.D = problem.Dv = 8;
  problem.causal = problem::Causal::bottom_right;
  return problem;
}

/// One millisecond of timed calls after one of settling: enough for calls of nanoseconds.
measure::Plan empty_call_plan() {
  measure::Plan plan;
  plan.settle_us = 1'000;
  plan.timed_us = 1'000;
  return plan;
}

/// The registry must outlive the result.
cuda::OwnProcesses own_processes(const ChildRegistry& registry) {
  return {[](std::int64_t pid) { return belongs_to_worker(static_cast<pid_t>(pid)); },
          [&registry] { return static_cast<std::int64_t>(registry.size()); }};
}

}  // namespace

Outcome<Device> Supervisor::greet(const protocol::HelloArgs& args, const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  // Also for the supervisor, so that detection and calibration see what subjects will see.
  if (::sched_setaffinity(0, sizeof set, &set) != 0) {
    return environment(fmt::format("cannot run on the CPUs {}", device::cpu_set_text(cpus)));
  }
  SubjectSetting setting;
  setting.own_program = m_own_program;
  setting.cpus = set;
  const device::CpuLimits limits = device::cpu_limits(cpus);
  setting.threads =
      static_cast<int>(args.threads > 0 ? args.threads : device::default_threads(limits));
  if (args.gpu >= 0) setting.gpu = static_cast<int>(args.gpu);
  const auto wanted = parse_isolation(args.isolation.empty() ? "namespaces" : args.isolation);
  if (!wanted) {
    return environment(
        fmt::format("\"{}\" is no level of isolation: rlimits, landlock, seccomp, "
                    "namespaces",
                    printable(args.isolation, 40)));
  }
  setting.isolation = reachable_isolation(*wanted, setting.gpu.has_value());
  const fs::path lock_path = args.lock.empty() ? machine_lock_path() : fs::path(args.lock);
  setting.hidden_files = {lock_path.string()};
  Confinement judge_confinement;
  judge_confinement.cpus = set;
  JudgeProcess judge(*m_registry, m_own_program, std::move(judge_confinement), setting.gpu);
  if (const auto started = judge.start(); !started.ok()) {
    return environment(started.error().message());
  }
  SubjectFactory factory(*m_registry, m_store, setting);
  // GPU contexts take long, so the judge's and the first subjects' are created in parallel.
  if (setting.gpu) factory.start_spares(0);
  Device device;
  EmptyCall empty_native;
  if (setting.gpu) {
    WB_TRY_ASSIGN(auto facts, judge.gpu_facts(deadline_in(k_gpu_start), m_cancel));
    device = std::move(facts.device);
    empty_native.timed_us = facts.empty_pair_us;
    empty_native.call_us = facts.empty_call_us;
  } else {
    device = device::detect_cpu();
  }
  WB_TRY_ASSIGN(auto lock,
                as_outcome(DeviceLock::open(
                    lock_path, setting.gpu ? std::vector<int>{gpu_place(device.id)} : cpus)));
  m_greeted.emplace(Greeted{std::move(lock), std::move(judge), std::move(factory), empty_native});
  m_greeted->limits = limits;
  m_greeted->cores = setting.gpu ? 0 : device.units;
  // NVML needs no context and no device memory, so it may be used from this process.
  if (on_gpu()) m_greeted->gpu.emplace(cuda::k_nvml_library, device.id, own_processes(*m_registry));
  return device;
}

std::string Supervisor::find_interpreter(const std::string& wanted) {
  const Result<std::string> python = find_python(wanted);
  const Result<std::string> script = find_subject_script(m_own_program);
  if (!python.ok() || !script.ok()) {
    m_greeted->factory.set_no_python(!python.ok() ? python.error().message()
                                                  : script.error().message());
    return {};
  }
  m_greeted->factory.set_python(*python, *script);
  return *python;
}

Outcome<EmptyCall> Supervisor::measure_empty_call(SubjectKind kind) {
  WB_TRY_ASSIGN(auto subject,
                m_greeted->factory.load_builtin(kind, "empty", wait_for(k_empty_start_deadline_ms),
                                                SubjectFactory::From::spare));
  m_greeted->factory.await_spares(wait_for(k_empty_start_deadline_ms));
  const Wait wait = wait_for(k_empty_call_deadline_ms);
  protocol::TurnArgs args;
  args.problem = canary_problem();
  args.plan = empty_call_plan();
  args.spot_check = false;  // an empty call writes no output
  WB_TRY_ASSIGN(const auto turn, conduct_turn(subject.process, args, context(), wait));
  WB_TRY_ASSIGN(const auto lone_us, time_lone_call_us(subject.process, args, context(), wait));
  WB_TRY_ASSIGN(const auto pings,
                time_pings(subject.process, most_ping_us(0), context().clock, wait));
  return EmptyCall{
      .timed_us = measure::median(turn.samples_us), .lone_us = lone_us, .ping_us = pings.most_us};
}

Outcome<Json> Supervisor::hello(const protocol::HelloArgs& args) {
  if (args.version != protocol::k_version) {
    return environment(
        fmt::format("the host speaks protocol {}, this worker {}; use sdpa-wb and "
                    "sdpa-wb-worker of the same release",
                    args.version, protocol::k_version));
  }
  if (m_greeted) return environment("hello was said before: one session per worker");
  WB_TRY_ASSIGN(const auto cpus, as_outcome(choose_cpus(args.cpu_set, device::allowed_cpus())));
  if (cpus.empty()) return environment("the CPU set is empty");
  WB_TRY_ASSIGN(auto device, greet(args, cpus));
  auto result = examine_machine(args, cpus, std::move(device));
  if (!result.ok()) m_greeted.reset();  // the host may try again
  return result;
}

Outcome<Json> Supervisor::examine_machine(const protocol::HelloArgs& args,
                                          const std::vector<int>& cpus, Device device) {
  WB_TRY_ASSIGN(const auto held, take_device());
  protocol::HelloResult result;
  result.worker_version = worker_version();
  result.threads = m_greeted->factory.setting().threads;
  result.isolation = isolation_text(m_greeted->factory.setting().isolation);
  // Reports who owns the outputs' memory on a GPU; on a CPU it is always the supervisor.
  if (on_gpu()) result.isolation += m_greeted->judge.lends() ? "+lent_outputs" : "+copied_outputs";
  result.backends = {on_gpu() ? "cuda" : "cpu"};
  result.device = std::move(device);
  if (m_greeted->gpu) result.gpu = m_greeted->gpu->settings();
  result.cpu_limits = m_greeted->limits;
  if (!on_gpu()) {
    calibrate(result.device, cpus);
    m_greeted->cpus = cpus;
    m_greeted->device = result.device;
  }
  const auto empty = measure_empty_call(SubjectKind::native);
  if (!empty.ok()) {
    return environment(
        "not even the built-in empty variant runs on this machine: " + empty.error().message,
        empty.error().untrusted_output);
  }
  m_greeted->empty_native.lone_us = empty->lone_us;
  m_greeted->empty_native.ping_us = empty->ping_us;
  // On a GPU the stopwatch's own figures are used, since an empty call queues nothing.
  if (!on_gpu()) {
    m_greeted->empty_native.timed_us = m_greeted->empty_native.call_us = empty->timed_us;
  }
  result.empty_call_us = m_greeted->empty_native.call_us;
  result.python = find_interpreter(args.python);
  if (result.python.empty()) return to_json(result);
  if (on_gpu()) {
    result.backends.emplace_back("python");
    return to_json(result);
  }
  if (const auto empty_python = measure_empty_call(SubjectKind::python); empty_python.ok()) {
    m_greeted->empty_python = *empty_python;
    result.empty_python_call_us = empty_python->timed_us;
    result.backends.emplace_back("python");
  } else {  // an interpreter in which the loop does not run is useless
    result.python.clear();
    m_greeted->factory.set_python({}, {});
  }
  return to_json(result);
}

Outcome<void> Supervisor::need_empty_python() {
  if (!on_gpu() || m_greeted->factory.setting().python.empty() ||
      m_greeted->empty_python.timed_us > 0) {
    return {};
  }
  WB_TRY_ASSIGN(const auto held, take_device());
  auto empty = measure_empty_call(SubjectKind::python);
  if (!empty.ok()) {
    Failure failure = std::move(empty).error();
    failure.message = "not even an empty Python subject runs on the GPU: " + failure.message;
    failure.invalidity = Invalidity::environment;
    return failure;
  }
  // An empty call queues nothing on the device; the pair of events limits a sample's resolution.
  m_greeted->empty_python = {.timed_us = m_greeted->empty_native.timed_us,
                             .lone_us = empty->lone_us,
                             .ping_us = empty->ping_us};
  return {};
}

std::optional<Device> Supervisor::higher_peaks(const protocol::TurnArgs& args,
                                               const protocol::TurnResult& turn) {
  if (on_gpu() || turn.samples_us.empty()) return std::nullopt;
  const auto look = [this] {
    Device again = m_greeted->device;
    calibrate(again, m_greeted->cpus);
    return again;
  };
  const bool rose =
      look_again_at_peaks(m_greeted->device, args.problem, args.plan.kind,
                          measure::median(turn.samples_us), m_greeted->looks_at_peaks, look);
  return rose ? std::optional(m_greeted->device) : std::nullopt;
}

protocol::CanaryResult Supervisor::run_canary() {
  const Wait wait = wait_for(k_canary_deadline_ms);
  // Never a spare, since the canary also tests that the machine can start a process.
  auto subject = m_greeted->factory.load_builtin(SubjectKind::native, "canary", wait);
  if (!subject.ok()) return {false, subject.error().message};
  protocol::RunArgs args;
  args.problem = canary_problem();
  const auto run = conduct_run(subject->process, args, context(), wait);
  if (!run.ok()) return {false, run.error().message};
  if (!run->verdict.pass) return {false, "wrong result: " + run->verdict.reason};
  return {true, "the built-in attention passed its verdict"};
}

std::optional<Failure> Supervisor::memory_hog(std::int64_t handle, const Problem& problem) {
  const auto found = m_subjects.find(handle);
  if (!on_gpu() || found == m_subjects.end()) return std::nullopt;
  const auto free_bytes = [this] {
    const Wait wait = wait_for(k_canary_deadline_ms);
    // A judge without room for its own context counts as no free memory.
    return m_greeted->judge.free_gpu_bytes(wait.deadline, wait.cancel);
  };
  const auto with = free_bytes();
  if (with.ok() && has_room_on_gpu(problem, *with)) return std::nullopt;
  found->second.process.kill();
  const auto without = free_bytes();
  if (!without.ok()) return std::nullopt;
  return memory_hog_failure(problem, with.ok() ? *with : 0, *without);
}

Outcome<void> Supervisor::ensure_healthy() {
  if (!m_canary_due) return {};
  WB_TRY_ASSIGN(const auto held, take_device());
  // Processes started beside a subject that took all of the device's memory never answer.
  if (on_gpu()) m_greeted->factory.drop_awake();
  protocol::CanaryResult last;
  for (int i = 0; i < k_canary_tries; ++i) {
    last = run_canary();
    if (!last.healthy) continue;
    m_canary_due = false;
    return {};
  }
  return environment(
      fmt::format("three canaries failed in a row, the machine is at fault: {}", last.detail));
}

}  // namespace wb::worker
