// SPDX-License-Identifier: MIT
// The plan of a kernel over scalar_rows.cuh that is one launch of B Hq parts, without a workspace.
// Include it once: with plan.cuh it defines five of the six exported functions; the kernel adds
// wb_sdpa_plan_create. Included by sm80_query_per_block and sm80_sequential_kv.
#pragma once

#include "cuda/scalar_launches.cuh"

namespace wb::gpu {

struct ScalarLaunch {
  ScalarKernel kernel;
  int rows, threads, smem_bytes;  // rows: of a block
  int most_smem_bytes;            // of this kernel's largest problem, see allow_shared
};

}  // namespace wb::gpu

struct wb_sdpa_plan {
  wb_sdpa_problem problem;
  wb::gpu::ScalarParams params;
  wb::gpu::ScalarLaunch launch;
};

namespace wb::gpu {

// wb_sdpa_plan_create. choose(problem) gives the ScalarLaunch.
template <class Choose>
int create_scalar_plan(const char* name, const wb_sdpa_problem* problem, wb_sdpa_plan** out,
                       int64_t most_dim, Choose choose) {
  const auto check_reach = [&](const wb_sdpa_problem& p) {
    return check_scalar_reach(name, p, most_dim);
  };
  return create_plan(problem, out, check_reach, [&](wb_sdpa_plan& plan) -> int {
    plan.params = scalar_params(plan.problem);
    plan.launch = choose(plan.problem);
    if (plan.launch.smem_bytes <= k_shared_without_asking) return WB_OK;
    return allow_shared(plan.launch.kernel, plan.launch.most_smem_bytes);
  });
}

}  // namespace wb::gpu

extern "C" {
WB_SDPA_EXPORT size_t wb_sdpa_workspace_bytes(const wb_sdpa_plan*) {
  return 0;
}

WB_SDPA_EXPORT int wb_sdpa_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args) {
  using namespace wb::gpu;
  if (plan == nullptr) return fail(WB_FAILED, "forward: no plan");
  const wb_sdpa_problem& p = plan->problem;
  ScalarParams params = plan->params;
  const int status = take_arguments(params, p, args, false);
  if (status != WB_OK) return status;
  const int64_t parts = (p.seq_q + plan->launch.rows - 1) / plan->launch.rows;
  return launch(plan->launch.kernel, p.batch * p.heads_q * parts, plan->launch.threads,
                plan->launch.smem_bytes, args->stream, params);
}

WB_SDPA_EXPORT void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {
  delete plan;
}
}
