// SPDX-License-Identifier: MIT
// Operators of attention libraries as a profile records them. Names and argument positions are
// those of the libraries' own schemas: flash-attn 2 and 3, vLLM's builds of both, SGLang's kernels,
// xformers, SageAttention, FlashInfer, AITER, TransformerEngine; FlashMLA's are in op_names.cpp.
// An operator of these families that is in no table gets a row with its time and no work, because a
// wrong position would give a wrong figure.
#include <algorithm>
#include <array>
#include <string>

#include "trace/op_names.hpp"
#include "trace/trace.hpp"

namespace wb::trace {
namespace {

using enum Attention;
using enum Sizes;
using enum CausalWord;

/// The rule that all builds of FlashAttention 3 share.
constexpr OpRule flash3(std::string_view name) {
  return {.name = name,
          .attention = flash,
          .sizes = bnhd,
          .causal = 24,
          .bottom_right = true,
          .window = 25,
          .starts = 7,
          .longest = 12,
          .used = 11,
          .page_table = 14};
}

/// The rule of SageAttention: q and k are quantized, v may be stored transposed; argument `layout`
/// follows the scales.
constexpr OpRule sage(std::string_view name, int layout) {
  return {.name = name,
          .attention = flash,
          .sizes = named,
          .causal = layout + 1,
          .layout = layout,
          .output = 3};
}

// clang-format off
constexpr std::array k_rules{
    // flash-attn 2
    OpRule{.name = "flash_attn::_flash_attn_forward", .sizes = bnhd, .dropout = 3, .causal = 5,
           .bottom_right = true, .window = 6},
    OpRule{.name = "flash_attn::_flash_attn_backward", .sizes = bnhd, .backward = true, .q = 1,
           .dropout = 9, .causal = 11, .bottom_right = true, .window = 12},
    OpRule{.name = "flash_attn::_flash_attn_varlen_forward", .sizes = packed, .dropout = 7,
           .causal = 9, .bottom_right = true, .window = 10, .starts = 3, .longest = 5, .used = 17,
           .page_table = 15},
    OpRule{.name = "flash_attn::_flash_attn_varlen_backward", .sizes = packed, .backward = true,
           .q = 1, .dropout = 13, .causal = 15, .bottom_right = true, .window = 16, .starts = 9,
           .longest = 11},
    OpRule{.name = "_vllm_fa2_C::varlen_fwd", .sizes = packed, .dropout = 12, .causal = 15,
           .bottom_right = true, .window = 16, .starts = 4, .longest = 10, .used = 6,
           .page_table = 8},
    // autograd functions of Python record only tensors
    OpRule{.name = "FlashAttnFunc", .sizes = bnhd, .dispatches = true},
    OpRule{.name = "FlashAttnVarlenFunc", .sizes = packed, .dispatches = true, .starts = 3},
    // flash-attn 3
    flash3("flash_attn_3::fwd"), flash3("flash_attn_3::_flash_attn_forward"),
    flash3("_vllm_fa3_C::fwd"), flash3("sgl_kernel::fwd"),
    OpRule{.name = "flash_attn_3::bwd", .sizes = bnhd, .backward = true, .q = 1, .causal = 16,
           .bottom_right = true, .window = 17, .starts = 9, .longest = 13, .used = 12},
    OpRule{.name = "flash_attn_3::_flash_attn_backward", .sizes = bnhd, .backward = true, .q = 1,
           .causal = 16, .bottom_right = true, .window = 17, .starts = 6, .longest = 10,
           .used = 9},
    // xformers
    OpRule{.name = "xformers::efficient_attention_forward_cutlass", .sizes = bnhd, .dropout = 8,
           .causal = 9, .mask = 3, .causal_word = mask_type, .window = 13, .starts = 4,
           .longest = 6, .used = 12},
    OpRule{.name = "xformers::efficient_attention_backward_cutlass", .sizes = bnhd,
           .backward = true, .q = 1, .dropout = 11, .causal = 14, .mask = 4,
           .causal_word = mask_type, .starts = 5, .longest = 7},
    OpRule{.name = "xformers::efficient_attention_forward_ck", .sizes = bnhd, .dropout = 7,
           .causal = 9, .mask = 3, .causal_word = mask_type, .starts = 4},
    OpRule{.name = "xformers_flash::flash_fwd", .sizes = bnhd, .dropout = 8, .causal = 10,
           .bottom_right = true, .window = 11, .starts = 3, .longest = 6, .used = 5,
           .page_table = 14},
    OpRule{.name = "xformers_flash::flash_bwd", .sizes = bnhd, .backward = true, .q = 2,
           .dropout = 11, .causal = 13, .bottom_right = true, .window = 14, .starts = 7,
           .longest = 9},
    // AITER
    OpRule{.name = "aiter::_flash_attn_forward", .sizes = bnhd, .dropout = 3, .causal = 5,
           .bottom_right = true, .window = 6},
    OpRule{.name = "aiter::_flash_attn_backward", .sizes = bnhd, .backward = true, .q = 1,
           .dropout = 9, .causal = 11, .bottom_right = true},
    OpRule{.name = "aiter::mha_fwd", .sizes = bnhd, .dropout = 3, .causal = 5,
           .bottom_right = true, .window = 6},
    OpRule{.name = "aiter::fmha_v3_fwd", .sizes = bnhd, .dropout = 3, .causal = 5,
           .bottom_right = true, .window = 6},
    OpRule{.name = "aiter::mha_bwd", .sizes = bnhd, .backward = true, .q = 1, .dropout = 6,
           .causal = 8, .bottom_right = true, .window = 9},
    OpRule{.name = "aiter::fmha_v3_bwd", .sizes = bnhd, .backward = true, .q = 1, .dropout = 6,
           .causal = 8, .bottom_right = true, .window = 9},
    OpRule{.name = "aiter::_flash_attn_varlen_forward", .sizes = packed, .dropout = 10,
           .causal = 12, .bottom_right = true, .starts = 3, .longest = 7},
    OpRule{.name = "aiter::mha_varlen_fwd", .sizes = packed, .dropout = 8, .causal = 12,
           .bottom_right = true, .window = 13, .starts = 3, .longest = 5},
    OpRule{.name = "aiter::fmha_v3_varlen_fwd", .sizes = packed, .dropout = 8, .causal = 12,
           .bottom_right = true, .window = 13, .starts = 3, .longest = 5},
    OpRule{.name = "aiter::mha_varlen_bwd", .sizes = packed, .backward = true, .q = 1,
           .starts = 6, .longest = 8},
    OpRule{.name = "aiter::fmha_v3_varlen_bwd", .sizes = packed, .backward = true, .q = 1,
           .starts = 6, .longest = 8},
    OpRule{.name = "aiter::mha_batch_prefill", .attention = paged, .sizes = pages},
    OpRule{.name = "aiter::paged_attention_rocm", .attention = paged, .sizes = pages, .q = 4},
    OpRule{.name = "aiter::paged_attention_v1", .attention = paged, .sizes = pages, .q = 2},
    OpRule{.name = "aiter::paged_attention_ragged", .attention = paged, .sizes = pages, .q = 2},
    // SageAttention
    sage("sageattention::qk_int8_sv_f16_accum_f16_attn", 6),
    sage("sageattention::qk_int8_sv_f16_accum_f32_attn", 6),
    sage("sageattention::qk_int8_sv_f16_accum_f16_attn_inst_buf", 6),
    sage("sageattention::qk_int8_sv_f16_accum_f16_fuse_v_mean_attn", 7),
    sage("sageattention_sm89::qk_int8_sv_f8_accum_f32_attn", 6),
    sage("sageattention_sm89::qk_int8_sv_f8_accum_f32_fuse_v_scale_attn", 7),
    sage("sageattention_sm89::qk_int8_sv_f8_accum_f32_fuse_v_scale_attn_inst_buf", 7),
    sage("sageattention_sm89::qk_int8_sv_f8_accum_f16_fuse_v_scale_attn_inst_buf", 7),
    sage("sageattention_sm89::qk_int8_sv_f8_accum_f32_fuse_v_scale_fuse_v_mean_attn", 8),
    sage("sageattention_sm90::qk_int8_sv_f8_accum_f32_attn_inst_buf", 6),
    sage("sageattention_sm90::qk_int8_sv_f8_accum_f32_fuse_v_scale_attn_inst_buf", 7),
    // TransformerEngine where it is built with PyTorch's stable ABI (csrc/stable/attention.cpp, the
    // numbers in fused_attn.h); elsewhere its functions are bound to Python alone and not recorded
    OpRule{.name = "transformer_engine_stable::fused_attn_fwd_noalloc", .sizes = numbered, .q = 14,
           .dropout = 4, .causal = 8, .mask = 42, .causal_word = te_mask, .window = 10,
           .page_table = 40, .layout = 6, .output = 32, .step = 4},
    OpRule{.name = "transformer_engine_stable::fused_attn_bwd_packed", .sizes = numbered,
           .backward = true, .q = 17, .dropout = 3, .causal = 7, .mask = 43, .causal_word = te_mask,
           .window = 9, .layout = 5, .step = 2},
};
// clang-format on

/// FlashInfer compiles a library for each kind of call and names it after its types, so the words
/// are in the namespace ("batch_prefill_with_kv_cache_dtype_q_bf16…::paged_run") or in the operator
/// ("flashinfer::single_prefill_with_kv_cache_dtype_q_bf16…_run").
std::optional<OpRule> flashinfer_rule(std::string_view name, std::string_view low) {
  const bool own = low.starts_with("flashinfer");
  if (low.ends_with("plan")) return std::nullopt;  // planning on the host, before the call
  if (!own && !holds_any(low, {"_with_kv_cache", "_with_paged_kv_cache", "batch_mla_attention",
                               "batch_attention_with"})) {
    return std::nullopt;
  }
  if (!own && !holds_any(low, {"::run", "::ragged_run", "::paged_run", "_run"})) {
    return std::nullopt;
  }
  OpRule rule{.name = name, .attention = paged, .sizes = pages, .q = 3};
  if (low.find("single_prefill") != std::string_view::npos) {
    rule.attention = flash;
    rule.sizes = single;
    rule.q = 0;
    rule.causal = 6;
    rule.causal_word = mask_mode;
    rule.bottom_right = true;
    rule.layout = 7;
    rule.window = 8;
  } else if (low.find("single_decode") != std::string_view::npos) {
    rule.attention = flash;
    rule.sizes = one_query;
    rule.q = 0;
    rule.layout = 6;
    rule.window = 7;
  } else if (low.find("ragged") != std::string_view::npos) {
    rule.attention = flash;
    rule.sizes = packed;
    rule.causal = 10;
    rule.causal_word = mask_mode;
    rule.bottom_right = true;
    rule.window = 12;
    rule.starts = 6;
  } else if (!holds_any(low,
                        {"batch_decode", "batch_prefill", "mla", "attention", "fmha", "pod_"})) {
    return std::nullopt;
  } else if (!holds_any(low, {"_run", "::run"})) {
    rule.sizes = unknown;
  }
  return rule;
}

/// The rule of TransformerEngine's autograd functions, whose order of sizes is a word among the
/// arguments.
std::optional<OpRule> autograd_rule(std::string_view name) {
  constexpr std::array<std::string_view, 8> k_functions{"FusedAttnFunc",
                                                        "FusedAttnFunc_qkvpacked",
                                                        "FusedAttnFunc_kvpacked",
                                                        "FlashAttnQKVPackedFunc",
                                                        "FlashAttnKVPackedFunc",
                                                        "FlashAttnVarlenQKVPackedFunc",
                                                        "FlashAttnVarlenKVPackedFunc",
                                                        "FusedSDPA"};
  std::string_view function = name;
  const bool backward = function.ends_with("Backward");
  if (backward) function.remove_suffix(std::string_view("Backward").size());
  const bool is_one =
      std::find(k_functions.begin(), k_functions.end(), function) != k_functions.end();
  const bool of_context = function.starts_with("AttnFuncWithCP");
  const bool flash_backward =
      backward && (function == "FlashAttnFunc" || function == "FlashAttnVarlenFunc");
  if (!is_one && !of_context && !flash_backward) return std::nullopt;
  const bool named_order = function == "FusedAttnFunc" && !backward;
  return OpRule{.name = name,
                .sizes = named_order ? named : unknown,
                .backward = backward,
                .q = -1,
                .dispatches = true};
}

/// The rule of an operator of these libraries that has attention in its name.
std::optional<OpRule> family_rule(std::string_view name, std::string_view low) {
  constexpr std::array<std::string_view, 21> k_families{
      "aiter::",      "xformers",  "mslk",     "sageattention",      "sageattn",
      "flash_attn",   "flash_mla", "flashmla", "_flashmla",          "_flash_mla",
      "sgl_kernel::", "sglang::",  "_vllm_fa", "transformer_engine", "te::",
      "tex::",        "trtllm::",  "_c::",     "_rocm_c::",          "cudnn::",
      "fbgemm"};
  const bool known = std::any_of(k_families.begin(), k_families.end(),
                                 [&](std::string_view family) { return low.starts_with(family); });
  if (!known) return std::nullopt;
  const std::string_view op = low.substr(low.find("::") + 2);
  if (holds_any(op, {"metadata", "workspace", "plan", "rope", "rotary", "merge_state", "_cache_mla",
                     "get_", "quant_", "transpose", "merge_attn"})) {
    return std::nullopt;
  }
  const bool says_so =
      holds_any(op, {"attention", "attn", "fmha", "mha", "sdpa", "mla", "flash_fwd", "flash_bwd",
                     "paged_decode", "paged_prefill", "sparse_decode_fwd", "dense_decode_fwd",
                     "sparse_prefill_fwd", "fwd_sparse", "fwd_kvcache", "varlen_fwd"}) ||
      op.starts_with("pa_") || op.starts_with("_pa_");
  if (!says_so) return std::nullopt;
  const bool over_pages = holds_any(op, {"paged", "mla", "kvcache", "decode"}) ||
                          op.starts_with("pa_") || op.starts_with("_pa_");
  OpRule rule{.name = name, .attention = over_pages ? paged : flash, .sizes = unknown};
  rule.backward = holds_any(op, {"bwd", "backward"});
  return rule;
}

}  // namespace

std::optional<OpRule> library_rule(std::string_view name) {
  for (const OpRule& rule : k_rules) {
    if (rule.name == name) return rule;
  }
  if (auto rule = autograd_rule(name)) return rule;
  const std::size_t scope = name.find("::");
  if (scope == std::string_view::npos || scope == 0) return std::nullopt;
  if (name.find_first_of(" (<") != std::string_view::npos) return std::nullopt;
  const std::string low = lower(name);
  if (auto rule = server_rule(name, low)) return rule;
  if (auto rule = flashinfer_rule(name, low)) return rule;
  if (low.find("unified_attention") != std::string::npos)
    return std::nullopt;  // a server's own operator
  if (low.starts_with("_rocm_c::paged") || low.starts_with("_c::paged")) return std::nullopt;
  return family_rule(name, low);
}

}  // namespace wb::trace
