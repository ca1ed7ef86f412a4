// SPDX-License-Identifier: MIT
// EdgeSizes: heads, lengths and head dims of a verdict's drawn runs, by kinds of extent, within
// what a manifest claims. What else a run draws is in edge_draws.
#pragma once

#include <cstdint>
#include <optional>

#include "variant/edge_draws.hpp"

namespace wb::variant {

/// What kind of sizes a run has.
enum class Extent {
  plain,
  decode,
  heads,
  batches,
  long_rows,
  far_rows,
  long_keys,
  far_keys,
  wide,
  blocks,
  late
};

/// Few heads and a length that most verdicts have not.
[[nodiscard]] bool is_far(Extent extent);

/// Lengths are drawn as a remainder modulo this, plus mostly nothing.
inline constexpr std::int64_t k_residues = 64;
/// Whether the number of queries, or of keys, follows the remainder: each of them should be met.
[[nodiscard]] bool takes_q_residue(Extent extent);
[[nodiscard]] bool takes_kv_residue(Extent extent);

class EdgeSizes {
 public:
  /// Both must outlive it.
  EdgeSizes(const Manifest& manifest, KeyedRandom& random)
      : m_support(manifest.support), m_on_gpu(runs_on_gpu(manifest)), m_random(random) {}
  /// The next head dim that is drawn has this remainder modulo 16 units.
  void start_from(std::int64_t dim_residue) { m_dim_residue = dim_residue; }
  /// `near`: whose dims may be taken; or null.
  void draw_dims(problem::Problem& p, Extent extent, const problem::Problem* near);
  void draw_heads(problem::Problem& p, Extent extent);
  /// After dims and heads.
  void draw_lengths(problem::Problem& p, Extent extent, std::int64_t q_residue,
                    std::int64_t kv_residue);

 private:
  std::int64_t size(std::int64_t residue, std::int64_t most);
  std::int64_t dim_up_to(std::int64_t most);
  std::int64_t head_dim(bool is_wide);

  const Support& m_support;
  bool m_on_gpu;
  KeyedRandom& m_random;
  std::optional<std::int64_t> m_dim_residue;
};

/// Fewer batches, heads and keys until one run is cheap enough. Whether it is.
bool make_cheap(problem::Problem& p, Extent extent);

}  // namespace wb::variant
