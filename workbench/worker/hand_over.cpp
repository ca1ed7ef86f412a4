// SPDX-License-Identifier: MIT
#include "worker/hand_over.hpp"

#include <fmt/format.h>

#include <utility>

#include "worker/caches.hpp"
#include "worker/failure.hpp"
#include "worker/secret.hpp"

namespace wb::worker {

Poison draw_poison() {
  return Poison{draw_secret<std::uint64_t>() >> 2};
}

Outcome<void> check_fits(const Problem& problem) {
  double inputs = 0;
  for (const Tensor tensor : {Tensor::q, Tensor::k, Tensor::v, Tensor::mask}) {
    if (tensor == Tensor::mask && problem.mask == MaskKind::none) continue;
    inputs += static_cast<double>(tensor_bytes(problem, tensor));
  }
  const double needed = 3 * inputs + 4 * static_cast<double>(out_bytes(problem));
  const auto available = static_cast<double>(available_memory_bytes());
  if (needed <= available / 2) return {};
  return environment(
      fmt::format("the problem needs {:.1f} GB to be judged and timed, half of this "
                  "machine's free memory is {:.1f} GB; choose a smaller problem",
                  needed * 1e-9, available * 0.5e-9));
}

Outcome<SharedMemory> make_output(const char* name, std::size_t size_bytes, const Poison& poison) {
  Result<SharedMemory> memory = SharedMemory::create(name, size_bytes);
  if (!memory.ok()) return environment(memory.error().message());
  poison.fill(memory->bytes());
  return *std::move(memory);
}

Outcome<HandedInputs> HandedInputs::create(const Problem& problem) {
  HandedInputs inputs(problem);
  for (const Tensor tensor : {Tensor::q, Tensor::k, Tensor::v, Tensor::mask}) {
    if (tensor == Tensor::mask && problem.mask == MaskKind::none) continue;
    auto memory = as_outcome(SharedMemory::create("input", tensor_bytes(problem, tensor)));
    if (!memory.ok()) return std::move(memory).error();
    inputs.m_tensors.push_back(*std::move(memory));
  }
  return inputs;
}

void HandedInputs::refill(std::uint32_t seed, Draw draw, int threads) {
  for (std::size_t i = 0; i < m_tensors.size(); ++i) {
    fill_tensor(m_problem, seed, static_cast<Tensor>(i), draw, m_tensors[i].bytes(), threads);
  }
}

void HandedInputs::read_through(int threads) const {
  std::vector<std::span<const std::byte>> tensors;
  for (const SharedMemory& memory : m_tensors) tensors.emplace_back(memory.bytes());
  worker::read_through(tensors, threads);
}

std::vector<int> HandedInputs::fds() const {
  std::vector<int> fds;
  for (const SharedMemory& memory : m_tensors) fds.push_back(memory.fd());
  return fds;
}

}  // namespace wb::worker
