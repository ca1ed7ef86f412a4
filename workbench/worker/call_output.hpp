// SPDX-License-Identifier: MIT
// CallOutput: where the outputs of a turn or judged run lie, and how the supervisor gets them. One
// implementation for each kind of memory: HostOutput, and GpuOutput in gpu_output.hpp. Used by
// turns and judged runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/json_fwd.hpp"
#include "worker/judge_process.hpp"
#include "worker/subject_process.hpp"
#include "worker/turn_plan.hpp"

namespace wb::worker {

/// Whether the output of the block that just ended is to be taken.
enum class TakeOutput { no, yes };

/// Corrections of the supervisor's time of a block, found at its end.
struct BlockEnd {
  double put_off_us = 0;   ///< delay of the judge's copy: added
  double own_copy_us = 0;  ///< the subject's own copy after its last call: subtracted
};

class CallOutput {
 public:
  virtual ~CallOutput() = default;
  /// Adds its fields to the message "turn". Descriptors of outputs follow those of inputs.
  virtual void hand_over(Json& message, std::vector<int>& fds) = 0;
  /// Called after a good answer to "turn", while the subject is idle. Failures: those of asking.
  virtual Outcome<void> taken_up() = 0;
  /// Called before "prime": overwrites the last output, so that it cannot pass for the next call's
  /// even if the subject writes its poison elsewhere.
  virtual void spoil() = 0;
  /// Called right after "done", whose answer is `done`, and before any other request. Failures:
  /// runtime, environment.
  virtual Outcome<BlockEnd> at_done(const Json& done, TakeOutput take) = 0;
  /// Judges what at_done() took last, after the subject has sent its samples. Failures:
  /// environment.
  virtual Outcome<problem::OutputVerdict> judge(const JudgeTask& task) = 0;
  /// True when an LSE is judged: it was requested, and the subject provides one.
  [[nodiscard]] virtual bool has_lse() const = 0;
};

struct OutputOrder {
  std::string key;  ///< identifies what may be kept between turns: problem, placement
  std::int64_t placement = 0;
  bool want_lse = false;
};

/// On the CPU: the supervisor's memory (OutputMemory), read while the subject is stopped. On a GPU:
/// the judge's memory, or the copy that the subject makes before "done". All arguments but the
/// order and the problem must outlive the result. Failures: environment.
Outcome<std::unique_ptr<CallOutput>> make_call_output(SubjectProcess& subject, JudgeProcess& judge,
                                                      const problem::Problem& problem,
                                                      const OutputOrder& order, Clock clock,
                                                      const Wait& wait);

}  // namespace wb::worker
