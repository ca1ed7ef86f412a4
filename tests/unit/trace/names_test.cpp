// SPDX-License-Identifier: MIT
// Operators, kernels and devices by name, and the work of attention by its sizes.
#include "support/catch.hpp"
#include "support/file_systems.hpp"
#include "trace/metrics.hpp"
#include "trace/op_names.hpp"
#include "trace/op_sizes.hpp"
#include "trace/platforms.hpp"
#include "trace/suite_maker.hpp"
#include "trace/trace.hpp"

using namespace wb;
using namespace wb::problem;
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

namespace {

constexpr double k_mib = 1024.0 * 1024.0;

AttentionSizes sizes(std::int64_t b, std::int64_t h, std::int64_t n, std::int64_t d, bool causal) {
  return {b, n, h, n, h, d, d, causal, 0, "bf16"};
}

}  // namespace

TEST_CASE("work of published profiles", "[trace][work]") {
  // Sizes and results of TraceLens' own reports of real profiles (MIT, AMD).
  const OpRule forward{.name = "f"};
  OpRule backward{.name = "b"};
  backward.backward = true;
  const auto qwen = work_of(forward, sizes(16, 16, 559, 64, true), {}).work;
  REQUIRE(qwen);
  CHECK(qwen->flops / k_giga == Approx(10.239377408).epsilon(1e-12));
  CHECK(*qwen->bytes / k_mib == Approx(69.875));
  const auto train = work_of(forward, sizes(512, 16, 176, 64, false), {}).work;
  CHECK(train->flops / k_giga == Approx(64.961380352).epsilon(1e-12));
  CHECK(*train->bytes / k_mib == Approx(704));
  const auto gradient = work_of(backward, sizes(512, 16, 176, 64, false), {}).work;
  CHECK(gradient->flops / k_giga == Approx(162.40345088).epsilon(1e-12));
  CHECK(*gradient->bytes / k_mib == Approx(1232));
}

TEST_CASE("work of a server's steps", "[trace][work]") {
  OpRule paged{.name = "p", .attention = Attention::paged, .sizes = Sizes::packed};
  const AttentionSizes mixed{1, 8192, 64, 8192, 8, 64, 64, {}, 0, "bf16"};
  const auto step = serving_step(
      "execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37("
      "sq37sk34489sqsq37sqsk34489)");
  REQUIRE(step);
  CHECK(step->context_requests == 9);
  const auto work = work_of(paged, mixed, step).work;
  CHECK(work->flops / k_giga == Approx(65.010180096).epsilon(1e-12));
  CHECK(*work->bytes / k_mib == Approx(211.826171875));
  const auto decode = serving_step(
      "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)");
  const AttentionSizes one{1, 32, 64, 32, 8, 64, 64, {}, 0, "bf16"};
  const auto decoded = work_of(paged, one, decode).work;
  CHECK(decoded->flops / k_giga == Approx(0.902529024).epsilon(1e-12));
  CHECK(*decoded->bytes / k_mib == Approx(108.08984375));
}

TEST_CASE("what is not recorded has no model, and says why", "[trace][work]") {
  const OpRule rule{.name = "f"};
  AttentionSizes shape = sizes(1, 2, 64, 32, true);
  shape.causal.reset();
  CHECK(work_of(rule, shape, {}).why == "whether it is causal is not recorded");
  shape = sizes(1, 2, 64, 32, true);
  shape.N_KV = 128;
  CHECK_FALSE(work_of(rule, shape, {}).work);
  shape = sizes(1, 2, 64, 32, false);
  shape.dtype.clear();
  REQUIRE(work_of(rule, shape, {}).work);
  CHECK_FALSE(work_of(rule, shape, {}).work->bytes);
  shape.H_KV = 3;
  CHECK_FALSE(work_of(rule, shape, {}).work);
  OpRule paged{.name = "p", .attention = Attention::paged, .sizes = Sizes::packed};
  const auto older = serving_step("execute_context_2(512_262144)_generation_7(7)");
  REQUIRE(older);
  CHECK(older->ctx_q == 512);
  CHECK(older->gen_q == 7);
  CHECK_FALSE(work_of(paged, sizes(1, 2, 64, 32, false), older).work);
  CHECK_FALSE(serving_step("ProfilerStep#3"));
  CHECK_FALSE(serving_step("execute_context_x(1)_generation_1(1)"));
}

TEST_CASE("calls become problems or say why not", "[trace][replay]") {
  const OpRule rule{.name = "f"};
  AttentionSizes shape = sizes(2, 16, 1024, 64, true);
  shape.H_KV = 4;
  const auto found = problem_of(rule, shape);
  REQUIRE(found.problem);
  CHECK(to_text(*found.problem) == "B=2 Hq=16 Hkv=4 Sq=1024 Skv=1024 D=64 bf16 causal=top_left");
  shape.dropout = 0.1;
  CHECK(problem_of(rule, shape).why == "dropout is no problem of the workbench yet");
}
