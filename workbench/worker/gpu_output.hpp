// SPDX-License-Identifier: MIT
// GpuOutput: where the outputs of a turn on a GPU lie, and how the supervisor gets them
// (docs/contracts/worker_protocol.md, "Who owns an output"). For turns; judged runs use the judge
// directly.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/call_output.hpp"

namespace wb::worker {

/// What a copy takes while the device has nothing else to do, by the supervisor's clock, messages
/// and all; and on the device alone.
struct IdleCopy {
  double least_us = 0, most_us = 0, device_us = 0;
};

/// How much later than "done" a block ended: the copy of its output was complete at `copied_us`
/// after "done", and takes `idle` of an idle device. Never negative.
double after_done_us(double copied_us, const IdleCopy& idle);

/// What a subject that copies its output itself may have taken off for that, whatever it says:
/// microseconds for so many bytes.
double most_own_copy_us(std::size_t size_bytes);

class GpuOutput final : public CallOutput {
 public:
  /// The judge's memory, kept from the subject's last turn if `stage` is the same; or, where it
  /// lends none, a memory file that the subject copies its output to. Failures: environment.
  static Outcome<std::unique_ptr<CallOutput>> make(SubjectProcess& subject, JudgeProcess& judge,
                                                   const problem::Problem& problem,
                                                   const OutputOrder& order, const Wait& wait);
  void hand_over(Json& message, std::vector<int>& fds) override;
  /// Finds out what a copy takes.
  Outcome<void> taken_up() override;
  void spoil() override {}  // its poison is all: this side writes to no device
  /// With a look the judge takes the copy that is judged. Without, nothing of another process comes
  /// between two blocks: a change of contexts makes the next call colder (0.4 us on an H100).
  Outcome<BlockEnd> at_done(const Json& done, Look look) override;
  Outcome<problem::OutputVerdict> judge(const JudgeTask& task) override;
  [[nodiscard]] bool has_lse() const override { return m_want_lse; }

 private:
  GpuOutput(SubjectProcess& subject, JudgeProcess& judge, const Wait& wait)
      : m_subject(&subject), m_judge(&judge), m_wait(&wait) {}

  SubjectProcess* m_subject;
  JudgeProcess* m_judge;
  const Wait* m_wait;
  Borrowed m_borrowed;                          // the judge's memory
  std::shared_ptr<const SharedMemory> m_shown;  // or the subject's copy
  bool m_want_lse = false;
  IdleCopy m_idle;
};

/// Where the outputs of a judged run lie: as those of a turn, at the first placement.
Outcome<std::shared_ptr<const LentOutput>> lend_for_run(JudgeProcess& judge, const JudgeTask& task,
                                                        bool want_lse, const Wait& wait);

}  // namespace wb::worker
