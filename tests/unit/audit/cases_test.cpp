// SPDX-License-Identifier: MIT
// Forms of public reports that were once read wrongly, in our own words: a correct one is not
// accused, and the same form with a fault is.
#include <string>

#include "audited.hpp"
#include "support/catch.hpp"

using namespace wb::audit;
using wb::audit::test::audited;
using wb::audit::test::with;

namespace {

std::size_t wrong(const std::string& text) {
  const Audited document = audited(text);
  UNSCOPED_INFO(test::told(document));
  return test::count(document, Severity::contradiction);
}

/// The only contradiction of a text is at this line.
void wrong_at(const std::string& text, int line, const std::string& words) {
  const Audited document = audited(text);
  CAPTURE(text, test::told(document));
  REQUIRE(document.count(Severity::contradiction) == 1);
  for (const Finding& finding : document.findings) {
    if (finding.severity != Severity::contradiction) continue;
    CHECK(finding.line == line);
    CHECK(finding.computed.find(words) != std::string::npos);
  }
}

const std::string k_over_first =
    "| kernel | time (ms) | speedup |\n|---|---|---|\n| naive | 2.50 | 1.00x |\n"
    "| tiled | 1.25 | 2.00x |\n| flash | 0.50 | 5.00x |\n";

}  // namespace

TEST_CASE("a speedup may be over the first row, another row, or the row before", "[audit][cases]") {
  CHECK(wrong(k_over_first) == 0);
  CHECK(test::held_by(audited(k_over_first), "ratio_columns") == 2);
  wrong_at(with(k_over_first, "5.00x", "9.00x"), 5, "2.50 ms / 0.50 ms = 4.");
  // Over the last row.
  const std::string last =
      "| kernel | time (ms) | vs. best |\n|---|---|---|\n| a | 4.00 | 0.50x |\n| b | 3.00 | 0.67x "
      "|\n| c | 2.50 | 0.80x |\n| best | 2.00 | 1.00x |\n";
  CHECK(wrong(last) == 0);
  wrong_at(with(last, "0.67x", "0.87x"), 4, "2.00 ms / 3.00 ms");
  // Each over the row before.
  const std::string steps =
      "| step | time (us) | speedup |\n|---|---|---|\n| a | 80.0 | - |\n| b | 40.0 | 2.0x |\n| c | "
      "30.0 | 1.33x |\n| d | 10.0 | 3.0x |\n| e | 8.0 | 1.25x |\n";
  CHECK(wrong(steps) == 0);
  wrong_at(with(steps, "3.0x", "5.0x"), 6, "30.0 us / 10.0 us");
  // Groups, each over its own first row.
  const std::string groups =
      "| S | kernel | time (ms) | speedup |\n|---|---|---|---|\n| 512 | a | 1.00 | 1.00x |\n| 512 "
      "| "
      "b | 0.50 | 2.00x |\n| 1024 | a | 4.00 | 1.00x |\n| 1024 | b | 1.00 | 4.00x |\n";
  CHECK(wrong(groups) == 0);
  // Rates, not times; and a time that grows: "vs B=1".
  CHECK(wrong("| kernel | tokens/s | speedup |\n|---|---|---|\n| a | 100 | 1.00x |\n| b | 250 | "
              "2.50x |\n| c | 300 | 3.00x |\n") == 0);
  CHECK(wrong("| B | time (ms) | vs B=1 |\n|---|---|---|\n| 1 | 1.00 | 1.0x |\n| 4 | 4.10 | 4.1x "
              "|\n") == 0);
}

TEST_CASE("of a column whose base is not said nothing is judged, and that is told",
          "[audit][cases]") {
  const Audited unclear = audited(
      "| kernel | read (ms) | write (ms) | vs. other |\n|---|---|---|---|\n| a | 0.10 | 0.30 | "
      "9.0x "
      "|\n| b | 0.20 | 0.70 | 7.0x |\n");
  CHECK(test::count(unclear, Severity::contradiction) == 0);
  CHECK(test::count(unclear, Severity::unknown) == 1);
  // Against the second column's own first row.
  CHECK(wrong("| library | compact (ms) | pretty (ms) | vs. first |\n|---|---|---|---|\n| first | "
              "0.11 | 0.30 | 1 |\n| other | 1.36 | 1.93 | 6.4 |\n") == 0);
  // A mean of ratios is no ratio of means.
  CHECK(
      wrong(
          "| case | a (ms) | b (ms) | speedup |\n|---|---|---|---|\n| x | 4.0 | 2.0 | 2.0x |\n| y "
          "| 9.0 | 1.0 | 9.0x |\n| average | 6.5 | 1.5 | 5.5x |\n") == 0);
}

