// SPDX-License-Identifier: MIT
// Tensor storage inside a subject: private memory between guard pages, made from a seed. One
// BufferSet is one placement of a problem's tensors. Subject process only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "core/error.hpp"
#include "problem/inputs.hpp"
#include "problem/problem.hpp"
#include "problem/verdict.hpp"

namespace wb::worker {

/// Where the bytes lie between the guard pages.
enum class Placing {
  scattered,  ///< at a random offset from the first page: for timing, so that placements differ
  flush_end   ///< as near to the rear guard page as alignment allows: for judged runs, so that
              ///< reading or writing beyond the end faults
};

/// Zeroed private memory, 256-byte aligned, with an unmapped page before and behind.
class GuardedMemory {
 public:
  /// Throws std::bad_alloc when there is no memory.
  GuardedMemory(std::size_t size_bytes, Placing placing);
  GuardedMemory() = default;
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&& other) noexcept;
  ~GuardedMemory();
  [[nodiscard]] std::span<std::byte> bytes() const { return m_bytes; }
  /// False once anything was written between the bytes and the guard pages.
  [[nodiscard]] bool margins_intact() const;

 private:
  [[nodiscard]] std::pair<std::span<std::byte>, std::span<std::byte>> margins() const;
  std::span<std::byte> m_reserved, m_bytes;
};

struct BufferSet {
  BufferSet(const Problem& problem, std::size_t workspace_bytes, bool with_out, Placing placing);
  /// Fills q, k, v and mask.
  void refill(std::uint32_t seed, Draw draw, int threads);
  /// Reads q, k, v and mask as read_through() does.
  void read_through(int threads) const;
  /// The name of a tensor beside which something was written, or nullptr.
  [[nodiscard]] const char* overrun() const;

  Problem problem;
  GuardedMemory q, k, v, mask, out, workspace;  ///< mask and out may be empty
};

}  // namespace wb::worker
