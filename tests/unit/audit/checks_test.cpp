// SPDX-License-Identifier: MIT
// What checks skip, call unknown or doubtful, and how it is rendered.
#include <string>
#include <vector>

#include "audited.hpp"
#include "core/json.hpp"
#include "support/catch.hpp"

using namespace wb::audit;
using wb::audit::test::audited;
using wb::audit::test::k_times;

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
      // Another attention.
      "# Findings about the attention of children\n\nIt is short.\n",
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
