// SPDX-License-Identifier: MIT
// The inner loops of oracle and std: C += A B on small row-major panels, conversion of stored
// elements to double or float, exponentials (vectorized, since they took a third of a verdict's
// time), the largest of values. Every element of C adds its products in order without fused
// multiply-add, so that results do not depend on the host's vector width.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/dtype.hpp"
#include "problem/inputs.hpp"
#include "problem/isa.hpp"

namespace wb::problem {

/// A row-major matrix in memory: element (i, j) is data[i * stride + j].
template <typename T>
struct Panel {
  T* data;
  std::int64_t stride;
};

/// C[rows x columns] += A[rows x depth] B[depth x columns]. `isa` must be one that this host
/// supports.
void gemm_add(Panel<double> c, Panel<const double> a, Panel<const double> b, std::int64_t rows,
              std::int64_t columns, std::int64_t depth, Isa isa = widest_isa());
void gemm_add(Panel<float> c, Panel<const float> a, Panel<const float> b, std::int64_t rows,
              std::int64_t columns, std::int64_t depth, Isa isa = widest_isa());

/// Converts `count` stored elements exactly.
void load_elements(Dtype dtype, const std::byte* from, std::int64_t count, double* to);
void load_elements(Dtype dtype, const std::byte* from, std::int64_t count, float* to);

/// values[i] = exp(values[i]), within one unit in the last place; the same bits on every host.
/// Gives 0 below the least normal number and infinity above the largest; NaN stays. `isa` must be
/// one that this host supports.
void exponentials(double* values, std::int64_t count, Isa isa = widest_isa());
/// Computes in double, then rounds to float, as the GPU's judge does.
void exponentials(float* values, std::int64_t count, Isa isa = widest_isa());

/// The largest of `start` and the values, ignoring NaN. It uses several lanes because a single
/// running maximum would make each comparison wait for the one before.
template <typename T>
T largest(const T* values, std::int64_t count, T start) {
  constexpr std::int64_t k_lanes = 16;
  T lanes[k_lanes];
  for (T& lane : lanes) lane = start;
  std::int64_t i = 0;
  for (; i + k_lanes <= count; i += k_lanes) {
    for (std::int64_t j = 0; j < k_lanes; ++j) {
      lanes[j] = lanes[j] < values[i + j] ? values[i + j] : lanes[j];
    }
  }
  T largest = start;
  for (const T lane : lanes) largest = largest < lane ? lane : largest;
  for (; i < count; ++i) largest = largest < values[i] ? values[i] : largest;
  return largest;
}

/// Reads the tensors of one (b, h), in any layout and dtype, into panels for oracle and std.
template <typename T>
class HeadReader {
 public:
  HeadReader(const Problem& problem, const Inputs& inputs, std::int64_t b, std::int64_t h)
      : m_problem(problem), m_inputs(inputs), m_b(b), m_h(h) {}

  /// q rows [begin, begin + count) to [count, D].
  void q_rows(std::int64_t begin, std::int64_t count, T* to) const {
    const TensorStrides strides = tensor_strides(m_problem, Tensor::q);
    for (std::int64_t i = 0; i < count; ++i) {
      load(m_inputs.q, offset(strides, m_h, begin + i), m_problem.D, to + i * m_problem.D);
    }
  }

  /// k rows [begin, begin + count), transposed, to [D, stride].
  void k_transposed(std::int64_t begin, std::int64_t count, T* to, std::int64_t stride) const {
    constexpr std::int64_t k_strip = 16;
    const TensorStrides strides = tensor_strides(m_problem, Tensor::k);
    T strip[k_strip];
    for (std::int64_t d = 0; d < m_problem.D; d += k_strip) {
      const std::int64_t width = std::min(k_strip, m_problem.D - d);
      for (std::int64_t j = 0; j < count; ++j) {
        load(m_inputs.k, offset(strides, kv_head(), begin + j) + d, width, strip);
        for (std::int64_t i = 0; i < width; ++i) to[(d + i) * stride + j] = strip[i];
      }
    }
  }

  /// v rows [begin, begin + count) to [count, Dv].
  void v_rows(std::int64_t begin, std::int64_t count, T* to) const {
    const TensorStrides strides = tensor_strides(m_problem, Tensor::v);
    for (std::int64_t j = 0; j < count; ++j) {
      load(m_inputs.v, offset(strides, kv_head(), begin + j), m_problem.Dv, to + j * m_problem.Dv);
    }
  }

  /// The bias added to the scaled scores of `row` for keys [begin, begin + count): 0 or -inf from a
  /// bool mask, the value of an additive mask, 0 without a mask.
  void bias_row(std::int64_t row, std::int64_t begin, std::int64_t count, T* to) const {
    const std::int64_t at = (m_b * m_problem.Sq + row) * m_problem.Skv + begin;
    if (m_problem.mask == MaskKind::none) {
      std::fill(to, to + count, T{0});
    } else if (m_problem.mask == MaskKind::boolean) {
      for (std::int64_t j = 0; j < count; ++j) {
        const bool keep = m_inputs.mask[static_cast<std::size_t>(at + j)] != std::byte{0};
        to[j] = keep ? T{0} : -std::numeric_limits<T>::infinity();
      }
    } else {
      load(m_inputs.mask, at, count, to);
    }
  }

 private:
  std::int64_t kv_head() const { return m_h / (m_problem.Hq / m_problem.Hkv); }
  std::int64_t offset(const TensorStrides& strides, std::int64_t head, std::int64_t row) const {
    return m_b * strides.batch + head * strides.head + row * strides.row;
  }
  void load(const Bytes& bytes, std::int64_t at, std::int64_t count, T* to) const {
    load_elements(m_problem.dtype, bytes.data() + at * size_bytes(m_problem.dtype), count, to);
  }

  const Problem& m_problem;
  const Inputs& m_inputs;
  std::int64_t m_b, m_h;
};

}  // namespace wb::problem
