// SPDX-License-Identifier: MIT
// Properties of a kernel's machine code, as printed by `cuobjdump --dump-sass`: width of memory
// accesses, use of matrix units and local memory, synchronization of its loop. Pure; used by the
// verb that analyzes files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/finding.hpp"

namespace wb::analyze {

/// Synchronization: block barriers in the loop with the products, and whether that loop waits for
/// all its asynchronous copies or leaves some in flight. Counts of instructions in the code.
/// "Products" are matrix instructions if there are any, else
/// multiply-adds.
struct SassSync {
  std::int64_t barriers = 0;  ///< BAR.SYNC, BAR.RED: threads of the block wait for each other
  std::int64_t products = 0;
  /// Of the loops with at least a quarter of all products in loops: the smallest one with barriers
  /// or copy waits, else the smallest. Nothing without such a loop.
  struct Loop {
    std::int64_t instructions = 0, products = 0, barriers = 0;
    std::int64_t copy_waits = 0;  ///< waits for asynchronous copies
    /// Groups of copies that the weakest wait leaves in flight; nothing without a wait.
    std::optional<std::int64_t> copies_in_flight;
  };
  std::optional<Loop> loop;
  bool is_followed = true;  ///< false: jumps to computed or named targets may hide loops
};

/// Counts of instructions in the code, not of executions.
struct SassKernel {
  std::string kernel;        ///< readable name, from kernel_name()
  std::string architecture;  ///< "sm_90"; empty when the listing has none
  std::int64_t instructions = 0;
  /// Bits that one thread moves per instruction -> number of instructions.
  std::map<int, std::int64_t> global_loads, global_stores, shared_loads, shared_stores;
  std::int64_t local_loads = 0, local_stores = 0;  ///< spills, or arrays with a computed index
  std::int64_t async_copies = 0;                   ///< LDGSTS, from cp.async
  std::int64_t bulk_copies = 0;                    ///< UTMALDG, UTMASTG, UBLKCP: the TMA
  std::int64_t matrix_loads = 0;                   ///< LDSM
  std::int64_t matrix = 0;                         ///< HMMA and other instructions of one warp
  /// HGMMA and other warpgroup instructions, and UTCHMMA of sm_100.
  std::int64_t warpgroup_matrix = 0;
  std::int64_t fma = 0;      ///< FFMA, HFMA2, DFMA
  std::int64_t atomics = 0;  ///< RED, ATOM, ATOMG
  /// For shared-memory accesses whose addresses follow from the thread index: passes relative to
  /// the possible minimum -> instructions; and the number of other accesses.
  std::map<int, std::int64_t> shared_ways;
  std::int64_t shared_unknown = 0;
  SassSync sync;
};

/// The kernels of a listing, in its order. Errors: parse (it has no function of machine code).
Result<std::vector<SassKernel>> read_sass(std::string_view text);

/// One finding per kernel for the largest ones; the last states how many were left out.
std::vector<measure::Finding> sass_findings(const std::vector<SassKernel>& kernels);

struct SassLine;
SassSync synchronization(const std::vector<SassLine>& code);

/// "0": no barrier in the loop; "few": as many as loading tiles of K and V by the whole block
/// needs; "many": more; "unknown".
std::string barrier_verdict(const SassSync& sync);
/// "; 2 barriers in the loop of …"; empty when there is nothing to report.
std::string sync_words(const SassSync& sync);

}  // namespace wb::analyze
