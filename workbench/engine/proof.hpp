// SPDX-License-Identifier: MIT
// Private to engine: how much a verdict covered. A search screens what it times; nothing is
// confirmed, reported as a gain or made the incumbent without the whole verdict.
// docs/contracts/measurement.md has what each judges.
#pragma once

#include <cstdint>
#include <string_view>

namespace wb::engine {

enum class Proof {
  none,       ///< not judged, or it failed
  screening,  ///< one draw of each problem, on some blocks: may be timed in a search, no more
  whole       ///< every draw of each problem
};
std::string_view to_string(Proof value);
/// Logs from before there was screening have no word: every evaluation had the whole verdict.
Proof parse_proof(std::string_view word);

/// Whole row blocks of an output that a screening judges, first and last of a head and drawn ones.
/// Each timed turn has its last output judged on more, under a seed of its own.
inline constexpr std::int64_t k_screening_blocks = 8;

}  // namespace wb::engine
