// SPDX-License-Identifier: MIT
#include "trace/replay.hpp"

namespace wb::trace {

using problem::Causal;

ProblemOrWhy problem_of(const OpRule& rule, const AttentionSizes& sizes) {
  if (rule.backward) return {{}, "backward attention is no problem of the workbench yet"};
  if (sizes.chosen) return {{}, "chosen keys for each query are no problem of the workbench yet"};
  if (rule.attention == Attention::paged) {
    return {{}, "attention over pages is no problem of the workbench yet"};
  }
  if (!sizes.lengths_known) return {{}, "the lengths of packed sequences are not recorded"};
  if (sizes.windowed) return {{}, "a sliding window is no problem of the workbench yet"};
  if (sizes.masked) return {{}, "it had a mask, which is no problem of the workbench yet"};
  if (!(sizes.dropout == 0)) return {{}, "dropout is no problem of the workbench yet"};
  if (!sizes.causal) return {{}, "whether it is causal is not recorded"};
  problem::Problem problem;
  if (sizes.dtype == "bf16") {
    problem.dtype = Dtype::bf16;
  } else if (sizes.dtype == "fp16") {
    problem.dtype = Dtype::f16;
  } else if (sizes.dtype == "fp32") {
    problem.dtype = Dtype::f32;
  } else {
    return {{}, "a dtype that the workbench lacks"};
  }
  if (*sizes.causal && sizes.N_Q != sizes.N_KV && !sizes.bottom_right) {
    return {{}, "causal with N_Q != N_KV: the mask's corner is not recorded"};
  }
  problem.B = sizes.B;
  problem.Hq = sizes.H_Q;
  problem.Hkv = sizes.H_KV;
  problem.Sq = sizes.N_Q;
  problem.Skv = sizes.N_KV;
  problem.D = sizes.d_qk;
  problem.Dv = sizes.d_v;
  // With equal numbers of queries and keys, both corners are the same.
  const bool bottom_right = sizes.bottom_right.value_or(false) && sizes.N_Q != sizes.N_KV;
  problem.causal = !*sizes.causal ? Causal::none
                   : bottom_right ? Causal::bottom_right
                                  : Causal::top_left;
  const bool tokens_first =
      rule.sizes == Sizes::bnhd || rule.sizes == Sizes::packed || rule.sizes == Sizes::single;
  if (tokens_first) problem.layout = problem::Layout::bshd;
  const auto good = problem::validate(problem);
  if (!good) return {{}, good.error().cause};
  return {problem, {}};
}

}  // namespace wb::trace
