// SPDX-License-Identifier: MIT
// HeadReader: reads the tensors of one (b, h), in any layout and dtype, into panels for oracle and
// std.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "problem/gemm.hpp"
#include "problem/inputs.hpp"

namespace wb::problem {

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
