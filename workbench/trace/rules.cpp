// SPDX-License-Identifier: MIT
// The bands and names by which the analysis judges: expected efficiencies, and the GPU kernels of
// attention with the role of each.
#include <algorithm>
#include <array>
#include <string>

#include "core/ascii.hpp"
#include "trace/metrics.hpp"
#include "trace/op_names.hpp"
#include "trace/trace.hpp"

namespace wb::trace {

// A length has the band of the largest named
// length that it has reached; lengths from 512 to 1023, which have none, have the outer ends of
// their neighbours.

EfficiencyBand expected_efficiency(Attention attention, std::string_view workload,
                                   std::int64_t n_q) {
  constexpr EfficiencyBand k_short{5, 15, "N < 512"}, k_middle{5, 40, "512 <= N < 1024"},
      k_1024{20, 40, "1024 <= N < 2048"}, k_2048{40, 60, "2048 <= N <= 4096"},
      k_long{50, 70, "N > 4096"};
  constexpr EfficiencyBand k_decode{5, 15, "decode"}, k_prefill{30, 50, "prefill"},
      k_mixed{10, 30, "mixed"}, k_short_prefill{5, 15, "short prefill, N < 512"};
  constexpr std::int64_t k_short_length = 512;
  if (attention == Attention::paged) {
    if (workload == "decode_heavy") return k_decode;
    if (workload == "prefill_heavy") return n_q < k_short_length ? k_short_prefill : k_prefill;
    return k_mixed;
  }
  if (n_q < k_short_length) return k_short;
  if (n_q < 1024) return k_middle;
  if (n_q < 2048) return k_1024;
  return n_q <= 4096 ? k_2048 : k_long;
}

std::string_view workload_type(double context_tokens, double generation_tokens) {
  const double all = context_tokens + generation_tokens;
  if (!(all > 0)) return "unknown";
  const double ratio = context_tokens / all;
  if (ratio > k_prefill_ratio) return "prefill_heavy";
  return ratio < k_decode_ratio ? "decode_heavy" : "mixed";
}

namespace {

/// Whether `text` has `part` without a letter before it: "pa_fwd" is not in "spa_fwd".
bool begins_word(std::string_view text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + 1)) {
    if (at == 0 || !ascii::is_alpha(text[at - 1])) return true;
  }
  return false;
}

/// Kernels that run beside attention or write its inputs.
constexpr std::array<std::string_view, 12> k_beside{
    "and_cache", "appendpaged", "append_paged", "metadata", "rotary",  "_rope",
    "cache_mla", "layernorm",   "layer_norm",   "rms_norm", "rmsnorm", "all_reduce"};

}  // namespace

bool is_attention_kernel(std::string_view name) {
  constexpr std::array<std::string_view, 33> k_marks{"attention",
                                                     "attn",
                                                     "fmha",
                                                     "sdpa",
                                                     "flash_fwd",
                                                     "flash_bwd",
                                                     "flash_fprop",
                                                     "flash_bprop",
                                                     "flash::flash",
                                                     "flash_decod",
                                                     "flashdecod",
                                                     "flashmla",
                                                     "flash_mla",
                                                     "withkvcache",
                                                     "withpagedkv",
                                                     "withraggedkv",
                                                     "withpagedkvcache",
                                                     "pagedkv",
                                                     "splitkv",
                                                     "_fwd_grouped_kernel_stage",
                                                     "_fwd_kernel_stage",
                                                     "_fwd_kernel_splitk",
                                                     "flex_decoding",
                                                     "reduce_segments",
                                                     "mla_dec",
                                                     "mla_prefill",
                                                     "mlakernel",
                                                     "kernelmla",
                                                     "mla_reduce",
                                                     "kernel_mha",
                                                     "sageattn",
                                                     "qk_int8_sv",
                                                     "qk_int_sv"};
  constexpr std::array<std::string_view, 8> k_words{"mha_fwd", "mha_bwd", "pa_fwd",  "pa_decode",
                                                    "pa_bf16", "pa_fp16", "mla_fwd", "mla_a16w16"};
  constexpr std::array<std::string_view, 7> k_whole{
      "_fwd_kernel",    "_bwd_kernel",   "_bwd_kernel_dk_dv",       "_bwd_kernel_dq",
      "_bwd_kv_kernel", "_bwd_q_kernel", "_bwd_preprocess_do_o_dot"};
  const std::string low = lower(name);
  // Inductor names a fused kernel after all fused operators, which may include views of attention's
  // output.
  for (const std::string_view fused :
       {"triton_poi_", "triton_red_", "triton_per_", "triton_for_", "triton_spl_", "triton_mix_"}) {
    if (low.find(fused) != std::string::npos) return false;
  }
  if (low.find("triton_tem_") != std::string::npos) {
    return low.find("flex_attention") != std::string::npos ||
           low.find("flex_decoding") != std::string::npos;
  }
  if (holds_any(low, k_beside)) return false;
  if (holds_any(low, k_marks)) return true;
  if (std::find(k_whole.begin(), k_whole.end(), low) != k_whole.end()) return true;
  return std::any_of(k_words.begin(), k_words.end(),
                     [&](std::string_view word) { return begins_word(low, word); });
}

