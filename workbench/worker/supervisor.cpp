// SPDX-License-Identifier: MIT
#include "worker/supervisor.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "measure/statistics.hpp"
#include "worker/build_process.hpp"
#include "worker/calibrate.hpp"
#include "worker/hello.hpp"

namespace wb::worker {
namespace {

using protocol::Verb;
using std::chrono::milliseconds;

constexpr std::int64_t k_canary_deadline_ms = 10'000;
constexpr int k_canary_tries = 3;

Failure environment(std::string message) {
  return Failure{Invalidity::environment, std::move(message), {}};
}

template <typename Args>
Outcome<Args> read_args(const protocol::Request& request) {
  Args args;
  if (const auto read = from_json(request.args, args); !read.ok()) {
    return environment(read.error().message());
  }
  return args;
}

template <typename Value>
Outcome<Json> as_json(const Outcome<Value>& outcome) {
  if (!outcome.ok()) return outcome.error();
  return to_json(*outcome);
}

template <typename Value>
Outcome<Value> as_outcome(Result<Value> result) {
  if (!result.ok()) return environment(result.error().message());
  return *std::move(result);
}

Outcome<std::int64_t> read_handle(const Json& args, std::string_view what, bool more) {
  ObjectReader reader(args, std::string(what));
  const std::int64_t handle = reader.integer("handle", 0, std::int64_t{1} << 53);
  if (const auto read = reader.finish(more); !read.ok()) return environment(read.error().message());
  return handle;
}

std::int64_t resident_bytes(pid_t pid) {
  const auto text = RealFileSystem().read(fmt::format("/proc/{}/statm", pid), 256);
  const std::size_t space = text.ok() ? text->find(' ') : std::string::npos;
  if (space == std::string::npos) return 0;
  std::int64_t pages = 0;
  std::from_chars(text->data() + space + 1, text->data() + text->size(), pages);
  return pages * ::sysconf(_SC_PAGESIZE);
}

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

Result<Supervisor> Supervisor::create(std::string own_program, CancelSource cancel) {
  WB_TRY_ASSIGN(Store store, Store::create());
  return Supervisor(std::move(own_program), cancel, std::move(store));
}

Wait Supervisor::wait_for(std::int64_t deadline_ms) const {
  return {deadline_in(milliseconds(deadline_ms)), m_cancel};
}

TurnContext Supervisor::context(std::string subject) {
  return {m_greeted->judge,
          m_greeted->threads,
          m_greeted->empty_call_us,
          m_greeted->empty_python_call_us,
          &m_shown,
          std::move(subject)};
}

Outcome<DeviceLock::Held> Supervisor::take_device() {
  return as_outcome(m_greeted->lock.acquire(deadline_in(k_lock_patience), m_cancel));
}

Outcome<LoadedSubject*> Supervisor::find_subject(std::int64_t handle) {
  const auto found = m_subjects.find(handle);
  if (found != m_subjects.end()) return &found->second;
  return environment(fmt::format(
      "no subject has handle {}: it was never loaded, or unloaded after a failure", handle));
}

template <typename T>
Outcome<T> Supervisor::noted(std::int64_t handle, Outcome<T> outcome) {
  if (outcome.ok() || outcome.error().invalidity == Invalidity::constraints) return outcome;
  m_canary_due = true;
  const auto found = m_subjects.find(handle);
  if (found != m_subjects.end() && !found->second.process.alive()) m_subjects.erase(found);
  return outcome;
}

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

double Supervisor::measure_empty_call(SubjectKind kind) {
  const Wait wait = wait_for(k_canary_deadline_ms);
  auto subject = m_greeted->factory.load_builtin(kind, "empty", wait);
  if (!subject.ok()) return 0;
  protocol::TurnArgs args;
  args.problem = canary_problem();
  args.plan = empty_call_plan();
  args.spot_check = false;  // an empty call writes no output
  const auto turn = conduct_turn(subject->process, args, context(), wait);
  return turn.ok() ? median(turn->samples_us) : 0;
}

Outcome<Json> Supervisor::hello(const protocol::HelloArgs& args) {
  if (args.version != protocol::k_version) {
    return environment(
        fmt::format("the host speaks protocol {}, this worker {}; use sdpa-wb and "
                    "sdpa-wb-worker of the same release",
                    args.version, protocol::k_version));
  }
  if (m_greeted) return environment("hello was said before: one session per worker");
  const auto cpus = as_outcome(parse_cpu_set(args.cpu_set, allowed_cpus()));
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
  m_greeted->empty_call_us = result.empty_call_us = measure_empty_call(SubjectKind::native);
  if (!(result.empty_call_us > 0)) {
    return environment("not even the built-in empty variant runs on this machine");
  }
  result.python = find_interpreter(args.python);
  if (result.python.empty()) return to_json(result);
  m_greeted->empty_python_call_us = result.empty_python_call_us =
      measure_empty_call(SubjectKind::python);
  if (result.empty_python_call_us > 0) {
    result.backends.emplace_back("python");
  } else {  // an interpreter in which the loop does not run is as good as none
    result.python.clear();
    m_greeted->factory.set_python({}, {});
  }
  return to_json(result);
}

Outcome<Json> Supervisor::build(const protocol::BuildArgs& args) {
  BuildTask task;
  task.variant_name = args.variant_name;
  task.build_id = args.build_id;
  for (const protocol::FileRef& file : args.files) {
    auto bytes = as_outcome(m_store.verified_bytes(file.sha256));
    if (!bytes.ok()) return std::move(bytes).error();
    task.files[file.path] = *std::move(bytes);
  }
  task.configuration.insert(args.configuration.begin(), args.configuration.end());
  task.options.target = args.target;
  task.options.deadline = std::chrono::ceil<std::chrono::seconds>(milliseconds(args.deadline_ms));
  const auto folder = as_outcome(ScratchFolder::create(m_store.folder(), "build"));
  if (!folder.ok()) return folder.error();
  task.output = folder->path() / "artifact.so";
  auto record =
      build_in_child(*m_family, task, deadline_in(milliseconds(args.deadline_ms)), m_cancel);
  if (!record.ok()) return std::move(record).error();
  const auto bytes = as_outcome(RealFileSystem().read(task.output, k_max_file_bytes));
  if (!bytes.ok()) return bytes.error();
  auto sha256 = as_outcome(m_store.add(*bytes));
  if (!sha256.ok()) return std::move(sha256).error();
  return to_json(protocol::BuildResult{*std::move(sha256), *std::move(record)});
}

Outcome<Json> Supervisor::load(const protocol::LoadArgs& args) {
  if (auto healthy = ensure_healthy(); !healthy.ok()) return std::move(healthy).error();
  const auto begin = std::chrono::steady_clock::now();
  auto subject = noted(0, m_greeted->factory.load(args, wait_for(args.deadline_ms)));
  if (!subject.ok()) return std::move(subject).error();
  protocol::LoadResult result;
  result.handle = m_next_handle++;
  result.pid = subject->process.pid();
  result.versions = subject->versions;
  m_subjects.emplace(result.handle, *std::move(subject));
  result.load_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return to_json(result);
}

Outcome<Json> Supervisor::run(const protocol::RunArgs& args) {
  auto subject = find_subject(args.handle);
  if (!subject.ok()) return std::move(subject).error();
  if (auto healthy = ensure_healthy(); !healthy.ok()) return std::move(healthy).error();
  const auto held = take_device();
  if (!held.ok()) return held.error();
  return as_json(noted(
      args.handle, conduct_run((*subject)->process, args, context(), wait_for(args.deadline_ms))));
}

Outcome<Json> Supervisor::verdict(const protocol::VerdictArgs& args) {
  auto subject = find_subject(args.handle);
  if (!subject.ok()) return std::move(subject).error();
  if (auto healthy = ensure_healthy(); !healthy.ok()) return std::move(healthy).error();
  const auto held = take_device();
  if (!held.ok()) return held.error();
  std::vector<Draw> draws{Draw::normal, Draw::normal, Draw::normal, Draw::large};
  if (args.problem.mask != MaskKind::none) draws.push_back(Draw::edge);
  const Wait wait = wait_for(args.deadline_ms);
  protocol::VerdictResult result;
  for (const Draw draw : draws) {
    protocol::RunArgs one;
    one.handle = args.handle;
    one.problem = args.problem;
    one.draw = draw;
    one.want_lse = args.want_lse;
    auto outcome = noted(args.handle, conduct_run((*subject)->process, one, context(), wait));
    if (!outcome.ok()) return std::move(outcome).error();
    result.runs.emplace_back(draw, *std::move(outcome));
    result.pass = result.runs.back().second.verdict.pass;
    if (!result.pass) break;
  }
  return to_json(result);
}

Outcome<Json> Supervisor::turn(const protocol::TurnArgs& args) {
  auto subject = find_subject(args.handle);
  if (!subject.ok()) return std::move(subject).error();
  if (auto healthy = ensure_healthy(); !healthy.ok()) return std::move(healthy).error();
  const auto held = take_device();
  if (!held.ok()) return held.error();
  return as_json(
      noted(args.handle, conduct_turn((*subject)->process, args, context((*subject)->label),
                                      wait_for(args.deadline_ms))));
}

Outcome<Json> Supervisor::profile(const Json& args) {
  const auto handle = read_handle(args, "profile", true);
  if (!handle.ok()) return handle.error();
  if (const auto subject = find_subject(*handle); !subject.ok()) return subject.error();
  protocol::ProfileResult result;
  result.reason = "there is no profiler for backend cpu; timings and findings go without one";
  return to_json(result);
}

Outcome<Json> Supervisor::unload(const Json& args) {
  const auto handle = read_handle(args, "unload", false);
  if (!handle.ok()) return handle.error();
  // A subject that failed is gone already; the host need not keep track of that.
  m_subjects.erase(*handle);
  return Json::object();
}

Outcome<Json> Supervisor::status() const {
  protocol::StatusResult result;
  for (const auto& [handle, subject] : m_subjects) {
    const pid_t pid = subject.process.pid();
    result.subjects.push_back({handle, pid, subject.label, resident_bytes(pid)});
  }
  result.judge_pid = m_greeted->judge.pid();
  result.supervisor_rss_bytes = resident_bytes(::getpid());
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

Outcome<Json> Supervisor::dispatch(const protocol::Request& request) {
  const auto with = [&request]<typename Args>(Args, const auto& body) -> Outcome<Json> {
    const auto args = read_args<Args>(request);
    if (!args.ok()) return args.error();
    return body(*args);
  };
  switch (request.verb) {
    case Verb::hello:
      return with(protocol::HelloArgs{}, [this](const auto& args) { return hello(args); });
    case Verb::has:
      return with(protocol::HasArgs{}, [this](const auto& args) -> Outcome<Json> {
        protocol::HasResult result;
        for (const std::string& sha256 : args.sha256) {
          if (!m_store.has(sha256)) result.missing.push_back(sha256);
        }
        return to_json(result);
      });
    case Verb::put:
      return with(protocol::PutArgs{},
                  [this](const auto& args) { return as_json(as_outcome(m_store.put(args))); });
    case Verb::build:
      return with(protocol::BuildArgs{}, [this](const auto& args) { return build(args); });
    case Verb::load:
      return with(protocol::LoadArgs{}, [this](const auto& args) { return load(args); });
    case Verb::run:
      return with(protocol::RunArgs{}, [this](const auto& args) { return run(args); });
    case Verb::verdict:
      return with(protocol::VerdictArgs{}, [this](const auto& args) { return verdict(args); });
    case Verb::turn:
      return with(protocol::TurnArgs{}, [this](const auto& args) { return turn(args); });
    case Verb::profile:
      return profile(request.args);
    case Verb::unload:
      return unload(request.args);
    case Verb::canary: {
      const auto held = take_device();
      if (!held.ok()) return held.error();
      return to_json(run_canary());
    }
    case Verb::status:
      return status();
    case Verb::bye:
      return Json::object();
  }
  return environment("an unknown verb");
}

Outcome<Json> Supervisor::handle(const protocol::Request& request) {
  const bool before_hello = request.verb == Verb::hello || request.verb == Verb::bye;
  if (!m_greeted && !before_hello) {
    return environment(fmt::format("\"{}\" came before hello", to_string(request.verb)));
  }
  try {
    return dispatch(request);
  } catch (const std::exception& fault) {
    m_canary_due = m_greeted.has_value();
    return environment(fmt::format("the worker failed at \"{}\": {}", to_string(request.verb),
                                   printable(fault.what(), 400)));
  }
}

void Supervisor::idle() {
  if (m_greeted) m_greeted->factory.start_spare();
}

}  // namespace wb::worker
