// SPDX-License-Identifier: MIT
// What a verdict's drawn runs are drawn with: KeyedRandom, whose numbers nobody can know in
// advance, and EdgeSizes, which draws heads, lengths and head dims by kind of extent, within a
// manifest's claims. edge_draws draws the rest of a run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "problem/problem.hpp"
#include "variant/manifest.hpp"

namespace wb::variant {

/// Random numbers from Philox with a 64-bit key.
class KeyedRandom {
 public:
  explicit KeyedRandom(std::uint64_t key) : m_key(key) {}
  /// With a key from the kernel. Throws std::runtime_error when none is available.
  static KeyedRandom secret();

  std::uint32_t next();
  /// From 0 to n - 1; n at least 1.
  std::int64_t below(std::int64_t n);
  /// From least to most, both included.
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + below(most - least + 1);
  }
  double uniform();
  bool chance(double share) { return uniform() < share; }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(from.size())))];
  }

 private:
  std::uint64_t m_key, m_counter = 0;
  std::array<std::uint32_t, 4> m_words{};
  std::size_t m_used = 4;
};

/// The kind of sizes of a run.
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

/// True for few heads and a length beyond most verdicts.
[[nodiscard]] bool is_far(Extent extent);

/// Lengths are drawn as a remainder modulo this, mostly plus 0.
inline constexpr std::int64_t k_residues = 64;
/// Whether the number of queries, or of keys, uses the remainder, so that each remainder occurs.
[[nodiscard]] bool takes_q_residue(Extent extent);
[[nodiscard]] bool takes_kv_residue(Extent extent);

class EdgeSizes {
 public:
  /// Both must outlive this.
  EdgeSizes(const Manifest& manifest, KeyedRandom& random)
      : m_support(manifest.support), m_on_gpu(runs_on_gpu(manifest)), m_random(random) {}
  /// The next drawn head dim has this remainder modulo 16 units.
  void start_from(std::int64_t dim_residue) { m_dim_residue = dim_residue; }
  /// `near`: a problem whose dims may be used; or null.
  void draw_dims(problem::Problem& p, Extent extent, const problem::Problem* near);
  void draw_heads(problem::Problem& p, Extent extent);
  /// Call after dims and heads.
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

/// Reduces batches, heads and keys until one run is cheap enough; true on success.
bool make_cheap(problem::Problem& p, Extent extent);

}  // namespace wb::variant
