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
