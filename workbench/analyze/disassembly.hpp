// SPDX-License-Identifier: MIT
// What the machine code of a kernel shows by itself: how wide its memory accesses are, whether its
// products run on the matrix units, whether it uses local memory, how its loop synchronizes. Reads
// what `cuobjdump
// --dump-sass` prints. Pure; who calls: the verb that analyzes files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/sass_loops.hpp"
#include "measure/finding.hpp"

namespace wb::analyze {

/// Counts of instructions in the code, not of how often they run.
struct SassKernel {
  std::string kernel;        ///< readable name, as kernel_name() gives it
  std::string architecture;  ///< "sm_90"; empty where the listing does not say
  std::int64_t instructions = 0;
  /// Bits that one thread moves with one instruction -> instructions.
  std::map<int, std::int64_t> global_loads, global_stores, shared_loads, shared_stores;
  std::int64_t local_loads = 0, local_stores = 0;  ///< spills, or arrays with a computed index
  std::int64_t async_copies = 0;                   ///< LDGSTS, of cp.async
  std::int64_t bulk_copies = 0;                    ///< UTMALDG, UTMASTG, UBLKCP: the TMA
  std::int64_t matrix_loads = 0;                   ///< LDSM
  std::int64_t matrix = 0;                         ///< HMMA and its kin of one warp
  std::int64_t warpgroup_matrix = 0;               ///< HGMMA and its kin, and UTCHMMA of sm_100
  std::int64_t fma = 0;                            ///< FFMA, HFMA2, DFMA
  std::int64_t atomics = 0;                        ///< RED, ATOM, ATOMG
  /// Of the accesses to shared memory whose addresses follow from the thread's index: passes over
  /// the fewest that are possible -> instructions; and how many others there are.
  std::map<int, std::int64_t> shared_ways;
  std::int64_t shared_unknown = 0;
  SassSync sync;
};

/// The kernels of a listing, in its order. Errors: parse (it has no function of machine code).
Result<std::vector<SassKernel>> read_sass(std::string_view text);

/// One finding for each of the largest kernels; the last says how many were left out.
std::vector<measure::Finding> sass_findings(const std::vector<SassKernel>& kernels);

}  // namespace wb::analyze
