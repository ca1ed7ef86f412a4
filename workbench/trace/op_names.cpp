// SPDX-License-Identifier: MIT
// Argument positions of PyTorch's own operators: native_functions.yaml (aten). TraceLens has the
// same operators and categories. Libraries' operators are in library_ops.cpp.
#include "trace/op_names.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "trace/units.hpp"

namespace wb::trace {
namespace {

using enum Attention;
using enum Sizes;

// clang-format off
constexpr std::array<OpRule, 14> k_rules{{
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
  for (const OpRule& rule : k_rules) {
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

}  // namespace wb::trace
