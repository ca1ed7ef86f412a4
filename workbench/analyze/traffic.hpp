// SPDX-License-Identifier: MIT
// FLOPs and bytes of one problem phase by phase, and how often K and V are asked for when each
// block takes some rows of a head. Who calls: the analyses of intensity, working sets and launches.
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
/// PV reads them and V and writes the output. FLOPs of softmax: 5 a score (maximum, difference,
/// exponential, sum, quotient). Scores are counted where a (query, key) pair is not masked.
std::array<PhaseWork, 3> phase_work(const problem::Problem& problem);

/// Bytes of K and V, each element once; those that no row sees under the causal rule left out.
double kv_bytes(const problem::Problem& problem);
/// Of one key/value head.
double kv_bytes_of_head(const problem::Problem& problem);

/// Bytes of K and V that are asked for when each block takes `rows` query rows of one query head
/// and reads the keys that its last row sees. Caches serve what is asked for twice.
double kv_requested_bytes(const problem::Problem& problem, std::int64_t rows);

/// Bytes of q, k, v, mask and out, all elements.
double tensor_bytes(const problem::Problem& problem);

}  // namespace wb::analyze
