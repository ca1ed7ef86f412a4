// SPDX-License-Identifier: MIT
// The GPU's canary: a plain attention that only a broken machine computes wrongly.
#include "worker/cuda/device/params.hpp"

namespace wb::worker::cuda::device {
namespace {

__device__ std::int64_t visible_keys(const CanaryParams& p, std::int64_t row) {
  if (p.causal == CausalRule::none) return p.Skv;
  const std::int64_t shift = p.causal == CausalRule::bottom_right ? p.Skv - p.Sq : 0;
  const std::int64_t keys = row + shift + 1;
  return keys < 0 ? 0 : keys < p.Skv ? keys : p.Skv;
}

}  // namespace

extern "C" __global__ void wb_canary(const CanaryParams p) {
  const std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= p.B * p.Hq * p.Sq) return;
  const std::int64_t row = at % p.Sq, head = at / p.Sq % p.Hq, batch = at / p.Sq / p.Hq;
  const std::int64_t kv_head = head / (p.Hq / p.Hkv);
  const auto start = [&](const Strides& s, std::int64_t h) { return batch * s.batch + h * s.head; };
  const float* q = p.q + start(p.q_strides, head) + row * p.q_strides.row;
  const float* k = p.k + start(p.k_strides, kv_head);
  const float* v = p.v + start(p.v_strides, kv_head);
  float* out = p.out + start(p.out_strides, head) + row * p.out_strides.row;
  for (std::int64_t d = 0; d < p.Dv; ++d) out[d] = 0;
  float maximum = -INFINITY, sum = 0;
  const std::int64_t keys = visible_keys(p, row);
  for (std::int64_t key = 0; key < keys; ++key) {
    float score = 0;
    for (std::int64_t d = 0; d < p.D; ++d) score += q[d] * k[key * p.k_strides.row + d];
    score *= p.scale;
    const float before = maximum;
    maximum = fmaxf(maximum, score);
    const float rescale = expf(before - maximum), weight = expf(score - maximum);
    sum = sum * rescale + weight;
    for (std::int64_t d = 0; d < p.Dv; ++d) {
      out[d] = out[d] * rescale + weight * v[key * p.v_strides.row + d];
    }
  }
  for (std::int64_t d = 0; d < p.Dv && keys > 0; ++d) out[d] /= sum;
  if (p.lse != nullptr) p.lse[at] = keys > 0 ? maximum + logf(sum) : -INFINITY;
}

}  // namespace wb::worker::cuda::device
