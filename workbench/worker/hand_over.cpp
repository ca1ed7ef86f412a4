// SPDX-License-Identifier: MIT
#include "worker/hand_over.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "core/json.hpp"
#include "core/secret.hpp"
#include "protocol/protocol.hpp"
#include "worker/cpu_timing.hpp"
#include "worker/cuda/device_code.hpp"
#include "worker/cuda/gpu_inputs.hpp"
#include "worker/failure.hpp"

namespace wb::worker {

using problem::Poison;
using problem::Problem;
using problem::Tensor;

namespace {

/// In the order of their descriptors.
std::vector<Tensor> inputs_of(const Problem& problem) {
  std::vector<Tensor> inputs{Tensor::q, Tensor::k, Tensor::v};
  if (problem.mask != problem::MaskKind::none) inputs.push_back(Tensor::mask);
  return inputs;
}

/// One entry per input: null for one without elements, else `blocks`, `threads` and the kernel's
/// parameter struct as bytes, whose first eight become the tensor's address.
Json fills_of(const Problem& problem, std::uint32_t seed, problem::Draw draw) {
  static_assert(offsetof(cuda::device::FillParams, to) == 0);
  Json fills = Json::array();
  for (const Tensor tensor : inputs_of(problem)) {
    const auto launch = cuda::fill_launch(problem, seed, tensor, draw);
    if (!launch) {
      fills.push_back(nullptr);
      continue;
    }
    const std::string_view bytes(reinterpret_cast<const char*>(&launch->params),
                                 sizeof launch->params);
    fills.push_back({{"blocks", launch->grid.x},
                     {"threads", launch->grid.threads},
                     {"params_base64", protocol::base64_encode(bytes)}});
  }
  return fills;
}

}  // namespace

Poison draw_poison() {
  return Poison{draw_secret<std::uint64_t>() >> 2};
}

Outcome<SharedMemory> make_output(const char* name, std::size_t size_bytes, const Poison& poison) {
  Result<SharedMemory> memory = SharedMemory::create(name, size_bytes);
  if (!memory.ok()) return environment(memory.error().message());
  poison.fill(memory->bytes());
  return *std::move(memory);
}

Outcome<HandedInputs> HandedInputs::create(const Problem& problem, Clock clock) {
  HandedInputs inputs(problem, clock);
  if (clock == Clock::device) {
    const auto code = cuda::device_code();
    if (!code.ok()) return environment(code.error().message());
    return inputs;
  }
  for (const Tensor tensor : inputs_of(problem)) {
    WB_TRY_ASSIGN(auto memory, as_outcome(SharedMemory::create(
                                   "input", problem::tensor_bytes(problem, tensor))));
    inputs.m_tensors.push_back(std::move(memory));
  }
  return inputs;
}

void HandedInputs::refill(std::uint32_t seed, problem::Draw draw, int threads, Json& message) {
  if (m_clock == Clock::device) {
    message["fills"] = fills_of(m_problem, seed, draw);
    return;
  }
  for (std::size_t i = 0; i < m_tensors.size(); ++i) {
    problem::fill_tensor(m_problem, seed, static_cast<Tensor>(i), draw, m_tensors[i].bytes(),
                         threads);
  }
}

void HandedInputs::read_through(int threads) const {
  std::vector<std::span<const std::byte>> tensors;
  for (const SharedMemory& memory : m_tensors) tensors.emplace_back(memory.bytes());
  worker::read_through(tensors, threads);
}

Outcome<std::optional<SharedMemory>> fill_code() {
  const auto code = cuda::device_code();
  if (!code.ok()) return std::optional<SharedMemory>();
  auto memory = SharedMemory::create("device code", code->inputs.size());
  if (!memory.ok()) return environment(memory.error().message());
  std::copy(code->inputs.begin(), code->inputs.end(), memory->bytes().begin());
  return std::optional<SharedMemory>(*std::move(memory));
}

std::vector<int> HandedInputs::fds() const {
  std::vector<int> fds;
  for (const SharedMemory& memory : m_tensors) fds.push_back(memory.fd());
  return fds;
}

}  // namespace wb::worker
