// SPDX-License-Identifier: MIT
// The judge's process: private copy first, then inputs from the seed, then the comparison, on the
// CPU or a GPU.
#include <malloc.h>

#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "core/secret.hpp"
#include "worker/cuda/context.hpp"
#include "worker/cuda/gpu_judge.hpp"
#include "worker/cuda/loans.hpp"
#include "worker/cuda/stopwatch.hpp"
#include "worker/judge_process.hpp"
#include "worker/roles.hpp"

namespace wb::worker {

using problem::JudgeOptions;
using problem::OutputVerdict;
using problem::Poison;

namespace {

/// How much freed memory is kept for the next output, since fresh memory from the system costs more
/// than the computation in it. Keeping more could starve the problems.
constexpr int k_kept_bytes = 64 << 20;

struct Answer {
  Json body;
  std::vector<UniqueFd> fds = {};
};

Error computes_on_cpu(std::string_view question) {
  return Error{ErrorCode::invalid, "answer", std::string(question),
               "this judge computes on the CPU", ""};
}

/// The judge's computing side. Answers to requests are those of JudgeProcess.
class Bench {
 public:
  virtual ~Bench() = default;
  /// The subject may still write to the memory of `out`, so it is read once into a private copy,
  /// which is judged. Also draws the sampled rows.
  virtual Result<OutputVerdict> judge(const JudgeTask& task, std::span<const std::byte> out,
                                      std::span<const float> lse, const JudgeOptions& options) = 0;
  virtual Result<Answer> answer(std::string_view question, const Json& message) = 0;
  /// Judges the last copy taken, instead of memory files.
  virtual Result<OutputVerdict> judge_taken(const JudgeTask& task, const JudgeOptions& options) = 0;
};

class CpuBench final : public Bench {
 public:
  Result<OutputVerdict> judge(const JudgeTask& task, std::span<const std::byte> out,
                              std::span<const float> lse, const JudgeOptions& options) override {
    m_out.resize(out.size());
    std::memcpy(m_out.data(), out.data(), out.size());
    JudgeOptions drawn = options;
    drawn.sample_seed = draw_secret<std::uint32_t>();  // after the copy
    problem::make_inputs(task.problem, task.seed, task.draw, task.threads, m_inputs);
    Result<OutputVerdict> verdict =
        problem::judge_output(task.problem, m_inputs, m_out, lse, drawn);
    const std::size_t kept_bytes = m_out.capacity() + m_inputs.q.capacity() +
                                   m_inputs.k.capacity() + m_inputs.v.capacity() +
                                   m_inputs.mask.capacity();
    if (kept_bytes > k_kept_bytes) {
      m_out = problem::Bytes();
      m_inputs = problem::Inputs();
    }
    return verdict;
  }
  Result<Answer> answer(std::string_view question, const Json&) override {
    return computes_on_cpu(question);
  }
  Result<OutputVerdict> judge_taken(const JudgeTask&, const JudgeOptions&) override {
    return computes_on_cpu("a copy that was taken");
  }

 private:
  problem::Bytes m_out;  ///< a copy of the judged output; both keep their storage: see k_kept_bytes
  problem::Inputs m_inputs;
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
    // The copy is on the device.
    JudgeOptions drawn = options;
    drawn.sample_seed = draw_secret<std::uint32_t>();
    WB_TRY_ASSIGN(OutputVerdict verdict,
                  m_judge.judge(task.problem, task.seed, task.draw, out, lse, drawn));
    return verdict;
  }
  Result<OutputVerdict> judge_taken(const JudgeTask& task, const JudgeOptions& options) override {
    if (task.taken != m_taken_number) {
      return Error{ErrorCode::invalid, "judge", "a copy of an output", "it was not taken last", ""};
    }
    JudgeOptions drawn = options;
    drawn.sample_seed = draw_secret<std::uint32_t>();
    WB_TRY_ASSIGN(OutputVerdict verdict,
                  m_judge.judge(task.problem, task.seed, task.draw,
                                cuda::DeviceOutput{m_taken.out, m_taken.lse}, drawn));
    return verdict;
  }
  Result<Answer> answer(std::string_view question, const Json& message) override {
    if (question == k_ask_lend) return lend(message);
    if (question == k_ask_take) return take(message);
    const cuda::Context& context = *m_judge.stream().context();
    if (question == k_ask_memory) {
      end_loans(message);
      WB_TRY_ASSIGN(const cuda::DeviceMemory memory, context.memory());
      return Answer{{{"free_bytes", memory.free_bytes}}};
    }
    GpuFacts facts;
    WB_TRY_ASSIGN(facts.device, cuda::describe_gpu(context));
    WB_TRY_ASSIGN(cuda::Stopwatch stopwatch, cuda::Stopwatch::create(m_judge.stream()));
    facts.empty_pair_us = stopwatch.empty_pair_us();
    WB_TRY_ASSIGN(facts.empty_call_us, stopwatch.empty_call_us(m_judge.stream()));
    facts.why_not_lent = start_loans();
    return Answer{to_json(facts)};
  }

 private:
  explicit GpuBench(cuda::GpuJudge judge) : m_judge(std::move(judge)) {}
  /// Why there can be no loans, or nothing.
  std::string start_loans();
  void end_loans(const Json& message);
  Result<Answer> lend(const Json& message);
  Result<Answer> take(const Json& message);

