// SPDX-License-Identifier: MIT
// GpuOutput: where the outputs of a turn on a GPU lie, and how the supervisor gets them
// (docs/contracts/worker_protocol.md, "Who owns an output"). For turns; judged runs use the judge
// directly.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/json_fwd.hpp"
#include "worker/call_output.hpp"

namespace wb::worker {

/// Time of a copy on an idle device: by the supervisor's clock with messages, and on the device
/// alone.
struct IdleCopy {
  double least_us = 0, most_us = 0, device_us = 0;
};

/// How much later than "done" a block ended, when the copy of its output completed `copied_us`
/// after "done" and takes `idle` on an idle device. At least 0.
double after_done_us(double copied_us, const IdleCopy& idle);

/// The most that may be subtracted for a subject's own copy of its output, whatever it reports:
/// microseconds for this many bytes.
double most_own_copy_us(std::size_t size_bytes);

class GpuOutput final : public CallOutput {
 public:
  /// Uses the judge's memory, kept from the subject's last turn if `stage` is the same; if the
  /// judge lends none, a memory file that the subject copies its output to. Failures: environment.
  static Outcome<std::unique_ptr<CallOutput>> make(SubjectProcess& subject, JudgeProcess& judge,
                                                   const problem::Problem& problem,
                                                   const OutputOrder& order, const Wait& wait);
  void hand_over(Json& message, std::vector<int>& fds) override;
  /// Measures the time of a copy.
  Outcome<void> taken_up() override;
  void spoil() override {}  // its poison suffices: this side writes to no device
  /// If the output is to be judged, the judge copies it. Else no other process runs between two
  /// blocks, since a change of contexts makes the next call colder (0.4 us on an H100).
  Outcome<BlockEnd> at_done(const Json& done, TakeOutput take) override;
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

/// Lends memory for the outputs of a judged run, laid out as at a turn's first placement.
Outcome<std::shared_ptr<const LentOutput>> lend_for_run(JudgeProcess& judge, const JudgeTask& task,
                                                        bool want_lse, const Wait& wait);

}  // namespace wb::worker
