// SPDX-License-Identifier: MIT
// What all hostile variants share: a correct, slow attention for f32 and the exports of the ABI.
// Each part of the files beside this one adds exactly one fault; table.json says what the worker
// must make of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sdpa_abi.h"

struct wb_sdpa_plan {
  wb_sdpa_problem problem{};
  std::vector<float> scores;
  std::int64_t calls = 0;
};

namespace hostile {

inline std::int64_t visible_keys(const wb_sdpa_problem& p, std::int64_t row) {
  if (p.causal == WB_CAUSAL_NONE) return p.seq_kv;
  const std::int64_t shift = p.causal == WB_CAUSAL_BOTTOM_RIGHT ? p.seq_kv - p.seq_q : 0;
  return std::clamp<std::int64_t>(row + shift + 1, 0, p.seq_kv);
}

/// Rows [0, row_count) of one head; keys with a smaller share of the largest weight are left out.
inline void honest_head(wb_sdpa_plan& plan, const wb_sdpa_args& args, std::int64_t b,
                        std::int64_t h, std::int64_t row_count, double scale,
                        float least_weight = 0) {
  const wb_sdpa_problem& p = plan.problem;
  const std::int64_t g = h / (p.heads_q / p.heads_kv);
  const auto* k = static_cast<const float*>(args.k) + b * p.k.batch + g * p.k.head;
  const auto* v = static_cast<const float*>(args.v) + b * p.v.batch + g * p.v.head;
  for (std::int64_t row = 0; row < row_count; ++row) {
    const auto* q =
        static_cast<const float*>(args.q) + b * p.q.batch + h * p.q.head + row * p.q.row;
    auto* out = static_cast<float*>(args.out) + b * p.out.batch + h * p.out.head + row * p.out.row;
    const std::int64_t keys = visible_keys(p, row);
    float maximum = -INFINITY;
    float sum = 0;
    for (std::int64_t key = 0; key < keys; ++key) {
      float dot = 0;
      for (std::int64_t d = 0; d < p.dim; ++d) dot += q[d] * k[key * p.k.row + d];
      plan.scores[static_cast<std::size_t>(key)] = dot * static_cast<float>(scale);
      maximum = std::max(maximum, plan.scores[static_cast<std::size_t>(key)]);
    }
    std::fill(out, out + p.dim_v, 0.0f);
    for (std::int64_t key = 0; key < keys; ++key) {
      const float weight = std::exp(plan.scores[static_cast<std::size_t>(key)] - maximum);
      if (weight < least_weight) continue;
      sum += weight;
      for (std::int64_t d = 0; d < p.dim_v; ++d) out[d] += weight * v[key * p.v.row + d];
    }
    for (std::int64_t d = 0; d < p.dim_v && keys > 0; ++d) out[d] /= sum;
    if (args.lse != nullptr) {
      args.lse[(b * p.heads_q + h) * p.seq_q + row] =
          keys > 0 ? maximum + std::log(sum) : -INFINITY;
    }
  }
}

inline int all_heads(wb_sdpa_plan& plan, const wb_sdpa_args& args, double scale,
                     float least_weight) {
  const wb_sdpa_problem& p = plan.problem;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads_q; ++h) {
      honest_head(plan, args, b, h, p.seq_q, scale, least_weight);
    }
  }
  return WB_OK;
}

inline int honest(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return all_heads(plan, args, plan.problem.scale, 0);
}

/// Hash of the first `most_bytes` of Q: what variants that remember results know a content by.
inline std::size_t q_hash(const wb_sdpa_problem& p, const wb_sdpa_args& args,
                          std::size_t most_bytes = SIZE_MAX) {
  const auto bytes = static_cast<std::size_t>(p.batch * p.heads_q * p.seq_q * p.dim) * 4;
  return std::hash<std::string_view>()(
      {static_cast<const char*>(args.q), std::min(bytes, most_bytes)});
}

inline std::int64_t out_elements(const wb_sdpa_problem& p) {
  return p.batch * p.heads_q * p.seq_q * p.dim_v;
}

/// Zeroes every row of the output and nothing beside: a drawn run may hand in a strided view.
inline void zero_output(const wb_sdpa_problem& p, const wb_sdpa_args& args) {
  auto* out = static_cast<float*>(args.out);
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads_q; ++h) {
      for (std::int64_t row = 0; row < p.seq_q; ++row) {
        std::fill_n(out + b * p.out.batch + h * p.out.head + row * p.out.row, p.dim_v, 0.0f);
      }
    }
  }
}

}  // namespace hostile

/// The fault: every part defines it.
static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args);

#ifndef HOSTILE_BUILD_ID
#define HOSTILE_BUILD_ID WB_BUILD_ID
#endif
#ifndef HOSTILE_OWN_PLAN_CREATE
WB_SDPA_EXPORT int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** plan) {
  *plan = new wb_sdpa_plan{*problem, std::vector<float>(static_cast<std::size_t>(problem->seq_kv))};
  return WB_OK;
}
#endif
WB_SDPA_EXPORT size_t wb_sdpa_workspace_bytes(const wb_sdpa_plan*) {
  return 0;
}
WB_SDPA_EXPORT int wb_sdpa_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args) {
  ++plan->calls;
  return forward(*plan, *args);
}
#ifndef HOSTILE_OWN_PLAN_DESTROY
WB_SDPA_EXPORT void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
#endif
WB_SDPA_EXPORT const char* wb_sdpa_last_error(void) {
  return "the hostile variant says so";
}
#ifndef HOSTILE_NO_BUILD_ID
WB_SDPA_EXPORT const char* wb_sdpa_build_id(void) {
  return HOSTILE_BUILD_ID;
}
#endif
