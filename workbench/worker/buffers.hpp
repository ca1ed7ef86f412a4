// SPDX-License-Identifier: MIT
// Tensor storage of a subject, between guard pages: inputs and workspace private and made from a
// seed, outputs in memory files of the supervisor (OutputMemory). One BufferSet is one placement of
// a problem's tensors. Who calls: subjects; OutputMemory, for the places.
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

/// Where the bytes lie between the guard pages. Drawn for judged and timed calls alike, so that it
/// tells nobody which of the two a call is.
enum class Placing {
  scattered,  ///< at a random offset from the first page, so that placements differ
  flush_end   ///< as near to the rear guard page as alignment allows, so that reading or writing
              ///< beyond the end faults
};
std::string_view to_string(Placing value);
std::optional<Placing> parse_placing(std::string_view word);
Placing draw_placing();

/// A place for a tensor: at `offset` in `room_bytes`, which are whole pages.
struct Place {
  std::size_t room_bytes = 0, offset = 0;
};
Place draw_place(std::size_t size_bytes, Placing placing);
/// What lies in the room beside the tensor, and whether it still does.
void fill_margins(std::span<std::byte> room, std::size_t offset, std::size_t size_bytes);
bool margins_intact(std::span<const std::byte> room, std::size_t offset, std::size_t size_bytes);

/// Memory `shift_bytes` behind an address aligned to 256, with an unmapped page before and behind.
class GuardedMemory {
 public:
  /// Private and zeroed. Throws std::bad_alloc when there is no memory.
  GuardedMemory(std::size_t size_bytes, Placing placing, std::size_t shift_bytes = 0);
  /// `size_bytes` at `offset` of a memory file, shared with who made it, margins and all. Errors:
  /// invalid (they do not lie in the file), io.
  static Result<GuardedMemory> of_file(int fd, std::size_t offset, std::size_t size_bytes);
  GuardedMemory() = default;
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&& other) noexcept;
  ~GuardedMemory();
  [[nodiscard]] std::span<std::byte> bytes() const { return m_bytes; }
  /// False once anything was written between the bytes and the guard pages.
  [[nodiscard]] bool margins_intact() const;

 private:
  /// Addresses for so many bytes between two guard pages, not yet to be used.
  static std::span<std::byte> reserve(std::size_t room_bytes);
  /// What lies between the guard pages.
  [[nodiscard]] std::span<std::byte> room() const;
  std::span<std::byte> m_reserved, m_bytes;
};

struct BufferSet {
  /// `form`: the views that the tensors are. What lies between their rows is NaN (a bool mask's:
  /// neither 0 nor 1), and behind those of out a pattern. Without `with_out` outputs come from
  /// elsewhere; an lse always does.
  BufferSet(const problem::Problem& problem, std::size_t workspace_bytes, bool with_out,
            Placing placing, const problem::CallForm& form = {});
  /// Fills q, k, v and mask.
  void refill(std::uint32_t seed, problem::Draw draw, int threads);
  /// Reads q, k, v and mask as read_through() does.
  void read_through(int threads) const;
  /// The elements of out from and to packed memory in the problem's layout.
  void put_out(std::span<const std::byte> packed) const;
  void take_out(std::span<std::byte> packed) const;
  /// The name of a tensor beside which something was written, or nullptr.
  [[nodiscard]] const char* overrun() const;

  problem::Problem problem;
  problem::CallForm form;
  GuardedMemory q, k, v, mask, workspace;  ///< mask may be empty
  GuardedMemory out, lse;                  ///< lse is empty where none is wanted

 private:
  [[nodiscard]] bool gaps_intact() const;  ///< of out
};

}  // namespace wb::worker
