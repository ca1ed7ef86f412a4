// SPDX-License-Identifier: MIT
// Supervisor: carries out the requests of one host. It owns the children, the deadlines, the secret
// seeds and the device lock; candidates run only in its subjects, comparisons only in its judge.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json_fwd.hpp"
#include "protocol/protocol.hpp"
#include "worker/hello.hpp"
#include "worker/judge_process.hpp"
#include "worker/lock.hpp"
#include "worker/store.hpp"
#include "worker/subject_factory.hpp"
#include "worker/turn.hpp"

namespace wb::worker {

class Supervisor {
 public:
  /// `own_program` is started again as judge and subjects. `cancel` ends every wait.
  static Result<Supervisor> create(std::string own_program, CancelSource cancel);

  /// Never throws because of the host or a subject. `bye` is answered by an empty object.
  Outcome<Json> handle(const protocol::Request& request);
  /// Called after a reply was sent: starts the next subject processes.
  void idle();
  /// Called at the end of the wire: kills all processes at once; the destructor reaps them.
  void end() { m_registry->signal_all(); }

 private:
  /// State since the host's hello.
  struct Greeted {
    DeviceLock lock;
    JudgeProcess judge;
    SubjectFactory factory;
    EmptyCall empty_native = {}, empty_python = {};
    std::optional<cuda::GpuMonitor> gpu = {};  ///< for the measured GPU
    device::CpuLimits limits = {};
    std::int64_t cores = 0;  ///< of its CPUs
    std::vector<int> cpus = {};
    device::Device device = {};  ///< as hello told it, and with peaks that were found higher since
    int looks_at_peaks = k_most_looks_at_peaks;  ///< left
  };
  Supervisor(std::string own_program, CancelSource cancel, Store store)
      : m_own_program(std::move(own_program)), m_cancel(cancel), m_store(std::move(store)) {}

  Outcome<Json> dispatch(const protocol::Request& request);
  Outcome<Json> hello(const protocol::HelloArgs& args);
  /// Starts the judge and determines its device.
  Outcome<device::Device> greet(const protocol::HelloArgs& args, const std::vector<int>& cpus);
  Outcome<Json> examine_machine(const protocol::HelloArgs& args, const std::vector<int>& cpus,
                                device::Device device);
  std::string find_interpreter(const std::string& wanted);
  Outcome<EmptyCall> measure_empty_call(SubjectKind kind);
  /// Takes seconds on a GPU, so it waits for the first Python subject.
  Outcome<void> need_empty_python();
  Outcome<Json> build(const protocol::BuildArgs& args);
  Outcome<Json> load(const protocol::LoadArgs& args);
  Outcome<Json> run(const protocol::RunArgs& args);
  Outcome<Json> verdict(const protocol::VerdictArgs& args);
  protocol::VerdictResult drawn_runs(const protocol::VerdictArgs& args);
  Outcome<Json> turn(const protocol::TurnArgs& args);
  /// Of a time that the peaks of a CPU refuse; nothing where no higher one is found. The caller
  /// holds the device lock.
  std::optional<device::Device> higher_peaks(const protocol::TurnArgs& args,
                                             const protocol::TurnResult& turn);
  Outcome<Json> first_calls(const protocol::FirstCallsArgs& args);
  Outcome<Json> profile(const protocol::ProfileArgs& args);
  /// `profile` of a Python subject by torch.profiler, inside its process.
  Outcome<Json> profile_inside(LoadedSubject& subject, const protocol::ProfileArgs& args);
  Outcome<Json> unload(const Json& args);
  Outcome<Json> status() const;

  /// One canary run; the caller holds the device lock.
  protocol::CanaryResult run_canary();
  /// After a failure: canaries until one passes, at most three. Failures: environment.
  Outcome<void> ensure_healthy();
  /// Notes a failure: schedules a canary, and forgets a subject that died.
  template <typename T>
  Outcome<T> noted(std::int64_t handle, Outcome<T> outcome);
  /// Does the same after judging or timing, and first calls memory_hog().
  template <typename T>
  Outcome<T> judged(std::int64_t handle, const problem::Problem& problem, Outcome<T> outcome);
  /// When a GPU's memory ran out: ends the subject's process, and blames it if it held far more
  /// than the problem's tensors. The caller holds the device lock.
  std::optional<Failure> memory_hog(std::int64_t handle, const problem::Problem& problem);
  Outcome<DeviceLock::Held> take_device();
  /// To time something: waits until no process of this worker is creating its context.
  Outcome<DeviceLock::Held> take_device_alone(std::int64_t deadline_ms);
  Outcome<LoadedSubject*> find_subject(std::int64_t handle);
  /// How many of the loaded subjects are Python's.
  [[nodiscard]] std::size_t loaded_python() const;
  /// A subject that may be judged and timed.
  Outcome<LoadedSubject*> find_unprofiled(std::int64_t handle);
  [[nodiscard]] TurnContext context(std::string subject = {});
  [[nodiscard]] bool on_gpu() const { return m_greeted->factory.setting().gpu.has_value(); }
  [[nodiscard]] Wait wait_for(std::int64_t deadline_ms) const;

  std::string m_own_program;
  CancelSource m_cancel;
  std::unique_ptr<ChildRegistry> m_registry =
      std::make_unique<ChildRegistry>();  // children keep its address
  Store m_store;
  std::optional<Greeted> m_greeted;
  std::map<std::int64_t, LoadedSubject> m_subjects;
  std::list<LoadedSubject> m_leaving;  ///< killed; reaped before the device is measured on again
  std::map<std::string, FreshRecord> m_fresh;        ///< see TurnContext
  std::map<std::string, double> m_hot_us, m_run_us;  ///< see TurnContext
  std::int64_t m_next_handle = 1;
  bool m_canary_due = false;
};

template <typename T>
Outcome<T> Supervisor::noted(std::int64_t handle, Outcome<T> outcome) {
  if (outcome.ok() || outcome.error().invalidity == Invalidity::constraints) return outcome;
  m_canary_due = true;
  const auto found = m_subjects.find(handle);
  if (found != m_subjects.end() && !found->second.process.alive()) m_subjects.erase(found);
  return outcome;
}

template <typename Value>
Outcome<Json> as_json(const Outcome<Value>& outcome) {
  if (!outcome.ok()) return outcome.error();
  return to_json(*outcome);
}

}  // namespace wb::worker
