// SPDX-License-Identifier: MIT
// Inputs from a seed: Philox4x32-10 counters, so that the subject, the judge, CUDA and
// PyTorch make the same tensors from 32 bits and none ever crosses a wire.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "problem/problem.hpp"

namespace wb::problem {

enum class Tensor : std::uint32_t { q = 0, k = 1, v = 2, mask = 3 };  ///< frozen: Philox key word
/// large: q and k times 4; edge: masks one whole row; low: as large, with no q below 0 and no k
/// above it, so that all scores lie far below 0 (far above it with a negative scale). The words
/// stand in logs and on the wire.
enum class Draw { normal, large, edge, low };
std::string_view to_string(Draw value);
std::optional<Draw> parse_draw(std::string_view word);

/// Philox4x32-10 as published: ten rounds over a 128-bit counter with a 64-bit key.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// The same with key = (seed, tensor index), counter = (counter low, counter high, 0, 0).
std::array<std::uint32_t, 4> philox(std::uint32_t seed, std::uint32_t tensor,
                                    std::uint64_t counter);

/// Value of element `index` (BHSD order) as exact f32 before rounding to the dtype.
float element_value(std::uint32_t seed, Tensor tensor, std::uint64_t index);

/// Sizes in [batch, heads, rows, width] order whatever the layout; a mask has one head.
struct TensorShape {
  std::int64_t batch = 0, heads = 0, rows = 0, width = 0;
};
/// Element strides of batch, head and row; that of width is 1. A mask is [B,1,Sq,Skv] in both
/// layouts and has head stride 0.
struct TensorStrides {
  std::int64_t batch = 0, head = 0, row = 0;
};
TensorShape tensor_shape(const Problem& problem, Tensor tensor);
TensorShape out_shape(const Problem& problem);
/// Packed, in the tensor's layout.
TensorStrides tensor_strides(const Problem& problem, Tensor tensor);
TensorStrides out_strides(const Problem& problem);

std::int64_t element_count(const Problem& problem, Tensor tensor);
std::int64_t out_element_count(const Problem& problem);

/// Storage of one tensor in the problem's dtype and layout; a bool mask is one byte per element.
using Bytes = std::vector<std::byte>;

struct Inputs {
  Bytes q, k, v, mask;  ///< mask empty without one
  Draw draw = Draw::normal;
};

inline constexpr double k_value_deviation = 1.1547;  ///< of the inputs
/// Standard deviation of the scaled scores q·k of such inputs, before any mask is added.
/// By which a draw multiplies a tensor's values, and the sign that it gives them all (0: their
/// own).
float draw_factor(Tensor tensor, Draw draw);
int draw_sign(Tensor tensor, Draw draw);
/// What an additive mask of the problem has where it rejects a key.
float rejected_value(const Problem& problem);
double score_deviation(const Problem& problem, Draw draw);

/// Fills `out` (its exact size) with the tensor. Deterministic, thread-count independent.
/// `threads` >= 1. A bool mask keeps element i where word 2(i mod 2) of its counter is below
/// keep_frac * 2^32; an additive mask has the same values as a tensor, with -inf where a bool draw
/// at 0.9 rejects (or the dtype's least finite number); Draw::edge does so with all keys of one row
/// (row = seed mod Sq) per batch, for all heads (the mask has one), when the problem has a mask.
void fill_tensor(const Problem& problem, std::uint32_t seed, Tensor tensor, Draw draw,
                 std::span<std::byte> out, int threads = 1);
/// The same into storage with other strides. `out` begins at the first element and holds the last.
void fill_tensor(const Problem& problem, std::uint32_t seed, Tensor tensor, Draw draw,
                 const TensorStrides& strides, std::span<std::byte> out, int threads = 1);
Inputs make_inputs(const Problem& problem, std::uint32_t seed, Draw draw, int threads = 1);
/// The same into storage that is there already, of whatever problem.
void make_inputs(const Problem& problem, std::uint32_t seed, Draw draw, int threads,
                 Inputs& inputs);
std::size_t tensor_bytes(const Problem& problem, Tensor tensor);
std::size_t out_bytes(const Problem& problem);
std::size_t lse_bytes(const Problem& problem);  ///< f32, one for each query row of each head

/// Unmasked (q, k) pairs over B and Hq with this drawn mask (bool false and -inf mask; empty
/// without a mask) and the causal rule; for FLOPs.
double kept_pairs(const Problem& problem, std::span<const std::byte> mask);

}  // namespace wb::problem
