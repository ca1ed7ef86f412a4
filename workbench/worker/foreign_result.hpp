// SPDX-License-Identifier: MIT
// A result that a Python function returned instead of writing `out`: a tensor somewhere in the
// memory of its process, which this side reads itself while that process stands still. So nobody
// pays for a copy, and no code of the subject runs for it.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "problem/problem.hpp"

namespace wb::worker {

/// Where element (0, 0, 0, 0) lies, and the strides in elements of batch, head, row and column.
struct ResultPlace {
  std::uint64_t address = 0;
  std::array<std::int64_t, 4> strides{};
};

/// Errors: invalid. A subject may say anything.
Result<ResultPlace> result_place_from_json(const Json& json);

/// Whether this machine lets a supervisor read the memory of its child.
bool may_read_memory_of(pid_t pid);

/// The bytes that a tensor spans at most, beside its own, for a reader to follow it: a view of a
/// packed tensor does, and who returns less handy ones copies them while the clock runs.
inline constexpr std::int64_t k_most_result_spread = 16;

/// Reads a tensor of out's shape and dtype into `to`, which gets out's layout. Errors: invalid (it
/// spans too much), io (it cannot be read there).
Result<void> read_result(pid_t pid, const ResultPlace& place, const problem::Problem& problem,
                         std::span<std::byte> to);

}  // namespace wb::worker
