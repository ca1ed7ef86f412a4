// SPDX-License-Identifier: MIT
// The pinned storage-dtype computations that set the error budget.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/dtype.hpp"
#include "problem/attention.hpp"
#include "problem/inner_loops.hpp"

namespace wb::problem {
namespace {

constexpr float k_none = -std::numeric_limits<float>::infinity();
constexpr float k_log2_e = 1.44269504f;

float rounded(Dtype dtype, float value) {
  switch (dtype) {
    case Dtype::f32:
      return value;
    case Dtype::f16:
      return to_float(to_f16(value));
    case Dtype::bf16:
      return to_float(to_bf16(value));
  }
  return std::numeric_limits<float>::quiet_NaN();
}

/// One block of rows, key block after key block, with the state of an online softmax.
class StdBlock {
 public:
  StdBlock(const Problem& p, const Inputs& inputs, const RowBlock& block, StdForm form)
      : m_p(p),
        m_form(form),
        m_block(block),
        m_reader(p, inputs, block.b, block.h),
        m_rows(block.row_end - block.row_begin),
        m_keys(visible_keys(p, block.row_end - 1)),
        m_key_block(form == StdForm::short_blocks ? 16 : 64),
        m_scale(static_cast<float>(effective_scale(p))),
        m_unit(form == StdForm::short_blocks ? k_log2_e : 1.0f),
        m_q(size(m_rows * p.D)),
        m_scores(size(m_rows * m_key_block)),
        m_panel(size(m_key_block * std::max(p.D, p.Dv))),
        m_bias(size(m_key_block)),
        m_max(size(m_rows), k_none),
        m_sum(size(m_rows), 0.0f),
        m_out(size(m_rows * p.Dv), 0.0f) {
    m_reader.q_rows(block.row_begin, m_rows, m_q.data());
    if (m_form == StdForm::short_blocks) {
      // Multiply the scale into q, in f32, so that the scores round differently.
      for (float& value : m_q) value *= m_scale * m_unit;
      m_scale = 1.0f;
    }
  }

  BlockOutput run() {
    const auto online = [this](std::int64_t row, float* scores, std::int64_t visible) {
      online_softmax(row, scores, visible);
    };
    const auto normalized = [this](std::int64_t row, float* scores, std::int64_t visible) {
      normalized_softmax(row, scores, visible);
    };
    sweep(online, /*with_values=*/m_form != StdForm::normalized);
    if (m_form == StdForm::normalized) sweep(normalized, /*with_values=*/true);
    return result();
  }

 private:
  static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

  /// Calls softmax(row, scores, visible keys) for each key block and, with values, adds out += P V.
  template <typename Softmax>
  void sweep(const Softmax& softmax, bool with_values) {
    for (std::int64_t key = 0; key < m_keys; key += m_key_block) {
      const std::int64_t count = std::min(m_key_block, m_keys - key);
      m_reader.k_transposed(key, count, m_panel.data(), m_key_block);
      std::fill(m_scores.begin(), m_scores.end(), 0.0f);
      gemm_add({m_scores.data(), m_key_block}, {m_q.data(), m_p.D}, {m_panel.data(), m_key_block},
               m_rows, count, m_p.D);
      for (std::int64_t i = 0; i < m_rows; ++i) {
        float* scores = m_scores.data() + i * m_key_block;
        const std::int64_t row = m_block.row_begin + i;
        const std::int64_t visible =
            std::clamp<std::int64_t>(visible_keys(m_p, row) - key, 0, count);
        m_reader.bias_row(row, key, visible, m_bias.data());
        if (m_form == StdForm::short_blocks) bias_in_units(visible);
        scale(scores, visible);
        softmax(i, scores, visible);
        std::fill(scores + visible, scores + count, 0.0f);
      }
      if (!with_values) continue;
      m_reader.v_rows(key, count, m_panel.data());
      gemm_add({m_out.data(), m_p.Dv}, {m_scores.data(), m_key_block}, {m_panel.data(), m_p.Dv},
               m_rows, m_p.Dv, count);
    }
  }

