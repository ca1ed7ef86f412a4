// SPDX-License-Identifier: MIT
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
