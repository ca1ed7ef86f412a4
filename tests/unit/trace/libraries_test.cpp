// SPDX-License-Identifier: MIT
// Operators of attention libraries, with arguments in the order of their schemas: sizes and work if
// they are recorded, and what is unknown if not.
#include "support/catch.hpp"
#include "trace/metrics.hpp"
#include "traces.hpp"

using namespace wb;
using namespace wb::trace;
using testing::Call;
using testing::contains;
using testing::with;

namespace {

/// FLOPs of B=2, 16 query heads over 4 key heads, 1024 queries and keys, 128 wide.
constexpr double k_full = 2.0 * 2 * 16 * 1024 * 1024 * 256;
constexpr double k_backward =
    2.5 * k_full + 2.0 * 1024 * 256 * 3;  // and the sum over grouped heads
const std::string k_q = "[2,1024,16,128]", k_k = "[2,1024,4,128]";  // batch, length, heads, depth
const std::string k_q_hnd = "[2,16,1024,128]", k_k_hnd = "[2,4,1024,128]";
const std::string k_flat_q = "[2048,16,128]", k_flat_k = "[2048,4,128]", k_starts = "[3]";

std::map<int, std::string> qkv(int first, const std::string& q = k_q, const std::string& k = k_k) {
  return {{first, q}, {first + 1, k}, {first + 2, k}};
}

}  // namespace

TEST_CASE("dense calls of libraries have their work", "[trace][libraries]") {
  struct Case {
    const char* name;
    int q, causal, dropout;
    const char *yes, *no;
  };
  for (const Case& one : {Case{"flash_attn::_flash_attn_forward", 0, 5, 3, "True", "False"},
                          Case{"flash_attn_3::fwd", 0, 24, -1, "True", "False"},
                          Case{"flash_attn_3::_flash_attn_forward", 0, 24, -1, "True", "False"},
                          Case{"_vllm_fa3_C::fwd", 0, 24, -1, "True", "False"},
                          Case{"sgl_kernel::fwd", 0, 24, -1, "True", "False"},
                          Case{"xformers::efficient_attention_forward_cutlass", 0, 9, 8, "1", "0"},
                          Case{"xformers_flash::flash_fwd", 0, 10, 8, "True", "False"},
                          Case{"aiter::mha_fwd", 0, 5, 3, "True", "False"},
                          Case{"aiter::fmha_v3_fwd", 0, 5, 3, "True", "False"},
                          Case{"aiter::_flash_attn_forward", 0, 5, 3, "True", "False"}}) {
    Call call{one.name, qkv(one.q), {}, {{one.causal, one.no}}};
    if (one.dropout >= 0) call.concrete[one.dropout] = "0.25";
    CHECK(call.flops() == Approx(k_full));
    if (one.dropout >= 0) CHECK(call.row().sizes->dropout == 0.25);
    CHECK(*call.row().work->bytes == 2.0 * (2 * 1024 * 16 * 256 + 2 * 1024 * 4 * 256));
    call.concrete[one.causal] = one.yes;
    CHECK(call.flops() == Approx(k_full / 2));
    call.concrete.erase(one.causal);
    CHECK(call.why() == "whether it is causal is not recorded");
  }
}

TEST_CASE("backward calls of libraries have their work", "[trace][libraries]") {
  for (const auto& [name, q, causal] : {std::tuple{"flash_attn::_flash_attn_backward", 1, 11},
                                        {"flash_attn_3::bwd", 1, 16},
                                        {"flash_attn_3::_flash_attn_backward", 1, 16},
                                        {"aiter::mha_bwd", 1, 8},
                                        {"aiter::fmha_v3_bwd", 1, 8},
                                        {"xformers_flash::flash_bwd", 2, 13}}) {
    const Call call{name, qkv(q), {}, {{causal, "False"}}};
    CHECK(call.row().backward);
    CHECK(call.flops() == Approx(k_backward));
  }
  const Call cutlass{"xformers::efficient_attention_backward_cutlass",
                     with(qkv(1), {{4, "[2,16,1024,1024]"}}),
                     {},
                     {{14, "0"}}};
  CHECK(cutlass.flops() == Approx(k_backward));
  CHECK(cutlass.row().sizes->masked);
}

