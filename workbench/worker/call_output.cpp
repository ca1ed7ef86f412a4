// SPDX-License-Identifier: MIT
#include "worker/call_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/json.hpp"
#include "core/secret.hpp"
#include "worker/failure.hpp"
#include "worker/gpu_output.hpp"
#include "worker/hand_over.hpp"
#include "worker/microseconds.hpp"

namespace wb::worker {

using problem::Problem;

namespace {

/// A subject that continued while it was stopped is stopped and read again; after this many times
/// it does so on purpose.
constexpr int k_most_reads = 3;
constexpr int k_timed_copies = 3;
constexpr int k_spoiled = 32;
constexpr std::size_t k_spoiled_bytes = 4;

std::string wrote_beside(const char* tensor) {
  return fmt::format("wrote outside its tensors, beside {}", tensor);
}

/// Writes NaN to elements at secret places, in any dtype. Only a few, because writing all would
/// take them out of the caches of the CPU that writes the output.
void spoil_some(std::span<std::byte> bytes) {
  const std::size_t count = bytes.size() / k_spoiled_bytes;
  for (int i = 0; i < k_spoiled && count > 0; ++i) {
    const std::size_t at = draw_secret<std::uint64_t>() % count * k_spoiled_bytes;
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), k_spoiled_bytes, std::byte{0xff});
  }
}

class HostOutput final : public CallOutput {
 public:
  static Outcome<std::unique_ptr<CallOutput>> make(SubjectProcess& subject, JudgeProcess& judge,
                                                   const Problem& problem, const OutputOrder& order,
                                                   const Wait& wait) {
    auto output = std::unique_ptr<HostOutput>(new HostOutput(subject, judge, problem, order, wait));
    WB_TRY(output->make_memory(order));
    if (subject.kind() == SubjectKind::python) {
      output->m_reads_results = may_read_memory_of(subject.pid());
      if (!output->m_reads_results) {
        WB_TRY(output->time_copy());
      }
    }
    return std::unique_ptr<CallOutput>(std::move(output));
  }

  void hand_over(Json& message, std::vector<int>& fds) override {
    message["placing"] = to_string(m_memory->out.placing());
    message["want_lse"] = m_memory->lse.has_value();
    if (m_subject.kind() == SubjectKind::python) message["tells_results"] = m_reads_results;
    if (m_is_kept) return;
    message["out_offset"] = m_memory->out.offset();
    fds.push_back(m_memory->out.fd());
    if (!m_memory->lse) return;
    message["lse_offset"] = m_memory->lse->offset();
    fds.push_back(m_memory->lse->fd());
  }

  Outcome<void> taken_up() override {
    const std::size_t size_bytes = problem::out_bytes(m_problem);
    m_subject.keep_outputs(size_bytes <= k_kept_shown_bytes ? m_memory : nullptr);
    return {};
  }

  void spoil() override {
    spoil_some(m_memory->out.bytes());
    if (m_memory->lse) spoil_some(m_memory->lse->bytes());
  }

  Outcome<BlockEnd> at_done(const Json& done, TakeOutput take) override {
    m_gives_lse = done.value("lse", Json(true)) != Json(false);
    const bool copied = done.value("copied", Json(false)) == Json(true);
    if (take == TakeOutput::yes) {
      WB_TRY(read_still(done));
    }
    BlockEnd end;
    if (copied && !m_reads_results) end.own_copy_us = m_copy_us;
    return end;
  }

  Outcome<problem::OutputVerdict> judge(const JudgeTask& task) override {
    const SharedMemory* lse = has_lse() ? &m_memory->lse->taken() : nullptr;
    return m_judge.judge(task, m_memory->out.taken(), lse, m_wait.deadline, m_wait.cancel);
  }

  [[nodiscard]] bool has_lse() const override { return m_memory->lse && m_gives_lse; }

