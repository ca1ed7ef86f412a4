// SPDX-License-Identifier: MIT
// Each kind of fault planted, and its honest counterpart beside it: the first must be found at its
// line, the second must give no finding at all and show that the check looked.
#include <string>
#include <vector>

#include "audit/checks.hpp"
#include "audited.hpp"
#include "support/catch.hpp"

using namespace wb::audit;
using wb::audit::test::audited;

namespace {

struct Plant {
  std::string check;
  Severity severity;
  int line;
  std::string planted, honest;
  bool looked = true;  ///< the honest text gives a figure that holds
};

constexpr Severity k_wrong = Severity::contradiction;
constexpr Severity k_doubt = Severity::doubtful;

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

const std::string k_costs =
    "| Session | Time | GPU | AI | Total | Note |\n|---|---|---|---|---|---|\n"
    "| A | 30 min | $0.10 | $1.00 | $1.10 | one |\n"
    "| B | 50 min | $0.25 | $2.00 | $2.25 | two |\n"
    "| **Total** | **80 min** | **$0.35** | **$3.00** | **$3.35** | **2 sessions** |\n";

const std::string k_times =
    "| B | H | S | D | Torch (ms) | Mine (ms) | Speedup |\n|---|---|---|---|---|---|---|\n"
    "| 1 | 8 | 1024 | 64 | 0.400 | 0.800 | 0.50x |\n"
    "| 2 | 8 | 1024 | 64 | 0.790 | 1.600 | 0.49x (2.0x slower) |\n"
    "| 4 | 8 | 1024 | 64 | 1.600 | 4.000 | 0.40x |\n";

const std::string k_rates =
    "| B | H | S | D | Time (ms) | TFLOPS |\n|---|---|---|---|---|---|\n"
    "| 1 | 8 | 1024 | 64 | 0.100 | 21.5 |\n"
    "| 2 | 8 | 1024 | 64 | 0.200 | 21.5 |\n"
    "| 4 | 8 | 1024 | 64 | 0.500 | 17.2 |\n";

const std::string k_implied =
    "```\nConfig        | Mine (ms) | GFLOP/s\nB=1,H=2,S=256 | 0.100     | 335.5\n"
    "B=2,H=2,S=256 | 0.200     | 335.5\nB=4,H=2,S=512 | 1.000     | 536.9\n```\n";

const std::string k_dims =
    "Throughput collapses for wide heads.\n\n| hdim | TFLOPS | Time (ms) |\n|---|---|---|\n"
    "| 64 | 1.00 | 0.100 |\n| 128 | 1.00 | 0.200 |\n| 256 | 0.80 | 0.500 |\n";

const std::string k_scaling =
    "| Batch | Heads | Time (ms) | vs B=1 | Status |\n|---|---|---|---|---|\n"
    "| 1 | 8 | 2.0 | 1.0x | start |\n| 4 | 8 | 8.0 | 4.0x | linear |\n";

const std::string k_references =
    "| B | H | S | D | Reference (ms) | Ours (ms) |\n|---|---|---|---|---|---|\n"
    "| 1 | 4 | 64 | 64 | 0.010 | 0.020 |\n| 1 | 4 | 256 | 64 | 0.040 | 0.060 |\n"
    "| 1 | 4 | 1024 | 64 | 0.500 | 0.700 |\n";

const std::string k_caches =
    "L1 Cache: 128 KB\nL2 Cache: 40 MB\n\n| n | Total | Fits in L1? | Fits in L2? "
    "|\n|---|---|---|---|\n"
    "| 1 | 32 KB | yes | yes |\n| 2 | 2 MB | no | yes |\n| 3 | 90 MB | no | no |\n";

std::vector<Plant> plants() {
  return {
      // Totals and counts
      {"table_totals", k_wrong, 5, with(k_costs, "80 min", "95 min"), k_costs},
      {"table_totals", k_wrong, 5, with(k_costs, "$3.35", "$3.95"), k_costs},
      {"table_totals", k_wrong, 4, with(k_costs, "$2.25", "$2.75"), k_costs},
      {"counts", k_wrong, 5, with(k_costs, "2 sessions", "3 sessions"), k_costs},
      {"list_totals", k_wrong, 1, "Spent $1.40 (GPU $0.40 + agent $0.90)\n",
       "Spent $1.30 (GPU $0.40 + agent $0.90)\n"},
      {"list_totals", k_wrong, 3, "- K: 8 MB\n- V: 8 MB\n- Total: 20 MB\n",
       "- K: 8 MB\n- V: 8 MB\n- Total: 16 MB\n"},
      {"list_totals", k_wrong, 4, "- Grid: 2-4x\n- Loads: 3-5x\n\nTotal gain: 6-9x\n",
       "- Grid: 2-4x\n- Loads: 3-5x\n\nTotal gain: 6-20x\n"},
      {"repeated_figures", k_wrong, 3,
       "# One\n\nDuration: 40 minutes\n\n## Summary\n\nDuration: 50 minutes\n",
       "# One\n\nDuration: 50 minutes\n\n## Summary\n\nDuration: 50 minutes\n"},
      {"repeated_figures", k_wrong, 9,
       "# One\n\n## Work\n\n### Phase 1: try (20 min)\n\n### Phase 2: think (15 min)\n\nTotal "
       "time: 50 minutes\n",
       "# One\n\n## Work\n\n### Phase 1: try (20 min)\n\n### Phase 2: think (15 min)\n\nTotal "
       "time: 35 minutes\n"},
      {"counts", k_wrong, 1, "12 configurations tested.\n\nAll 9 configurations were right.\n",
       "12 configurations tested.\n\nAll 12 configurations were right.\n"},
      {"counts", k_wrong, 1,
       "2 of 3 cases pass.\n\n| case | result |\n|---|---|\n| a | pass |\n| b | fail |\n| c | fail "
       "|\n",
       "2 of 3 cases pass.\n\n| case | result |\n|---|---|\n| a | pass |\n| b | fail |\n| c | pass "
       "|\n"},
      // Written arithmetic
      {"arithmetic", k_wrong, 1, "FLOPs: 4 x 16 x 512 = 42,768\n",
       "FLOPs: 4 x 16 x 512 = 32,768\n"},
      {"arithmetic", k_wrong, 1, "Achieved: 24 MB / 0.200 ms = 160 GB/s\n",
       "Achieved: 24 MB / 0.200 ms = 120 GB/s\n"},
      {"arithmetic", k_wrong, 1, "Together: 2x x 1.5x = 3.8x\n", "Together: 2x x 1.5x = 3.0x\n"},
      {"arithmetic", k_wrong, 1, "Busy: 4/80 = 8.0%\n", "Busy: 4/80 = 5.0%\n"},
      {"arithmetic", k_wrong, 1, "It takes 512 bytes (4% of 48 KB)\n",
       "It takes 512 bytes (1% of 48 KB)\n"},
      {"arithmetic", k_wrong, 1, "GPU (30 min @ $0.40/hr): $0.35\n",
       "GPU (30 min @ $0.40/hr): $0.20\n"},
      {"arithmetic", k_wrong, 3,
       "- FLOPs: 2 x 8 x 64 = 1,024\n- Bytes: 8 x 64 x 4 = 2,048 bytes\n- AI = 0.75 FLOPs/byte\n",
       "- FLOPs: 2 x 8 x 64 = 1,024\n- Bytes: 8 x 64 x 4 = 2,048 bytes\n- AI = 0.50 FLOPs/byte\n"},
      {"changes", k_wrong, 1, "From 12.0 ms -> 3.0 ms = 6.0x\n", "From 12.0 ms -> 3.0 ms = 4.0x\n"},
      {"projections", k_wrong, 4,
       "| Step | Cumulative | Gain |\n|---|---|---|\n| start | 0.50x | |\n| tiles | 1.0-3.0x | 2x "
       "improvement |\n",
       "| Step | Cumulative | Gain |\n|---|---|---|\n| start | 0.50x | |\n| tiles | 1.0x | 2x "
       "improvement |\n"},
      // Ratios and rates
      {"ratio_columns", k_wrong, 5, with(k_times, "0.40x", "0.60x"), k_times},
      {"ratio_columns", k_wrong, 5, with(k_times, "0.40x", "2.50x"), k_times},
      {"ratio_columns", k_wrong, 4, with(k_times, "2.0x slower", "3.0x slower"), k_times},
      {"slowdown_claims", k_wrong, 7, k_times + "\n2.3-2.5x slower than Torch.\n",
       k_times + "\n2.0-2.5x slower than Torch.\n"},
      {"throughput", k_wrong, 5, with(k_rates, "17.2", "25.0"), k_rates},
      {"throughput", k_wrong, 5, with(k_implied, "1.000 ", "2.000 "), k_implied},
      {"confounding", k_doubt, 5, with(k_dims, "0.80 | 0.500", "0.10 | 0.500"), k_dims},
      // Peaks
      {"peaks", k_wrong, 3, "Ran on one A100 in fp16.\n\nIt reaches 90% of peak (19.5 TFLOP/s).\n",
       "Ran on one A100 in fp16.\n\nIt reaches 50% of peak (312 TFLOP/s).\n"},
      {"peaks", k_doubt, 3, "Ran on one L4.\n\nIt reaches 80% of peak (30 TFLOP/s).\n",
       "Ran on one L4 in fp32.\n\nIt reaches 80% of peak (30 TFLOP/s).\n"},
      {"peaks", k_wrong, 3, "Ran on one H100 in bf16.\n\nIt reaches 30% of peak (1979 TFLOP/s).\n",
       "Ran on one H100 in bf16.\n\nIt reaches 60% of peak (989 TFLOP/s).\n"},
      {"peaks", k_wrong, 3, "Ran on one A100 in bf16.\n\nIt reaches 30% of peak (989 TFLOP/s).\n",
       "Ran on one A100 in bf16.\n\nIt reaches 30% of peak (312 TFLOP/s).\n"},
      {"peaks", k_wrong, 1, "Our L4 kernel moves 900 GB/s.\n", "Our L4 kernel moves 270 GB/s.\n",
       false},
      {"bandwidth", k_doubt, 5,
       "Achieved: 90 GB/s\n\nFor example (A100/H100):\n- A100: 2000 GB/s\n- 4.5% of peak "
       "bandwidth\n",
       "Achieved: 90 GB/s\nGPU: A100\n\n- A100: 2000 GB/s\n- 4.5% of peak bandwidth\n"},
      {"bandwidth", k_wrong, 5,
       "Achieved: 90 GB/s\nGPU: A100\n\n- A100: 2000 GB/s\n- 9.5% of peak bandwidth\n",
       "Achieved: 90 GB/s\nGPU: A100\n\n- A100: 2000 GB/s\n- 4.5% of peak bandwidth\n"},
      {"ridge", k_doubt, 1, "On an H200 it needs > 50 FLOPs/byte to be compute-bound.\n",
       "On an H200 it needs > 206 FLOPs/byte to be compute-bound.\n"},
      // Scaling
      {"scaling", k_doubt, 4, with(k_scaling, "| 4 | 8 | 8.0", "| 4 | 16 | 8.0"), k_scaling},
      {"scaling", k_wrong, 4, with(k_scaling, "8.0 | 4.0x", "3.0 | 1.5x"), k_scaling},
      {"scaling_claims", k_doubt, 6,
       with(k_scaling, "| 4 | 8 | 8.0", "| 4 | 16 | 8.0") + "\nSlow: 4x for 4x batch.\n",
       k_scaling + "\nFine: 4x for 4x batch.\n", false},
      {"scaling_claims", k_wrong, 6, k_scaling + "\nTime grows super-linearly (4.0x).\n",
       with(k_scaling, "8.0 | 4.0x | linear", "24.0 | 12.0x | super-linear") +
           "\nTime grows super-linearly (12.0x).\n",
       false},
      {"scaling_claims", k_wrong, 1, "B=1,H=4 -> B=2,H=8 = 2x more work\n",
       "B=1,H=4 -> B=2,H=8 = 4x more work\n"},
      {"scaling_claims", k_wrong, 6,
       with(k_scaling, "8.0 | 4.0x | linear", "3.0 | 1.5x | -") +
           "\nIt scales linearly (2.0 -> 3.0 ms).\n",
       k_scaling + "\nIt scales linearly (2.0 -> 8.0 ms).\n"},
      {"scaling_claims", k_wrong, 3,
       "- S=16: 0.010 ms\n- S=512: 0.900 ms\n- ~4x data -> ~90x time\n",
       "- S=16: 0.010 ms\n- S=512: 0.900 ms\n- ~32x data -> ~90x time\n"},
      {"expected_columns", k_wrong, 4,
       "| B | Time (ms) | Expected Scaling |\n|---|---|---|\n| 1 | 2.0 | 1.0x |\n| 4 | 9.0 | 2.0x "
       "|\n\n"
       "Other:\n\n| B | Time (us) | Expected Scaling |\n|---|---|---|\n| 1 | 5.0 | 1.0x |\n| 4 | "
       "19 | 4.0x "
       "|\n",
       "| B | Time (ms) | Expected Scaling |\n|---|---|---|\n| 1 | 2.0 | 1.0x |\n| 4 | 9.0 | 4.0x "
       "|\n\n"
       "Other:\n\n| B | Time (us) | Expected Scaling |\n|---|---|---|\n| 1 | 5.0 | 1.0x |\n| 4 | "
       "19 | 4.0x "
       "|\n",
       false},
      // The other side of a ratio
      {"references", k_doubt, 3, with(k_references, "0.010 | 0.020", "0.090 | 0.020"), k_references,
       false},
      {"references", k_doubt, 3, with(with(k_references, "0.040", "0.010"), "0.500", "0.011"),
       k_references, false},
      // Launches
      {"geometry", k_wrong, 1, "int tile = blockIdx.w;\n", "int tile = blockIdx.z;\n", false},
      {"geometry", k_wrong, 1, "Grid: (heads, batch, rows, keys)\n", "Grid: (heads, batch, rows)\n",
       false},
      {"geometry", k_wrong, 1, "Grid: (1, 4, 2) = 9 blocks\n", "Grid: (1, 4, 2) = 8 blocks\n"},
      {"geometry", k_wrong, 1, "Block size: 2048 threads\n", "Block size: 1024 threads\n", false},
      {"geometry", k_wrong, 1, "dim3 block(64, 32);\n", "dim3 block(32, 32);\n", false},
      {"geometry", k_wrong, 1, "It runs 40 warps per block.\n", "It runs 32 warps per block.\n",
       false},
      {"geometry", k_wrong, 1, "Launched as grid (8, 131072, 1).\n",
       "Launched as grid (131072, 8, 1).\n", false},
      {"geometry", k_wrong, 1, "On an L4: 160 KB of shared memory per block.\n",
       "On an L4: 96 KB of shared memory per block.\n", false},
      {"block_counts", k_wrong, 8, k_times + "\nTile: 64x64.\nAt the largest shape 256 CTAs run.\n",
       k_times + "\nTile: 64x64.\nAt the largest shape 512 CTAs run.\n"},
      {"block_counts", k_wrong, 3,
       "S=64: -> 2 blocks\nS=64: -> 6 blocks\nThat is 4x more blocks.\n",
       "S=64: -> 2 blocks\nS=64: -> 6 blocks\nThat is 3x more blocks.\n"},
      {"block_counts", k_doubt, 2, "- It has 132 SMs\n- With only 512 blocks many SMs idle\n",
       "- It has 132 SMs\n- With only 64 blocks many SMs idle\n", false},
      {"caches", k_wrong, 6, with(k_caches, "32 KB | yes", "32 KB | no"), k_caches},
      {"caches", k_wrong, 7, with(k_caches, "no | yes", "no | no"), k_caches},
      {"caches", k_wrong, 8, with(k_caches, "90 MB | no | no", "90 MB | no | yes"), k_caches},
      {"caches", k_wrong, 2, "L2 Cache: 40 MB\nThe working set (3 MB) >> L2\n",
       "L2 Cache: 40 MB\nThe working set (300 MB) >> L2\n"},
      // Words
      {"exactness", k_wrong, 2, "Max diff: 0.0012\nThe result is bit-exact.\n",
       "Max diff: 0.0012\nThe result is within tolerance.\n", false},
      {"exactness", k_doubt, 2,
       "Accepted: max_diff < 0.002\nMax diff: 0.0015 (90% under threshold)\n",
       "Accepted: max_diff < 0.002\nMax diff: 0.0015 (25% under threshold)\n"},
      {"superlatives", k_wrong, 6,
       "| Idea | Build Time |\n|---|---|\n| a | 30 min |\n| b | 10 min |\n\nTake a: shortest build "
       "time (30 min).\n",
       "| Idea | Build Time |\n|---|---|\n| a | 30 min |\n| b | 10 min |\n\nTake b: shortest build "
       "time (10 min).\n",
       false},
      {"statements", k_wrong, 1, "FA-2 splits KV over its blocks.\n",
       "Flash-Decoding splits KV over its blocks.\n", false},
  };
}

}  // namespace

