// SPDX-License-Identifier: MIT
// Data passed to a subject for judging or timing: outputs in poisoned shared memory, and inputs for
// subjects that cannot make their own. Used by turns and runs.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/invalidity.hpp"
#include "core/json_fwd.hpp"
#include "problem/inputs.hpp"
#include "problem/verdict.hpp"
#include "worker/memory.hpp"
#include "worker/turn_plan.hpp"

namespace wb::worker {

/// 62 bits, which a signed 64-bit JSON number holds exactly.
problem::Poison draw_poison();

/// Filled with the poison. Failures: environment.
Outcome<SharedMemory> make_output(const char* name, std::size_t size_bytes,
                                  const problem::Poison& poison);

/// Inputs for a subject that cannot make them (Python). On the CPU: memory files, filled by the
/// supervisor and mapped by the subject. On a GPU: the kernel launches that make the inputs of
/// compiled subjects, which the subject queues for its own tensors, so that nothing crosses the
/// bus.
class HandedInputs {
 public:
  /// Failures: environment (no memory; on a GPU no device code).
  static Outcome<HandedInputs> create(const problem::Problem& problem, Clock clock);
  /// Makes new values, and adds what the subject needs to its next `message`.
  void refill(std::uint32_t seed, problem::Draw draw, int threads, Json& message);
  /// Reads all inputs with worker::read_through().
  void read_through(int threads) const;
  /// q, k, v and, if the problem has one, mask; none on a GPU.
  [[nodiscard]] std::vector<int> fds() const;

 private:
  HandedInputs(problem::Problem problem, Clock clock)
      : m_problem(std::move(problem)), m_clock(clock) {}
  problem::Problem m_problem;
  Clock m_clock;
  std::vector<SharedMemory> m_tensors;
};

/// The device code of those launches, in a memory file; nothing when this worker has none.
/// Failures: environment.
Outcome<std::optional<SharedMemory>> fill_code();

}  // namespace wb::worker