TEST_CASE("causal from the bottom right counts exactly", "[trace][libraries]") {
  const double pairs = 256.0 * 1024 - 256.0 * 256 / 2;
  Call call{"flash_attn_3::fwd", qkv(0, "[2,256,16,128]"), {}, {{24, "True"}}};
  CHECK(call.flops() == Approx(2.0 * 2 * 16 * 256 * pairs));
  // A number of the mask tells the corner, too; PyTorch's own flag does not.
  Call cutlass{"xformers::efficient_attention_forward_cutlass", call.dims, {}, {{9, "2"}}};
  CHECK(cutlass.flops() == Approx(call.flops()));
  cutlass.concrete[9] = "1";
  CHECK(cutlass.flops() == Approx(2.0 * 2 * 16 * 256 * 256.0 * 256 / 2));
  const Call aten{"aten::_scaled_dot_product_flash_attention",
                  qkv(0, "[2,16,256,128]", "[2,16,1024,128]"),
                  {},
                  {{4, "True"}}};
  CHECK(contains(aten.why(), "corner is not recorded"));
}

TEST_CASE("a sliding window has a time and no work", "[trace][libraries]") {
  Call call{"flash_attn_3::fwd", qkv(0), {}, {{24, "True"}, {25, "511"}}};
  CHECK(contains(call.why(), "sliding window"));
  call.concrete[25] = "-1";
  CHECK(call.flops() == Approx(k_full / 2));
}

TEST_CASE("packed sequences of one length are known, others are not", "[trace][libraries]") {
  struct Case {
    const char* name;
    int q, starts, longest, causal;
  };
  for (const Case& one :
       {Case{"flash_attn::_flash_attn_varlen_forward", 0, 3, 5, 9},
        Case{"_vllm_fa2_C::varlen_fwd", 0, 4, 10, 15}, Case{"flash_attn_3::fwd", 0, 7, 12, 24},
        Case{"xformers_flash::flash_fwd", 0, 3, 6, 10}, Case{"aiter::mha_varlen_fwd", 0, 3, 5, 12},
        Case{"aiter::fmha_v3_varlen_fwd", 0, 3, 5, 12},
        Case{"aiter::_flash_attn_varlen_forward", 0, 3, 7, 12}}) {
    Call call{one.name,
              with(qkv(0, k_flat_q, k_flat_k), {{one.starts, k_starts}}),
              {},
              {{one.causal, "False"}, {one.longest, "1024"}, {one.longest + 1, "1024"}}};
    CHECK(call.flops() == Approx(k_full));
    CHECK(call.row().sizes->B == 2);
    call.concrete[one.longest] = "1500";
    call.concrete[one.longest + 1] = "1500";
    CHECK(contains(call.why(), "2 of them, whose lengths are not recorded"));
    call.dims[one.starts] = "[2]";  // one sequence
    CHECK(call.flops() == Approx(2.0 * 16 * 2048 * 2048 * 256));
  }
  const Call used{"flash_attn_3::fwd",
                  with(qkv(0, k_flat_q, k_flat_k), {{7, k_starts}, {11, "[2]"}}),
                  {},
                  {{24, "True"}, {12, "1024"}, {13, "1024"}}};
  CHECK(contains(used.why(), "stands in a tensor"));
}

