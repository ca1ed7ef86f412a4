// SPDX-License-Identifier: MIT
// Synchronization visible in the machine code: block barriers in the loop with the products, and
// whether that loop waits for all its asynchronous copies or leaves some in flight. Private to
// analyze; called by the reader of disassemblies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wb::analyze {

struct SassLine;

/// Counts of instructions in the code. "Products" are matrix instructions if there are any, else
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

SassSync synchronization(const std::vector<SassLine>& code);

/// "0": no barrier in the loop; "few": as many as loading tiles of K and V by the whole block
/// needs; "many": more; "unknown".
std::string barrier_verdict(const SassSync& sync);
/// "; 2 barriers in the loop of …"; empty when there is nothing to report.
std::string sync_words(const SassSync& sync);

}  // namespace wb::analyze
