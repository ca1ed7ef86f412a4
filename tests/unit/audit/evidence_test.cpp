// SPDX-License-Identifier: MIT
// Text that was not read completely is not contradicted: forms of public reports that were accused,
// in our own words, each beside the same form with a fault that must still be found.
#include <string>

#include "audited.hpp"
#include "support/catch.hpp"

using namespace wb::audit;
using wb::audit::test::audited;
using wb::audit::test::with;

namespace {

void is_clean(const std::string& text) {
  const Audited document = audited(text);
  CAPTURE(text, test::told(document));
  CHECK(test::count(document, Severity::contradiction) == 0);
}

void is_wrong(const std::string& text, std::size_t count = 1) {
  const Audited document = audited(text);
  CAPTURE(text, test::told(document));
  CHECK(test::count(document, Severity::contradiction) == count);
}

}  // namespace

TEST_CASE("a result in a unit that is not read is not judged", "[audit][evidence]") {
  is_clean("cache: 2 * 16 * 16 * 64 * 2 = 64 KB/token\n");
  is_clean("slab: 32 x 1024 x 2 = 64 KiB/WG\n");
  is_clean("radius: 2 * 6.5e-11 * 2e30 / 9e16 = 2.89 km\n");
  is_clean("buffer: 64 x 32 x 2 = 4 096 B\n");
  is_clean("all 8 threads, 96 GB/s / 1\xe3\x82\xb9\xe3\x83\xac=24 GB/s\n");
  is_clean("0x0100000000 = 4294967296 in decimal\n");
  is_wrong("cache: 2 * 16 * 16 * 64 * 2 = 75536\n");
}

TEST_CASE("products without a unit may count elements", "[audit][evidence]") {
  is_clean("a tile is 64 x 64 = 8 KB in half precision\n");
  is_clean("a tile is 64 x 64 = 16 KB\n");
  is_wrong("a tile is 64 x 64 = 11 KB\n");
  is_wrong("a cache is 60 x 100 x 56 x 4 bytes = 13.4 MB\n");
}

TEST_CASE("numbers around a stroke may be two results or a size", "[audit][evidence]") {
  is_clean("the other path 719/715 = 1.50x over the first\n");
  is_clean("conflicts = 7/8 = 2,236,416\n");
  is_clean("tokens/s: 512^2=7435, 1024^2=5380\n");
  is_clean("now v35: 34.6% / 6,030 = 86.9% of the rival\n");
  is_clean("all of them: actions 1-5 + 6-7 = 30 units\n");
  is_clean("all: 1000 x 3-5 ms = 3,000-5,000 ms\n");
  is_wrong("all: 1000 x 3-5 ms = 6,000-9,000 ms\n");
  is_wrong("Busy: 4/80 = 8.0%\n");
  is_wrong("Speedup: 720 / 480 = 1.80x\n");
}

TEST_CASE("a percent may be a change or of something told elsewhere", "[audit][evidence]") {
  is_clean("saved: 30.0/120.0 = 75%\n");
  is_clean("worse: 7.56/7.14 = 5.9%\n");
  is_clean("not sampled: 2 + 10 = 27.9%\n");
  is_clean("copies 13.5 ms + 21.8 ms = 59% of the 60 ms\n");
  is_wrong("saved: 30.0/120.0 = 60%\n");
}

TEST_CASE("totals of times that were measured for themselves are doubtful", "[audit][evidence]") {
  const std::string table =
      "| stage | wall (s) |\n|---|---|\n| read | 0.125 |\n| rank | 85.580 |\n| close | 26.489 |\n"
      "| **TOTAL** | **112.194** |\n";
  is_clean(table);
  CHECK(audited(table).findings.empty());
  const Audited near = audited(with(table, "112.194", "111.903"));
  is_clean(with(table, "112.194", "111.903"));
  REQUIRE(near.findings.size() == 1);
  CHECK(near.findings[0].severity == Severity::doubtful);
  is_wrong(with(table, "112.194", "142.194"));
}

