// SPDX-License-Identifier: MIT
// What the wrong kernels of edges.py share: the right attention of kernels/cpu_online (inner.hpp,
// its source without the last line) with one fault around it. A kernel's source is three lines made
// from its row among table.json's edge_cases (`edges.py --print NAME` shows it). It defines
//   SPOIL  a statement that changes the problem `p` which the plan is made for, or
//   WRONG  whether row i of head h of batch b comes out as zeros, by what `s` has seen
// and includes this file.
#include <cmath>
#include <vector>

#include "inner.hpp"

#ifndef SPOIL
#define SPOIL
#endif
#ifndef WRONG
#define WRONG false
#endif

namespace wrong {

using namespace wb_cpu;

inline std::int64_t plans_alive = 0, plans_gone = 0;

struct Seen {
  const wb_sdpa_problem& p;
  const wb_sdpa_args& args;
  std::int64_t call;    // of this plan, from 1
  std::int64_t group;   // query heads of a key/value head
  std::int64_t beside;  // other plans that are there
  std::int64_t gone;    // that were destroyed since this one was made
};

inline wb_strides packed(std::int64_t heads, std::int64_t rows, std::int64_t width) {
  return {heads * rows * width, rows * width, width};
}

inline double usual_scale(const wb_sdpa_problem& p) {
  return 1.0 / std::sqrt(static_cast<double>(p.dim));
}

inline bool is_misaligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0;
}

inline float element(const void* base, std::int64_t at, std::int32_t dtype) {
  float value = 0;
  load_row(base, at, 1, dtype, 1.0f, &value);
  return value;
}

/// The largest score of a row that the causal rule and a bool mask leave.
inline float largest_score(const Seen& s, std::int64_t b, std::int64_t h, std::int64_t i) {
  float largest = k_minus_infinity;
  for (std::int64_t j = 0; j < visible_keys(s.p, i); ++j) {
    float dot = 0;
    for (std::int64_t d = 0; d < s.p.dim; ++d) {
      dot += element(s.args.q, offset(s.p.q, b, h, i) + d, s.p.dtype) *
             element(s.args.k, offset(s.p.k, b, h / s.group, j) + d, s.p.dtype);
    }
    largest = max(largest, dot * static_cast<float>(s.p.scale));
  }
  return largest;
}

/// All of a row's mask is below `least`, without being -inf.
inline bool has_only_minima(const Seen& s, std::int64_t b, std::int64_t i, float least) {
  if (s.p.mask != WB_MASK_ADDITIVE) return false;
  for (std::int64_t j = 0; j < s.p.seq_kv; ++j) {
    const float value = element(s.args.mask, offset(s.p.mask_strides, b, 0, i) + j, s.p.dtype);
    if (value > least || value == k_minus_infinity) return false;
  }
  return true;
}

}  // namespace wrong

struct wrong_plan {
  wb_sdpa_plan* inner;
  wb_sdpa_problem problem;
  std::int64_t calls, gone_before;
};

extern "C" int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** plan) {
  wb_sdpa_problem p = *problem;
  SPOIL;
  wb_sdpa_plan* inner = nullptr;
  const int status = wb_cpu_make_plan(&p, INNER::needs, &inner);
  if (status != WB_OK) return status;
  ++wrong::plans_alive;
  *plan = reinterpret_cast<wb_sdpa_plan*>(new wrong_plan{inner, *problem, 0, wrong::plans_gone});
  return WB_OK;
}

extern "C" size_t wb_sdpa_workspace_bytes(const wb_sdpa_plan* plan) {
  const wb_sdpa_plan& inner = *reinterpret_cast<const wrong_plan*>(plan)->inner;
  return sizeof(float) *
         static_cast<std::size_t>(inner.scratch_floats * inner.pool.size() + inner.shared_floats);
}

extern "C" int wb_sdpa_forward(wb_sdpa_plan* opaque, const wb_sdpa_args* args) {
  wrong_plan& plan = *reinterpret_cast<wrong_plan*>(opaque);
  const int status = wb_cpu_forward(plan.inner, args, INNER::forward);
  ++plan.calls;
  const wb_sdpa_problem& p = plan.problem;
  const wrong::Seen s{p,
                      *args,
                      plan.calls,
                      p.heads_q / p.heads_kv,
                      wrong::plans_alive - 1,
                      wrong::plans_gone - plan.gone_before};
  const std::vector<float> zeros(static_cast<std::size_t>(p.dim_v), 0.0f);
  using namespace wrong;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads_q; ++h) {
      for (std::int64_t i = 0; i < p.seq_q; ++i) {
        if (!(WRONG)) continue;
        wb_cpu::store_row(args->out, wb_cpu::offset(p.out, b, h, i), p.dim_v, p.dtype, 1.0f,
                          zeros.data());
      }
    }
  }
  return status;
}

extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* opaque) {
  auto* plan = reinterpret_cast<wrong_plan*>(opaque);
  --wrong::plans_alive;
  ++wrong::plans_gone;
  delete plan->inner;
  delete plan;
}

extern "C" const char* wb_sdpa_last_error(void) {
  return wb_cpu::t_last_error;
}
extern "C" const char* wb_sdpa_build_id(void) {
  return WB_BUILD_ID;
}
