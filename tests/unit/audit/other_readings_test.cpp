// SPDX-License-Identifier: MIT
// Figures of public reports that were called wrong although they have another reading.
#include <string>

#include "audited.hpp"
#include "support/catch.hpp"

using namespace wb::audit;
using wb::audit::test::contradicts;
using wb::audit::test::never_contradicts;
using wb::audit::test::number_of;
using wb::audit::test::only_doubts;

TEST_CASE("a total time may be measured around its parts", "[audit][readings]") {
  const std::string head = "| phase | time (ms) |\n|---|---|\n| load | 152 |\n| prefill | 120 |\n";
  CHECK(only_doubts(head + "| **Total** | 309 |\n"));
  // One digit was mistyped.
  CHECK(contradicts(head + "| **Total** | 292 |\n"));
  // Moments since the start are no parts.
  CHECK(
      only_doubts("| event | query |\n|---|---|\n| first event | 7ms |\n| found | 46,844ms |\n"
                  "| first token | 76,336ms |\n| Total | 131,705ms |\n"));
  // Shares of the sum say that it is one.
  CHECK(
      contradicts("| phase | time (ms) | share |\n|---|---|---|\n| load | 60.0 | 60% |\n"
                  "| prefill | 40.0 | 40% |\n| **Total** | 120.0 | |\n"));
  // A plan of hours is added up.
  CHECK(
      contradicts("| step | time |\n|---|---|\n| write | 12 h |\n| test | 20 h |\n"
                  "| read | 30 h |\n| Total | 72 h |\n"));
}

TEST_CASE("a total that follows from its own row", "[audit][readings]") {
  const auto table = [](const std::string& ours) {
    return "| run | theirs | ours | saved |\n|---|---|---|---|\n| a | $7,000 | $1,500 | $5,500 |\n"
           "| b | $13,000 | $1,500 | $11,500 |\n| c | $10,000 | $1,500 | $8,500 |\n| Total | "
           "$30,000 | " +
           ours + " |\n";
  };
  // One machine ran all.
  CHECK(never_contradicts(table("$1,500 | $28,500")));
  CHECK(contradicts(table("$4,500 | $28,500")));
  // None that fails is no figure that counts once.
  CHECK(number_of("| part | tests | failed | passed |\n|---|---|---|---|\n| a | 22 | 0 | 22 |\n"
                  "| b | 7 | 0 | 7 |\n| c | 6 | 0 | 6 |\n| Total | 36 | 0 | 36 |\n",
                  Severity::contradiction) == 2);
}

TEST_CASE("a rate is no part of a number of requests", "[audit][readings]") {
  const std::string head =
      "| engine | goodput (req/s) | good | total |\n|---|---|---|---|\n| a | 0.23 | 50 | 50 |\n"
      "| b | 0.24 | 50 | 50 |\n| c | 0.21 | 49 | 50 |\n";
  CHECK(never_contradicts(head + "| d | 0.22 | 100 | 150 |\n"));
  CHECK(
      never_contradicts("| engine | score | good | total |\n|---|---|---|---|\n"
                        "| a | 0.23 | 50 | 50 |\n| b | 0.24 | 50 | 50 |\n"
                        "| c | 0.21 | 49 | 50 |\n| d | 0.22 | 100 | 150 |\n"));
}

TEST_CASE("the ratio of the one that a row chooses", "[audit][readings]") {
  const auto table = [](const std::string& header, const std::string& choice) {
    return "| engine | direct | gateway | " + header +
           " | improvement |\n|---|---|---|---|---|\n| a | 15ms | 45ms | " + choice +
           " | 3.0x |\n| b | 25ms | 65ms | " + choice + " | 2.6x |\n| c | 45ms | 120ms | " +
           choice + " | 2.7x |\n| d | 200ms | 160ms | " + choice + " | 1.25x |\n";
  };
  CHECK(contradicts(table("notes", "fast")));
  CHECK(only_doubts(table("notes", "gateway (cached)")));
  CHECK(only_doubts(table("winner", "fast")));
}

TEST_CASE("two figures with remarks in one cell", "[audit][readings]") {
  const auto table = [](const std::string& first, const std::string& second) {
    return "| step | before | after | speedup |\n|---|---|---|---|\n| fit | " + first + " | " +
           second + " | 1.00x |\n| sort | 8.0 ms | 4.0 ms | 2.00x |\n";
  };
  CHECK(never_contradicts(
      table("86.7ms (plan) / 81.2ms (measured)", "76ms (target) / 81.2ms (measured)")));
  CHECK(contradicts(table("86.7ms (measured)", "76ms (measured)")));
}