TEST_CASE("attention over pages says what is recorded and what is not", "[trace][libraries]") {
  const std::string cache = "[900,16,8,128]";
  for (const auto& [name, q] :
       {std::pair{"aiter::mha_batch_prefill", 0},
        {"aiter::paged_attention_rocm", 4},
        {"aiter::paged_attention_ragged", 2},
        {"aiter::paged_attention_v1", 2},
        {"flashinfer::batch_decode_with_kv_cache_dtype_q_bf16_dtype_kv_bf16_run", 3},
        {"batch_prefill_with_kv_cache_dtype_q_bf16_head_dim_qk_128::paged_run", 3},
        {"flashinfer_kernels::batch_decode_with_paged_kv_cache_run", 3},
        {"batch_mla_attention_dtype_q_bf16::run", 3}}) {
    const Call call{name, qkv(q, "[15360,32,128]", cache), {}, {}};
    const std::string why = call.why();
    CHECK(contains(why, "q is (15360, 32, 128), the pages are (900, 16, 8, 128)"));
    CHECK(contains(why, "values are not recorded"));
    CHECK(call.row().attention == Attention::paged);
    CHECK_FALSE(call.row().sizes);
  }
  const Call table{
      "sgl_kernel::fwd", with(qkv(0, "[8,1,32,128]", cache), {{14, "[8,64]"}}), {}, {{24, "True"}}};
  CHECK(contains(table.why(), "over pages"));
}

TEST_CASE("FlashInfer's single calls and ragged ones", "[trace][libraries]") {
  const std::string name = "single_prefill_with_kv_cache_dtype_q_bf16_dtype_kv_bf16_use_swa_False";
  for (const std::string& full :
       {name + "::run", "flashinfer::" + name + "_run",
        std::string("flashinfer_kernels::single_prefill_with_kv_cache")}) {
    Call call{full, qkv(0, "[1024,16,128]", "[1024,4,128]"), {}, {{6, "1"}, {7, "0"}, {8, "-1"}}};
    CHECK(call.flops() == Approx(k_full / 4));
    call.concrete[6] = "0";
    CHECK(call.flops() == Approx(k_full / 2));
    call.concrete[7] = "1";
    call.dims = qkv(0, "[1024,16,128]", "[4,1024,128]");
    CHECK(call.flops() == Approx(k_full / 2));
    call.concrete[6] = "2";  // a mask of its own
    CHECK(call.row().sizes->masked);
    call.concrete.erase(7);
    CHECK(contains(call.why(), "heads or tokens come first"));
  }
  const Call decode{"single_decode_with_kv_cache_dtype_q_bf16::run",
                    qkv(0, "[16,128]", "[4096,4,128]"),
                    {},
                    {{6, "0"}, {7, "-1"}}};
  CHECK(decode.flops() == Approx(2.0 * 16 * 4096 * 256));
  Call ragged{"batch_prefill_with_kv_cache_dtype_q_bf16::ragged_run",
              with(qkv(3, k_flat_q, k_flat_k), {{6, k_starts}}),
              {},
              {{10, "1"}, {12, "-1"}}};
  CHECK(contains(ragged.why(), "2 of them"));
  ragged.dims[6] = "[2]";
  CHECK(ragged.flops() == Approx(2.0 * 16 * 2048 * 2048 * 256 / 2));
  CHECK_FALSE(rule_of("batch_prefill_with_kv_cache_dtype_q_bf16::plan"));
  CHECK_FALSE(rule_of("flashinfer::append_paged_kv_cache"));
  CHECK_FALSE(rule_of("flashinfer::silu_and_mul"));
}

