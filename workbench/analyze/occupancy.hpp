// SPDX-License-Identifier: MIT
// How many blocks of a kernel one SM can hold, from registers, shared memory and threads, and which
// of them sets the limit. Who calls: the analyses of launches and of compiled code.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wb::analyze {

/// What one SM has. Source: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute
/// Capability"; units of allocation: cuda_occupancy.h of CUDA 13.0.
struct SmLimits {
  std::string_view architecture;  ///< "sm_90"
  int warps, blocks;              ///< resident at once
  std::int64_t shared_bytes;      ///< of one SM; a block may have 1 KiB less
};

inline constexpr std::int64_t k_warp_threads = 32;
inline constexpr std::int64_t k_sm_registers = 65'536;
inline constexpr std::int64_t k_max_block_threads = 1'024;
inline constexpr std::int64_t k_reserved_shared_bytes = 1'024;  ///< of each block, by the driver

/// "sm_90" and "sm_90a" alike; nothing for architectures without a row.
std::optional<SmLimits> sm_limits(std::string_view architecture);

/// What a launch asks of an SM.
struct BlockDemand {
  std::int64_t threads = 0;       ///< of a block, 1 to 1024
  std::int64_t registers = 0;     ///< of a thread, 1 to 255
  std::int64_t shared_bytes = 0;  ///< of a block, static and dynamic
};

struct Occupancy {
  std::int64_t blocks = 0;  ///< of one SM; 0: such a block cannot be launched
  std::int64_t warps = 0;
  double frac = 0;              ///< warps of those that the SM can hold
  std::string_view limited_by;  ///< "registers", "shared memory", "warps" or "blocks"
};

/// As cuda_occupancy.h computes it with the largest shared memory carve-out: registers are given to
/// warps in units of 256, a quarter of them to each of four schedulers; shared memory in units of
/// 128 bytes. Nothing for demands outside of the ranges above.
std::optional<Occupancy> occupancy(const SmLimits& limits, const BlockDemand& demand);

/// The most warps that any block size could have resident at so many registers a thread.
std::int64_t most_warps(const SmLimits& limits, std::int64_t registers);

}  // namespace wb::analyze