  /// Copies members to locals, since the compiler must assume that scores alias them.
  void scale(float* scores, std::int64_t count) const {
    const float scale = m_scale;
    const float* bias = m_bias.data();
    for (std::int64_t j = 0; j < count; ++j) scores[j] = scores[j] * scale + bias[j];
  }

  /// The bias in the units of the scores. A finite bias stays finite, so that it does not mask.
  void bias_in_units(std::int64_t count) {
    for (std::int64_t j = 0; j < count; ++j) {
      float& bias = m_bias[size(j)];
      if (bias != k_none) bias = std::max(bias * m_unit, std::numeric_limits<float>::lowest());
    }
  }

  void round(float* weights, std::int64_t count) const {
    if (m_p.dtype == Dtype::f32) return;
    for (std::int64_t j = 0; j < count; ++j) weights[j] = rounded(m_p.dtype, weights[j]);
  }

  /// Turns scores minus their maximum into weights.
  void exponentiate(float* scores, std::int64_t count) const {
    if (m_form != StdForm::short_blocks) return exponentials(scores, count);
    for (std::int64_t j = 0; j < count; ++j) scores[j] = std::exp2(scores[j]);
  }

  /// Scores become weights exp(s - running maximum), rounded to the dtype; what was summed so far
  /// is rescaled when the maximum grows. The row sum is that of the unrounded weights.
  void online_softmax(std::int64_t i, float* scores, std::int64_t visible) {
    const float max = largest(scores, visible, m_max[size(i)]);
    if (max == k_none) {
      std::fill(scores, scores + visible, 0.0f);
      return;
    }
    float rescale = m_max[size(i)] - max;
    exponentiate(&rescale, 1);  // exp(-inf) = 0 the first time
    for (std::int64_t j = 0; j < visible; ++j) scores[j] -= max;
    exponentiate(scores, visible);
    float sum = 0;
    for (std::int64_t j = 0; j < visible; ++j) sum += scores[j];
    round(scores, visible);
    m_max[size(i)] = max;
    m_sum[size(i)] = m_sum[size(i)] * rescale + sum;
    float* out = m_out.data() + i * m_p.Dv;
    for (std::int64_t d = 0; d < m_p.Dv; ++d) out[d] *= rescale;
  }

  /// After a pass that found maximum and sum: divides weights by the sum, then rounds.
  void normalized_softmax(std::int64_t i, float* scores, std::int64_t visible) const {
    const float max = m_max[size(i)];
    if (max == k_none) {
      std::fill(scores, scores + visible, 0.0f);
      return;
    }
    for (std::int64_t j = 0; j < visible; ++j) scores[j] -= max;
    exponentiate(scores, visible);
    const float sum = m_sum[size(i)];
    for (std::int64_t j = 0; j < visible; ++j) scores[j] /= sum;
    round(scores, visible);
  }

  BlockOutput result() const {
    BlockOutput block{std::vector<double>(m_out.size()),
                      std::vector<double>(m_sum.size(), static_cast<double>(k_none)),
                      {}};
    const auto width = size(m_p.Dv);
    for (std::size_t i = 0; i < m_sum.size(); ++i) {
      if (!(m_sum[i] > 0)) continue;  // fully masked: zeros and -inf
      const float divisor = m_form == StdForm::normalized ? 1.0f : m_sum[i];
      block.lse[i] = static_cast<double>(m_max[i] / m_unit + std::log(m_sum[i]));
      for (std::size_t at = i * width; at < (i + 1) * width; ++at) {
        block.out[at] = static_cast<double>(rounded(m_p.dtype, m_out[at] / divisor));
      }
    }
    return block;
  }

  const Problem& m_p;
  StdForm m_form;
  RowBlock m_block;
  HeadReader<float> m_reader;
  std::int64_t m_rows, m_keys, m_key_block;
  float m_scale;  ///< factor of q k^T
  float m_unit;   ///< unit of scores: 1, or log2(e) with exp2
  std::vector<float> m_q, m_scores, m_panel, m_bias;
  std::vector<float> m_max, m_sum, m_out;  ///< [rows], [rows], [rows, Dv]
};

}  // namespace

BlockOutput std_block(const Problem& problem, const Inputs& inputs, const RowBlock& block,
                      StdForm form) {
  return StdBlock(problem, inputs, block, form).run();
}

}  // namespace wb::problem