TEST_CASE("a row or column called sum may be none", "[audit][evidence]") {
  is_clean("| arm | recall |\n|---|---|\n| ceiling | 0.567 |\n| mean | 0.407 |\n| sum | 0.380 |\n");
  // A count in one row of a column of words is no part; what stands beside a figure is not read.
  const std::string programs =
      "| name | programs | flips | moves | total |\n|---|---|---|---|---|\n| a | 11 live ones | 37 "
      "| "
      "88 | 125 |\n| b | 7 of them | 49 | 24 | 73 |\n| all | 18 | 86 | 112 | 198 |\n";
  is_clean(programs);
  is_wrong(with(programs, "| 198 |", "| 189 |"));
  const std::string kinds =
      "| kind | code | tests | docs | total |\n|---|---|---|---|---|\n| live | 58 (19 + 39) | 69 | "
      "14 "
      "| 141 |\n| kept | 97 | 20 | 51 | 168 |\n| dead | 1 | 2 | 12 | 15 |\n| new | 3 | 2 | 1 | 6 "
      "|\n";
  is_clean(kinds);
  is_wrong(with(kinds, "| 168 |", "| 186 |"));
  is_clean(
      "| metric | first | second | total |\n|---|---|---|---|\n| modules | 36 | 24 | 60 |\n| "
      "events | 133 | 91 | 224 |\n| median size | 6 | 12 | 8 |\n");
}

TEST_CASE("lists and brackets that were not read whole have no total", "[audit][evidence]") {
  is_clean("peak 27.11 -> 27.45 GiB (heap at 10.67 GiB, stack +0.34 GiB)\n");
  is_clean(
      "- T alone is 10 GB\n- L: 0.5 GB, G: 1.5 GB\n- Model: 4 GB\n- Total with all of them: 16 "
      "GB\n");
  is_wrong("- L: 0.5 GB\n- Model: 4.0 GB\n- Total: 6.0 GB\n");
  is_clean("- Placing: 500 ms\n- Proof: 2 s\n- Total resolution: 8 s\n");
  is_clean("- Rules: 5 KB per domain\n- Links: 2 KB\n\nTotal: 50 MB for 1000 domains\n");
  // Not all steps do their best at once.
  const Audited hoped =
      audited("- Sparse: 5-50x\n- Packed: 2-3x\n- Chip: 1.5-2x\n- Total: 20-200x\n");
  REQUIRE(hoped.findings.size() == 1);
  CHECK(hoped.findings[0].severity == Severity::doubtful);
  is_wrong("- Sparse: 5-50x\n- Packed: 2-3x\n- Total: 20-400x\n");
}

TEST_CASE("exactness is held against a difference of the same thing", "[audit][evidence]") {
  is_clean("## One\n\nMax diff: 0.003\n\n## Two\n\nThe gather is bit-identical.\n");
  is_clean("The first try was wrong (max diff 3e-3) while the other was bit-exact.\n");
  is_wrong("## One\n\nAll is bit-identical to the trace (max_diff=0.43).\n");
}

TEST_CASE("only launches of CUDA and HIP have three dimensions", "[audit][evidence]") {
  is_clean("On a TPU with Pallas the grid (B, heads, q_tiles, kv_tiles) is walked in order.\n");
  is_clean("We search a 4D grid of values.\n");
  is_wrong("A CUDA kernel with grid (B, heads, q_tiles, kv_tiles).\n");
}

TEST_CASE("numbered rows are no quantiles", "[audit][evidence]") {
  is_clean("| # | value |\n|---|---|\n| P1 | 0.826 |\n| P2 | 0.610 |\n");
  is_wrong("| # | time (ms) |\n|---|---|\n| p50 | 0.826 |\n| p90 | 0.610 |\n");
}

