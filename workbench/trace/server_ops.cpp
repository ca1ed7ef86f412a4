// SPDX-License-Identifier: MIT
// Operators of multi-head latent attention and others of inference servers. Positions are those of
// the schemas of SGLang (sgl-kernel/csrc/flashmla_extension.cc, common_extension.cc), vLLM
// (csrc/torch_bindings.cpp, its builds of FlashMLA and flash-attn) and AITER
// (aiter/ops/attention.py); FlashMLA (csrc/api) defines the arguments. FlashMLA's own build binds
// its functions to Python only, which no profile records.
#include <algorithm>
#include <array>

#include "trace/op_names.hpp"

namespace wb::trace {
namespace {

using enum Attention;
using enum Sizes;
using enum CausalWord;

constexpr std::string_view k_unknown_blocks =
    "which blocks and columns of the keys each query sees stands in tensors, whose values are not "
    "recorded";

// clang-format off
/// By the name after the namespace, which differs between builds.
constexpr std::array k_server_rules{
    // separate keys and values, in concatenated sequences
    OpRule{.name = "dense_prefill_fwd", .sizes = packed, .q = 1, .causal = 8,
           .causal_word = mask_mode, .bottom_right = true, .starts = 4, .longest = 10},
    OpRule{.name = "dense_prefill_bwd", .sizes = packed, .backward = true, .q = 2, .causal = 12,
           .causal_word = mask_mode, .bottom_right = true, .starts = 7, .longest = 14},
    // one latent vector per key, whose first part is the value
    OpRule{.name = "sparse_prefill_fwd", .sizes = chosen, .indices = 2, .counts = 6,
           .value_depth = 4},
    OpRule{.name = "sparse_decode_fwd", .attention = paged, .sizes = chosen, .indices = 2,
           .counts = 3, .more_indices = 8, .more_counts = 9, .value_depth = 10},
    OpRule{.name = "fwd_kvcache_mla", .attention = paged, .sizes = chosen, .indices = 10,
           .counts = 14, .more_indices = 13, .more_counts = 15, .value_depth = 2},
    OpRule{.name = "dense_decode_fwd", .attention = paged, .sizes = pages},
    OpRule{.name = "fwd_kvcache_mla_fp8", .attention = paged, .sizes = pages},
    OpRule{.name = "cutlass_mla_decode", .attention = paged, .sizes = pages, .q = 1, .keys = 3},
    OpRule{.name = "sm100_cutlass_mla_decode", .attention = paged, .sizes = pages, .q = 2,
           .keys = 4},
    OpRule{.name = "mla_decode_stage1_asm_fwd", .attention = paged, .sizes = pages},
    // others of SGLang, and of vLLM's flash-attn
    OpRule{.name = "fwd_sparse", .sizes = bnhd, .why = k_unknown_blocks},
    OpRule{.name = "varlen_fwd_sparse", .sizes = packed, .why = k_unknown_blocks},
    OpRule{.name = "lightning_attention_decode", .sizes = unknown,
           .why = "linear attention: no query is multiplied with every key, so that the model of "
                  "the two products does not hold"},
};
// clang-format on

}  // namespace

std::optional<OpRule> server_rule(std::string_view name, std::string_view low) {
  constexpr std::array<std::string_view, 8> k_builds{"sgl_kernel::", "flash_mla", "flashmla",
                                                     "_flash_mla",   "_flashmla", "_vllm_fa2",
                                                     "_c::",         "aiter::"};
  const bool known = std::any_of(k_builds.begin(), k_builds.end(),
                                 [&](std::string_view build) { return low.starts_with(build); });
  const std::size_t scope = low.find("::");
  if (!known || scope == std::string_view::npos) return std::nullopt;
  for (OpRule rule : k_server_rules) {
    if (rule.name != low.substr(scope + 2)) continue;
    rule.name = name;
    return rule;
  }
  return std::nullopt;
}

}  // namespace wb::trace
