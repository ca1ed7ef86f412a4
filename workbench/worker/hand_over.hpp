// SPDX-License-Identifier: MIT
// What goes from hand to hand while a subject is judged or timed: outputs in shared memory under a
// poison, and inputs for subjects that cannot make their own. Used by turns and runs.
#pragma once

#include <vector>

#include "core/invalidity.hpp"
#include "problem/inputs.hpp"
#include "problem/verdict.hpp"
#include "worker/memory.hpp"

namespace wb::worker {

/// 62 bits: exact in a signed 64-bit JSON number.
Poison draw_poison();

/// Filled with the poison. Failures: environment.
Outcome<SharedMemory> make_output(const char* name, std::size_t size_bytes, const Poison& poison);

/// Input tensors for a subject that cannot make them itself (Python): filled here, mapped there.
class HandedInputs {
 public:
  static Outcome<HandedInputs> create(const Problem& problem);
  void refill(std::uint32_t seed, Draw draw, int threads);
  /// Reads them all as worker::read_through() does.
  void read_through(int threads) const;
  /// q, k, v and, when the problem has one, mask.
  [[nodiscard]] std::vector<int> fds() const;

 private:
  explicit HandedInputs(Problem problem) : m_problem(std::move(problem)) {}
  Problem m_problem;
  std::vector<SharedMemory> m_tensors;
};

}  // namespace wb::worker