TEST_CASE("means beside the mean of ratios of a base", "[audit][readings]") {
  const auto table = [](const std::string& header) {
    return "| library | " + header +
           " | ratio |\n|---|---|---|\n| a | 2.35 ns | 0.03 |\n| b | 10.66 ns | 0.15 |\n"
           "| base | 72.13 ns | 1.00 |\n| c | 17.49 ns | 0.24 |\n| d | 2,002.8 ns | 22.98 |\n";
  };
  CHECK(contradicts(table("time")));
  CHECK(only_doubts(table("mean")));
}

TEST_CASE("a product without the size of an element", "[audit][readings]") {
  CHECK(never_contradicts("- Current: 100x80x40 = 2.7 MB\n"));
  CHECK(contradicts("- Tile: 64 x 64 = 11 KB\n"));
  // 900 x 900, told by its side.
  CHECK(never_contradicts("| part | size |\n|---|---|\n| gate | 1 x 900 = 810K |\n"));
  CHECK(contradicts("| part | size |\n|---|---|\n| gate | 2 x 900 = 810K |\n"));
  CHECK(contradicts("Memory = 12 x 12 x 64 x 4096 x 2 x 4 = 226 MB\n"));
}

TEST_CASE("a round factor of a change", "[audit][readings]") {
  CHECK(never_contradicts("- Latency: 133.9ms -> 0.044ms (3,000x improvement)\n"));
  CHECK(contradicts("- Latency: 133.9ms -> 0.044ms (4,000x improvement)\n"));
  CHECK(contradicts("- Latency: 133.9ms -> 0.044ms (3,500x improvement)\n"));
  // Over what the first step began with.
  const std::string second = "Week 2: 4.85 us -> 4.0 us (1.6x faster)\n";
  CHECK(contradicts(second));
  CHECK(only_doubts("Week 1: 6.5 us -> 4.85 us (1.3x faster)\n\n" + second));
}

TEST_CASE("quantiles that nobody measured, and operations", "[audit][readings]") {
  const auto table = [](const std::string& most) {
    return "| run | p50 | p99 |\n|---|---|---|\n| a | 0.3 ms | 0.9 ms |\n| b | 3.5 ms | " + most +
           " |\n";
  };
  CHECK(contradicts(table("0.4 ms")));
  CHECK(only_doubts(table("0.0 ms")));
  const auto rows = [](const std::string& first) {
    return "| what | scalar (ns) | vector (ns) |\n|---|---|---|\n| " + first +
           " | 1,117.5 | 93.00 |\n| max | 1,118.1 | 92.39 |\n| min | 1,117.2 | 94.94 |\n";
  };
  CHECK(only_doubts(rows("dot")));
  CHECK(contradicts(rows("mean")));
}

TEST_CASE("rates that are off alike for one shape", "[audit][readings]") {
  const auto table = [](const std::string& second) {
    const std::string sizes = " | 1 | 8 | 64 | ";
    std::string text =
        "| GPU | B | H | D | seq_len | time (ms) | TFLOPS |\n|---|---|---|---|---|---|---|\n";
    for (const char* rest : {"1024 | 0.42 | 2.1", "4096 | 5.82 | 2.9", "8192 | 22.50 | 3.0"})
      text += "| V100" + sizes + rest + " |\n";
    for (const std::string& rest : {"1024 | 0.19 | " + second, std::string("4096 | 2.18 | 7.8"),
                                    std::string("8192 | 7.80 | 8.7")})
      text += "| A100" + sizes + rest + " |\n";
    return text;
  };
  CHECK(never_contradicts(table("4.5")));
  CHECK(number_of(table("4.5"), Severity::doubtful) == 2);
  CHECK(contradicts(table("5.6")));
}

TEST_CASE("counts of what is planned, and of sections beside one another", "[audit][readings]") {
  const auto text = [](const std::string& first, const std::string& title) {
    return "# Runs\n\n" + title + first +
           " 3 sessions fail, the harness is next.\n\n## Outcome\n\nWe saw all 4 sessions end.\n";
  };
  CHECK(contradicts(text("Here all", "")));
  CHECK(never_contradicts(text("If all", "")));
  CHECK(only_doubts(text("Here all", "## Second flag\n\n")));
}

