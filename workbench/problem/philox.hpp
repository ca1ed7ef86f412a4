// SPDX-License-Identifier: MIT
// The fast path of inputs.cpp: fills runs of consecutive elements (BHSD order) from Philox words,
// vectorized for the host's instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.hpp"
#include "problem/isa.hpp"

namespace wb::problem {

/// The key of a run's Philox counters.
struct PhiloxStream {
  std::uint32_t seed = 0;
  std::uint32_t tensor = 0;
};

/// The least integer not below share * 2^32; a draw at `share` keeps words below it.
std::uint64_t keep_threshold(double share);

/// Fills elements [first, first + count) with value * factor, rounded to the dtype. `sign`: the
/// sign forced on all values, or 0. `isa`, also below, must be one that this host supports.
void fill_values(PhiloxStream stream, std::uint64_t first, std::size_t count, float factor,
                 int sign, Dtype dtype, std::byte* out, Isa isa = widest_isa());

/// Fills mask values, with `rejected` (-inf or the dtype's least finite number) where the element's
/// first word is not below `threshold`.
void fill_additive_mask(PhiloxStream stream, std::uint64_t first, std::size_t count,
                        std::uint64_t threshold, float rejected, Dtype dtype, std::byte* out,
                        Isa isa = widest_isa());

/// 1 where the element's first word is below `threshold`, else 0; one byte each.
void fill_bool_mask(PhiloxStream stream, std::uint64_t first, std::size_t count,
                    std::uint64_t threshold, std::byte* out, Isa isa = widest_isa());

}  // namespace wb::problem
