// SPDX-License-Identifier: MIT
// The judge's own process: private copy first, then inputs from the seed, then the comparison, on
// the CPU or on a GPU.
#include <malloc.h>

#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "worker/cuda/gpu_device.hpp"
#include "worker/cuda/gpu_judge.hpp"
#include "worker/cuda/stopwatch.hpp"
#include "worker/judge_process.hpp"
#include "worker/roles.hpp"
#include "worker/secret.hpp"

namespace wb::worker {
namespace {

/// Of what one output needed so much is kept for the next one: memory that comes fresh from the
/// system costs more than what is computed in it. More than this the problems may want themselves.
constexpr int k_kept_bytes = 64 << 20;

/// On what the judge computes. Answers to questions are those of JudgeProcess.
class Bench {
 public:
  virtual ~Bench() = default;
  /// The subject may still hold the memory of `out` and write to it: a bench reads it once, into a
  /// copy of its own, and judges that. It draws which rows are sampled, too.
  virtual Result<OutputVerdict> judge(const JudgeTask& task, std::span<const std::byte> out,
                                      std::span<const float> lse, const JudgeOptions& options) = 0;
  virtual Result<Json> answer(std::string_view question) = 0;
};

class CpuBench final : public Bench {
 public:
  Result<OutputVerdict> judge(const JudgeTask& task, std::span<const std::byte> out,
                              std::span<const float> lse, const JudgeOptions& options) override {
    m_out.resize(out.size());
    std::memcpy(m_out.data(), out.data(), out.size());
    JudgeOptions drawn = options;
    drawn.sample_seed = draw_secret<std::uint32_t>();  // after the copy
    make_inputs(task.problem, task.seed, task.draw, task.threads, m_inputs);
    Result<OutputVerdict> verdict = judge_output(task.problem, m_inputs, m_out, lse, drawn);
    const std::size_t kept_bytes = m_out.capacity() + m_inputs.q.capacity() +
                                   m_inputs.k.capacity() + m_inputs.v.capacity() +
                                   m_inputs.mask.capacity();
    if (kept_bytes > k_kept_bytes) {
      m_out = Bytes();
      m_inputs = Inputs();
    }
    return verdict;
  }
  Result<Json> answer(std::string_view question) override {
    return Error{ErrorCode::invalid, "answer", std::string(question),
                 "this judge computes on the CPU", ""};
  }

 private:
  Bytes m_out;  ///< a copy of what is judged; both keep their storage: see k_kept_bytes
  Inputs m_inputs;
};

class GpuBench final : public Bench {
 public:
  static cuda::CudaResult<std::unique_ptr<Bench>> create(int ordinal) {
    WB_TRY_ASSIGN(cuda::DriverPtr driver, cuda::Driver::load());
    WB_TRY_ASSIGN(cuda::ContextPtr context, cuda::Context::create(std::move(driver), ordinal));
    WB_TRY_ASSIGN(cuda::GpuJudge judge, cuda::GpuJudge::create(context));
    return std::unique_ptr<Bench>(new GpuBench(std::move(judge)));
  }
  Result<OutputVerdict> judge(const JudgeTask& task, std::span<const std::byte> out,
                              std::span<const float> lse, const JudgeOptions& options) override {
    // Its copy is the one on the device.
    JudgeOptions drawn = options;
    drawn.sample_seed = draw_secret<std::uint32_t>();
    WB_TRY_ASSIGN(OutputVerdict verdict,
                  m_judge.judge(task.problem, task.seed, task.draw, out, lse, drawn));
    return verdict;
  }
  Result<Json> answer(std::string_view question) override {
    const cuda::Context& context = *m_judge.stream().context();
    if (question == k_ask_memory) {
      WB_TRY_ASSIGN(const cuda::DeviceMemory memory, context.memory());
      return Json{{"free_bytes", memory.free_bytes}};
    }
    GpuFacts facts;
    WB_TRY_ASSIGN(facts.device, cuda::describe_gpu(context));
    WB_TRY_ASSIGN(cuda::Stopwatch stopwatch, cuda::Stopwatch::create(m_judge.stream()));
    facts.empty_pair_us = stopwatch.empty_pair_us();
    WB_TRY_ASSIGN(facts.empty_call_us, stopwatch.empty_call_us(m_judge.stream()));
    return to_json(facts);
  }

