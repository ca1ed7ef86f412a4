// SPDX-License-Identifier: MIT
#include "worker/turn.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "core/json.hpp"
#include "worker/cuda/judge_plan.hpp"
#include "worker/failure.hpp"
#include "worker/memory.hpp"
#include "worker/microseconds.hpp"
#include "worker/turn_conductor.hpp"

namespace wb::worker {

using problem::Problem;
using problem::Tensor;

Outcome<protocol::TurnResult> conduct_turn(SubjectProcess& subject, const protocol::TurnArgs& args,
                                           const TurnContext& context, const Wait& wait) {
  return TurnConductor(subject, args, context, wait).conduct();
}

Outcome<double> time_lone_call_us(SubjectProcess& subject, const protocol::TurnArgs& args,
                                  const TurnContext& context, const Wait& wait) {
  return TurnConductor(subject, args, context, wait).lone_call_us();
}

Outcome<Pings> time_pings(SubjectProcess& subject, double most_us, Clock clock, const Wait& wait) {
  std::vector<double> times_us;
  for (int i = 0; i < k_pings; ++i) {
    const Deadline begin = std::chrono::steady_clock::now();
    Deadline end = begin;
    const ResumeOnExit go_on(subject);
    if (clock == Clock::host) {
      WB_TRY_ASSIGN(const auto stopped, subject.ask_to_stop({{"op", "ping"}}, wait));
      end = stopped;
      subject.go_on();
    } else {
      WB_TRY(subject.tell({{"op", "ping"}}, {}));
    }
    WB_TRY(subject.more(wait));
    if (clock == Clock::device) end = std::chrono::steady_clock::now();
    times_us.push_back(us_between(begin, end));
  }
  return pings_of(std::move(times_us), most_us);
}

// Checks that a problem fits before anything is reserved for it. A problem that does not fit is a
// limit of the machine, and no subject is blamed.

namespace {

double input_bytes(const Problem& problem) {
  double bytes = 0;
  for (const Tensor tensor : {Tensor::q, Tensor::k, Tensor::v, Tensor::mask}) {
    if (tensor == Tensor::mask && problem.mask == problem::MaskKind::none) continue;
    bytes += static_cast<double>(problem::tensor_bytes(problem, tensor));
  }
  return bytes;
}

/// A subject's old and new tensors, which coexist for a moment, and a judgement.
double needed_on_gpu(const Problem& problem) {
  // out exists twice: the variant's, and the copy after the last timed call.
  const double subject =
      2 * (input_bytes(problem) + 2 * static_cast<double>(problem::out_bytes(problem)));
  const std::size_t blocks = cuda::gpu_blocks(problem, {}).size();
  return subject + static_cast<double>(cuda::judge_device_bytes(problem, blocks, true));
}

/// A context, modules, and memory that libraries keep. A context took 0.6 GB (H200, driver 580).
constexpr double k_subject_gpu_bytes = 2e9;

}  // namespace

bool fits_on_gpu(const Problem& problem, std::uint64_t free_bytes) {
  return needed_on_gpu(problem) <= static_cast<double>(free_bytes);
}

bool has_room_on_gpu(const Problem& problem, std::uint64_t free_bytes) {
  return needed_on_gpu(problem) + k_subject_gpu_bytes <= static_cast<double>(free_bytes);
}

std::optional<Failure> memory_hog_failure(const Problem& problem, std::uint64_t free_with,
                                          std::uint64_t free_without) {
  if (has_room_on_gpu(problem, free_with) || free_without <= free_with) return std::nullopt;
  const auto held = static_cast<double>(free_without - free_with);
  const double tensors =
      2 * (input_bytes(problem) + static_cast<double>(problem::out_bytes(problem)));
  if (held <= tensors + k_subject_gpu_bytes) return std::nullopt;
  return Failure{Invalidity::runtime,
                 fmt::format("it held {:.1f} GB of device memory, which left too little for the "
                             "judge; the problem's tensors are {:.3f} GB",
                             held * 1e-9, tensors * 1e-9),
                 {}};
}

Outcome<void> check_fits(const Problem& problem, const TurnContext& context, const Wait& wait) {
  const double needed =
      3 * input_bytes(problem) + 4 * static_cast<double>(problem::out_bytes(problem));
  const auto available = static_cast<double>(available_memory_bytes());
  if (!(needed <= available / 2)) {
    return environment(
        fmt::format("the problem needs {:.1f} GB to be judged and timed, half of this "
                    "machine's free memory is {:.1f} GB; choose a smaller problem",
                    needed * 1e-9, available * 0.5e-9));
  }
  if (context.clock == Clock::host) return {};
  WB_TRY_ASSIGN(const auto free_bytes, context.judge.free_gpu_bytes(wait.deadline, wait.cancel));
  if (fits_on_gpu(problem, free_bytes)) return {};
  return environment(fmt::format(
      "the problem needs {:.1f} GB of device memory to be judged and timed, {:.1f} GB are free on "
      "the GPU; choose a smaller problem, or end what holds its memory",
      needed_on_gpu(problem) * 1e-9, static_cast<double>(free_bytes) * 1e-9));
}

}  // namespace wb::worker
