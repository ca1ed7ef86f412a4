// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "trace/op_sizes.hpp"
#include "trace/replay.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::trace;

namespace {

constexpr double k_giga = 1e9, k_mib = 1024.0 * 1024.0;

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