TEST_CASE("the times of items beside one another", "[audit][readings]") {
  const auto text = [](const std::string& first, const std::string& second) {
    return "# Guides\n\n## Files\n\n### " + first + "\n\n**Time**: 5 minutes\n\n### " + second +
           "\n\n**Time**: 15 minutes\n";
  };
  CHECK(never_contradicts(text("1. Visual summary", "2. Executive summary")));
  CHECK(contradicts(text("Summary", "Report")));
}

TEST_CASE("a range of slowdowns beside rows that are not slower", "[audit][readings]") {
  const auto report = [](int faster) {
    std::string text = k_times;
    while (faster-- > 0) text += "| 8 | 8 | 1024 | 64 | 3.200 | 1.600 | 2.00x |\n";
    return text + "\n2.3-2.5x slower than Torch.\n";
  };
  CHECK(contradicts(report(0)));
  CHECK(contradicts(report(1)));
  // Three rows of six are slower: the range may be of a group that it names.
  CHECK(only_doubts(report(3)));
}

TEST_CASE("a result whose unit stands on the next line", "[audit][readings]") {
  const std::string start = "# Runs\n\nOne batch: 12 rows x 100 = 7.1";
  CHECK(never_contradicts(start + "\nms on the device, twice as fast as before.\n"));
  CHECK(never_contradicts(start + "\nGrows/s (0.30 ms).\n"));
  CHECK(never_contradicts(start + "\nGB were moved.\n"));
  CHECK(contradicts(start + "\n\nMore of it below.\n"));
  CHECK(contradicts("# Runs\n\nTiles: 12 x 100 = 1300\n\nThat is all.\n"));
  CHECK(contradicts("```\ntiles: 12 x 100 = 1300\nsecond line\n```\n"));
}

TEST_CASE("a maximum of something else beside a median", "[audit][readings]") {
  const auto table = [](const std::string& most) {
    return "| case | " + most +
           " | median ms |\n|---|---|---|\n| even | 31 | 52.5 |\n| uneven | 180 | 97.5 |\n";
  };
  CHECK(audited(table("max count")).findings.empty());
  CHECK_FALSE(audited(table("max ms")).findings.empty());
}

TEST_CASE("a line behind the table qualifies a ratio", "[audit][readings]") {
  const auto text = [](const std::string& note) {
    return "| kernel | time (ms) | speedup |\n|---|---|---|\n| base | 8.00 | 1.00x |\n"
           "| tiled | 4.00 | 2.00x |\n| fused | 2.00 | 3.20x |\n| packed | 1.00 | 8.00x |\n\n" +
           note + "\n";
  };
  CHECK(contradicts(text("The fused one reaches 3.20x.")));
  CHECK(contradicts(text("The packed one is noisy.")));
  CHECK(only_doubts(text("Its 3.20x is conservative: a run in ten was an outlier.")));
  CHECK(contradicts(text("## Later\n\nIts 3.20x is conservative.")));
}

TEST_CASE("the mean of ratios that tools print beside means", "[audit][readings]") {
  const auto table = [](const std::string& header, const std::string& last) {
    return "| method | mean | " + header +
           " |\n|---|---|---|\n| plain | 100.0 ns | 1.00 |\n| sorted | 150.0 ns | 1.50 |\n"
           "| hashed | 240.0 ns | 2.40 |\n| linked | 420.0 ns | 4.20 |\n| boxed | 300.0 ns | " +
           last + " |\n";
  };
  CHECK(contradicts(table("slowdown", "5.10")));
  CHECK(only_doubts(table("ratio", "5.10")));
  CHECK(audited(table("ratio", "3.00")).findings.empty());
}

TEST_CASE("a total with a part that a list above tells", "[audit][readings]") {
  const auto text = [](const std::string& list, const std::string& total) {
    return "# Sources\n\n" + list +
           "\n\n| source | rules |\n|---|---|\n| core.c | 540 |\n| shell.c | 120 |\n"
           "| Total | " +
           total + " |\n";
  };
  const std::string list = "```\nmod.c (8 rules)\ncore.c (540 rules)\nshell.c (120 rules)\n```";
  CHECK(only_doubts(text(list, "668")));
  CHECK(contradicts(text(list, "678")));
  CHECK(contradicts(text("The 8 rules of mod.c are new.", "668")));
}

TEST_CASE("timed aggregates are no sample", "[audit][readings]") {
  const auto table = [](const std::string& first, const std::string& last) {
    return "| operation | vector | plain |\n|---|---|---|\n| " + first +
           " | 228 us | 634 us |\n| min | 228 us | 1,048 us |\n| max | 228 us | 257 us |\n| " +
           last + " | 228 us | 630 us |\n";
  };
  CHECK(only_doubts(table("sum", "avg")));
  CHECK(only_doubts(table("count", "mean")));
  CHECK(contradicts(table("median", "avg")));
}