std::string_view kernel_type(std::string_view name) {
  struct Mark {
    std::string_view part, type;
  };
  // The first match counts, because a kernel over pages may also have "fwd" in its name.
  constexpr std::array<Mark, 52> k_marks{{{"reshape_and_cache", "reshape_cache"},
                                          {"concat_and_cache", "reshape_cache"},
                                          {"AppendPagedKV", "reshape_cache"},
                                          // parts of one call are added up
                                          {"reduce_segments", "reduce"},
                                          {"splitkv_combine", "reduce"},
                                          {"mla_combine", "reduce"},
                                          {"FlashAttnFwdCombine", "reduce"},
                                          {"_fwd_kernel_stage2", "reduce"},
                                          {"mla_reduce", "reduce"},
                                          {"paged_attention_v2_reduce", "reduce"},
                                          {"paged_attention_ll4mi_reduce", "reduce"},
                                          {"unified_attention", "unified_attention"},
                                          // the name gives the role
                                          {"ForGen", "paged_attention"},
                                          {"Generation", "paged_attention"},
                                          {"PersistentContext", "fwd_kernel"},
                                          {"StaticContext", "fwd_kernel"},
                                          {"context_attention", "fwd_kernel"},
                                          {"ontextPagedKv", "fwd_kernel"},
                                          {"BatchDecode", "paged_attention"},
                                          {"SingleDecode", "paged_attention"},
                                          {"batch_decode", "paged_attention"},
                                          {"BatchPrefill", "fwd_kernel"},
                                          {"SinglePrefill", "fwd_kernel"},
                                          {"PrefillWith", "fwd_kernel"},
                                          {"batch_prefill", "fwd_kernel"},
                                          {"mla_prefill", "fwd_kernel"},
                                          {"sparse_attn_fwd", "fwd_kernel"},
                                          {"mla_dec", "paged_attention"},
                                          {"splitkv_mla", "paged_attention"},
                                          {"_fwd_grouped_kernel_stage1", "paged_attention"},
                                          {"_fwd_kernel_stage1", "paged_attention"},
                                          {"flash_decod", "paged_attention"},
                                          {"flash_attn_decode", "paged_attention"},
                                          {"masked_multihead", "paged_attention"},
                                          {"mmha", "paged_attention"},
                                          {"paged_attention", "paged_attention"},
                                          {"pa_fwd", "paged_attention"},
                                          {"pa_decode", "paged_attention"},
                                          {"pa_bf16", "paged_attention"},
                                          {"pa_fp16", "paged_attention"},
                                          // one kernel for prefill and decode, so the role is
                                          // unknown
                                          {"PagedKv", "attention"},
                                          {"flash_fwd_splitkv", "attention"},
                                          {"FlashAttnFwd", "attention"},
                                          {"BatchMLA", "attention"},
                                          {"FmhaMla", "attention"},
                                          {"sdpa", "attention"},
                                          {"flash_fwd", "fwd_kernel"},
                                          {"attn_fwd", "fwd_kernel"},
                                          {"fmha", "fwd_kernel"},
                                          {"Fmha", "fwd_kernel"},
                                          {"_fwd_kernel", "fwd_kernel"},
                                          {"fwd_kernel", "fwd_kernel"}}};
  for (const auto& [part, type] : k_marks) {
    if (name.find(part) != std::string_view::npos) return type;
  }
  return is_attention_kernel(name) ? "attention" : "other";
}

}  // namespace wb::trace
