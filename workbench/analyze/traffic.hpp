// SPDX-License-Identifier: MIT
// FLOPs and bytes of a problem by phase, and how often K and V are requested when each block
// handles some rows of a head. Used by the analyses of intensity, working sets and launches.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "problem/problem.hpp"

namespace wb::analyze {

struct PhaseWork {
  std::string_view name;  ///< "QK^T", "softmax", "PV"
  double flops = 0, bytes = 0;
  [[nodiscard]] double intensity() const { return flops / bytes; }  ///< FLOP per byte
};

/// The three phases with the scores written to memory and read back in the problem's dtype, as
/// unfused attention does: QK^T reads Q and K and writes the scores; softmax reads and writes them;
/// PV reads them and V and writes the output. Softmax counts 5 FLOPs per score (maximum,
/// difference, exponential, sum, quotient). Masked (query, key) pairs do not count.
std::array<PhaseWork, 3> phase_work(const problem::Problem& problem);

/// Bytes of K and V, each element once, without those that no row sees under the causal rule.
double kv_bytes(const problem::Problem& problem);
/// For one key/value head.
double kv_bytes_of_head(const problem::Problem& problem);

/// Bytes of K and V that are requested when each block handles `rows` query rows of one query head
/// and reads the keys that its last row sees. Caches may serve repeated requests.
double kv_requested_bytes(const problem::Problem& problem, std::int64_t rows);

/// Bytes of q, k, v, mask and out, all elements.
double tensor_bytes(const problem::Problem& problem);

}  // namespace wb::analyze
