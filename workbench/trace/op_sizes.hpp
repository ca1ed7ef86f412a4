// SPDX-License-Identifier: MIT
// From a call's recorded arguments to the sizes of its attention, and from those to FLOPs and
// bytes. What the profile does not say is a stated gap, never a guess.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "trace/sdpa_calls.hpp"

namespace wb::trace {

/// Letters as in TraceLens: B batch, N_Q queries, N_KV keys, H_Q and H_KV heads, d_qk and d_v head
/// dims.
struct AttentionSizes {
  std::int64_t B = 0, N_Q = 0, H_Q = 0, N_KV = 0, H_KV = 0, d_qk = 0, d_v = 0;
  std::optional<bool> causal;  ///< nothing: not recorded
  double dropout = 0;          ///< NaN: recorded as something that is no share
  std::string dtype;           ///< "bf16", "fp16", "fp32", "fp64", "fp8", "int8", "uint8" or empty
  bool masked = false;         ///< a mask or bias was recorded
  /// Causal form: true when the last query sees all keys, false when the first one sees the first
  /// key only; nothing: not recorded.
  std::optional<bool> bottom_right = {};
  bool windowed = false;      ///< only some keys to the left count
  bool lengths_known = true;  ///< of packed sequences: all have the same length, or there is one
  double tensor_bytes = 0;    ///< of q, k, v and the output if their dtypes differ, else 0
  bool bytes_known = true;    ///< false: bytes do not follow from the sizes and the dtype
  bool chosen = false;        ///< each query sees N_KV keys named in a list
};

/// Tokens of one step of a vLLM server, from its annotation; sums over the requests of each phase.
/// `pairs_known`: the products below were recorded (newer servers); else only token counts.
struct ServingStep {
  std::int64_t context_requests = 0, generation_requests = 0;
  double ctx_q = 0, ctx_k = 0, ctx_qq = 0, ctx_qk = 0;  ///< tokens: queries, keys, sum q², sum q·k
  double gen_q = 0, gen_k = 0, gen_qq = 0, gen_qk = 0;
  bool pairs_known = false;
};

/// Arithmetic and minimal traffic of one call (FLOP, bytes); bytes is absent for an unknown dtype.
struct CallWork {
  double flops = 0;
  std::optional<double> bytes;
};

/// "c10::BFloat16", "BFloat16" -> "bf16"; empty for an unknown dtype.
std::string dtype_word(std::string_view recorded);
std::optional<int> dtype_bytes(std::string_view word);

/// Sizes of a call, or why they are unknown.
struct SizesOrWhy {
  std::optional<AttentionSizes> sizes;
  std::string why;
};
SizesOrWhy sizes_of(const Trace& trace, const SdpaCall& call);
/// Private to sizes: the recorded arguments of an operator, and how its tensors determine the sizes
/// (argument_sizes.cpp).
struct RecordedArgs {
  Json dims, types, concrete;
  [[nodiscard]] std::string word(int place) const;  ///< a number or word; empty: not recorded
  [[nodiscard]] std::string type(int place) const;
  [[nodiscard]] std::optional<std::int64_t> integer(int place) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> tensor(int place) const;
  [[nodiscard]] bool has_tensor(int place) const;  ///< an omitted tensor has no sizes
};
RecordedArgs recorded_args(const Trace& trace, std::uint32_t host);
SizesOrWhy sizes_of_arguments(const OpRule& rule, const RecordedArgs& args);

/// From product, softmax, product (host events), if their sizes are those of one attention.
std::optional<AttentionSizes> sizes_of_steps(const Trace& trace, std::uint32_t product,
                                             std::uint32_t softmax, std::uint32_t last);

/// True when the softmax has as many keys as the product has columns, which suffices to recognize
/// attention when the recorded sizes do not fit as a whole.
bool softmax_of_product(const Trace& trace, std::uint32_t product, std::uint32_t softmax);
/// True when the product's left factor has the softmax' columns and as many elements.
bool softmax_in_product(const Trace& trace, std::uint32_t softmax, std::uint32_t product);

/// Parses "execute_8192_context_9(sq…sk…sqsq…sqsk…)_generation_37(…)" and the older
/// "execute_context_1(512)_generation_7(7)". Nothing when it is neither, or when its sums are
/// impossible (fewer keys than queries).
std::optional<ServingStep> serving_step(std::string_view annotation);
/// From the innermost such annotation around the call.
std::optional<ServingStep> serving_step_of(const Trace& trace, const SdpaCall& call);

/// The work of one call, or why there is no model for it. Formulas: docs/guide/trace.md.
struct WorkOrWhy {
  std::optional<CallWork> work;
  std::string why;
};
WorkOrWhy work_of(const OpRule& rule, const AttentionSizes& sizes,
                  const std::optional<ServingStep>& step);

}  // namespace wb::trace
