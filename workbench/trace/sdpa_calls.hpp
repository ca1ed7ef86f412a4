// SPDX-License-Identifier: MIT
// Finds the attention of a linked trace: each call with the GPU kernels it launched and the busy
// time of those. Called by prepare and by the suite maker.
#pragma once

#include <string>
#include <vector>

#include "trace/op_names.hpp"
#include "trace/trace.hpp"

namespace wb::trace {

/// What a call is counted as.
enum class CallKind : std::uint8_t { attention, kv_cache };

struct SdpaCall {
  std::string name;             ///< the operator's; of steps put together "unfused_attention"
  std::uint32_t host = k_none;  ///< the operator, or the first of the steps
  OpRule rule = {};
  CallKind kind = CallKind::attention;
  std::vector<std::uint32_t> steps = {};  ///< of unfused attention: product, softmax, product
  std::vector<std::uint32_t> kernels =
      {};                ///< indices of Trace::gpu, by start; copies and sets too
  double kernel_us = 0;  ///< union of the kernels' intervals
  bool masked = false;   ///< steps add something to the scores or fill some of them
};

/// What was found and what of it has no figure.
struct SdpaCalls {
  std::vector<SdpaCall> calls;        ///< with kernels and times, in the order of the profile
  std::uint64_t without_kernels = 0;  ///< calls that no GPU kernel belongs to: left out
  std::uint64_t without_time = 0;     ///< calls with a kernel whose duration is missing: left out
  std::uint64_t nobodys_kernels = 0;  ///< kernels named like attention that belong to no call
  double nobodys_us = 0;              ///< union of their intervals, of each rank alone
  double nobodys_percent = 0;         ///< of the time in which any kernel ran
  /// The same by kernel name, the most time first.
  struct Nobodys {
    std::string name, launched_by;  ///< `launched_by`: the operator around its launch, or empty
    std::uint64_t count = 0;
    double us = 0;
  };
  std::vector<Nobodys> nobodys;
  /// Of each rank, where the file holds several.
  struct OfRank {
    std::string name;
    std::uint64_t calls = 0;
    double kernel_us = 0;
  };
  std::vector<OfRank> ranks;
};

inline constexpr std::string_view k_unfused_name = "unfused_attention";

/// An operator inside another one of attention is a part of it. A dispatching one counts where
/// nothing it dispatches to was recorded. Steps are attention when between two products a
/// softmax runs over the columns of the first and is multiplied by the last (or one operator that
/// is named attention holds all three).
SdpaCalls find_sdpa_calls(const Trace& trace);

/// Time in which at least one of the intervals ran (us); `events` in any order.
double busy_us(const Trace& trace, std::vector<std::uint32_t> events);

}  // namespace wb::trace
