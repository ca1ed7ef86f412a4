// SPDX-License-Identifier: MIT
// Parameters of the worker's kernels: one struct per kernel, passed by value. Included by host and
// device code, so it holds only plain numbers and device addresses. Sizes and strides count
// elements; docs/contracts/measurement.md defines row, key, block and head.
#pragma once

#include <cstdint>

namespace wb::worker::cuda::device {

/// The values of Dtype, Causal and MaskKind (problem.hpp) in the same order; host code checks that.
enum class Number : std::int32_t { f32, f16, bf16 };
enum class MaskForm : std::int32_t { none, boolean, additive };
enum class CausalRule : std::int32_t { none, top_left, bottom_right };
/// The forms of StdForm; `oracle` is the float64 one.
enum class Form : std::int32_t { pinned, short_blocks, normalized, oracle };

constexpr int k_tile = 64;              ///< rows, keys or columns of one tile
constexpr int k_tile_threads = 256;     ///< threads of a kernel that computes tiles
constexpr int k_weights_threads = 128;  ///< for the softmax kernels: one warp per row
constexpr int k_scan_threads = 256;     ///< for the other kernels

/// Element strides of one tensor; the last dimension has stride 1.
struct Strides {
  std::int64_t batch, head, row;
};

/// wb_fill_tensor: makes one tensor from its Philox counters, one thread per counter (two
/// elements).
struct FillParams {
  void* to;
  std::int64_t heads, rows, width;
  std::int64_t elements;
  Strides strides;
  std::uint64_t keep_below;  ///< masks: a first word below this keeps the element
  std::int64_t edge_row;     ///< masks: this whole row is masked; -1: none
  std::uint32_t seed, tensor;
  float factor;
  std::int32_t sign;  ///< forced on all values; 0: none
  float rejected;     ///< additive masks: the value of a rejected key
  Number number;
  MaskForm mask;  ///< none: a tensor of values
};

/// wb_fill_poison: poisons an output before it is written, as Poison::fill (problem/poison.cpp).
struct PoisonParams {
  std::uint8_t* to;
  std::int64_t bytes;
  std::uint64_t seed;
};

/// wb_scan_output: counts over every element of an output.
struct ScanParams {
  const void* bytes;
  std::int64_t elements;
  std::uint64_t poison_seed;
  std::uint64_t* counts;  ///< [2]: non-finite, surviving poison; added to
  std::int32_t has_poison;
  Number number;
};

/// One block of rows to judge. `keys`: the number that its last row sees under the causal rule.
struct BlockTask {
  std::int64_t b, h, row_begin, keys;
  std::int32_t rows, reserved;
};

/// Errors of one block, as ErrorStatistics of problem/decision.hpp, and the values at the worst
/// element.
struct ErrorSums {
  double max, mean, max_magnitude, mean_magnitude;
  double got, want, max_ref, mean_ref;
  std::int64_t worst_index;
};

/// The problem, its tensors in device memory, and the scratch memory of one wave of blocks. In it a
/// block is indexed by its number in the wave and owns `rows_per_block` rows.
struct Wave {
  const BlockTask* tasks;
  std::int64_t Hq, Hkv, Sq, Skv, D, Dv;
  Strides q_strides, k_strides, v_strides, out_strides;
  const void *q, *k, *v, *mask, *out;
  double scale;
  Number number;
  MaskForm mask_form;
  CausalRule causal;
  Form form;                    ///< the form that this launch computes
  std::int64_t rows_per_block;  ///< 64, or Sq if smaller
  std::int64_t pitch;           ///< of a row of scores: Skv rounded up to 64
  void* scores;                 ///< [blocks, rows, pitch], double (oracle) or float (std)
  float* rescale;               ///< std: [blocks, rows, key blocks]
  double *ref, *lse, *norm;     ///< oracle: [blocks, rows, Dv], [blocks, rows], [blocks, rows]
  double* ref_sum;              ///< oracle: [blocks, rows]
  float *std_out, *std_sum;     ///< std: [blocks, rows, Dv], [blocks, rows]
  ErrorSums* errors;            ///< [blocks]; of out (form oracle) or of std (its forms)
};

/// wb_canary: attention in f32 without a mask, one thread per output row.
struct CanaryParams {
  const float *q, *k, *v;
  float *out, *lse;  ///< lse may be null
  std::int64_t B, Hq, Hkv, Sq, Skv, D, Dv;
  Strides q_strides, k_strides, v_strides, out_strides;
  float scale;
  CausalRule causal;
};

/// wb_wait: holds its stream until the host has written `ticket` or more to `flag`.
struct WaitParams {
  /// Pinned host memory; set to `ticket` when the wait timed out.
  const volatile std::uint32_t* flag;
  volatile std::uint32_t* lapsed;  ///< likewise; set to `ticket` when the wait ended by itself
  std::uint32_t ticket;
  std::uint64_t limit_ns;  ///< timeout, so that a host that died does not hold the device
};

/// wb_spin: busy-waits for this time, by the device's clock.
struct SpinParams {
  std::uint64_t ns;
};

/// wb_read_through: reads its own memory into the caches.
struct ReadParams {
  const std::uint32_t* from;
  std::int64_t words;
  /// Written only if the sum is 1, which never happens since the memory holds zeros.
  std::uint32_t* sum;
};

}  // namespace wb::worker::cuda::device
