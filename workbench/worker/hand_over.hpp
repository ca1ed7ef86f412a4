// SPDX-License-Identifier: MIT
// What goes from hand to hand while a subject is judged or timed: outputs in shared memory under a
// poison, and inputs for subjects that cannot make their own. Used by turns and runs.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/invalidity.hpp"
#include "problem/inputs.hpp"
#include "problem/verdict.hpp"
#include "worker/memory.hpp"
#include "worker/turn_plan.hpp"

namespace wb::worker {

/// 62 bits: exact in a signed 64-bit JSON number.
problem::Poison draw_poison();

/// Filled with the poison. Failures: environment.
Outcome<SharedMemory> make_output(const char* name, std::size_t size_bytes,
                                  const problem::Poison& poison);

/// Inputs for a subject that cannot make them itself (Python). On the CPU memory files, filled here
/// and mapped there. On a GPU the launches of the kernel that makes those of compiled subjects,
/// which the subject queues for tensors of its own: nothing crosses the bus.
class HandedInputs {
 public:
  /// Failures: environment (no memory; on a GPU no device code).
  static Outcome<HandedInputs> create(const problem::Problem& problem, Clock clock);
  /// New values. `message`, which the subject gets next, is told of them.
  void refill(std::uint32_t seed, problem::Draw draw, int threads, Json& message);
  /// Reads them all as worker::read_through() does.
  void read_through(int threads) const;
  /// q, k, v and, when the problem has one, mask; on a GPU none.
  [[nodiscard]] std::vector<int> fds() const;

 private:
  HandedInputs(problem::Problem problem, Clock clock)
      : m_problem(std::move(problem)), m_clock(clock) {}
  problem::Problem m_problem;
  Clock m_clock;
  std::vector<SharedMemory> m_tensors;
};

/// The device code that `fills` are launches of, in a memory file; nothing when this worker has
/// none. Failures: environment.
Outcome<std::optional<SharedMemory>> fill_code();

}  // namespace wb::worker