TEST_CASE("thousands, powers, roots and prefixes in written arithmetic", "[audit][cases]") {
  for (const std::string text :
       {"flops = 16,384 * 4,096 = 67,108,864", "GFLOP = 2,147,483,648 / 1e9 = 2.147",
        "flops = 3 * 134,217,728 * 1 = 402,653,184",
        "scale: 1/\xE2\x88\x9A"
        "64 = 0.125",
        "work: 2 \xC3\x97 4096\xC2\xB2 \xC3\x97 (4096 \xC3\x97 0.125) = 17.2 GFLOPs",
        "work: 2 * 4096**2 * 512 = 17.2 GFLOPs", "work: 2 x 2048\xC2\xB3 = 17.2 billion",
        "work: 2^10 x 3 = 3072", "tiles of 32x32x32 = 8x larger ones than 16x16x16",
        "Each warp computes 2x2 tiles = 32x32 outputs",
        "Entropy: -0.12*log\xE2\x82\x82(0.12) - 0.88*log\xE2\x82\x82(0.88) = 0.53 bits",
        "a block of 1024x64 = 64K floats", "a block of 1000 x 64 = 64K floats", "64Ki x 2 = 131072",
        "mean of 7 and 6 cases: (70.0x7 + 40.0x6) / 13 = 56.2%", "sum: \xCE\xA3 3 x 4 = 99",
        "rows 2 to 4 x 5 = 99", "54.9 TFLOPS, 90.3 percent of cuBLAS, up from 48.6 TFLOPS"}) {
    CAPTURE(text);
    CHECK(wrong(text + "\n") == 0);
  }
  for (const std::string text :
       {"flops = 16,384 * 4,096 = 77,108,864", "work: 2 x 2048\xC2\xB3 = 27.2 billion",
        "work: 2 * 4096**2 * 512 = 27.2 GFLOPs", "a block: 1024x64 = 74K floats",
        "work: 2^10 x 3 = 4072", "mean: (70.0x7 + 40.0x6) / 13 = 66.2%"}) {
    CAPTURE(text);
    CHECK(wrong(text + "\n") == 1);
  }
}

TEST_CASE("a header's word alone decides nothing", "[audit][cases]") {
  CHECK(
      wrong(
          "| author | lines | loads | stores | sum | dot |\n|---|---|---|---|---|---|\n| a | 40 | "
          "2 | 1 | 0 | 1 |\n| b | 57 | 5 | 1 | 1 | 2 |\n") == 0);
  CHECK(
      wrong(
          "| config | geomean speedup | min | max |\n|---|---|---|---|\n| eager | 1.000x | 1.000x "
          "| 1.000x |\n| ours | 1.040x | 1.005x | 1.103x |\n") == 0);
  CHECK(
      wrong(
          "| metric | count |\n|---|---|\n| files created | 12 |\n| files modified | 3 |\n| total "
          "lines of code | 2,500 |\n") == 0);
  // Where most rows are sums, the one that is not is wrong.
  const std::string sums =
      "| phase | load (ms) | run (ms) | total |\n|---|---|---|---|\n| a | 2 ms | 3 ms | 5 ms |\n| "
      "b | 4 "
      "ms | 4 ms | 8 ms |\n| c | 1 ms | 6 ms | 7 ms |\n";
  CHECK(wrong(sums) == 0);
  wrong_at(with(sums, "8 ms", "12 ms"), 4, "= 8 ms");
}

TEST_CASE("an interval's column is no second time", "[audit][cases]") {
  const std::string text =
      "| kernel | median (ms) | 95% CI (ms) | speedup |\n|---|---|---|---|\n| torch | 0.0600 | "
      "[0.0598, 0.0603] | 1.00x |\n| ours | 0.5000 | [0.4995, 0.5006] | 0.12x |\n";
  CHECK(wrong(text) == 0);
  CHECK(test::held_by(audited(text), "ratio_columns") == 1);
  CHECK(wrong("| kernel | mean (ms) | std (ms) | speedup |\n|---|---|---|---|\n| a | 4.00 | 0.10 | "
              "1.00x "
              "|\n| b | 2.00 | 0.20 | 2.00x |\n") == 0);
}

TEST_CASE("entries of different days and durations of different things", "[audit][cases]") {
  CHECK(wrong("# Log\n\n## 14 June, problem A\n\nThe check passes on all 4 shapes.\n\n## 2 April, "
              "problem B\n\nThe check passes on all 5 shapes.\n") == 0);
  CHECK(
      wrong("# Log\n\n## 14 June, problem A\n\nThe check passes on all 4 shapes.\n\nRight on all 5 "
            "shapes.\n\n## 2 April\n\nAll 5 shapes.\n") == 1);
  CHECK(wrong("**Total time**: 1.5 hours at the keyboard\n\n## End\n\n**Total duration**: 6 hours "
              "(with "
              "all the waiting)\n") == 0);
}

