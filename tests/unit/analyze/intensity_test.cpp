// SPDX-License-Identifier: MIT
#include "analyze/traffic.hpp"
#include "made_evidence.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::analyze;
using namespace wb::device;
using namespace wb::measure;
using namespace wb::problem;

namespace {

Finding only(std::string_view analysis, std::string_view problem, const Device& device) {
  Evidence evidence;
  evidence.device = device;
  evidence.observations = {made::observation(problem, 100)};
  auto findings = made::run(analysis, evidence);
  REQUIRE(findings.size() == 1);
  return findings.front();
}

double figure(const Finding& finding, const char* name) {
  return finding.figures.at(name);
}

Problem parsed(std::string_view text) {
  return made::observation(text, 1).problem;
}

}  // namespace

TEST_CASE("Phases of one query: intensities below one, as worked out by hand", "[analyze][unit]") {
  // One query, 16 keys, D = 8192: 262,144 FLOPs each for QK^T and PV.
  const auto phases = phase_work(parsed("B=1 Hq=1 Sq=1 Skv=16 D=8192 f32"));
  CHECK(phases[0].flops == 262'144);
  CHECK(phases[0].bytes == 557'056 + 16 * 4);  // Q and K read, 16 scores written
  CHECK(phases[0].intensity() == Approx(0.4705).epsilon(1e-3));
  CHECK(phases[2].flops == 262'144);
  CHECK(phases[2].bytes == 524'352 + 8192 * 4);  // V and scores read, the output written
  CHECK(phases[1].intensity() == Approx(5.0 / 8));
}

TEST_CASE("K and V are asked for once for every block of rows", "[analyze][unit]") {
  // 64 queries of one head, 16 keys, D = 8192: 64 times 1 MiB at one query a block.
  const Problem problem = parsed("B=1 Hq=1 Sq=64 Skv=16 D=8192 f32");
  CHECK(kv_bytes(problem) == 2 * 16 * 8192 * 4);
  CHECK(kv_requested_bytes(problem, 1) == 64 * kv_bytes(problem));
  CHECK(kv_requested_bytes(problem, 16) == 4 * kv_bytes(problem));
  CHECK(kv_requested_bytes(problem, 64) == kv_bytes(problem));
  // Four query heads on one key/value head ask four times even so.
  const Problem grouped = parsed("B=2 Hq=8 Hkv=2 Sq=64 D=64 f16");
  CHECK(kv_requested_bytes(grouped, 64) == 4 * kv_bytes(grouped));
  // Under a causal rule the first block of 64 rows sees half of 128 keys.
  const Problem causal = parsed("B=1 Hq=1 Sq=128 D=64 f16 causal=top_left");
  CHECK(kv_requested_bytes(causal, 64) == 1.5 * kv_bytes(causal));
}

TEST_CASE("The intensity stands beside the ridge of the problem's own dtype", "[analyze][unit]") {
  // 1 TFLOP/s in f32 at 100 GB/s: a ridge of 10; of f16 it is 40.
  const Finding prefill = only("intensity", "B=1 Hq=8 Sq=512 D=64 f32", made::device());
  CHECK(figure(prefill, "ridge_flops_per_byte") == Approx(10));
  CHECK(figure(prefill, "intensity_flops_per_byte") == Approx(128));
  CHECK(figure(prefill, "rows_above_ridge") == 32);
  CHECK(prefill.figures.at("kv_reads").at(0).at("kv_redundancy") == 512);
  const Finding decode = only("intensity", "B=1 Hq=8 Sq=1 Skv=4096 D=64 f16", made::device());
  CHECK(figure(decode, "ridge_flops_per_byte") == Approx(40));
  CHECK(figure(decode, "intensity_flops_per_byte") < 1.01);
  CHECK(decode.statement.find("at best memory-bound") != std::string::npos);
  CHECK_FALSE(decode.figures.contains("rows_above_ridge"));
  const Finding unknown = only("intensity", "B=1 Hq=8 Sq=512 D=64 bf16", made::device());
  CHECK_FALSE(unknown.figures.contains("ridge_flops_per_byte"));
  CHECK(unknown.unseen.find("ridge") != std::string::npos);
}

TEST_CASE("Working sets are held against the device's own memories", "[analyze][unit]") {
  const auto l4 = known_gpu("NVIDIA L4");
  REQUIRE(l4);
  // The table of the first document: 1 MiB of K and V fits well into 40 MB and more of L2.
  const Finding large = only("working_set", "B=1 Hq=1 Sq=16 D=8192 f32", *l4);
  CHECK(figure(large, "kv_head_bytes") == 1024 * 1024);
  CHECK(large.figures.at("kv_head_fits_unit") == false);
  CHECK(large.figures.at("kv_fits_last_cache") == true);
  const Finding small = only("working_set", "B=1 Hq=4 Sq=16 D=512 f32", *l4);
  CHECK(figure(small, "kv_head_bytes") == 64 * 1024);
  CHECK(small.figures.at("kv_head_fits_unit") == true);
  Device bare;
  bare.backend = "cuda";
  const Finding unknown = only("working_set", "B=1 Hq=4 Sq=16 D=512 f32", bare);
  CHECK_FALSE(unknown.figures.contains("kv_head_fits_unit"));
  CHECK(unknown.unseen.find("the size of the shared memory") != std::string::npos);
}
