// SPDX-License-Identifier: MIT
// JudgeProcess: the supervisor's side of the judge. The judge copies an output, makes the inputs
// itself from the seed and compares; it never meets a variant's code. In a session on a GPU it
// computes there, and is who tells the supervisor about the GPU.
#pragma once

#include <optional>
#include <string>

#include "core/invalidity.hpp"
#include "device/device.hpp"
#include "problem/inputs.hpp"
#include "problem/verdict.hpp"
#include "worker/child.hpp"
#include "worker/memory.hpp"

namespace wb::worker {

struct JudgeTask {
  Problem problem;
  Draw draw = Draw::normal;
  std::uint32_t seed = 0;
  Poison out_poison, lse_poison;
  std::optional<std::int64_t> max_blocks;  ///< default: the verdict module's rule
  int threads = 1;
};
Json to_json(const JudgeTask& task);
Result<JudgeTask> judge_task_from_json(const Json& json);

struct GpuFacts {
  Device device;
  double empty_pair_us = 0;  ///< between two events with nothing between them
  double empty_call_us = 0;  ///< an empty kernel, one of many in a graph
};
Json to_json(const GpuFacts& facts);

class JudgeProcess {
 public:
  /// `gpu`: the CUDA ordinal that it computes on; none: the CPU.
  JudgeProcess(Family& family, std::string own_program, Confinement confinement,
               std::optional<int> gpu);

  /// `lse` may be null: not judged. Starts the judge when it is not there. A judge that fails or
  /// is late is killed and is an `environment` failure: it never counts against the variant.
  Outcome<OutputVerdict> judge(const JudgeTask& task, const SharedMemory& out,
                               const SharedMemory* lse, Deadline deadline, CancelSource cancel);
  Result<void> start();
  /// Failures: environment (no driver, no such GPU, no device code, …), in the driver's words.
  Outcome<GpuFacts> gpu_facts(Deadline deadline, CancelSource cancel);
  /// Device memory that nobody holds.
  Outcome<std::uint64_t> free_gpu_bytes(Deadline deadline, CancelSource cancel);
  [[nodiscard]] pid_t pid() const { return m_child ? m_child->pid() : 0; }

 private:
  /// Sends and waits; kills the judge when it does not answer as it should.
  Outcome<Json> ask(const Json& message, std::span<const int> fds, Deadline deadline,
                    CancelSource cancel);
  /// Kills it and says so.
  Failure fail(const std::string& what);

  Family& m_family;
  std::string m_own_program;
  Confinement m_confinement;
  std::optional<int> m_gpu;
  std::optional<Child> m_child;
};

}  // namespace wb::worker
