// SPDX-License-Identifier: MIT
// Data passed to a subject for judging or timing: outputs in poisoned shared memory, and inputs for
// subjects that cannot make their own; and where an output lies. Used by turns and runs.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json_fwd.hpp"
#include "problem/inputs.hpp"
#include "problem/problem.hpp"
#include "problem/verdict.hpp"
#include "worker/buffers.hpp"
#include "worker/cuda/buffer_set.hpp"
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

// Where an output of a subject lies, so that the supervisor gets it without running the subject's
// code: on the CPU in the supervisor's own memory (OutputMemory), on a GPU in memory that the judge
// lends (LentOutput), and for a Python function that returns a tensor in the memory of its process
// (ResultAddress); docs/contracts/worker_protocol.md, "Who owns an output".

/// Where a subject on the CPU writes an output. The memory file belongs to the supervisor, margins
/// included, and the subject maps it in place of its own memory; so the output can be read without
/// running the subject's code.
class OutputMemory {
 public:
  /// `size_bytes` at least 1. Failures: environment.
  static Outcome<OutputMemory> create(std::size_t size_bytes, Placing placing);
  [[nodiscard]] int fd() const { return m_file.fd(); }
  /// Offset of the tensor in the file; 256-byte aligned.
  [[nodiscard]] std::size_t offset() const { return m_offset; }
  [[nodiscard]] Placing placing() const { return m_placing; }
  /// The shared bytes, to which a subject may be writing.
  [[nodiscard]] std::span<std::byte> bytes() const {
    return m_file.bytes().subspan(m_offset, m_size_bytes);
  }
  /// False once anything was written outside the tensor.
  [[nodiscard]] bool margins_intact() const;
  /// Copies the tensor into memory that no subject can access. Failures: environment.
  Outcome<void> take();
  /// The memory of the copy, to be filled by other means.
  Outcome<std::span<std::byte>> taken_bytes();
  /// The copy made by take(), which must have been called.
  [[nodiscard]] const SharedMemory& taken() const { return *m_taken; }

 private:
  OutputMemory(SharedMemory file, std::size_t offset, std::size_t size_bytes, Placing placing)
      : m_file(std::move(file)), m_offset(offset), m_size_bytes(size_bytes), m_placing(placing) {}
  SharedMemory m_file;
  std::size_t m_offset, m_size_bytes;
  Placing m_placing;
  std::optional<SharedMemory> m_taken;
};

/// The supervisor's view of device memory that the judge lends for a subject's outputs: descriptors
/// to pass on, and the tensors' places.
struct LentOutput {
  std::int64_t number = 0;
  pid_t judge = 0;  ///< another judge process does not know it
  cuda::OutputPlaces places;
  std::vector<UniqueFd> fds;            ///< for each output with a place: out, lse, snap
  std::vector<std::int64_t> map_bytes;  ///< for each descriptor: the size of its memory

  [[nodiscard]] std::vector<int> numbers_of_fds() const;
};

/// The subject's part: {"number", "out": {"bytes", "offset"}}, and lse and snap likewise, if any.
Json to_json(const LentOutput& lent);

/// The memory that a subject has borrowed, and the stage that it is for.
struct Borrowed {
  std::string stage;
  std::shared_ptr<const LentOutput> output;
};

/// A result that a Python function returned instead of writing `out`, which the supervisor reads
/// while that process is stopped. So no copy is timed, and no code of the subject runs for it.
/// Address of element (0, 0, 0, 0), and the strides in elements of batch, head, row and column.
struct ResultAddress {
  std::uint64_t address = 0;
  std::array<std::int64_t, 4> strides{};
};

/// Errors: invalid. The JSON comes from a subject and is untrusted.
Result<ResultAddress> result_address_from_json(const Json& json);

/// Whether this machine lets a supervisor read the memory of its child.
bool may_read_memory_of(pid_t pid);

/// The largest span of a readable result, as a multiple of its own bytes. A view of a packed tensor
/// stays below it; wider results are copied by the subject while the clock runs.
inline constexpr std::int64_t k_most_result_spread = 16;

/// Reads a tensor of out's shape and dtype into `to`, in out's layout. Errors: invalid (its span is
/// too large), io (unreadable memory).
Result<void> read_result(pid_t pid, const ResultAddress& place, const problem::Problem& problem,
                         std::span<std::byte> to);

}  // namespace wb::worker
