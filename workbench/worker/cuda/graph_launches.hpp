// SPDX-License-Identifier: MIT
// Which kernels a recorded graph launches, read from its nodes by the driver.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/launches.hpp"
#include "worker/cuda/driver.hpp"

namespace wb::worker::cuda {

/// The launches of one call of a graph that holds `calls` calls, in the order of its nodes; equal
/// ones are told once. Empty where the driver lacks a function for it or refuses: that is no error.
/// Of larger graphs the first k_most_read_nodes nodes are read.
std::vector<measure::KernelLaunch> read_launches(const DriverFunctions& driver, GraphHandle graph,
                                                 std::int64_t calls);

inline constexpr std::size_t k_most_read_nodes = 4'096;

}  // namespace wb::worker::cuda