TEST_CASE("a ratio for each of two sides", "[audit][readings]") {
  const auto table = [](const std::string& first, const std::string& second,
                        const std::string& last) {
    return "| set | Old tool (ms) | New tool (ms) | " + first + " | " + second +
           " |\n|---|---|---|---|---|\n| a | 200 | 96 | 0.48x | 1.00x |\n"
           "| b | 300 | 141 | 0.47x | 1.01x |\n| c | 1,000 | 490 | 0.49x | 0.99x |\n| d | 1,200 "
           "| 6 | " +
           last + " | 90x |\n";
  };
  // Over a third tool, which has no column.
  CHECK(never_contradicts(table("Old speedup", "New speedup", "0.40x")));
  CHECK(contradicts(
      "| set | Old tool (ms) | New tool (ms) | Speedup |\n|---|---|---|---|\n"
      "| a | 200 | 96 | 2.08x |\n| b | 300 | 141 | 2.13x |\n| c | 1,000 | 490 | 2.04x |\n"
      "| d | 1,200 | 6 | 2.00x |\n"));
  // "GPU speedup" alone is the one time over the other.
  CHECK(contradicts(
      "| set | CPU (ms) | GPU (ms) | GPU speedup |\n|---|---|---|---|\n| a | 200 | 96 | 2.08x |\n"
      "| b | 300 | 141 | 2.13x |\n| c | 1,000 | 490 | 2.04x |\n| d | 1,200 | 6 | 2.00x |\n"));
}

TEST_CASE("a peak that is a rate which was reached", "[audit][readings]") {
  const std::string head = "GPU: A100\n\nAchieved: 90 GB/s\n\n";
  CHECK(contradicts(head + "- A100: 2000 GB/s\n- 9.5% of peak bandwidth\n"));
  CHECK(only_doubts(head + "- 95% of the A100's peak (1,900 GB/s)\n- 9.5% of peak bandwidth\n"));
  // Which of two rates is meant is not said.
  CHECK(only_doubts(head + "Copy: 700 GB/s\n\n- A100: 2000 GB/s\n- 9.5% of peak bandwidth\n"));
}

TEST_CASE("quantiles with limits that are turned around as well", "[audit][readings]") {
  const auto table = [](const std::string& low, const std::string& high) {
    return "| metric | allowed | told |\n|---|---|---|\n| delay p50 | " + low +
           " | 19.5 s |\n| delay p99 | " + high + " | 1.5 s |\n";
  };
  CHECK(only_doubts(table("<20 s", "<2 s")));
  CHECK(contradicts(table("<20 s", "<40 s")));
  CHECK(contradicts(table("", "")));
}

TEST_CASE("a total that is a round figure close by", "[audit][readings]") {
  const std::string head = "| item | cost |\n|---|---|\n| a | 825 |\n| b | 436 |\n| c | 312 |\n";
  CHECK(only_doubts(head + "| **Total** | 1,580 |\n"));
  CHECK(only_doubts(head + "| **Total** | 1,570 |\n"));
  CHECK(contradicts(head + "| **Total** | 1,574 |\n"));
  CHECK(contradicts(head + "| **Total** | 1,560 |\n"));
  // "2.5 hours" of 2 h 15; "2.7 hours" is no round figure.
  const std::string hours = "| step | time |\n|---|---|\n| a | 75 min |\n| b | 60 min |\n";
  CHECK(only_doubts(hours + "| **Total** | 2.5 hours |\n"));
  CHECK(contradicts(hours + "| **Total** | 2.7 hours |\n"));
  // Of few things ten are no rounding.
  CHECK(contradicts("| item | cost |\n|---|---|\n| a | 27 |\n| b | 36 |\n| **Total** | 60 |\n"));
}

TEST_CASE("a total that was adjusted afterwards", "[audit][readings]") {
  const std::string table =
      "| part | score |\n|---|---|\n| a | 27.0 |\n| b | 33.0 |\n| c | 34.0 |\n| Total | 87.0 |\n";
  CHECK(contradicts(table));
  CHECK(only_doubts(table + "\nAdjusted from 94 for what was left out.\n"));
}