TEST_CASE("two times in one cell are read where they are named, else told", "[audit][cases]") {
  const std::string text =
      "| case | ours / SDPA | TFLOPS | speedup |\n|---|---|---|---|\n| self | 40.00 / 80.00 ms | "
      "100T / "
      "50T | 2.00x |\n| cross | 6.00 / 9.00 ms | 90T / 60T | 1.50x |\n";
  CHECK(wrong(text) == 0);
  wrong_at(with(text, "1.50x", "2.50x"), 4, "9.00 ms / 6.00 ms = 1.");
  const Audited unnamed = audited(
      "| case | time (ms) | speedup |\n|---|---|---|\n| a | 40.0 / 80.0 | 7.0x |\n| b | 6.0 / 9.0 "
      "| 8.0x "
      "|\n");
  CHECK(unnamed.findings.empty());
  REQUIRE(unnamed.gaps.size() == 2);
  CHECK(unnamed.gaps[0].find("2 cells with two times") != std::string::npos);
}

TEST_CASE("rows that are metrics", "[audit][cases]") {
  const std::string text =
      "| metric | before | after | improvement |\n|---|---|---|---|\n| latency (ms) | 0.500 | "
      "0.200 | "
      "2.50x |\n| TFLOPS | 20.0 | 60.0 | 3.00x |\n";
  CHECK(wrong(text) == 0);
  CHECK(test::held_by(audited(text), "ratio_columns") == 2);
  wrong_at(with(text, "2.50x", "9.50x"), 3, "= 2.");
  wrong_at(with(text, "3.00x", "5.00x"), 4, "60.0 TFLOP/s / 20.0");
  const std::string units =
      "| operation | plain | parallel | speedup |\n|---|---|---|---|\n| read | 29.79ms | 4.93ms | "
      "6.04x "
      "|\n| filter | 249us | 344us | 0.72x |\n| load | 760s | 8s | 95x |\n";
  CHECK(wrong(units) == 0);
  wrong_at(with(units, "6.04x", "7.04x"), 3, "29.79ms / 4.93ms");
}

TEST_CASE("quantiles of one sample stand in order", "[audit][cases]") {
  const std::string columns =
      "| config | median (ms) | p10 | p90 |\n|---|---|---|---|\n| eager | 12.50 | 12.10 | 12.90 "
      "|\n| ours "
      "| 11.80 | 11.70 | 12.00 |\n";
  CHECK(wrong(columns) == 0);
  CHECK(test::held_by(audited(columns), "quantiles") == 2);
  wrong_at(with(columns, "12.90", "12.10"), 3, "12.50 ms > 12.10 ms");
  wrong_at(with(columns, "11.70", "12.00"), 4, "12.00 ms > 11.80 ms");
  // Rows, units of their own, several samples.
  const std::string rows =
      "| metric | value |\n|---|---|\n| p50 latency | 900 us |\n| p99 latency | 1.2 ms |\n| p50 "
      "queue | 3 "
      "ms |\n| p99 queue | 4 ms |\n";
  CHECK(wrong(rows) == 0);
  wrong_at(with(rows, "1.2 ms", "0.2 ms"), 4, "900 us > 0.2 ms");
  // The p99 of a rate is its slow end; a limit is no quantile; equal digits are in order.
  CHECK(wrong("| case | p50 req/s | p99 req/s |\n|---|---|---|\n| a | 900 | 700 |\n| b | 800 | 500 "
              "|\n") == 0);
  CHECK(wrong("| case | median (ms) | max |\n|---|---|---|\n| a | 9.0 | 2 |\n| b | 8.0 | 3 |\n") ==
        0);
  CHECK(wrong("| case | p50 (ms) | p99 (ms) |\n|---|---|---|\n| a | 0.06 | 0.06 |\n") == 0);
}