TEST_CASE("SageAttention's quantized calls", "[trace][libraries]") {
  const std::map<int, std::string> types{
      {0, "signed char"}, {1, "signed char"}, {2, "c10::Half"}, {3, "c10::Half"}};
  Call call{"sageattention::qk_int8_sv_f16_accum_f32_attn",
            with(qkv(0, k_q_hnd, k_k_hnd), {{3, k_q_hnd}}),
            types,
            {{6, "1"}, {7, "0"}}};
  CHECK(call.flops() == Approx(k_full));
  const double q = 2.0 * 16 * 1024 * 128, k = 2.0 * 4 * 1024 * 128;
  CHECK(*call.row().work->bytes == q + k + 2 * k + 2 * q);
  CHECK(call.row().compute_spec == "matrix_int8+fp16");  // no peak is that of both
  call.concrete = {{6, "0"}, {7, "1"}};
  call.dims = with(qkv(0), {{3, k_q}});
  CHECK(call.flops() == Approx(k_full / 2));
  // v transposed and padded; its scales come before the order of the sizes
  const Call transposed{"sageattention_sm89::qk_int8_sv_f8_accum_f32_fuse_v_scale_attn_inst_buf",
                        {{0, "[2,16,1000,128]"},
                         {1, "[2,4,1000,128]"},
                         {2, "[2,4,128,1024]"},
                         {3, "[2,16,1000,128]"}},
                        {{0, "signed char"}, {1, "signed char"}, {2, "c10::Float8_e4m3fn"}},
                        {{7, "1"}, {8, "0"}}};
  CHECK(transposed.flops() == Approx(2.0 * 2 * 16 * 1000 * 1000 * 256));
}

TEST_CASE("TransformerEngine's functions say their order or are not computed",
          "[trace][libraries]") {
  const std::map<int, std::string> dims{{3, k_starts},
                                        {4, k_starts},
                                        {9, "[1024,2,16,128]"},
                                        {10, "[1024,2,4,128]"},
                                        {11, "[1024,2,4,128]"}};
  Call call{"FusedAttnFunc", dims, {}, {{16, "sbhd_sbhd_sbhd"}, {18, "no_mask"}}};
  CHECK(call.flops() == Approx(k_full));
  call.concrete[18] = "causal";
  CHECK(call.flops() == Approx(k_full / 2));
  call.concrete[18] = "padding_causal";
  CHECK(contains(call.why(), "lengths are not recorded"));
  call.concrete.clear();  // the tensors alone, as PyTorch records a function of Python
  CHECK(
      contains(call.why(), "batch or length comes first is not recorded: q is (1024, 2, 16, 128)"));
  const Call gradient{"FusedAttnFuncBackward", {{0, "[1024,2,2048]"}}, {}, {}};
  CHECK(gradient.row().backward);
  CHECK(contains(gradient.why(), "order of its arguments"));
}

TEST_CASE("other operators of the families have a row and no work", "[trace][libraries]") {
  for (const char* name :
       {"aiter::mla_prefill_asm_fwd", "aiter::pa_fwd_asm", "sgl_kernel::mla_of_another_version",
        "flash_mla::attn_of_another_version", "xformers::efficient_attention_forward_decoder",
        "transformer_engine::fused_attn_fwd", "sageattention::sageattn", "trtllm::attention"}) {
    const Call call{name, qkv(0), {}, {}};
    CHECK(contains(call.why(), "not known here"));
  }
  for (const char* name :
       {"sgl_kernel::get_mla_decoding_metadata", "sgl_kernel::merge_state_v2",
        "sgl_kernel::rmsnorm", "_C_cache_ops::concat_and_cache_mla", "aiter::get_mla_metadata_v1",
        "_C::rotary_embedding", "mylib::self_attention", "triton_tem_fused_flex_attention_0",
        "triton_poi_fused__scaled_dot_product_flash_attention_cat_view_3",
        "xformers/ops/fmha.py(3): memory_efficient_attention_forward"}) {
    INFO(name);
    CHECK_FALSE(rule_of(name));
  }
}

