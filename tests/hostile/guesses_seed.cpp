// SPDX-License-Identifier: MIT
// Makes its result from inputs of its own, drawn from a guessed seed.
#include <random>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  std::mt19937 random(42);
  std::normal_distribution<float> value;
  const auto draw = [&](std::int64_t elements) {
    std::vector<float> values(static_cast<std::size_t>(elements));
    for (float& one : values) one = value(random);
    return values;
  };
  const auto q = draw(p.batch * p.heads_q * p.seq_q * p.dim);
  const auto k = draw(p.batch * p.heads_kv * p.seq_kv * p.dim);
  const auto v = draw(p.batch * p.heads_kv * p.seq_kv * p.dim_v);
  wb_sdpa_args own = args;
  own.q = q.data();
  own.k = k.data();
  own.v = v.data();
  return hostile::honest(plan, own);
}