TEST_CASE("rates in a column above the peak of what ran", "[audit][cases]") {
  const std::string text =
      "# Results\n\nGPU: NVIDIA H100 SXM, fp16 (dense peak 989 TFLOPS)\n\n- Batch size (B): 16\n- "
      "Sequence length (S): 512\n- Head dimension (D): 64\n\n| heads (H) | total latency (us) | "
      "TFLOPS "
      "|\n|---|---|---|\n| 8 | 40.0 | 220 |\n| 96 | 400.0 | 257 |\n| 128 | 500.0 | 275 |\n";
  CHECK(wrong(text) == 0);
  CHECK(test::held_by(audited(text), "throughput") == 3);
  // Sizes that stand outside of the table may be of another run; the peak holds for all.
  const auto off = test::of_check(audited(with(text, "257", "657")), "throughput");
  REQUIRE(off.size() == 1);
  CHECK(off[0].line == 12);
  CHECK(off[0].severity == Severity::doubtful);
  CHECK(off[0].computed.find("4 x 16 x 96 x 512^2 x 64") != std::string::npos);
  CHECK(audited(with(with(text, "257", "1,900"), "275", "2,500")).count(Severity::contradiction) ==
        2);
  // Another GPU, several of them, sparse rates, a cache: nothing can be told.
  const std::string above = with(text, "257", "1,900");
  for (const auto& [from, to] :
       {std::pair{"GPU: NVIDIA H100 SXM", "GPU: NVIDIA H100 SXM and RTX 5090"},
        std::pair{"# Results", "# Results of 8 GPUs"}, std::pair{"fp16 (", "fp8 ("}}) {
    CAPTURE(to);
    CHECK(test::of_check(audited(with(above, from, to)), "peaks").empty());
  }
  // Bandwidth: against the memory, not against FLOP/s.
  const Audited share =
      audited("GPU: NVIDIA L4. Reached: 200.0 GB/s (80% of the L4 250 GB/s theoretical).\n");
  REQUIRE(share.findings.size() == 1);
  CHECK(share.findings[0].computed.find("200 GB/s / 300 GB/s = 67 %") != std::string::npos);
  // Rates of registers and caches are above those of the memory.
  CHECK(wrong("Ran on one A100.\n\nRegisters have 20 TB/s of bandwidth.\n") == 0);
  CHECK(wrong("Ran on one A100.\n\nIt reads 900 GB/s.\n\n| case | GB/s |\n|---|---|\n| a | 4,000 "
              "|\n") == 0);
}

TEST_CASE("shared memory a block is the size next to the words", "[audit][cases]") {
  CHECK(wrong("L2 cache 48 MiB, shared memory 100 KiB per SM (48 KiB per block default).\n") == 0);
  CHECK(wrong("On an L4: shared memory, 4 MiB of L2, 160 KB per block.\n") == 1);
}

TEST_CASE("what a fresh sample taught", "[audit][cases]") {
  for (const std::string text :
       {"$2 \\cdot 64 + 4 = 132$", "growth: (25-23)/23 = 8.7%", "share: 50 / 1.000 = 5,0%",
        "margin: (60 - 8) / 60 = 86.7", "rate: 2,5 %\n\nrate: 45 / 1.500 = 3.0%",
        "a band of 16x64 = 4 rows", "- a: 2 us\n- b: 500 us -> 50 us\n- Total: 130 us",
        "so 1298 x 4.5 / 8 = 730 MB", "| GPU | capability |\n|---|---|\n| P40 | 60 |\n| P4 | 61 |",
        "| socket | read (GB) | miss (ns) |\n|---|---|---|\n| 0 | 7.9 | 365.8 |\n| 1 | 2.6 | 436.6 "
        "|\n| "
        "Total | 10.5 | 400.1 |",
        "| Operation | S | H | Time (us) |\n|---|---|---|---|\n| Flash | 512 | 8 | 38 |\n| Linear "
        "| 4096 | 8 "
        "| 120 |"}) {
    CAPTURE(text);
    CHECK(wrong(text + "\n") == 0);
  }
  // Close by, from figures that were not rounded yet: a doubt.
  const Audited near = audited(
      "| case | a (ms) | b (ms) | speedup |\n|---|---|---|---|\n| x | 17.07 | 6.39 | 2.69x |\n| y "
      "| 15.50 | "
      "5.28 | 2.94x |\n| z | 8.00 | 4.00 | 2.00x |\n");
  CHECK(test::count(near, Severity::contradiction) == 0);
  CHECK(test::count(near, Severity::doubtful) == 1);
  // What the ratio is of was not read: merged headers, times of day.
  CHECK(
      wrong(
          "| B | Time | new (ms) | | | old (ms) | | | new/old speedup "
          "|\n|--|--|--|--|--|--|--|--|--|\n| "
          "| | 90% | 95% | Avg | 90% | 95% | Avg | Avg |\n| 4 | 1 | 21.74 | 24.12 | 17.69 | 23.17 "
          "| "
          "26.85 | 18.42 | 1.04 |\n| 8 | 1 | 40.06 | 48.07 | 28.70 | 46.43 | 54.86 | 31.30 | 1.09 "
          "|\n| 2 | 1 | 10.0 | 11.0 | 9.0 | 11.0 | 12.0 | 9.9 | 1.1 |\n") == 0);
  CHECK(
      wrong("| loader | training time | throughput [img/s] | speed up |\n|---|---|---|---|\n| a | "
            "11:30:45 | 128.08 | 1x |\n| b | 6:23:43 | 208.38 | 1.8x |\n| c | 7:33:15 | 184.78 | "
            "1.5x "
            "|\n| d | 9:00:00 | 165.00 | 1.3x |\n") == 0);
  CHECK(wrong("**Owns**:\n- Grid (cells, lines, wide-char handling, dirty tracking)\n") == 0);
}
