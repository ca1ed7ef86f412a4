// SPDX-License-Identifier: MIT
// The supervisor and its machine: what it finds out at hello, and whether the machine is still fit
// after a failure.
#include <fmt/format.h>

#include "measure/statistics.hpp"
#include "worker/calibrate.hpp"
#include "worker/failure.hpp"
#include "worker/hello.hpp"
#include "worker/supervisor.hpp"

namespace wb::worker {
namespace {

constexpr std::int64_t k_canary_deadline_ms = 10'000;
constexpr int k_canary_tries = 3;

/// Small, and with a causal rule and grouped heads, so that more than a copy can go wrong.
Problem canary_problem() {
  Problem problem;
  problem.Hq = 2;
  problem.Sq = 16;
  problem.Skv = 24;
  problem.D = problem.Dv = 8;
  problem.causal = Causal::bottom_right;
  return problem;
}

/// One millisecond of timed calls after one of settling: enough for a call of nanoseconds.
Plan empty_call_plan() {
  Plan plan;
  plan.settle_us = 1'000;
  plan.timed_us = 1'000;
  return plan;
}

}  // namespace

Outcome<void> Supervisor::greet(const std::vector<int>& cpus, int threads) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  // The supervisor too: device detection and calibration then see what subjects will see.
  if (::sched_setaffinity(0, sizeof set, &set) != 0) {
    return environment(fmt::format("cannot run on the CPUs {}", cpu_set_text(cpus)));
  }
  auto lock = as_outcome(DeviceLock::open(machine_lock_path(), cpus));
  if (!lock.ok()) return std::move(lock).error();
  Confinement judge_confinement;
  judge_confinement.cpus = set;
  SubjectSetting setting;
  setting.own_program = m_own_program;
  setting.cpus = set;
  setting.threads = threads;
  m_greeted.emplace(Greeted{*std::move(lock),
                            JudgeProcess(*m_family, m_own_program, std::move(judge_confinement)),
                            SubjectFactory(*m_family, m_store, std::move(setting)), threads});
  return {};
}

std::string Supervisor::find_interpreter(const std::string& wanted) {
  const Result<std::string> python = find_python(wanted);
  const Result<std::string> script = find_subject_script(m_own_program);
  if (!python.ok() || !script.ok()) return {};
  m_greeted->factory.set_python(*python, *script);
  return *python;
}

EmptyCall Supervisor::measure_empty_call(SubjectKind kind) {
  const Wait wait = wait_for(k_canary_deadline_ms);
  auto subject = m_greeted->factory.load_builtin(kind, "empty", wait);
  if (!subject.ok()) return {};
  protocol::TurnArgs args;
  args.problem = canary_problem();
  args.plan = empty_call_plan();
  args.spot_check = false;  // an empty call writes no output
  const auto turn = conduct_turn(subject->process, args, context(), wait);
  if (!turn.ok()) return {};
  const auto lone_us = time_lone_call_us(subject->process, args, context(), wait);
  if (!lone_us.ok()) return {};
  return {median(turn->samples_us), *lone_us};
}

Outcome<Json> Supervisor::hello(const protocol::HelloArgs& args) {
  if (args.version != protocol::k_version) {
    return environment(
        fmt::format("the host speaks protocol {}, this worker {}; use sdpa-wb and "
                    "sdpa-wb-worker of the same release",
                    args.version, protocol::k_version));
  }
  if (m_greeted) return environment("hello was said before: one session per worker");
  const auto cpus = as_outcome(choose_cpus(args.cpu_set, allowed_cpus()));
  if (!cpus.ok()) return cpus.error();
  if (cpus->empty()) return environment("the CPU set is empty");
  const auto threads =
      args.threads > 0 ? static_cast<int>(args.threads) : static_cast<int>(cpus->size());
  if (auto greeted = greet(*cpus, threads); !greeted.ok()) return std::move(greeted).error();
  auto result = examine_machine(args, *cpus);
  if (!result.ok()) m_greeted.reset();  // the host may try again
  return result;
}

Outcome<Json> Supervisor::examine_machine(const protocol::HelloArgs& args,
                                          const std::vector<int>& cpus) {
  const auto held = take_device();
  if (!held.ok()) return held.error();
  if (const auto started = m_greeted->judge.start(); !started.ok()) {
    return environment(started.error().message());
  }
  protocol::HelloResult result;
  result.worker_version = worker_version();
  result.threads = m_greeted->threads;
  result.isolation = isolation_level();
  result.backends = {"cpu"};
  result.device = detect_cpu();
  calibrate(result.device, cpus);
  m_greeted->empty_native = measure_empty_call(SubjectKind::native);
  result.empty_call_us = m_greeted->empty_native.timed_us;
  if (!(result.empty_call_us > 0)) {
    return environment("not even the built-in empty variant runs on this machine");
  }
  result.python = find_interpreter(args.python);
  if (result.python.empty()) return to_json(result);
  m_greeted->empty_python = measure_empty_call(SubjectKind::python);
  result.empty_python_call_us = m_greeted->empty_python.timed_us;
  if (result.empty_python_call_us > 0) {
    result.backends.emplace_back("python");
  } else {  // an interpreter in which the loop does not run is as good as none
    result.python.clear();
    m_greeted->factory.set_python({}, {});
  }
  return to_json(result);
}

protocol::CanaryResult Supervisor::run_canary() {
  const Wait wait = wait_for(k_canary_deadline_ms);
  auto subject = m_greeted->factory.load_builtin(SubjectKind::native, "canary", wait);
  if (!subject.ok()) return {false, subject.error().message};
  protocol::RunArgs args;
  args.problem = canary_problem();
  const auto run = conduct_run(subject->process, args, context(), wait);
  if (!run.ok()) return {false, run.error().message};
  if (!run->verdict.pass) return {false, "wrong result: " + run->verdict.reason};
  return {true, "the built-in attention passed its verdict"};
}

Outcome<void> Supervisor::ensure_healthy() {
  if (!m_canary_due) return {};
  const auto held = take_device();
  if (!held.ok()) return held.error();
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
