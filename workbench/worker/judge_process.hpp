// SPDX-License-Identifier: MIT
// JudgeProcess: the supervisor's side of the judge. The judge copies an output, makes the inputs
// from the seed and compares; it never loads a variant. In a GPU session it computes on the GPU and
// reports its facts to the supervisor.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "device/device.hpp"
#include "problem/inputs.hpp"
#include "problem/verdict.hpp"
#include "worker/child.hpp"
#include "worker/hand_over.hpp"
#include "worker/memory.hpp"

namespace wb::worker {

struct JudgeTask {
  problem::Problem problem;
  problem::Draw draw = problem::Draw::normal;
  std::uint32_t seed = 0;
  problem::Poison out_poison, lse_poison;
  std::optional<std::int64_t> max_blocks;  ///< default: the rule of problem/verdict.hpp
  int threads = 1;
  /// The lent output whose copy is judged; 0: memory files are passed instead.
  std::int64_t taken = 0;
  bool taken_lse = false;  ///< the LSE too
};
Json to_json(const JudgeTask& task);
Result<JudgeTask> judge_task_from_json(const Json& json);

struct GpuFacts {
  device::Device device;
  double empty_pair_us = 0;  ///< time between two events with nothing between them
  double empty_call_us = 0;  ///< an empty kernel, one of many in a graph
  std::string why_not_lent;  ///< why subjects cannot write to the judge's memory; empty: they can
};
Json to_json(const GpuFacts& facts);

class JudgeProcess {
 public:
  /// `gpu`: the CUDA ordinal to compute on; none: the CPU.
  JudgeProcess(ChildRegistry& registry, std::string own_program, Confinement confinement,
               std::optional<int> gpu);

  /// `lse` may be null: not judged. Starts the judge if it is not running. A judge that fails or is
  /// late is killed, with an `environment` failure that never counts against the variant.
  Outcome<problem::OutputVerdict> judge(const JudgeTask& task, const SharedMemory& out,
                                        const SharedMemory* lse, Deadline deadline,
                                        CancelSource cancel);
  /// Judges the last copy made by take().
  Outcome<problem::OutputVerdict> judge_taken(JudgeTask task, const LentOutput& lent, bool with_lse,
                                              Deadline deadline, CancelSource cancel);
  /// Whether subjects write to the judge's memory: on a GPU, as gpu_facts() determined.
  [[nodiscard]] bool lends() const { return m_lends; }
  /// Device memory of the judge for a subject's outputs, filled with a poison if one is given.
  /// Released with the last LentOutput. Failures: environment.
  Outcome<std::shared_ptr<const LentOutput>> lend(const cuda::OutputPlaces& places,
                                                  const std::optional<problem::Poison>& out_poison,
                                                  const std::optional<problem::Poison>& lse_poison,
                                                  Deadline deadline, CancelSource cancel);
  /// True when this judge process lent it; a restarted judge does not know earlier loans.
  [[nodiscard]] bool has_lent(const LentOutput& lent) const { return lent.judge == pid(); }
  /// Copies its present content. Returns the copy's microseconds on the device. Failures:
  /// environment.
  Outcome<double> take(const LentOutput& lent, Deadline deadline, CancelSource cancel);
  Result<void> start();
  /// Failures: environment (no driver, no such GPU, no device code, …), in the driver's words.
  Outcome<GpuFacts> gpu_facts(Deadline deadline, CancelSource cancel);
  /// Free device memory.
  Outcome<std::uint64_t> free_gpu_bytes(Deadline deadline, CancelSource cancel);
  [[nodiscard]] pid_t pid() const { return m_child ? m_child->pid() : 0; }

 private:
  /// Sends and waits; kills the judge when the answer is wrong or late.
  Outcome<Json> ask(const Json& message, std::span<const int> fds, Deadline deadline,
                    CancelSource cancel);
  Outcome<Message> ask_for_more(const Json& message, std::span<const int> fds, Deadline deadline,
                                CancelSource cancel);
  /// Numbers of loans that are not used any more.
  Json ended_loans();
  /// Kills the judge and returns the failure.
  Failure fail(const std::string& what);

  ChildRegistry& m_registry;
  std::string m_own_program;
  Confinement m_confinement;
  std::optional<int> m_gpu;
  std::optional<Child> m_child;
  bool m_lends = false;
  std::int64_t m_next_loan = 1;
  std::map<std::int64_t, std::weak_ptr<const LentOutput>> m_lent;
};

}  // namespace wb::worker
