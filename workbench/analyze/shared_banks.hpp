// SPDX-License-Identifier: MIT
// Bank conflicts of shared memory visible in the machine code: if an access's address follows from
// the thread index by integer arithmetic, the banks of its 32 lanes are computed; else it is
// unknown. Private to analyze; called by the reader of disassemblies.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyze/lane_step.hpp"

namespace wb::analyze {

struct SharedBanks {
  /// Passes over the minimum for an access of that width -> number of accesses (LDS, STS) in the
  /// code.
  std::map<int, std::int64_t> ways;
  std::int64_t unknown = 0;  ///< accesses with unknown or inactive lanes
};

/// Assumes one-dimensional blocks of whole warps. In a kernel that reads threadIdx.y or z or jumps
/// to computed addresses, all accesses are unknown. Values are tracked through loops; a value with
/// several possible lane patterns is unknown.
SharedBanks shared_banks(const std::vector<SassLine>& code);

}  // namespace wb::analyze