 private:
  HostOutput(SubjectProcess& subject, JudgeProcess& judge, const Problem& problem,
             const OutputOrder& order, const Wait& wait)
      : m_subject(subject),
        m_judge(judge),
        m_wait(wait),
        m_problem(problem),
        m_key(fmt::format("{} {}", order.key, order.want_lse)) {}

  Outcome<void> make_memory(const OutputOrder& order) {
    if (m_subject.outputs() && m_subject.outputs()->key == m_key) {
      m_memory = m_subject.outputs();
      m_is_kept = true;
      return {};
    }
    m_subject.keep_outputs(nullptr);  // frees the old outputs before new ones are made
    const Placing placing = m_subject.next_placing();
    WB_TRY_ASSIGN(auto out, OutputMemory::create(problem::out_bytes(m_problem), placing));
    SubjectOutputs outputs{m_key, std::move(out), std::nullopt};
    if (order.want_lse) {
      WB_TRY_ASSIGN(auto lse, OutputMemory::create(problem::lse_bytes(m_problem), placing));
      outputs.lse.emplace(std::move(lse));
    }
    m_memory = std::make_shared<SubjectOutputs>(std::move(outputs));
    return {};
  }

  /// Measures the time of an output copy, for a subject that must make one.
  Outcome<void> time_copy() {
    m_copy_us = std::numeric_limits<double>::infinity();
    for (int i = 0; i < k_timed_copies; ++i) {
      const Deadline begin = std::chrono::steady_clock::now();
      WB_TRY(m_memory->out.take());
      m_copy_us = std::min(m_copy_us, us_since(begin));
    }
    return {};
  }

  Outcome<void> read_still(const Json& done) {
    for (int read = 0; read < k_most_reads; ++read) {
      std::string fault;
      bool is_unbroken = false;
      {
        WB_TRY_ASSIGN(const auto still, m_subject.stand_still());
        WB_TRY_ASSIGN(auto taken, take(m_subject.pid(), done));
        fault = std::move(taken);
        is_unbroken = still.is_unbroken();
      }
      if (!fault.empty()) return m_subject.fail(Invalidity::runtime, std::move(fault));
      if (is_unbroken) return {};
    }
    return m_subject.fail(Invalidity::runtime,
                          "it went on running while it was stopped, so its output cannot be read; "
                          "variants must leave signals and timers alone");
  }

  /// What is wrong with the output, or nothing. Failures: environment.
  Outcome<std::string> take(pid_t pid, const Json& done) {
    if (!m_memory->out.margins_intact()) return wrote_beside("out");
    if (m_memory->lse) {
      if (!m_memory->lse->margins_intact()) return wrote_beside("lse");
      WB_TRY(m_memory->lse->take());
    }
    const auto result = done.find("result");
    if (result == done.end()) {
      WB_TRY(m_memory->out.take());
      return std::string();
    }
    WB_TRY_ASSIGN(const auto to, m_memory->out.taken_bytes());
    const auto place = result_address_from_json(*result);
    if (!place.ok()) return place.error().message();
    const Result<void> read = read_result(pid, *place, m_problem, to);
    return read.ok() ? std::string() : read.error().message();
  }

  SubjectProcess& m_subject;
  JudgeProcess& m_judge;
  const Wait& m_wait;
  Problem m_problem;
  std::string m_key;
  std::shared_ptr<SubjectOutputs> m_memory;
  bool m_is_kept = false;
  bool m_gives_lse = true;
  bool m_reads_results = true;  ///< this machine lets us read a tensor in the subject's memory
  double m_copy_us = 0;
};

}  // namespace

Outcome<std::unique_ptr<CallOutput>> make_call_output(SubjectProcess& subject, JudgeProcess& judge,
                                                      const Problem& problem,
                                                      const OutputOrder& order, Clock clock,
                                                      const Wait& wait) {
  if (clock == Clock::host) return HostOutput::make(subject, judge, problem, order, wait);
  return GpuOutput::make(subject, judge, problem, order, wait);
}

}  // namespace wb::worker
