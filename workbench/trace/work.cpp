// SPDX-License-Identifier: MIT
// The performance model: FLOPs of the two products (without the softmax) and the least bytes that
// must move. The formulas are those of TraceLens' perf model (MIT), so that the two tools' figures
// are comparable; docs/guide/trace.md lists them with their limits.
#include <algorithm>

#include "trace/op_sizes.hpp"

namespace wb::trace {
namespace {

double product(std::initializer_list<std::int64_t> factors) {
  double value = 1;
  for (const std::int64_t factor : factors) value *= static_cast<double>(factor);
  return value;
}

/// The work of a serving step: prefill q·k less the causal half of q², decode q·k.
CallWork serving_work(const AttentionSizes& s, const ServingStep& step) {
  const auto heads_q = static_cast<double>(s.H_Q), heads_kv = static_cast<double>(s.H_KV);
  const auto depth = static_cast<double>(s.d_qk + s.d_v);
  CallWork work;
  work.flops = heads_q * depth * (2 * step.ctx_qk - step.ctx_qq + 2 * step.gen_qk);
  if (const auto size = dtype_bytes(s.dtype)) {
    const double queries = step.ctx_q + step.gen_q;
    const double cached = (step.ctx_k - step.ctx_q) + (step.gen_k - step.gen_q);
    work.bytes = *size * depth * (queries * (heads_q + heads_kv) + cached * heads_kv);
  }
  return work;
}

/// The share of all query-key pairs that causal attention computes: one half for both corners if
/// the numbers of queries and keys are equal.
double causal_part(const AttentionSizes& s) {
  const auto n_q = static_cast<double>(s.N_Q), n_kv = static_cast<double>(s.N_KV);
  const bool long_side_counts = s.bottom_right.value_or(true) == (n_q <= n_kv);
  const double shorter = std::min(n_q, n_kv);
  const double pairs =
      long_side_counts ? n_q * n_kv - shorter * shorter / 2 : shorter * shorter / 2;
  return pairs / (n_q * n_kv);
}

CallWork dense_work(const OpRule& rule, const AttentionSizes& s) {
  const double queries = product({s.B, s.N_Q, s.H_Q}), keys = product({s.B, s.N_KV, s.H_KV});
  const double pairs = product({s.B, s.H_Q, s.N_Q, s.N_KV});
  const auto qk = static_cast<double>(s.d_qk), v = static_cast<double>(s.d_v);
  CallWork work;
  double elements = queries * (qk + v) + keys * (qk + v);
  if (rule.backward) {
    // The products dV, dP, dQ and dK; a fused kernel also computes the scores again.
    const bool again = rule.attention == Attention::flash;
    work.flops = 2 * pairs * (2 * v + 2 * qk + (again ? qk : 0));
    const double groups = static_cast<double>(s.H_Q) / static_cast<double>(s.H_KV);
    work.flops += product({s.B, s.N_KV}) * (v + qk) * (groups - 1);
    elements += queries * qk + keys * (qk + v);
  } else {
    work.flops = 2 * pairs * (qk + v);
  }
  if (s.causal.value_or(false)) work.flops *= causal_part(s);
  if (!s.bytes_known) return work;
  if (s.tensor_bytes > 0) {
    work.bytes = s.tensor_bytes;
  } else if (const auto size = dtype_bytes(s.dtype)) {
    work.bytes = *size * elements;
  }
  return work;
}

}  // namespace

WorkOrWhy work_of(const OpRule& rule, const AttentionSizes& sizes,
                  const std::optional<ServingStep>& step) {
  if (sizes.H_KV < 1 || sizes.H_Q % sizes.H_KV != 0) {
    return {{}, "the query heads are no multiple of the key heads"};
  }
  // A list of chosen keys gives their number, also in pages.
  if (rule.attention == Attention::paged && !sizes.chosen) {
    if (!step) return {{}, "the lengths of the sequences are not recorded (no annotation)"};
    if (!step->pairs_known) {
      return {{}, "the annotation has token counts but no key lengths (an older server)"};
    }
    return {serving_work(sizes, *step), {}};
  }
  if (!sizes.lengths_known) {
    return {{}, "packed sequences: their lengths are not recorded"};
  }
  if (!sizes.causal) return {{}, "whether it is causal is not recorded"};
  if (sizes.windowed) return {{}, "a sliding window: what it leaves of the keys is not modelled"};
  if (*sizes.causal && sizes.N_Q != sizes.N_KV && !sizes.bottom_right) {
    return {{}, "causal with as many queries as keys only: the mask's corner is not recorded"};
  }
  return {dense_work(rule, sizes), {}};
}

}  // namespace wb::trace
