// SPDX-License-Identifier: MIT
// What checks skip, call unknown or doubtful, means among it, what is said of figures that no check
// judged, and how all is rendered.
#include <string>
#include <vector>

#include "audited.hpp"
#include "core/json.hpp"
#include "support/catch.hpp"

using namespace wb::audit;
using wb::audit::test::audited;
using wb::audit::test::contradicts;
using wb::audit::test::held_by;
using wb::audit::test::k_times;
using wb::audit::test::never_contradicts;
using wb::audit::test::number_of;
using wb::audit::test::only_doubts;

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
  CHECK(test::count(audited("9 shapes tested first.\n\n4 shapes tested later.\n"),
                    Severity::doubtful) == 1);
  CHECK(test::count(audited("9 shapes tested.\n\nAll 4 shapes tested are right.\n"),
                    Severity::contradiction) == 1);
}

TEST_CASE("advice is unknown until the kernel's source is given", "[audit][checks]") {
  const std::string report = "## Recommendation\n\nTarget: vectorized loads (float4)\n";
  const auto unknown = test::of_check(audited(report), "advice");
  REQUIRE(unknown.size() == 1);
  CHECK(unknown[0].severity == Severity::unknown);
  const auto there =
      test::of_check(audited(report, {{"kernel.cu", "int a;\nconst float4 v = *p;\n"}}), "advice");
  REQUIRE(there.size() == 1);
  CHECK(test::told_as(there[0]) == Severity::contradiction);
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
  CHECK(test::count(audited(text + "| Total | 15.0 ms |\n"), Severity::contradiction) == 1);
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

TEST_CASE("rows called mean", "[audit][means]") {
  const auto table = [](const std::string& time, const std::string& rate) {
    return "| case | time (ms) | tokens |\n|---|---|---|\n| a | 10.0 | 400 |\n| b | 20.0 | 200 |\n"
           "| c | 33.0 | 150 |\n| Average | " +
           time + " | " + rate + " |\n";
  };
  CHECK(audited(table("21.0", "250")).findings.empty());
  CHECK(held_by(audited(table("21.0", "250")), "table_totals") == 2);
  CHECK(only_doubts(table("21.0", "300")));
  CHECK(only_doubts(table("42.0", "250")));
  // The median, the geometric and the harmonic mean and the sum are read as such, and told as read.
  for (const char* other : {"20.0", "18.8", "16.7", "63.0"}) {
    const auto lone = audited(table(other, "n/a"));
    CHECK(lone.findings.empty());
    CHECK(lone.gaps.empty());
    CHECK(held_by(lone, "table_totals") == 1);
  }
  // Close by it may be of figures with more digits; beside quantiles it is of their sample.
  CHECK(never_contradicts(table("21.0", "252")));
  CHECK(number_of(table("21.0", "252"), Severity::doubtful) == 0);
  CHECK(audited("| of | time (ms) |\n|---|---|\n| min | 1.0 |\n| p90 | 9.0 |\n| max | 20.0 |\n"
                "| mean | 2.1 |\n")
            .findings.empty());
  CHECK(only_doubts(table("21.0", "300") + "| Std | 11.5 | 132 |\n"));
  const auto lone = audited(table("24.0", "n/a"));
  REQUIRE(lone.findings.size() == 1);
  CHECK(lone.findings[0].severity == Severity::unknown);
  const auto far = audited(table("50.0", "n/a"));
  REQUIRE(far.findings.size() == 1);
  CHECK(far.findings[0].severity == Severity::doubtful);
}

TEST_CASE("a ratio of two means is no mean of ratios", "[audit][means]") {
  const auto table = [](const std::string& ratio) {
    return "| case | old (ms) | new (ms) | speedup |\n|---|---|---|---|\n| a | 10.0 | 5.0 | 2.0x "
           "|\n"
           "| b | 30.0 | 10.0 | 3.0x |\n| Mean | 20.0 | 7.5 | " +
           ratio + " |\n";
  };
  CHECK(audited(table("2.67x")).findings.empty());
  CHECK(audited(table("2.5x")).findings.empty());  // the mean of the ratios
  CHECK_FALSE(audited(table("2.2x")).findings.empty());
}

TEST_CASE("figures that no check judged are told", "[audit][means]") {
  const auto gaps = [](const std::string& text) { return audited(text).gaps; };
  const auto sizes = gaps(
      "| quant | size | compression ratio |\n|---|---|---|\n| q8 | half | 1.88x |\n"
      "| q6 | less | 2.44x |\n");
  REQUIRE(sizes.size() == 1);
  CHECK(sizes[0].find("1 table with ratios (line 1)") != std::string::npos);
  const auto total = gaps(
      "| step | effort |\n|---|---|\n| a | 6-8 hours |\n| b | 3-4 hours |\n"
      "| Total | 23-34 hours |\n");
  REQUIRE(total.size() == 1);
  CHECK(total[0].find("1 row called total") != std::string::npos);
  CHECK(gaps(k_times).empty());
}

TEST_CASE("totals of cells with one word behind the figure", "[audit][means]") {
  const auto table = [](const std::string& second, const std::string& total) {
    return "| part | effort |\n|---|---|\n| a | 3 tasks |\n| b | " + second + " |\n| Total | " +
           total + " |\n";
  };
  CHECK(audited(table("1 task", "4 tasks")).findings.empty());
  CHECK(contradicts(table("1 task", "5 tasks")));
  CHECK(never_contradicts(table("1 day", "7 tasks")));
  CHECK(never_contradicts(table("1 task", "7 days")));
}
