// SPDX-License-Identifier: MIT
// Synchronization that the machine code gives away: the barriers of the block in the loop that does
// the products, and whether that loop waits for all of its asynchronous copies or leaves some in
// flight. Private to analyze; called by the reader of disassemblies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wb::analyze {

struct SassLine;

/// Counts of instructions in the code. "Products" are matrix instructions where there are any, else
/// multiply-adds.
struct SassSync {
  std::int64_t barriers = 0;  ///< BAR.SYNC, BAR.RED: threads of the block wait for each other
  std::int64_t products = 0;
  /// Of the loops with a quarter or more of the products that lie in loops, the smallest with
  /// barriers or waits for copies; where none has either, the smallest. Nothing without such loops.
  struct Loop {
    std::int64_t instructions = 0, products = 0, barriers = 0;
    std::int64_t copy_waits = 0;  ///< waits for asynchronous copies
    /// Groups of copies that the laxest wait leaves in flight; nothing without a wait.
    std::optional<std::int64_t> copies_in_flight;
  };
  std::optional<Loop> loop;
  bool is_followed = true;  ///< false: jumps to computed or named places hide loops
};

SassSync synchronization(const std::vector<SassLine>& code);

/// "0": none there, "few": what tiles of K and V that the
/// whole block loads need, "many": more, "unknown".
std::string barrier_verdict(const SassSync& sync);
/// "; 2 barriers in the loop of …"; empty where there is nothing to say.
std::string sync_words(const SassSync& sync);

}  // namespace wb::analyze
