// SPDX-License-Identifier: MIT
#include "unit/problem/subject.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/dtype.hpp"

namespace wb::testing {

using problem::Bytes;
using problem::MaskKind;
using problem::Problem;
using problem::Tensor;

namespace {

constexpr float k_none = -std::numeric_limits<float>::infinity();

float rounded(Dtype dtype, float value) {
  if (dtype == Dtype::f16) return to_float(to_f16(value));
  if (dtype == Dtype::bf16) return to_float(to_bf16(value));
  return value;
}

std::vector<float> numbers(const Problem& problem, const Bytes& bytes, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = read_element(problem, bytes, i);
  }
  return values;
}

/// Four partial sums: another order than the pinned computation's.
float dot(const float* a, const float* b, std::int64_t count) {
  float sums[4] = {0, 0, 0, 0};
  for (std::int64_t i = 0; i < count; ++i) sums[i % 4] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

class Subject {
 public:
  Subject(const Problem& p, const problem::Inputs& inputs, const SubjectOptions& options)
      : m_p(p),
        m_options(options),
        m_q(numbers(p, inputs.q, problem::element_count(p, Tensor::q))),
        m_k(numbers(p, inputs.k, problem::element_count(p, Tensor::k))),
        m_v(numbers(p, inputs.v, problem::element_count(p, Tensor::v))),
        m_mask(inputs.mask) {
    if (p.mask == MaskKind::additive) {
      m_bias = numbers(p, inputs.mask, problem::element_count(p, Tensor::mask));
    }
    m_unit = m_options.exp2 ? 1.4426950408889634f : 1.0f;
  }

  SubjectOutput run() const {
    SubjectOutput result{Bytes(problem::out_bytes(m_p)), {}};
    result.lse.resize(static_cast<std::size_t>(m_p.B * m_p.Hq * m_p.Sq));
    const problem::TensorStrides strides = problem::out_strides(m_p);
    for (std::int64_t b = 0; b < m_p.B; ++b) {
      for (std::int64_t h = 0; h < m_p.Hq; ++h) {
        for (std::int64_t row = 0; row < m_p.Sq; ++row) {
          std::vector<float> out(static_cast<std::size_t>(m_p.Dv), 0.0f);
          const float lse = run_row(b, h, row, out);
          result.lse[static_cast<std::size_t>((b * m_p.Hq + h) * m_p.Sq + row)] = lse;
          const std::int64_t at = b * strides.batch + h * strides.head + row * strides.row;
          for (std::int64_t d = 0; d < m_p.Dv; ++d) {
            write_element(m_p, result.out, at + d, out[static_cast<std::size_t>(d)]);
          }
        }
      }
    }
    return result;
  }

 private:
  const float* row_of(const std::vector<float>& values, Tensor tensor, std::int64_t b,
                      std::int64_t h, std::int64_t row) const {
    const problem::TensorStrides strides = problem::tensor_strides(m_p, tensor);
    return values.data() + b * strides.batch + h * strides.head + row * strides.row;
  }

  float score(std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t key) const {
    if (key >= problem::visible_keys(m_p, row)) return k_none;
    if (m_options.drops && m_options.drops(row, key)) return k_none;
    const std::int64_t q_head = m_options.swap_heads && h < 2 ? 1 - h : h;
    const std::int64_t kv_head = h / (m_p.Hq / m_p.Hkv);
    const auto scale = static_cast<float>(problem::effective_scale(m_p) * m_options.scale_factor);
    float value = scale * dot(row_of(m_q, Tensor::q, b, q_head, row),
                              row_of(m_k, Tensor::k, b, kv_head, key), m_p.D);
    const auto at = static_cast<std::size_t>((b * m_p.Sq + row) * m_p.Skv + key);
    if (m_p.mask == MaskKind::boolean && m_mask[at] == std::byte{0}) return k_none;
    if (m_p.mask == MaskKind::additive) value += m_bias[at];
    return value * m_unit;
  }

  float exponential(float x) const { return m_options.exp2 ? std::exp2(x) : std::exp(x); }

  float run_row(std::int64_t b, std::int64_t h, std::int64_t row, std::vector<float>& out) const {
    const std::int64_t block = m_options.two_passes ? m_p.Skv : m_options.key_block;
    const std::int64_t blocks = (m_p.Skv + block - 1) / block;
    std::vector<float> p(static_cast<std::size_t>(block));
    float max = k_none;
    float sum = 0;
    for (std::int64_t i = 0; i < blocks; ++i) {
      const std::int64_t begin = (m_options.reverse_blocks ? blocks - 1 - i : i) * block;
      const std::int64_t count = std::min(block, m_p.Skv - begin);
      float block_max = k_none;
      for (std::int64_t j = 0; j < count; ++j) {
        p[static_cast<std::size_t>(j)] = score(b, h, row, begin + j);
        block_max = std::max(block_max, p[static_cast<std::size_t>(j)]);
      }
      if (block_max == k_none) continue;
      const auto slack = static_cast<float>(m_options.rescale_log2) * 0.6931472f * m_unit;
      if (max == k_none || block_max > max + slack) {
        const float factor = max == k_none ? 0.0f : exponential(max - block_max);
        for (float& value : out) value *= factor;
        sum *= factor;
        max = block_max;
      }
      accumulate(b, h, begin, count, max, p, sum, out);
    }
    if (max == k_none) return k_none;
    if (!m_options.two_passes) {
      for (float& value : out) value /= sum;
    }
    return max / m_unit + std::log(sum);
  }

  void accumulate(std::int64_t b, std::int64_t h, std::int64_t begin, std::int64_t count, float max,
                  std::vector<float>& p, float& sum, std::vector<float>& out) const {
    const std::int64_t kv_head = h / (m_p.Hq / m_p.Hkv);
    for (std::int64_t j = 0; j < count; ++j) {
      float& weight = p[static_cast<std::size_t>(j)];
      weight = exponential(weight - max);
      sum += weight;
    }
    for (std::int64_t j = 0; j < count; ++j) {
      float weight = p[static_cast<std::size_t>(j)];
      if (m_options.two_passes) weight /= sum;
      weight = rounded(m_options.p_dtype, weight);
      const float* v = row_of(m_v, Tensor::v, b, kv_head, begin + j);
      for (std::size_t d = 0; d < out.size(); ++d) out[d] += weight * v[d];
    }
  }

  const Problem& m_p;
  const SubjectOptions& m_options;
  std::vector<float> m_q, m_k, m_v, m_bias;
  const Bytes& m_mask;
  float m_unit = 1;
};

}  // namespace

SubjectOptions subject_for(const Problem& problem) {
  SubjectOptions options;
  options.p_dtype = problem.dtype;
  return options;
}

SubjectOutput run_subject(const Problem& problem, const problem::Inputs& inputs,
                          const SubjectOptions& options) {
  return Subject(problem, inputs, options).run();
}

float read_element(const Problem& problem, const Bytes& bytes, std::int64_t index) {
  const auto size = static_cast<std::size_t>(size_bytes(problem.dtype));
  const std::byte* at = bytes.data() + static_cast<std::size_t>(index) * size;
  if (problem.dtype == Dtype::f32) {
    float value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return problem.dtype == Dtype::f16 ? to_float(F16{bits}) : to_float(Bf16{bits});
}

void write_element(const Problem& problem, Bytes& bytes, std::int64_t index, float value) {
  const auto size = static_cast<std::size_t>(size_bytes(problem.dtype));
  std::byte* at = bytes.data() + static_cast<std::size_t>(index) * size;
  const std::uint16_t half = problem.dtype == Dtype::f16 ? to_f16(value).bits : to_bf16(value).bits;
  if (problem.dtype == Dtype::f32) {
    std::memcpy(at, &value, sizeof value);
  } else {
    std::memcpy(at, &half, sizeof half);
  }
}

}  // namespace wb::testing