TEST_CASE("kernels that are attention by their name", "[trace][libraries]") {
  for (const char* name :
       {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>(Params)",
        "void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2>>>",
        "void flashinfer::BatchPrefillWithPagedKVCacheKernel<KTraits>(Params)",
        "void flashinfer::BatchDecodeWithPagedKVCacheKernel<1>(Params)",
        "void flashinfer::SinglePrefillWithKVCacheKernel<KTraits>(Params)",
        "void flashinfer::PrefillWithKVCacheKernel<Hopper>(Params)",
        "_ZN10flashinfer35BatchPrefillWithRaggedKVCacheKernelIE",
        "flashinfer::mla::BatchMLAPagedAttentionKernel",
        "PODWithKVCacheTensorKernel",
        "fmhaSm100fKernel_"
        "QkvBfloat16OBfloat16H128PagedKvCausalP32VarSeqQ8Kv128PersistentSwapsAbForGen",
        "_fwd_kernel",
        "_fwd_kernel_stage1",
        "_fwd_grouped_kernel_stage1",
        "_fwd_kernel_stage2",
        "_attn_fwd",
        "kernel_unified_attention_2d",
        "kernel_unified_attention_3d",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128",
        "_ZN7ck_tile6kentryILi2ENS_13FmhaFwdKernelE",
        "_ZN5aiter20fmha_fwd_hd128_bf16E",
        "_ZN5aiter34mla_dec_stage1_bf16_a16w16_subQ16E",
        "kn_mla_reduce_v1",
        "_ZN5aiter23pa_bf16_noquant_gqa8_1E",
        "flash_fwd_splitkv_mla_kernel<Traits>",
        "sparse_attn_fwd_kernel",
        "void qk_int_sv_f8_attn_kernel<128>",
        "fmha_cutlassF_bf16_aligned",
        "triton_tem_fused_flex_attention_0",
        "triton_tem_fused_flex_attention_backward_1",
        "efficient_attention_forward_decoder_ck_kernel",
        "paged_attention_ll4mi_QKV_mfma16_kernel"}) {
    INFO(name);
    CHECK(is_attention_kernel(name));
  }
  for (const char* name :
       {"triton_poi_fused__scaled_dot_product_flash_attention_cat_view_3",
        "triton_red_fused__softmax_attention_1", "triton_per_fused_native_layer_norm_attn_2",
        "triton_tem_fused__scaled_dot_product_flash_attention_addmm_0",
        "void vllm::reshape_and_cache_flash_kernel<bf16>", "concat_and_cache_mla_kernel",
        "flashinfer::AppendPagedKVCacheKernel", "get_mla_metadata_kernel",
        "_fwd_kernel_ep_scatter_1", "_layer_norm_fwd_1pass_kernel", "ampere_bf16_s16816gemm",
        "rms_norm_kernel", "Cijk_Alik_Bljk", "void at::native::softmax_warp_forward",
        "spa_fwd_x"}) {
    INFO(name);
    CHECK_FALSE(is_attention_kernel(name));
  }
}

TEST_CASE("a kernel's role is what its name tells, or not known", "[trace][libraries]") {
  for (const auto& [name, type] :
       {std::pair{"fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalPersistentContext",
                  "fwd_kernel"},
        {"fmhaSm100fKernel_QkvBfloat16PagedKvDenseVarSeqQ8Kv128StaticSwapsAbForGen",
         "paged_attention"},
        {"fmhaSm100aKernel_QkvE4m3OE4m3H128PagedKvMultiCtasKv", "attention"},
        {"void cutlass::device_kernel<flash::FlashAttnFwdSm90<2>>", "attention"},
        {"flash::FlashAttnFwdCombine", "reduce"},
        {"void flashinfer::BatchPrefillWithPagedKVCacheKernel<K>", "fwd_kernel"},
        {"void flashinfer::BatchDecodeWithPagedKVCacheKernel<K>", "paged_attention"},
        {"flash_fwd_splitkv_mla_kernel", "paged_attention"},
        {"flash_fwd_mla_combine_kernel", "reduce"},
        {"_fwd_grouped_kernel_stage1", "paged_attention"},
        {"_fwd_kernel_stage2", "reduce"},
        {"mla_dec_stage1_bf16", "paged_attention"},
        {"FmhaBatchPrefillWithPagedKVCacheKernel", "fwd_kernel"},
        {"concat_and_cache_mla_kernel", "reshape_cache"},
        {"cudnn_generated_fort_native_sdpa_sm90", "attention"},
        {"elementwise_kernel", "other"}}) {
    INFO(name);
    CHECK(kernel_type(name) == type);
  }
}
