// SPDX-License-Identifier: MIT
#include "worker/gpu_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/json.hpp"
#include "measure/quantiles.hpp"
#include "worker/microseconds.hpp"

namespace wb::worker {
namespace {

constexpr int k_idle_copies = 5;
/// Bounds for a copy to the host through pageable memory: slower than any machine's, and a message.
constexpr double k_slow_copy_bytes_per_us = 1'000, k_copy_message_us = 200;

}  // namespace

double after_done_us(double copied_us, const IdleCopy& idle) {
  // Uses the slowest copy, so that an occasional slow message accuses nobody.
  return std::max(copied_us - idle.most_us, 0.0);
}

double most_own_copy_us(std::size_t size_bytes) {
  return k_copy_message_us + static_cast<double>(size_bytes) / k_slow_copy_bytes_per_us;
}

Outcome<std::unique_ptr<CallOutput>> GpuOutput::make(SubjectProcess& subject, JudgeProcess& judge,
                                                     const problem::Problem& problem,
                                                     const OutputOrder& order, const Wait& wait) {
  auto made = std::unique_ptr<GpuOutput>(new GpuOutput(subject, judge, wait));
  GpuOutput& output = *made;
  output.m_want_lse = order.want_lse && judge.lends();
  if (!judge.lends()) {
    WB_TRY_ASSIGN(auto shown, subject.shown_memory(problem::out_bytes(problem)));
    output.m_shown = std::move(shown);
    return std::unique_ptr<CallOutput>(std::move(made));
  }
  const std::string stage = fmt::format("{} {}", order.key, order.want_lse ? "lse" : "");
  Borrowed& kept = subject.borrowed();
  if (!kept.output || kept.stage != stage || !judge.has_lent(*kept.output)) {
    // The old memory lives until the subject has the new one, so that the addresses differ.
    WB_TRY_ASSIGN(auto lent,
                  judge.lend(cuda::output_places(problem, order.want_lse, true, order.placement),
                             std::nullopt, std::nullopt, wait.deadline, wait.cancel));
    output.m_borrowed = {stage, std::move(lent)};
  } else {
    output.m_borrowed = kept;
  }
  return std::unique_ptr<CallOutput>(std::move(made));
}

void GpuOutput::hand_over(Json& message, std::vector<int>& fds) {
  if (m_shown) {
    fds.push_back(m_shown->fd());
    return;
  }
  message["lent"] = to_json(*m_borrowed.output);
  for (const int fd : m_borrowed.output->numbers_of_fds()) fds.push_back(fd);
}

Outcome<void> GpuOutput::taken_up() {
  if (m_borrowed.output) m_subject->borrowed() = m_borrowed;
  m_idle.least_us = std::numeric_limits<double>::infinity();
  std::vector<double> device_us;
  for (int i = 0; i <= k_idle_copies; ++i) {
    const Deadline begin = std::chrono::steady_clock::now();
    if (m_shown) {
      WB_TRY(m_subject->ask({{"op", "copy"}}, {}, *m_wait));
    } else {
      WB_TRY_ASSIGN(const auto copied,
                    m_judge->take(*m_borrowed.output, m_wait->deadline, m_wait->cancel));
      device_us.push_back(copied);
    }
    if (i == 0) continue;  // the first one reserves memory
    const double us = us_since(begin);
    m_idle.least_us = std::min(m_idle.least_us, us);
    m_idle.most_us = std::max(m_idle.most_us, us);
  }
  if (!device_us.empty()) m_idle.device_us = measure::median(device_us);
  return {};
}

Outcome<BlockEnd> GpuOutput::at_done(const Json&, TakeOutput take) {
  BlockEnd end;
  if (m_shown) {
    end.own_copy_us = std::min(m_idle.least_us, most_own_copy_us(m_shown->bytes().size()));
    return end;
  }
  if (take == TakeOutput::yes) {
    const Deadline begin = std::chrono::steady_clock::now();
    WB_TRY(m_judge->take(*m_borrowed.output, m_wait->deadline, m_wait->cancel));
    end.put_off_us = after_done_us(us_since(begin), m_idle);
  }
  WB_TRY(m_subject->tell({{"op", "show"}}, {}));
  end.own_copy_us = m_idle.device_us;
  return end;
}

Outcome<problem::OutputVerdict> GpuOutput::judge(const JudgeTask& task) {
  if (m_shown) {
    return m_judge->judge(task, *m_shown, nullptr, m_wait->deadline, m_wait->cancel);
  }
  return m_judge->judge_taken(task, *m_borrowed.output, m_want_lse, m_wait->deadline,
                              m_wait->cancel);
}

Outcome<std::shared_ptr<const LentOutput>> lend_for_run(JudgeProcess& judge, const JudgeTask& task,
                                                        bool want_lse, const Wait& wait) {
  return judge.lend(cuda::output_places(task.problem, want_lse, false, 0), task.out_poison,
                    task.lse_poison, wait.deadline, wait.cancel);
}

}  // namespace wb::worker
