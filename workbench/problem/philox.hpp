// SPDX-License-Identifier: MIT
// The fast path of inputs.cpp: runs of consecutive elements in BHSD order, from Philox words to
// stored values, vectorized for the host's instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.hpp"
#include "problem/isa.hpp"

namespace wb::problem {

/// What every element of a run is made from.
struct PhiloxStream {
  std::uint32_t seed = 0;
  std::uint32_t tensor = 0;
};

/// A draw at `share` keeps the words below this: the least integer not below share * 2^32.
std::uint64_t keep_threshold(double share);

/// Elements [first, first + count): value * factor, rounded to the dtype. `sign`: 0, or what all
/// values have. `isa`, here and below:
/// one that this host has.
void fill_values(PhiloxStream stream, std::uint64_t first, std::size_t count, float factor,
                 int sign, Dtype dtype, std::byte* out, Isa isa = widest_isa());

/// The same values with `rejected` where the element's first word is not below `threshold`: -inf,
/// or the least finite number of the dtype.
void fill_additive_mask(PhiloxStream stream, std::uint64_t first, std::size_t count,
                        std::uint64_t threshold, float rejected, Dtype dtype, std::byte* out,
                        Isa isa = widest_isa());

/// 1 where the element's first word is below `threshold`, else 0; one byte each.
void fill_bool_mask(PhiloxStream stream, std::uint64_t first, std::size_t count,
                    std::uint64_t threshold, std::byte* out, Isa isa = widest_isa());

}  // namespace wb::problem
