// SPDX-License-Identifier: MIT
// Philox4x32-10, and the fast path of inputs.cpp: fills runs of consecutive elements (BHSD order)
// from its words, vectorized for the host's instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/dtype.hpp"
#include "problem/isa.hpp"

namespace wb::problem {

enum class Tensor : std::uint32_t;  // inputs.hpp

/// Philox4x32-10 as published: ten rounds over a 128-bit counter with a 64-bit key.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// Philox with key = (seed, tensor index), counter = (counter low, counter high, 0, 0).
std::array<std::uint32_t, 4> philox(std::uint32_t seed, std::uint32_t tensor,
                                    std::uint64_t counter);

/// The value of element `index` (BHSD order) in f32, before rounding to the dtype.
float element_value(std::uint32_t seed, Tensor tensor, std::uint64_t index);

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