 private:
  explicit GpuBench(cuda::GpuJudge judge) : m_judge(std::move(judge)) {}
  cuda::GpuJudge m_judge;
};

/// What could not be started answers every message so.
class BrokenBench final : public Bench {
 public:
  explicit BrokenBench(Error error) : m_error(std::move(error)) {}
  Result<OutputVerdict> judge(const JudgeTask&, std::span<const std::byte>, std::span<const float>,
                              const JudgeOptions&) override {
    return m_error;
  }
  Result<Json> answer(std::string_view) override { return m_error; }

 private:
  Error m_error;
};

std::unique_ptr<Bench> make_bench(std::optional<int> gpu) {
  if (!gpu) return std::make_unique<CpuBench>();
  auto bench = GpuBench::create(*gpu);
  if (bench.ok()) return *std::move(bench);
  return std::make_unique<BrokenBench>(bench.error());
}

Result<OutputVerdict> judge_one(const Message& message, Bench& bench) {
  WB_TRY_ASSIGN(const JudgeTask task, judge_task_from_json(message.body));
  const bool has_lse = message.fds.size() == 2;
  if (message.fds.empty() || message.fds.size() > 2) {
    return Error{ErrorCode::invalid, "judge", "an output", "one or two descriptors belong to it",
                 ""};
  }
  const auto& p = task.problem;
  WB_TRY_ASSIGN(const Mapping out, Mapping::of(message.fds[0].get(), out_bytes(p), false));
  std::vector<float> lse(has_lse ? static_cast<std::size_t>(p.B * p.Hq * p.Sq) : 0);
  if (has_lse) {
    const std::size_t lse_bytes = lse.size() * sizeof(float);
    WB_TRY_ASSIGN(const Mapping lse_map, Mapping::of(message.fds[1].get(), lse_bytes, false));
    std::memcpy(lse.data(), lse_map.bytes().data(), lse_bytes);
  }
  JudgeOptions options;
  options.threads = task.threads;
  options.poison = task.out_poison;
  options.judge_lse = has_lse;
  if (has_lse) options.lse_poison = task.lse_poison;
  if (task.max_blocks) options.max_blocks = static_cast<std::size_t>(*task.max_blocks);
  return bench.judge(task, out.bytes(), lse, options);
}

Json answer(const Message& message, Bench& bench) {
  try {
    if (const auto question = message.body.find("ask"); question != message.body.end()) {
      const Result<Json> answered = bench.answer(question->get<std::string>());
      if (answered.ok()) return *answered;
      return {{"fault", answered.error().message()}};
    }
    const Result<OutputVerdict> verdict = judge_one(message, bench);
    if (verdict.ok()) return to_json(*verdict);
    return {{"fault", verdict.error().message()}};
  } catch (const std::exception& fault) {
    return {{"fault", fault.what()}};
  }
}

}  // namespace

int run_judge(const Channel& channel, std::optional<int> gpu) {
  ::mallopt(M_TRIM_THRESHOLD, k_kept_bytes);
  ::mallopt(M_MMAP_THRESHOLD, k_kept_bytes / 2);
  const std::unique_ptr<Bench> bench = make_bench(gpu);
  while (true) {
    const auto message = channel.receive(Deadline::max());
    if (!message.ok()) return message.error() == ChannelFault::closed ? 0 : 1;
    if (!channel.send(answer(*message, *bench)).ok()) return 1;
  }
}

}  // namespace wb::worker
