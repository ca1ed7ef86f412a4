// SPDX-License-Identifier: MIT
// Zeroes its inputs and its output, so that a judge who looks at them agrees.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const auto zero = [](const void* data, std::int64_t elements) {
    std::fill_n(static_cast<float*>(const_cast<void*>(data)), elements, 0.0f);
  };
  zero(args.q, p.batch * p.heads_q * p.seq_q * p.dim);
  zero(args.k, p.batch * p.heads_kv * p.seq_kv * p.dim);
  zero(args.v, p.batch * p.heads_kv * p.seq_kv * p.dim_v);
  zero(args.out, hostile::out_elements(p));
  return WB_OK;
}
