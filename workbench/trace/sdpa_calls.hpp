// SPDX-License-Identifier: MIT
// Finds the attention calls of a linked trace, each with the GPU kernels it launched and their busy
// time. Used by prepare and by the suite maker.
#pragma once

#include <string>
#include <vector>

#include "trace/op_names.hpp"
#include "trace/trace.hpp"

namespace wb::trace {

/// The kind that a call counts as.
enum class CallKind : std::uint8_t { attention, kv_cache };

struct SdpaCall {
  std::string name;             ///< the operator's; "unfused_attention" for combined steps
  std::uint32_t host = k_none;  ///< the operator, or the first of the steps
  OpRule rule = {};
  CallKind kind = CallKind::attention;
  std::vector<std::uint32_t> steps = {};  ///< for unfused attention: product, softmax, product
  std::vector<std::uint32_t> kernels =
      {};                ///< indices of Trace::gpu, by start; copies and sets included
  double kernel_us = 0;  ///< union of the kernels' intervals
  bool masked = false;   ///< steps add to the scores or fill some of them
};

/// The calls found, and what has no figure.
struct SdpaCalls {
  std::vector<SdpaCall> calls;          ///< with kernels and times, in profile order
  std::uint64_t without_kernels = 0;    ///< calls without a GPU kernel: left out
  std::uint64_t without_time = 0;       ///< calls with a kernel whose duration is missing: left out
  std::uint64_t unclaimed_kernels = 0;  ///< kernels named like attention that belong to no call
  double unclaimed_us = 0;              ///< union of their intervals, for each rank alone
  double unclaimed_percent = 0;         ///< of the time in which any kernel ran
  /// Those kernels by name, the most time first.
  struct Unclaimed {
    std::string name, launched_by;  ///< `launched_by`: the operator around its launch, or empty
    std::uint64_t count = 0;
    double us = 0;
  };
  std::vector<Unclaimed> unclaimed;
  /// For each rank, when the file holds several.
  struct OfRank {
    std::string name;
    std::uint64_t calls = 0;
    double kernel_us = 0;
  };
  std::vector<OfRank> ranks;
};

inline constexpr std::string_view k_unfused_name = "unfused_attention";

/// An operator inside another attention operator is a part of it. A dispatching one counts only if
/// nothing it dispatches to was recorded. Steps are attention when, between two products, a softmax
/// runs over the columns of the first and is multiplied by the last (or one operator named
/// attention contains all three).
SdpaCalls find_sdpa_calls(const Trace& trace);

/// Time in which at least one of the intervals ran (us); `events` in any order.
double busy_us(const Trace& trace, std::vector<std::uint32_t> events);

}  // namespace wb::trace