TEST_CASE("a ratio beside others needs rows that show what it divides", "[audit][evidence]") {
  // "vs genuine" is over a third that has no column.
  is_clean(
      "| call | routed | raw | speedup | vs genuine |\n|---|---|---|---|---|\n| a | 96.7 ms | "
      "745.7 "
      "ms | 7.7x | 7.7x |\n| b | 66.8 ms | 1041.0 ms | 15.6x | 5.2x |\n");
  // Cells without a figure do not hide a column of times.
  is_clean(
      "| graph | rival | before | after | self | vs rival |\n|---|---|---|---|---|---|\n| a | 6.00 "
      "ms | 94.0 ms | 16.0 ms | 5.88x | 2.67x slow |\n| b | 3.0 ms | ~ | 10.8 ms | ~ | 3.6x slow "
      "|\n| c | 27.5 ms | ~ | 49.1 ms | ~1.9x | 1.8x slow |\n");
  const std::string third =
      "| size | before (ms) | after (ms) | speedup | vs Python |\n|---|---|---|---|---|\n| 1 | "
      "77.0 "
      "| 2.0 | 38.5x | 2.0x faster |\n| 5 | 150.0 | 6.0 | 25.0x | 3.3x faster |\n| 9 | 770.0 | "
      "12.0 "
      "| 64.2x | 3.3x faster |\n";
  is_clean(third);
  is_wrong(with(third, "25.0x", "64.2x"));
}

TEST_CASE("the base of a group may stand behind its rows", "[audit][evidence]") {
  is_clean(
      "| call | runtime | mean | ratio |\n|---|---|---|---|\n| set | 10 | 1,310.2 ns | 2.07 |\n| "
      "bits | 10 | 633.6 ns | 1.00 |\n| set | 9 | 1,301.2 ns | 2.10 |\n| bits | 9 | 620.1 ns | "
      "1.00 "
      "|\n");
}

TEST_CASE("ratios of other columns and of medians are not contradicted", "[audit][evidence]") {
  // Over perplexities, beside rates.
  is_clean(
      "| method | ppl | vs base | tok/s |\n|---|---|---|---|\n| none | 14.11 | 1.0x | 13.85 |\n| a "
      "| "
      "18.6 | 1.3x | 0.08 |\n| b | 220000 | \xe2\x89\xab"
      "1 | 0.36 |\n");
  // The median of ratios is not the ratio of medians.
  const std::string medians =
      "| gate | ours median | rival median | throughput ratio |\n|---|---|---|---|\n| a | 8.8 ms | "
      "4.1 ms | 0.559x |\n| b | 11.9 ms | 10.9 ms | 0.917x |\n| c | 10.8 ms | 4.6 ms | 0.427x |\n";
  is_clean(medians);
  is_wrong(with(medians, "0.559x", "0.959x"));
  // A mean and its bound are no two values.
  is_clean(
      "| case | Mean | high CI | vs `now` |\n|---|---|---|---|\n| now | 79.8 us | 80.2 us | 1.00x "
      "|\n| new | 79.2 us | 79.7 us | 0.99x |\n| now 3 | 33.2 ms | 33.5 ms | 1.00x |\n| new 3 | "
      "31.2 "
      "ms | 31.5 ms | 0.94x |\n| now 4 | 3 591 ms | 3 661 ms | 1.00x |\n");
  // Named after another column.
  is_clean(
      "| size | plain, FPS | quick, FPS | quick batch, FPS | open batch, FPS | quick speedup "
      "|\n|---|---|---|---|---|---|\n| 320 | 100 | 116 | 423 | 430 | 4.3x |\n| 416 | 82 | 103 | "
      "284 "
      "| 294 | 3.6x |\n| 512 | 69 | 91 | 206 | 216 | 3.1x |\n| 608 | 53 | 62 | 149 | 150 | 2.8x "
      "|\n| tiny | 443 | 609 | 1774 | 1353 | 3.5x |\n");
}

TEST_CASE("costs of cases beside one another are not one cost", "[audit][evidence]") {
  is_clean(
      "# Costs\n\n## Summary\n\nWithout:\n- Total cost: $24.18\n\nWith:\n- Total cost: "
      "$10.29\n");
  is_wrong("# Costs\n\nTotal cost: $24.18\n\n## Summary\n\nTotal cost: $10.29\n");
}
