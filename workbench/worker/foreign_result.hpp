// SPDX-License-Identifier: MIT
// A result that a Python function returned instead of writing `out`: a tensor in the memory of its
// process, which the supervisor reads while that process is stopped. So no copy is timed, and no
// code of the subject runs for it.
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
