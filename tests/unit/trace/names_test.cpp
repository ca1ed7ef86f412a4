// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/memory_file_system.hpp"
#include "trace/metrics.hpp"
#include "trace/op_names.hpp"
#include "trace/platforms.hpp"

using namespace wb;
using namespace wb::trace;

TEST_CASE("which operators are attention", "[trace][names]") {
  CHECK(rule_of("aten::_scaled_dot_product_efficient_attention")->causal == 6);
  CHECK(rule_of("aten::_scaled_dot_product_cudnn_attention_backward")->backward);
  CHECK(rule_of("flash_attn::_flash_attn_forward")->sizes == Sizes::bnhd);
  CHECK(rule_of("vllm::unified_attention_with_output")->attention == Attention::paged);
  CHECK(rule_of("vllm::paged_attention_v1")->attention == Attention::paged);
  for (const char* other : {"aten::mm", "vllm::unified_kv_cache_update", "vllm::all_reduce",
                            "_C_cache_ops::reshape_and_cache_flash",
                            "vllm/attention/layer.py(3): unified_attention", "attention"}) {
    INFO(other);
    CHECK_FALSE(rule_of(other));
  }
  CHECK(writes_kv_cache("_C_cache_ops::reshape_and_cache_flash"));
}

TEST_CASE("kinds of kernels, classic and modern", "[trace][names]") {
  CHECK(kernel_type("void vllm::reshape_and_cache_flash_kernel<x>(y)") == "reshape_cache");
  CHECK(kernel_type("kernel_paged_attention_2d") == "paged_attention");
  CHECK(kernel_type("paged_attention_ll4mi_QKV_mfma16_kernel") == "paged_attention");
  CHECK(kernel_type("fmhaSm100aKernel_QkvBfloat16PagedKvDense") == "attention");
  CHECK(kernel_type("_fwd_kernel") == "fwd_kernel");
  CHECK(kernel_type("flash_fwd_kernel") == "fwd_kernel");
  CHECK(kernel_type("flash_fwd_splitkv_kernel") == "attention");  // prefill over pages, or decode
  CHECK(kernel_type("kernel_unified_attention_3d") == "unified_attention");
  CHECK(kernel_type("reduce_segments") == "reduce");
  CHECK(kernel_type("Cijk_Alik_Bljk") == "other");
}

TEST_CASE("bands of expected efficiency leave no length out", "[trace][bands]") {
  const auto low = [](std::int64_t n) {
    return expected_efficiency(Attention::flash, "unknown", n).low;
  };
  CHECK(low(1) == 5);
  CHECK(low(511) == 5);
  CHECK(low(512) == 5);
  CHECK(expected_efficiency(Attention::flash, "unknown", 700).high == 40);
  CHECK(low(1024) == 20);
  CHECK(low(2048) == 40);
  CHECK(low(4096) == 40);
  CHECK(low(4097) == 50);
  CHECK(expected_efficiency(Attention::paged, "decode_heavy", 8).high == 15);
  CHECK(expected_efficiency(Attention::paged, "prefill_heavy", 8192).low == 30);
  CHECK(expected_efficiency(Attention::paged, "prefill_heavy", 100).low == 5);
  CHECK(expected_efficiency(Attention::paged, "mixed", 100).high == 30);
}

TEST_CASE("workloads by the share of context, both ends strict", "[trace][bands]") {
  CHECK(workload_type(81, 19) == "prefill_heavy");
  CHECK(workload_type(80, 20) == "mixed");
  CHECK(workload_type(20, 80) == "mixed");
  CHECK(workload_type(19, 81) == "decode_heavy");
  CHECK(workload_type(0, 0) == "unknown");
}

TEST_CASE("every platform says where its figures are from", "[trace][platforms]") {
  const auto platforms = known_platforms();
  CHECK(platforms.size() == 9);
  for (const PlatformSpec& platform : platforms) {
    INFO(platform.name);
    CHECK_FALSE(platform.source.empty());
    CHECK(platform.mem_bw_gbps > 0);
    CHECK(platform.memory_gb > 0);
    CHECK(peak_for(platform.max_achievable_tflops, "bf16"));
    CHECK(known_platform(platform.name));
  }
  CHECK(known_platform("AMD Instinct MI300X")->name == "MI300X");
  CHECK(known_platform("NVIDIA H100 80GB HBM3")->max_achievable_tflops.at("matrix_bf16") == 989.5);
  CHECK(known_platform("mi355x")->mem_bw_gbps == 8000);
  CHECK_FALSE(known_platform("NVIDIA L40S"));
  CHECK_FALSE(known_platform(""));
  CHECK_FALSE(peak_for(known_platform("H100")->max_achievable_tflops, "fp8"));
  CHECK(peak_for(known_platform("H100")->max_achievable_tflops, "fp32")->first == "vector_fp32");
}

TEST_CASE("platforms of the user", "[trace][platforms]") {
  testing::MemoryFileSystem files;
  const auto read = [&](std::string text) {
    files.content("/mine.json") = std::move(text);
    return read_platform(files, "/mine.json");
  };
  const auto good = read(R"({"name":"X1","mem_bw_gbps":1000,"memory_gb":24,)"
                         R"("max_achievable_tflops":{"matrix_bf16":50}})");
  REQUIRE(good.ok());
  CHECK(good->max_achievable_tflops.at("matrix_bf16") == 50);
  CHECK_FALSE(read(R"({"name":"X1","mem_bw_gbps":0,"max_achievable_tflops":{"a":1}})").ok());
  CHECK_FALSE(read(R"({"name":"X1","mem_bw_gbps":10,"max_achievable_tflops":{"a":-1}})").ok());
  CHECK_FALSE(read(R"({"name":"X1","mem_bw_gbps":10})").ok());
  const auto unknown = read_platform(files, "H999");
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().message().find("known: L4, A100") != std::string::npos);
}
