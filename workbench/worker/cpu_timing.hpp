// SPDX-License-Identifier: MIT
// How calls are timed on a CPU, the counterpart of worker/cuda/stopwatch.hpp: the state of the
// caches before a call, then blocks and samples of contiguous calls. It runs beside untrusted code
// in the subject's process, so the supervisor checks its figures by its own clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "worker/settling.hpp"

namespace wb::worker {

/// Has each of `threads` threads read all tensors once. Freshly written memory lies in the writing
/// CPU's caches, and other CPUs fetch it from there several times slower than memory they have
/// read. Without this, an honest memory-bound call takes more than twice its time on new inputs.
void read_through(const std::vector<std::span<const std::byte>>& tensors, int threads);

/// Flushes the memory's lines from every cache of this machine. Only x86 can; elsewhere it returns
/// false, and the caller reads enough other memory to displace them.
bool flush_from_caches(std::span<const std::byte> bytes);

/// Whether flush_from_caches works on this machine.
bool can_flush();

/// Calls `call() -> int` (0 is good) for at least block_us; returns the mean time per call, for
/// settle(). Nothing after a failure, whose value is in `status`.
template <typename Call>
std::optional<double> time_calls_for(const Call& call, double block_us, int& status) {
  const auto begin = std::chrono::steady_clock::now();
  std::int64_t calls = 0;
  double spent_us = 0;
  do {
    status = call();
    if (status != 0) return std::nullopt;
    ++calls;
    spent_us = us_since(begin);
  } while (spent_us < block_us);
  return spent_us / static_cast<double>(calls);
}

/// `samples` samples of `calls` calls each, back to back: the end of one is the start of the next,
/// so their sum is the whole block. Nanoseconds per sample.
template <typename Call>
std::vector<std::int64_t> take_samples(const Call& call, std::int64_t samples, std::int64_t calls,
                                       int& status) {
  std::vector<std::int64_t> sample_ns;
  sample_ns.reserve(static_cast<std::size_t>(samples));
  auto begin = std::chrono::steady_clock::now();
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (std::int64_t i = 0; i < calls; ++i) status |= call();
    const auto end = std::chrono::steady_clock::now();
    sample_ns.push_back(std::chrono::nanoseconds(end - begin).count());
    begin = end;
  }
  return sample_ns;
}

}  // namespace wb::worker
