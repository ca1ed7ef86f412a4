// SPDX-License-Identifier: MIT
// A subject's tensors between guard pages: private inputs and workspace made from a seed, and
// outputs in memory files of the supervisor (OutputMemory). One BufferSet is one placement of a
// problem's tensors. Used by subjects, and by OutputMemory for the offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/error.hpp"
#include "problem/call_form.hpp"
#include "problem/inputs.hpp"
#include "problem/problem.hpp"
#include "problem/verdict.hpp"

namespace wb::worker {

/// Where a tensor lies between its guard pages. Drawn for judged and timed calls alike, so that it
/// does not reveal which of the two a call is.
enum class Placing {
  scattered,  ///< at a random offset from the first page, so that placements differ
  /// As close to the rear guard page as alignment allows, so that access beyond the end faults.
  flush_end
};
std::string_view to_string(Placing value);
std::optional<Placing> parse_placing(std::string_view word);
Placing draw_placing();

/// The place of a tensor: at `offset` in `room_bytes`, a number of whole pages.
struct TensorPlace {
  std::size_t room_bytes = 0, offset = 0;
};
TensorPlace draw_tensor_place(std::size_t size_bytes, Placing placing);
/// Fills the space around the tensor with a pattern, and checks that it is unchanged.
void fill_margins(std::span<std::byte> room, std::size_t offset, std::size_t size_bytes);
bool margins_intact(std::span<const std::byte> room, std::size_t offset, std::size_t size_bytes);

/// Memory at `shift_bytes` from an address aligned to 256, with unmapped pages before and after.
class GuardedMemory {
 public:
  /// Private and zeroed. Throws std::bad_alloc without memory.
  GuardedMemory(std::size_t size_bytes, Placing placing, std::size_t shift_bytes = 0);
  /// `size_bytes` at `offset` of a memory file, margins included, shared with its creator. Errors:
  /// invalid (outside the file), io.
  static Result<GuardedMemory> of_file(int fd, std::size_t offset, std::size_t size_bytes);
  GuardedMemory() = default;
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&& other) noexcept;
  ~GuardedMemory();
  [[nodiscard]] std::span<std::byte> bytes() const { return m_bytes; }
  /// False once anything was written between the bytes and the guard pages.
  [[nodiscard]] bool margins_intact() const;

 private:
  /// Reserves addresses for this many bytes between two guard pages, without access yet.
  static std::span<std::byte> reserve(std::size_t room_bytes);
  /// The memory between the guard pages.
  [[nodiscard]] std::span<std::byte> room() const;
  std::span<std::byte> m_reserved, m_bytes;
};

struct BufferSet {
  /// `form`: the tensors as views. Gaps between their rows hold NaN (for a bool mask a byte that is
  /// neither 0 nor 1), those of out a pattern. Without `with_out` the caller provides the outputs;
  /// it always provides lse.
  BufferSet(const problem::Problem& problem, std::size_t workspace_bytes, bool with_out,
            Placing placing, const problem::CallForm& form = {});
  /// Fills q, k, v and mask.
  void refill(std::uint32_t seed, problem::Draw draw, int threads);
  /// Reads q, k, v and mask with read_through().
  void read_through(int threads) const;
  /// Copies the elements of out from and to packed memory in the problem's layout.
  void put_out(std::span<const std::byte> packed) const;
  void take_out(std::span<std::byte> packed) const;
  /// The name of a tensor with a write outside it, or nullptr.
  [[nodiscard]] const char* overrun() const;

  problem::Problem problem;
  problem::CallForm form;
  GuardedMemory q, k, v, mask, workspace;  ///< mask may be empty
  GuardedMemory out, lse;                  ///< lse is empty unless wanted

 private:
  [[nodiscard]] bool gaps_intact() const;  ///< of out
};

}  // namespace wb::worker
