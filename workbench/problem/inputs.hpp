// SPDX-License-Identifier: MIT
// Inputs from a seed: Philox4x32-10 counters, so that the subject, the judge, CUDA and PyTorch make
// the same tensors from a 32-bit seed and no tensor crosses a wire.
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
/// large: q and k times 4. edge: masks one whole row. low: like large, with q >= 0 and k <= 0, so
/// that all scores lie far below 0 (far above with a negative scale). The words stand in logs and
/// on the wire.
enum class Draw { normal, large, edge, low };
std::string_view to_string(Draw value);
std::optional<Draw> parse_draw(std::string_view word);

/// Sizes in the order [batch, heads, rows, width], whatever the layout; a mask has one head.
struct TensorShape {
  std::int64_t batch = 0, heads = 0, rows = 0, width = 0;
};
/// Element strides of batch, head and row; width has stride 1. A mask is [B,1,Sq,Skv] in both
/// layouts, with head stride 0.
struct TensorStrides {
  std::int64_t batch = 0, head = 0, row = 0;
};
TensorShape tensor_shape(const Problem& problem, Tensor tensor);
TensorShape out_shape(const Problem& problem);
/// Strides of the packed tensor in its layout.
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

inline constexpr double k_value_deviation = 1.1547;  ///< standard deviation of the input values
/// The factor by which a draw multiplies a tensor's values, and the sign it forces on them (0:
/// none).
float draw_factor(Tensor tensor, Draw draw);
int draw_sign(Tensor tensor, Draw draw);
/// The value of an additive mask at a rejected key.
float rejected_value(const Problem& problem);
/// Standard deviation of the scaled scores q·k of such inputs, before any mask is added.
double score_deviation(const Problem& problem, Draw draw);

/// Fills `out` (exactly tensor_bytes()) with the tensor. Deterministic for any number of `threads`
/// >= 1. A bool mask keeps element i where word 2(i mod 2) of its counter is below keep_frac *
/// 2^32. An additive mask has tensor values, with -inf (or the dtype's least finite number) where a
/// bool draw at 0.9 rejects. Draw::edge rejects all keys of one row (seed mod Sq) per batch, for
/// all heads, when the problem has a mask.
void fill_tensor(const Problem& problem, std::uint32_t seed, Tensor tensor, Draw draw,
                 std::span<std::byte> out, int threads = 1);
/// Fills storage with other strides; `out` spans the first to the last element.
void fill_tensor(const Problem& problem, std::uint32_t seed, Tensor tensor, Draw draw,
                 const TensorStrides& strides, std::span<std::byte> out, int threads = 1);
Inputs make_inputs(const Problem& problem, std::uint32_t seed, Draw draw, int threads = 1);
/// Reuses existing storage of any size.
void make_inputs(const Problem& problem, std::uint32_t seed, Draw draw, int threads,
                 Inputs& inputs);
std::size_t tensor_bytes(const Problem& problem, Tensor tensor);
std::size_t out_bytes(const Problem& problem);
std::size_t lse_bytes(const Problem& problem);  ///< f32, one for each query row of each head

/// The number of unmasked (q, k) pairs over B and Hq, for FLOPs. A pair is masked by the causal
/// rule or by bool false or -inf in `mask` (the drawn mask; empty without one).
double kept_pairs(const Problem& problem, std::span<const std::byte> mask);

}  // namespace wb::problem
