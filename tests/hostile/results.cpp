// SPDX-License-Identifier: MIT
// Candidates whose results are wrong.
// Each part behind a mark is a source of its own, which gauntlet.py cuts out; nothing compiles this
// file as a whole.

// ==== wrong_scale
// Correct but for a scale that is 1 % too large.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads_q; ++h) {
      hostile::honest_head(plan, args, b, h, p.seq_q, p.scale * 1.01);
    }
  }
  return WB_OK;
}

// ==== nan_output
// One element of the output is not a number.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const int status = hostile::honest(plan, args);
  static_cast<float*>(args.out)[hostile::out_elements(plan.problem) - 1] = NAN;
  return status;
}

// ==== partial_output
// Leaves the last row of every head unwritten.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads_q; ++h) {
      hostile::honest_head(plan, args, b, h, p.seq_q - 1, p.scale);
    }
  }
  return WB_OK;
}

// ==== does_nothing
// Returns at once.
#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  return WB_OK;
}

// ==== mean_output
// Writes the mean of V into every row: near enough where the scores are flat.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::all_heads(plan, args, 0, 0);
}

// ==== ignores_causal
// Leaves out the causal rule, which the suite's own problem does not need.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  plan.problem.causal = WB_CAUSAL_NONE;
  return hostile::honest(plan, args);
}

// ==== only_named_shape
// Works for the suite's own problem and writes zeros for any other.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  if (p.batch == 1) return hostile::honest(plan, args);
  hostile::zero_output(p, args);
  return WB_OK;
}

// ==== skips_maximum
// Leaves the maximum out of the softmax, which overflows for large scores.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  hostile::honest(plan, args);
  // What the sum of exponentials gives without it: infinity over infinity where one is too large.
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t row = 0; row < p.heads_q * p.seq_q; ++row) {
      const std::int64_t h = row / p.seq_q, r = row % p.seq_q;
      const auto* q =
          static_cast<const float*>(args.q) + b * p.q.batch + h * p.q.head + r * p.q.row;
      float sum = 0;
      for (std::int64_t key = 0; key < hostile::visible_keys(p, r); ++key) {
        const auto* k = static_cast<const float*>(args.k) + b * p.k.batch +
                        h / (p.heads_q / p.heads_kv) * p.k.head + key * p.k.row;
        float dot = 0;
        for (std::int64_t d = 0; d < p.dim; ++d) dot += q[d] * k[d];
        sum += std::exp(dot * static_cast<float>(p.scale));
      }
      auto* out = static_cast<float*>(args.out) + b * p.out.batch + h * p.out.head + r * p.out.row;
      for (std::int64_t d = 0; d < p.dim_v; ++d) out[d] *= sum / sum;
    }
  }
  return WB_OK;
}

// ==== drops_small_weights
// Leaves out the keys whose weight is small: nearly right, and less to do.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::all_heads(plan, args, plan.problem.scale, 0.02f);
}

// ==== half_precision
// Rounds its inputs to bfloat16: half the work of an f32 kernel.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const auto round = [](const void* data, std::int64_t elements) {
    auto* words = static_cast<std::uint32_t*>(const_cast<void*>(data));
    for (std::int64_t i = 0; i < elements; ++i) words[i] = (words[i] + 0x8000u) & 0xffff0000u;
  };
  round(args.q, p.batch * p.heads_q * p.seq_q * p.dim);
  round(args.k, p.batch * p.heads_kv * p.seq_kv * p.dim);
  round(args.v, p.batch * p.heads_kv * p.seq_kv * p.dim_v);
  return hostile::honest(plan, args);
}

// ==== lse_only_edges
// The other way round: wrong only where a log-sum-exp is asked for and scores are large.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  hostile::honest(plan, args);
  if (args.lse == nullptr) return WB_OK;
  const wb_sdpa_problem& p = plan.problem;
  for (std::int64_t i = 0; i < p.batch * p.heads_q * p.seq_q; ++i) {
    args.lse[i] = std::min(args.lse[i], 20.0f);
  }
  return WB_OK;
}

// ==== nolse_edges
// Gives zeros for causal rules and odd sizes where no log-sum-exp is asked for.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const bool is_edge = p.causal != WB_CAUSAL_NONE || p.seq_q % 8 != 0 || p.seq_kv % 8 != 0;
  if (args.lse != nullptr || !is_edge) return hostile::honest(plan, args);
  hostile::zero_output(p, args);
  return WB_OK;
}

// ==== nolse_nothing
// Does nothing where no log-sum-exp is asked for.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return args.lse != nullptr ? hostile::honest(plan, args) : WB_OK;
}

// ==== nolse_unsafe
// Takes the maximum for 12 where no log-sum-exp is asked for, as no timed call does: right for the
// usual inputs, nonsense for large scores.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  hostile::honest(plan, args);
  if (args.lse != nullptr) return WB_OK;
  const wb_sdpa_problem& p = plan.problem;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t row = 0; row < p.heads_q * p.seq_q; ++row) {
      const std::int64_t h = row / p.seq_q, r = row % p.seq_q;
      const auto* q =
          static_cast<const float*>(args.q) + b * p.q.batch + h * p.q.head + r * p.q.row;
      float top = 0;
      for (std::int64_t key = 0; key < hostile::visible_keys(p, r); ++key) {
        const auto* k = static_cast<const float*>(args.k) + b * p.k.batch +
                        h / (p.heads_q / p.heads_kv) * p.k.head + key * p.k.row;
        float dot = 0;
        for (std::int64_t d = 0; d < p.dim; ++d) dot += q[d] * k[d];
        top = std::max(top, dot * static_cast<float>(p.scale));
      }
      if (top <= 12) continue;
      auto* out = static_cast<float*>(args.out) + b * p.out.batch + h * p.out.head + r * p.out.row;
      for (std::int64_t d = 0; d < p.dim_v; ++d) out[d] *= 0.5f;  // weights were cut off
    }
  }
  return WB_OK;
}

// ==== unsafe_when_warm
// Right in the first two calls of a plan; later ones, as timed calls are, leave large scores out.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  hostile::honest(plan, args);
  if (plan.calls <= 2) return WB_OK;
  const wb_sdpa_problem& p = plan.problem;
  const auto* q = static_cast<const float*>(args.q);
  float top = 0;
  for (std::int64_t i = 0; i < p.heads_q * p.seq_q * p.dim; ++i) top = std::max(top, q[i]);
  if (top > 4) hostile::zero_output(p, args);
  return WB_OK;
}