TEST_CASE("each planted fault is found at its line, its honest counterpart is clean",
          "[audit][checks]") {
  for (const Plant& plant : plants()) {
    const Audited planted = audited(plant.planted);
    const auto found = test::of_check(planted, plant.check);
    CAPTURE(plant.check, plant.planted, test::told(planted));
    const bool there = std::any_of(found.begin(), found.end(), [&](const Finding& finding) {
      return finding.line == plant.line && finding.severity == plant.severity;
    });
    CHECK(there);
    for (const Finding& finding : found) {
      CHECK_FALSE(finding.printed.empty());
      CHECK_FALSE(finding.computed.empty());
      CHECK_FALSE(finding.meaning.empty());
    }
    const Audited honest = audited(plant.honest);
    CAPTURE(plant.honest, test::told(honest));
    CHECK(honest.findings.empty());
    if (plant.looked) CHECK(test::held_by(honest, plant.check) > 0);
  }
}

TEST_CASE("honest reports that look like faults are left alone", "[audit][checks]") {
  const std::vector<std::string> texts{
      // Two runs, two durations.
      "# One\n\n## Run A\n\nDuration: 40 minutes\n\n## Run B\n\nDuration: 50 minutes\n",
      // A range over a part of the rows, and beside something else.
      k_times + "\n2.1-2.3x slower at B=2,H=8.\n\n7-9x slower than cuBLAS.\n",
      // One query on S keys: the work is linear in S.
      "Decode drops.\n\n| seq | GFLOPS | Time (ms) |\n|---|---|---|\n| 1024 | 100.0 | 0.100 |\n"
      "| 2048 | 100.0 | 0.200 |\n| 4096 | 80.0 | 0.500 |\n",
      // A search grid, tiles of an output.
      "Search grid (16, 32, 64, 128) over blocks (128, 64).\n",
      // Predictions for two kernels.
      "| B | Time (ms) | Expected speedup |\n|---|---|---|\n| 1 | 2.0 | 1.0x |\n| 4 | 9.0 | 2.0x "
      "|\n\n"
      "Other:\n\n| B | Time (us) | Expected speedup |\n|---|---|---|\n| 1 | 5.0 | 1.0x |\n"
      "| 4 | 19 | 4.0x |\n",
      // Exact from run to run, within a tolerance of the reference.
      "Max diff: 0.0012\nRepeated runs are bit-identical.\n",
      "Unlike FA-2 it splits KV over its blocks.\n",
      // Caches are faster than memory, narrow formats than wide ones.
      "On an L4 the L2 gives 900 GB/s.\n", "On an H100 in fp8 it reaches 1400 TFLOP/s.\n",
      // Truncated digits, a rounded sum, binary prefixes.
      "Ratio: 2 x 33.35 = 66\n", "Shared: (64 + 32) x 4 = 384 bytes (0.78% of 48 KB)\n",
      "It took 90 min, from 2026-11-01 to 2026-11-02, on 10.0.0.1.\n"};
  for (const std::string& text : texts) {
    const Audited honest = audited(text);
    CAPTURE(text, test::told(honest));
    CHECK(honest.findings.empty());
  }
}

