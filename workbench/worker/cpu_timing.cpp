// SPDX-License-Identifier: MIT
#include "worker/cpu_timing.hpp"

#include <algorithm>

#include "problem/parallel.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wb::worker {
namespace {

constexpr std::size_t k_line_bytes = 64;

}  // namespace

void read_through(const std::vector<std::span<const std::byte>>& tensors, int threads) {
  problem::parallel_for(static_cast<std::size_t>(std::max(threads, 1)), threads, [&](std::size_t) {
    for (const std::span<const std::byte> bytes : tensors) {
      const volatile std::byte* from = bytes.data();
      for (std::size_t at = 0; at < bytes.size(); at += k_line_bytes) (void)from[at];
    }
  });
}

#if defined(__x86_64__)

bool can_flush() {
  return true;
}

bool flush_from_caches(std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += k_line_bytes) _mm_clflush(bytes.data() + at);
  if (!bytes.empty()) _mm_clflush(&bytes.back());
  _mm_mfence();
  return true;
}

#else

bool can_flush() {
  return false;
}

bool flush_from_caches(std::span<const std::byte> bytes) {
  return bytes.empty();
}

#endif

}  // namespace wb::worker
