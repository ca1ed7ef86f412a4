// SPDX-License-Identifier: MIT
// CallOutput: where the outputs of one turn or judged run lie, and how the supervisor gets them.
// One form for each kind of memory: HostOutput here, GpuOutput in gpu_output.hpp. Used by turns and
// judged runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "worker/judge_process.hpp"
#include "worker/subject_process.hpp"
#include "worker/turn_plan.hpp"

namespace wb::worker {

/// Whether the output of the block that has just ended is to be had.
enum class Look { no, yes };

/// What the end of a block changes of the supervisor's time of it.
struct BlockEnd {
  double put_off_us = 0;   ///< by which the judge's copy was late: added
  double own_copy_us = 0;  ///< of the subject's own copy behind its last call: taken off
};

class CallOutput {
 public:
  virtual ~CallOutput() = default;
  /// Tells the message "turn" of it. The files of outputs follow those of inputs.
  virtual void hand_over(Json& message, std::vector<int>& fds) = 0;
  /// The answer to "turn" was good: the subject stands ready and is idle. Failures: those of
  /// asking.
  virtual Outcome<void> taken_up() = 0;
  /// Before "prime": what an earlier call left must not pass for this one's, even where the subject
  /// has its poison written elsewhere.
  virtual void spoil() = 0;
  /// Right after "done", whose answer is `done`, and before anything else is asked. Failures:
  /// runtime, environment.
  virtual Outcome<BlockEnd> at_done(const Json& done, Look look) = 0;
  /// Of what at_done() took last, once the subject has told its samples. Failures: environment.
  virtual Outcome<problem::OutputVerdict> judge(const JudgeTask& task) = 0;
  /// Whether an LSE is judged: one was asked for, and the subject gives one.
  [[nodiscard]] virtual bool has_lse() const = 0;
};

struct OutputOrder {
  std::string key;  ///< of what may be kept from turn to turn: problem, placement
  std::int64_t placement = 0;
  bool want_lse = false;
};

/// On the CPU the memory of the supervisor (OutputMemory), read while the subject stands still; on
/// a GPU the judge's, or what the subject copies out before "done". All of the arguments outlive it
/// but the order and the problem. Failures: environment.
Outcome<std::unique_ptr<CallOutput>> make_call_output(SubjectProcess& subject, JudgeProcess& judge,
                                                      const problem::Problem& problem,
                                                      const OutputOrder& order, Clock clock,
                                                      const Wait& wait);

}  // namespace wb::worker