TEST_CASE("work that is counted otherwise in every row is unknown", "[audit][checks]") {
  const Audited backward = audited(
      "| B | H | S | D | Time (ms) | TFLOPS |\n|---|---|---|---|---|---|\n"
      "| 1 | 8 | 1024 | 64 | 0.100 | 53.7 |\n| 2 | 8 | 1024 | 64 | 0.200 | 53.7 |\n");
  REQUIRE(backward.findings.size() == 1);
  CHECK(backward.findings[0].severity == Severity::unknown);
  CHECK(backward.findings[0].computed.find("each is 2.5") != std::string::npos);
}

TEST_CASE("counts of two parts are doubtful, of all of them wrong", "[audit][checks]") {
  CHECK(audited("9 shapes tested first.\n\n4 shapes tested later.\n").count(Severity::doubtful) ==
        1);
  CHECK(audited("9 shapes tested.\n\nAll 4 shapes tested are right.\n")
            .count(Severity::contradiction) == 1);
}

TEST_CASE("every check has a planted fault", "[audit][checks]") {
  const std::vector<Plant> all = plants();
  for (const Check& check : all_checks()) {
    CAPTURE(check.name);
    const bool planted = std::any_of(all.begin(), all.end(),
                                     [&](const Plant& plant) { return plant.check == check.name; });
    CHECK((planted || check.name == "advice"));
  }
}

