// SPDX-License-Identifier: MIT
// Whether a problem fits before anything is reserved for it: what does not is the machine's limit,
// and no subject is blamed for it.
#include <fmt/format.h>

#include "worker/cuda/judge_plan.hpp"
#include "worker/failure.hpp"
#include "worker/memory.hpp"
#include "worker/turn.hpp"

namespace wb::worker {
namespace {

double input_bytes(const Problem& problem) {
  double bytes = 0;
  for (const Tensor tensor : {Tensor::q, Tensor::k, Tensor::v, Tensor::mask}) {
    if (tensor == Tensor::mask && problem.mask == MaskKind::none) continue;
    bytes += static_cast<double>(tensor_bytes(problem, tensor));
  }
  return bytes;
}

/// The old and the new tensors of a subject, which live side by side for a moment, and a judgement.
double needed_on_gpu(const Problem& problem) {
  const double subject = 2 * (input_bytes(problem) + static_cast<double>(out_bytes(problem)));
  const std::size_t blocks = cuda::gpu_blocks(problem, {}).size();
  return subject + static_cast<double>(cuda::judge_device_bytes(problem, blocks, true));
}

}  // namespace

Outcome<void> check_fits(const Problem& problem, const TurnContext& context, const Wait& wait) {
  const double needed = 3 * input_bytes(problem) + 4 * static_cast<double>(out_bytes(problem));
  const auto available = static_cast<double>(available_memory_bytes());
  if (!(needed <= available / 2)) {
    return environment(
        fmt::format("the problem needs {:.1f} GB to be judged and timed, half of this "
                    "machine's free memory is {:.1f} GB; choose a smaller problem",
                    needed * 1e-9, available * 0.5e-9));
  }
  if (context.clock == Clock::host) return {};
  const auto free_bytes = context.judge.free_gpu_bytes(wait.deadline, wait.cancel);
  if (!free_bytes.ok()) return free_bytes.error();
  const auto free_on_gpu = static_cast<double>(*free_bytes);
  if (needed_on_gpu(problem) <= free_on_gpu) return {};
  return environment(fmt::format(
      "the problem needs {:.1f} GB of device memory to be judged and timed, {:.1f} GB are free on "
      "the GPU; choose a smaller problem, or end what holds its memory",
      needed_on_gpu(problem) * 1e-9, free_on_gpu * 1e-9));
}

}  // namespace wb::worker
