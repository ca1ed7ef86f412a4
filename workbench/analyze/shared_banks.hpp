// SPDX-License-Identifier: MIT
// Bank conflicts of shared memory that the machine code gives away: where the address of an access
// follows from the thread's index by whole-number arithmetic alone, its 32 lanes are worked out and
// put on the 32 banks. Where it does not, nothing is said. Private to analyze; called by the reader
// of disassemblies.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyze/lane_step.hpp"

namespace wb::analyze {

struct SharedBanks {
  /// Times the fewest passes that so wide an access can take -> accesses (LDS, STS) in the code.
  std::map<int, std::int64_t> ways;
  std::int64_t unknown = 0;  ///< accesses whose lanes are not known, or not all active
};

/// Assumes blocks of one dimension, of whole warps; a kernel that reads threadIdx.y or z, or jumps
/// to computed addresses, has all its accesses unknown. Values are followed through loops: what
/// differs from lane to lane in more than one way is unknown.
SharedBanks shared_banks(const std::vector<SassLine>& code);

}  // namespace wb::analyze