TEST_CASE("advice is unknown until the kernel's source is given", "[audit][checks]") {
  const std::string report = "## Recommendation\n\nTarget: vectorized loads (float4)\n";
  const auto unknown = test::of_check(audited(report), "advice");
  REQUIRE(unknown.size() == 1);
  CHECK(unknown[0].severity == Severity::unknown);
  const auto there =
      test::of_check(audited(report, {{"kernel.cu", "int a;\nconst float4 v = *p;\n"}}), "advice");
  REQUIRE(there.size() == 1);
  CHECK(there[0].severity == Severity::contradiction);
  CHECK(there[0].computed.find("kernel.cu:2") != std::string::npos);
  CHECK(audited(report, {{"kernel.cu", "float v = *p;\n"}}).findings.empty());
}

TEST_CASE("a column that follows neither time is unknown, not wrong", "[audit][checks]") {
  std::string text = "| n | Mine (ms) | Torch (ms) | Speedup |\n|---|---|---|---|\n";
  for (int n = 0; n < 5; ++n) text += "| x | 1.00 | 2.00 | 7.0x |\n";
  const Audited odd = audited(text);
  REQUIRE(odd.findings.size() == 1);
  CHECK(odd.findings[0].severity == Severity::unknown);
}

TEST_CASE("a sum that only rounding explains is doubtful", "[audit][checks]") {
  std::string text = "| part | Time |\n|---|---|\n";
  for (int n = 0; n < 10; ++n) text += "| x | 1.3 ms |\n";
  const Audited rounded = audited(text + "| Total | 13.4 ms |\n");
  REQUIRE(rounded.findings.size() == 1);
  CHECK(rounded.findings[0].severity == Severity::doubtful);
  CHECK(audited(text + "| Total | 15.0 ms |\n").count(Severity::contradiction) == 1);
  CHECK(audited(text + "| Total | 13.0 ms |\n").findings.empty());
}

TEST_CASE("the report names the summary first, then line, figure and formula", "[audit][render]") {
  const Audited one = audited("# Costs\n\nSpent $1.40 (GPU $0.40 + agent $0.90)\n");
  const std::string text = render({one});
  CHECK(text.find("1 contradiction, 0 doubtful, 0 unknown") < text.find("## report.md"));
  CHECK(text.find("### Costs") != std::string::npos);
  CHECK(text.find("`report.md:3` **contradiction**: printed **$1.40**. Computed: $0.40 + $0.90 = "
                  "$1.30.") != std::string::npos);
  const wb::Json json = to_json(one);
  CHECK(json["contradictions"] == 1);
  CHECK(json["findings"][0]["line"] == 3);
  CHECK(json["findings"][0]["section"] == "Costs");
}