  cuda::GpuJudge m_judge;
  std::optional<cuda::Loans> m_loans;
  cuda::TakenOutput m_taken;
  std::int64_t m_taken_number = 0;
};

std::string GpuBench::start_loans() {
  if (m_loans) return {};
  auto loans = cuda::Loans::create(
      m_judge.stream(),
      [this](const Poison& poison, cuda::DeviceAddress to, std::size_t size_bytes) {
        return m_judge.inputs().poison(m_judge.stream(), poison, to, size_bytes);
      });
  if (!loans.ok()) return loans.error().message();
  m_loans.emplace(*std::move(loans));
  return {};
}

void GpuBench::end_loans(const Json& message) {
  const auto ended = message.find("ended");
  if (!m_loans || ended == message.end()) return;
  for (const Json& number : *ended) m_loans->end(number.get<std::int64_t>());
}

Result<Answer> GpuBench::lend(const Json& message) {
  if (const std::string why = start_loans(); !why.empty()) {
    return Error{ErrorCode::environment, "lend", "memory for outputs", why, ""};
  }
  end_loans(message);
  cuda::OutputPlaces places;
  std::optional<Poison> out_poison, lse_poison, no_poison;
  for (const auto& [key, place, poison] :
       {std::tuple{"out", &places.out, &out_poison}, std::tuple{"lse", &places.lse, &lse_poison},
        std::tuple{"snap", &places.snap, &no_poison}}) {
    const Json& part = message.at(key);
    place->reserved_bytes = part.at("reserved_bytes").get<std::size_t>();
    place->offset = part.at("offset").get<std::size_t>();
    place->size_bytes = part.at("size_bytes").get<std::size_t>();
    if (part.contains("poison")) *poison = Poison{part.at("poison").get<std::uint64_t>()};
  }
  WB_TRY_ASSIGN(cuda::LoanParts parts, m_loans->lend(message.at("number").get<std::int64_t>(),
                                                     places, out_poison, lse_poison));
  return Answer{{{"bytes", parts.bytes}}, std::move(parts.fds)};
}

Result<Answer> GpuBench::take(const Json& message) {
  const auto number = message.at("number").get<std::int64_t>();
  if (!m_loans) return Error{ErrorCode::invalid, "take", "an output", "nothing was lent", ""};
  m_taken_number = 0;
  WB_TRY_ASSIGN(m_taken, m_loans->take(number));
  m_taken_number = number;
  return Answer{{{"device_us", m_taken.device_us}}};
}

/// Answers every message with the reason why the start failed.
class BrokenBench final : public Bench {
 public:
  explicit BrokenBench(Error error) : m_error(std::move(error)) {}
  Result<OutputVerdict> judge(const JudgeTask&, std::span<const std::byte>, std::span<const float>,
                              const JudgeOptions&) override {
    return m_error;
  }
  Result<OutputVerdict> judge_taken(const JudgeTask&, const JudgeOptions&) override {
    return m_error;
  }
  Result<Answer> answer(std::string_view, const Json&) override { return m_error; }

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
  const bool has_lse = task.taken != 0 ? task.taken_lse : message.fds.size() == 2;
  JudgeOptions options;
  options.threads = task.threads;
  options.poison = task.out_poison;
  options.judge_lse = has_lse;
  if (has_lse) options.lse_poison = task.lse_poison;
  if (task.max_blocks) options.max_blocks = static_cast<std::size_t>(*task.max_blocks);
  if (task.taken != 0) return bench.judge_taken(task, options);
  if (message.fds.empty() || message.fds.size() > 2) {
    return Error{ErrorCode::invalid, "judge", "an output", "one or two descriptors belong to it",
                 ""};
  }
  const auto& p = task.problem;
  WB_TRY_ASSIGN(const Mapping out, Mapping::of(message.fds[0].get(), problem::out_bytes(p), false));
  std::vector<float> lse(has_lse ? static_cast<std::size_t>(p.B * p.Hq * p.Sq) : 0);
  if (has_lse) {
    const std::size_t lse_bytes = lse.size() * sizeof(float);
    WB_TRY_ASSIGN(const Mapping lse_map, Mapping::of(message.fds[1].get(), lse_bytes, false));
    std::memcpy(lse.data(), lse_map.bytes().data(), lse_bytes);
  }
  return bench.judge(task, out.bytes(), lse, options);
}

Answer fault(std::string words) {
  return {{{"fault", std::move(words)}}};
}

Answer answer(const Message& message, Bench& bench) {
  try {
    if (const auto question = message.body.find("ask"); question != message.body.end()) {
      Result<Answer> answered = bench.answer(question->get<std::string>(), message.body);
      if (answered.ok()) return *std::move(answered);
      return fault(answered.error().message());
    }
    const Result<OutputVerdict> verdict = judge_one(message, bench);
    if (verdict.ok()) return {to_json(*verdict)};
    return fault(verdict.error().message());
  } catch (const std::exception& thrown) {
    return fault(thrown.what());
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
    const Answer answered = answer(*message, *bench);
    std::vector<int> fds;
    for (const UniqueFd& fd : answered.fds) fds.push_back(fd.get());
    if (!channel.send(answered.body, fds).ok()) return 1;
  }
}

}  // namespace wb::worker
