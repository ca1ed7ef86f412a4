// SPDX-License-Identifier: MIT
// How many blocks of a kernel one SM can hold, by registers, shared memory and threads, and which
// of these is the limit. Used by the analyses of launches and of compiled code.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wb::analyze {

/// Resources of one SM. Source: CUDA C++ Programming Guide 13.0, "Technical Specifications per
/// Compute Capability"; allocation units: cuda_occupancy.h of CUDA 13.0.
struct SmLimits {
  std::string_view architecture;  ///< "sm_90"
  int warps, blocks;              ///< resident at once
  std::int64_t shared_bytes;      ///< per SM; a block may use 1 KiB less
};

inline constexpr std::int64_t k_warp_threads = 32;
inline constexpr std::int64_t k_sm_registers = 65'536;
inline constexpr std::int64_t k_max_block_threads = 1'024;
/// Per block, reserved by the driver.
inline constexpr std::int64_t k_reserved_shared_bytes = 1'024;

/// "sm_90" and "sm_90a" alike; nothing for architectures without an entry.
std::optional<SmLimits> sm_limits(std::string_view architecture);

/// The resources that a launch needs.
struct BlockDemand {
  std::int64_t threads = 0;       ///< per block, 1 to 1024
  std::int64_t registers = 0;     ///< per thread, 1 to 255
  std::int64_t shared_bytes = 0;  ///< per block, static and dynamic
};

struct Occupancy {
  std::int64_t blocks = 0;  ///< per SM; 0: such a block cannot be launched
  std::int64_t warps = 0;
  double frac = 0;              ///< resident warps over the SM's maximum
  std::string_view limited_by;  ///< "registers", "shared memory", "warps" or "blocks"
};

/// Computed as in cuda_occupancy.h with the largest shared memory carve-out: registers are
/// allocated to warps in units of 256, a quarter of them for each of four schedulers; shared memory
/// in units of 128 bytes. Nothing for demands outside the ranges above.
std::optional<Occupancy> occupancy(const SmLimits& limits, const BlockDemand& demand);

/// The most resident warps of any block size with this many registers per thread.
std::int64_t most_warps(const SmLimits& limits, std::int64_t registers);

}  // namespace wb::analyze