TEST_CASE("a ratio close by, over another row or metric", "[audit][readings]") {
  const auto batches = [](const std::string& last) {
    return "| batch | Cost (ns) | Speedup vs plain |\n|---|---|---|\n| 1 | 90.0 | 1.0x |\n"
           "| 4 | 30.0 | 3.0x |\n| 16 | 9.0 | 10.0x |\n| 32 | 6.0 | 15.0x |\n| 64 | 4.5 | " +
           last + " |\n";
  };
  // The base may be of another run.
  CHECK(only_doubts(batches("21.3x")));
  CHECK(contradicts(batches("24.0x")));
  const auto metrics = [](const std::string& last) {
    return "| metric | before | after | gain |\n|---|---|---|---|\n| load (ms) | 45 | 28 | 1.61x "
           "|\n"
           "| run (s) | 4.80 | 3.20 | " +
           last + " |\n";
  };
  CHECK(only_doubts(metrics("1.45x")));
  CHECK(contradicts(metrics("1.25x")));
}

TEST_CASE("a launch that is said to fail", "[audit][readings]") {
  const std::string need = "The CUDA kernel needs 1.1 MiB of shared memory per block";
  CHECK(contradicts(need + ".\n"));
  CHECK(only_doubts(need + ", so the launch is refused.\n"));
  CHECK(only_doubts(need + "\nat this size, against a ceiling of 64 KiB.\n"));
}

TEST_CASE("slowdowns that are claimed, or below one", "[audit][readings]") {
  CHECK(contradicts(k_times + "\n4-6x slower than Torch.\n"));
  CHECK(only_doubts(k_times + "\n- Claimed: 4-6x slower than Torch\n"));
  CHECK(only_doubts(k_times + "\n0.5-1.5x slower than Torch.\n"));
}

TEST_CASE("so many times faster, counted from one", "[audit][readings]") {
  CHECK(only_doubts("- Tests: 45s -> 10s (3.5x faster)\n"));
  CHECK(contradicts("- Tests: 45s -> 10s (3.0x faster)\n"));
  CHECK(contradicts("- Tests: 45s -> 10s (3.5x speedup)\n"));
}

TEST_CASE("a rate of several GPUs together", "[audit][readings]") {
  const std::string gpu = "Ran on one H100.\n\n## Rates\n\n";
  CHECK(contradicts(gpu + "Reached: 6160 TFLOPS\n"));
  CHECK(only_doubts(gpu + "8-GPU run:\n\nReached: 6160 TFLOPS\n"));
  CHECK(only_doubts(gpu + "Multi-node results\nReached: 6160 TFLOPS\n"));
  CHECK(never_contradicts(gpu + "With sparsity: 1.4 PFLOPS\n"));
}

TEST_CASE("columns that are operations", "[audit][readings]") {
  const std::string rows =
      "|---|---|---|---|---|\n| a | 60 ms | 57 ms | 53 ms | 51 ms |\n"
      "| b | 6 ms | 5 ms | 4 ms | 9 ms |\n| c | 8 ms | 6 ms | 5 ms | 7 ms |\n";
  CHECK(only_doubts("| engine | SUM | AVG | MIN | MAX |\n" + rows));
  CHECK(contradicts("| engine | first | AVG | MIN | MAX |\n" + rows));
}

TEST_CASE("a ratio of an earlier state may have another base", "[audit][readings]") {
  const auto table = [](const std::string& last) {
    return "| kernel | time (ms) | vs plain |\n|---|---|---|\n| plain | 0.30 | 1.00x |\n"
           "| quick | 0.21 | 0.70x |\n| packed | 1.50 | 5.00x |\n| " +
           last + " | 2.84 | 6.77x |\n";
  };
  CHECK(contradicts(table("narrow")));
  CHECK(only_doubts(table("pre-optimization")));
  CHECK(only_doubts(table("old path")));
}

TEST_CASE("a row that ends before its last bar was not read whole", "[audit][readings]") {
  const std::string table =
      "| product | first | second | total |\n|---|---|---|---|\n| a | $45 | $52 | $97 |\n"
      "| b | $23 | $25 | $48 |\n| c | $12 | $15 | ";
  CHECK(contradicts(table + "$6 |\n"));
  const Audited cut = audited(table + "**$6\n");
  CAPTURE(test::told(cut));
  CHECK(cut.findings.empty());
  CHECK(cut.gaps.size() == 1);
  // A table without bars at the ends of its lines is read.
  CHECK(
      contradicts("n | first | second | total\n---|---|---|---\na | $45 | $52 | $97\n"
                  "b | $12 | $15 | $6\nc | $3 | $2 | $5\n"));
}
