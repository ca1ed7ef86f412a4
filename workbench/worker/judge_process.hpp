// SPDX-License-Identifier: MIT
// JudgeProcess: the supervisor's side of the judge. The judge copies an output, makes the inputs
// itself from the seed and compares; it never meets a variant's code.
#pragma once

#include <optional>
#include <string>

#include "core/invalidity.hpp"
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

class JudgeProcess {
 public:
  JudgeProcess(Family& family, std::string own_program, Confinement confinement);

  /// `lse` may be null: not judged. Starts the judge when it is not there. A judge that fails or
  /// is late is killed and is an `environment` failure: it never counts against the variant.
  Outcome<OutputVerdict> judge(const JudgeTask& task, const SharedMemory& out,
                               const SharedMemory* lse, Deadline deadline, CancelSource cancel);
  Result<void> start();
  [[nodiscard]] pid_t pid() const { return m_child ? m_child->pid() : 0; }

 private:
  Family& m_family;
  std::string m_own_program;
  Confinement m_confinement;
  std::optional<Child> m_child;
};

}  // namespace wb::worker
