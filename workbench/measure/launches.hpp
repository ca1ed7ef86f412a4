// SPDX-License-Identifier: MIT
// The kernels that one call of a compiled variant launches, as the nodes of its recorded graph say
// it. The worker reads them, protocol and log carry them, the analyses explain by them. They are
// read in the process that runs the variant, so they are untrusted: they explain, and no verdict
// and no figure depends on them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::measure {

inline constexpr std::size_t k_most_launches = 64;  ///< of one call; further ones are left out
inline constexpr std::size_t k_launch_name_bytes = 256;
inline constexpr const char* k_nameless_launch = "?";  ///< the driver does not tell its name

/// What the driver does not tell is absent.
struct KernelLaunch {
  using Size = std::array<std::int64_t, 3>;  ///< x, y, z

  std::string kernel;                     ///< readable name, at most k_launch_name_bytes
  Size grid{1, 1, 1};                     ///< blocks
  Size block{1, 1, 1};                    ///< threads
  std::optional<Size> cluster = {};       ///< blocks of a cluster, where there are any
  std::int64_t per_call = 1;              ///< how often a call launches it so
  std::int64_t dynamic_shared_bytes = 0;  ///< per block
  std::optional<std::int64_t> static_shared_bytes = {};  ///< per block
  std::optional<std::int64_t> registers = {};            ///< per thread
  std::optional<std::int64_t> local_bytes = {};          ///< per thread: spills and local arrays
  std::optional<std::int64_t> blocks_per_sm = {};        ///< resident at once, by the driver

  friend bool operator==(const KernelLaunch&, const KernelLaunch&) = default;
};

/// "(8, 32, 1)", as tools print a grid.
std::string size_text(const KernelLaunch::Size& size);

Json to_json(const std::vector<KernelLaunch>& launches);
/// Names are made printable and cut. Errors: invalid (no list, more than k_most_launches, a figure
/// that no device has).
Result<std::vector<KernelLaunch>> launches_from_json(const Json& json);

}  // namespace wb::measure
