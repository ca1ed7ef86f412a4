// SPDX-License-Identifier: MIT
// Argument positions of PyTorch's own operators: native_functions.yaml (aten). TraceLens has the
// same operators and categories. Libraries' operators are in library_ops.cpp.
#include "trace/op_names.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "trace/trace.hpp"

namespace wb::trace {

namespace {

using enum Attention;
using enum Sizes;

// clang-format off
constexpr std::array<OpRule, 14> k_torch_rules{{
    // name, attention, sizes, backward, q, dropout, causal, dispatches, mask
    {"aten::scaled_dot_product_attention", standard, bhnd, false, 0, 4, 5, true, 3},
    {"aten::_scaled_dot_product_attention_math", standard, bhnd, false, 0, 4, 5, false, 3},
    {"aten::_scaled_dot_product_flash_attention", flash, bhnd, false, 0, 3, 4},
    {"aten::_scaled_dot_product_efficient_attention", flash, bhnd, false, 0, 5, 6, false, 3},
    {"aten::_scaled_dot_product_cudnn_attention", flash, bhnd, false, 0, 5, 6, false, 3},
    {"aten::_scaled_dot_product_fused_attention_overrideable",
     flash, bhnd, false, 0, 4, 5, false, 3},
    {"aten::_scaled_dot_product_flash_attention_backward", flash, bhnd, true, 1, 10, 11},
    {"aten::_scaled_dot_product_efficient_attention_backward",
     flash, bhnd, true, 1, 9, 11, false, 4},
    {"aten::_scaled_dot_product_cudnn_attention_backward",
     flash, bhnd, true, 1, 13, 14, false, 8},
    {"aten::_scaled_dot_product_fused_attention_overrideable_backward",
     flash, bhnd, true, 1, 12, 13, false, 4},
    {"aten::_flash_attention_forward", flash, bnhd, false, 0, 7, 8, false, -1,
     CausalWord::flag, false, 11, 3, 5},
    {"aten::_flash_attention_backward", flash, bnhd, true, 1, 10, 11, false, -1,
     CausalWord::flag, false, 15, 6, 8},
    {"aten::_efficient_attention_forward", flash, bnhd, false, 0, 8, 9, false, 3,
     CausalWord::mask_type, false, 13, 4, 6},
    {"aten::_efficient_attention_backward", flash, bnhd, true, 1, 11, 14, false, 4,
     CausalWord::mask_type, false, 18, 6, 8},
}};
// clang-format on

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string_view to_string(Attention value) {
  constexpr std::array<std::string_view, 3> k_words{"flash", "paged", "standard"};
  return k_words[static_cast<std::size_t>(value)];
}

bool writes_kv_cache(std::string_view name) {
  return holds(name, "reshape_and_cache") || holds(name, "concat_and_cache") ||
         holds(name, "append_paged_");
}

std::optional<OpRule> rule_of(std::string_view name) {
  for (const OpRule& rule : k_torch_rules) {
    if (rule.name == name) return rule;
  }
  if (writes_kv_cache(name)) return std::nullopt;
  if (auto rule = library_rule(name)) return rule;
  // An operator's name has a namespace; Python functions and modules do not.
  if (!holds(name, "::") || holds(name, " ") || holds(name, "(")) return std::nullopt;
  const std::string low = lower(name);
  if (holds(low, "unified_attention") || holds(low, "paged_attention") ||
      (low.starts_with("vllm::") && holds(low, "attention"))) {
    OpRule rule;
    rule.name = name;
    rule.attention = paged;
    rule.sizes = packed;
    return rule;
  }
  return std::nullopt;
}

Step step_of(std::string_view name) {
  constexpr std::array<std::string_view, 3> k_products{"aten::bmm", "aten::baddbmm",
                                                       "aten::matmul"};
  constexpr std::array<std::string_view, 3> k_softmax{"aten::softmax", "aten::_softmax",
                                                      "aten::_safe_softmax"};
  constexpr std::array<std::string_view, 10> k_scale{
      "aten::mul",  "aten::mul_",  "aten::div",      "aten::div_",        "aten::add",
      "aten::add_", "aten::copy_", "aten::_to_copy", "aten::masked_fill", "aten::masked_fill_"};
  const auto among = [&](const auto& list) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  if (among(k_products)) return Step::product;
  if (among(k_softmax)) return Step::softmax;
  if (among(k_scale)) return Step::scale;
  return Step::none;
}

bool adds_mask(std::string_view name) {
  return name.starts_with("aten::add") || name.starts_with("aten::masked_fill");
}

bool names_attention(std::string_view name) {
  const std::string low = lower(name);
  return holds(low, "attention") || holds(low, "attn") || holds(low, "flash_fwd") ||
         holds(low, "flash_bwd") || holds(low, "fmha") || holds(low, "sdpa");
}

bool keeps_arguments(std::string_view name) {
  const Step step = step_of(name);
  return rule_of(name).has_value() || writes_kv_cache(name) || step == Step::product ||
         step == Step::softmax;
}

// Operators of multi-head latent attention and others of inference servers. Positions are those of
// the schemas of SGLang (sgl-kernel/csrc/flashmla_extension.cc, common_extension.cc), vLLM
// (csrc/torch_bindings.cpp, its builds of FlashMLA and flash-attn) and AITER
// (aiter/ops/attention.py); FlashMLA (csrc/api) defines the arguments. FlashMLA's own build binds
// its functions to Python only, which no profile records.

namespace {

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
