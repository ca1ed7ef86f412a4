// SPDX-License-Identifier: MIT
// Other possible meanings of a figure that does not follow: forms of public reports, in our own
// words, each beside the same form with only one meaning.
#include <string>

#include "audited.hpp"
#include "support/catch.hpp"

using namespace wb::audit;
using wb::audit::test::audited;
using wb::audit::test::contradicts;
using wb::audit::test::never_contradicts;
using wb::audit::test::number_of;
using wb::audit::test::only_doubts;

namespace {

/// A table of parts with a header and the cell of its total.
std::string parts(const std::string& header, const std::string& rows, const std::string& total,
                  const std::string& label = "Total") {
  return "| part | " + header + " |\n|---|---|\n" + rows + "| " + label + " | " + total + " |\n";
}
const std::string k_two = "| a | 20 |\n| b | 30 |\n";

}  // namespace

TEST_CASE("words say of what a total is", "[audit][doubts]") {
  CHECK(contradicts(parts("tests", k_two, "53")));
  // "total tests" is told by the column, too; another column must show that the row is a sum.
  const std::string head =
      "| part | tests | files |\n|---|---|---|\n| a | 20 | 2 |\n| b | 30 | 3 |\n";
  CHECK(contradicts(head + "| Total tests | 53 | 5 |\n"));
  CHECK(only_doubts(head + "| Total unique agents | 43 | 5 |\n"));
  CHECK(only_doubts(head + "| Total inside the loop | 53 | 5 |\n"));
  // What is aimed at, allowed or claimed is told of the whole for itself.
  for (const std::string header :
       {"target", "maximum", "goal", "limit (min)", "claimed", "budget", "unique users"}) {
    CHECK(never_contradicts(parts(header, k_two, "53")));
  }
}

TEST_CASE("notes say what a table counts", "[audit][doubts]") {
  const std::string low = parts("tests", k_two, "45"), high = parts("tests", k_two, "53");
  CHECK(contradicts(low));
  CHECK(only_doubts(low + "\nInventory: 45 unique tests.\n"));
  CHECK(only_doubts("Tests that overlap count once.\n\n" + low));
  CHECK(only_doubts("## Top 2 modules\n\n" + high));
  CHECK(only_doubts(high + "\nModules below ten tests are not listed.\n"));
  // What is left out makes no total smaller.
  CHECK(contradicts("## Top 2 modules\n\n" + low));
  CHECK(only_doubts(parts("files changed", k_two, "45")));
  CHECK(only_doubts(parts("games", k_two, "45")));
  CHECK(contradicts(parts("points", k_two, "45")));
}

TEST_CASE("rows that are no parts, and rows without a figure", "[audit][doubts]") {
  CHECK(contradicts(parts("cost", "| a | $20 |\n| b | $30 |\n", "$45")));
  for (const std::string row : {"| discount | $5 |\n", "| average | $25 |\n", "| \u2026 | $1 |\n",
                                "| combined | $50 |\n", "| credits | $5 |\n"}) {
    CHECK(never_contradicts(parts("cost", "| a | $20 |\n| b | $30 |\n" + row, "$45")));
  }
  const std::string head =
      "| part | tests | files |\n|---|---|---|\n| a | 20 | 2 |\n| b | 30 | 3 |\n";
  CHECK(only_doubts(head + "| c | n/a | 4 |\n| Total | 60 | 9 |\n"));
  CHECK(only_doubts(head + "| c | - | 4 |\n| Total | 60 | 9 |\n"));
  CHECK(contradicts(head + "| c | - | 4 |\n| Total | 45 | 9 |\n"));
  // A heading of a group has no figure at all.
  CHECK(contradicts(head + "| **group** | | |\n| c | 5 | 4 |\n| Total | 60 | 9 |\n"));
}

TEST_CASE("totals of more than the table lists", "[audit][doubts]") {
  // Half as much again, every column a little more, every column by the same share.
  CHECK(only_doubts(parts("tests", k_two, "80")));
  const std::string head =
      "| model | calls | pages |\n|---|---|---|\n| a | 7000 | 800 |\n| b | 3000 | 200 |\n";
  CHECK(number_of(head + "| Total | 10050 | 1004 |\n", Severity::doubtful) == 2);
  CHECK(number_of(head + "| Total | 11500 | 1150 |\n", Severity::doubtful) == 2);
  CHECK(number_of(head + "| Total | 11500 | 1310 |\n", Severity::contradiction) == 2);
  CHECK(contradicts(head + "| Total | 10050 | 1000 |\n"));
  // The second table's total is that of both.
  const std::string first = "| part | tests |\n|---|---|\n| x | 6 |\n| y | 7 |\n\nMore:\n\n";
  CHECK(only_doubts(first + parts("tests", k_two, "63")));
  CHECK(contradicts(first + parts("tests", k_two, "64")));
  // The lines of a file are more than those of its sections, never fewer.
  CHECK(only_doubts(parts("lines", k_two, "53")));
  CHECK(contradicts(parts("lines", k_two, "45")));
  // Whole millions were rounded.
  CHECK(only_doubts(parts("MTok", "| a | 20 |\n| b | 30 |\n| c | 9 |\n", "61")));
  CHECK(contradicts(parts("calls", "| a | 20 |\n| b | 30 |\n| c | 9 |\n", "61")));
  // All digits of a large sum are told.
  const Audited large =
      audited(parts("pages", "| a | 3000000001 |\n| b | 600000000 |\n", "3600000099"));
  REQUIRE(large.findings.size() == 1);
  CHECK(large.findings[0].computed == "3000000001 + 600000000 = 3600000001");
}

TEST_CASE("sums in brackets are of the figure before them", "[audit][doubts]") {
  CHECK(contradicts("Spent: $1.40 (GPU $0.40 + agent $0.90)\n"));
  CHECK(only_doubts("Budget: $0 (cloud $200 + other cloud $200 of credits)\n"));
  CHECK(only_doubts("Budget: $200 (cloud $200 + other cloud $200 of credits)\n"));
  CHECK(only_doubts("Memory: 15 GB (weights 10 GB + cache 3 GB)\n"));
  CHECK(contradicts("Memory: 121 GB (weights 101 GB + cache 33 GB)\n"));
}

TEST_CASE("prices and units that an equation leaves out", "[audit][doubts]") {
  CHECK(contradicts("Calls: 3M x $0.40 = $2,000,000\n"));
  CHECK(never_contradicts("Calls: 3M x $0.40 = $1.20\n"));
  CHECK(contradicts("Cost: 240,000 x $15 / 1,000,000 = $0.036\n"));
  CHECK(never_contradicts("Runs: 20 x $3 = $1,800\n"));
  CHECK(contradicts("Runs: 20 x $3 = $80\n"));
  // The price before the bracket is that of the time in it.
  const std::string head = "| what | by hand | by tool |\n|---|---|---|\n";
  CHECK(never_contradicts(head + "| report | $200-400 (4-8 hours @ $50/hr) | $0 (free) |\n"));
  CHECK(contradicts(head + "| report | 4 hours @ $50/hr | $300 |\n"));
  CHECK(only_doubts("4 hours @ $50/hr = $300/month\n"));
  CHECK(only_doubts("It takes 512 bytes (4% of 48 KB that are left)\n"));
  CHECK(contradicts("It takes 512 bytes (4% of 48 KB)\n"));
}

TEST_CASE("passes are counted where nothing else is told", "[audit][doubts]") {
  const std::string table = "\n| case | status |\n|---|---|\n| a | pass |\n| b | pass |\n| c | ";
  CHECK(contradicts("1 of 3 cases passed.\n" + table + "fail |\n"));
  CHECK(contradicts("1/3 passing\n" + table + "fail |\n"));
  CHECK(never_contradicts("Pass threshold: >= 1/3\n" + table + "fail |\n"));
  CHECK(never_contradicts("Passed with a score of 2.2/3\n" + table + "pass |\n"));
  CHECK(never_contradicts("At least 1 of 3 must pass.\n" + table + "fail |\n"));
  CHECK(never_contradicts("3/3 cases passed.\n" + table + "failed -> fixed |\n"));
  CHECK(never_contradicts("1 of 3 cases passed.\n" + table +
                          "fail |\n\n| x | y |\n|---|---|\n| 1 | 2 |\n"));
}

TEST_CASE("quantiles whose subject another column tells", "[audit][doubts]") {
  CHECK(contradicts("| case | p50 | p90 |\n|---|---|---|\n| a | 9 ms | 4 ms |\n"));
  const std::string head = "| class | life p50 | p90 | out p50 | p90 |\n|---|---|---|---|---|\n";
  CHECK(never_contradicts(head + "| a | 34 m | 7.9 h | 53,414 | 191,211 |\n"));
  CHECK(only_doubts(head + "| a | 3.4 h | 2.9 h | 53,414 | 191,211 |\n"));
  CHECK(never_contradicts("| case | p50 | p90 |\n|---|---|---|\n| change | 9 ms | 4 ms |\n"));
}

TEST_CASE("a row of several things is no one thing", "[audit][doubts]") {
  const std::string head = "| service | memory |\n|---|---|\n| queue | 1 GB |\n";
  CHECK(contradicts(head + "| cache | 2 GB |\n| Total | 3 services |\n"));
  CHECK(only_doubts(head + "| cache, proxy | 2 GB |\n| Total | 3 services |\n"));
}

TEST_CASE("superlatives of a figure that stands in no row", "[audit][doubts]") {
  const std::string table = "| tool | total score |\n|---|---|\n| a | 97 |\n| b | 100 |\n\n";
  CHECK(contradicts(table + "Highest total score (97) of all\n"));
  CHECK(only_doubts(table + "Highest total score (95) of all\n"));
}

TEST_CASE("a grid of cases is no launch", "[audit][doubts]") {
  CHECK(never_contradicts("over a grid (vary all_pairs, n_blocks, chao in {0, 1}, rows)\n"));
  CHECK(contradicts("Grid: (heads, batch, rows, keys)\n"));
}

TEST_CASE("a ratio that two times of its row give is right", "[audit][doubts]") {
  const std::string head = "| step | old | new | gain |\n|---|---|---|---|\n";
  CHECK(never_contradicts(head +
                          "| a | 2.5s | 0.3s | 8x faster |\n| b | 1.2s | 0.2s | 6x faster |\n| c | "
                          "0.8s | 0.1s | 8x faster |\n| d | 1.5s | 0.2s (cached) | 7.5x faster |\n"
                          "| e | 3s | 0.5s | 6x faster |\n| f | 5s | 1s | 5x faster |\n"));
}

TEST_CASE("ratios of approximate times", "[audit][doubts]") {
  const std::string head = "| step | old | new | gain |\n|---|---|---|---|\n";
  const std::string rows = "| a | 800ms | 800ms | 1.0x |\n| b | 3200ms | 900ms | 3.6x |\n";
  CHECK(contradicts(head + rows + "| c | 400ms | 150ms | 2.5x |\n"));
  CHECK(only_doubts(head + rows + "| c | ~400ms | ~150ms | 2.5x |\n"));
  // Escaped, as some editors write it.
  CHECK(only_doubts(head + rows + "| c | \\~400ms | \\~150ms | 2.5x |\n"));
  CHECK(never_contradicts(
      "| part | time |\n|---|---|\n| a | \\<5 s |\n| b | 3 s |\n| Total | 9 s |\n"));
}

TEST_CASE("headings with the sums of their rows", "[audit][doubts]") {
  const std::string rows =
      "| Domain | 300 |\n| models | 180 |\n| ports | 120 |\n| Adapters | 90 |\n| in | 40 |\n"
      "| out | 50 |\n";
  CHECK(only_doubts(parts("functions", rows, "410")));
  CHECK(contradicts(
      parts("functions", "| Domain | 301 |\n| models | 180 |\n| ports | 120 |\n", "650")));
  // One, and small ones, may be so by chance.
  CHECK(contradicts(parts("tests", "| a | 9 |\n| b | 5 |\n| c | 4 |\n| d | 8 |\n", "29")));
  CHECK(
      only_doubts("| part | tests | of them |\n|---|---|---|\n| a | 20 | - |\n| b | 30 | - |\n"
                  "| Total | 53 | including 4 others |\n"));
}

TEST_CASE("totals of lists are of their own list", "[audit][doubts]") {
  CHECK(contradicts("- Consulting: $10K\n- Parts: $5K\n- Total: $18K\n"));
  CHECK(only_doubts("Services:\n  - Consulting: $10K\n  - Parts: $5K\nTotal: $180K\n"));
  CHECK(never_contradicts("- Per agent: 400MB\n- Shared: 6GB\n- Total: 10GB\n"));
  CHECK(contradicts("- Agents: 400MB\n- Shared: 6GB\n- Total: 9GB\n"));
  CHECK(only_doubts("- Agents: 400MB\n- Shared: 6GB\n- Total: 10GB\n"));
  // Between two tests some time passes.
  CHECK(only_doubts("- First: 4.3 s\n- Second: 1.0 s\n- Total: 5.9 s\n"));
  CHECK(contradicts("- First: 4.3 s\n- Second: 1.0 s\n- Total: 4.9 s\n"));
}

TEST_CASE("a row 0 comes before the first", "[audit][doubts]") {
  const std::string rows = "| 1 | plan |\n| 2 | build |\n| Total | 4 waves |\n";
  CHECK(contradicts("| Wave | what |\n|---|---|\n" + rows));
  CHECK(only_doubts("| Wave | what |\n|---|---|\n| 0 | setup |\n" + rows));
}

TEST_CASE("all of two sets", "[audit][doubts]") {
  CHECK(contradicts("Here are all 14 sessions.\n\nThere are all 15 sessions.\n"));
  CHECK(only_doubts("Here are all 15 sessions.\n\nThere are all 40 sessions.\n"));
  CHECK(only_doubts("Here are all 14 sessions,\nand there were all 15 sessions.\n"));
}

TEST_CASE("a total of weeks counts no rows", "[audit][doubts]") {
  CHECK(
      never_contradicts("| Weeks | Planned |\n|---|---|\n| Phase 1 | 6 weeks |\n"
                        "| Total | 9 weeks |\n"));
}

TEST_CASE("threads of a CPU are no block", "[audit][doubts]") {
  CHECK(never_contradicts("Platform threads (10000): 2341 ms\n"));
  CHECK(contradicts("dim3 threads(64, 32);\n"));
}

TEST_CASE("a factor of several changes", "[audit][doubts]") {
  CHECK(contradicts("754 us -> 9595 us (10.0x increase)\n"));
  CHECK(only_doubts("73 us -> 754 us -> 9595 us (10.0x increase each step)\n"));
}

TEST_CASE("a ratio of a column that was not read as times", "[audit][doubts]") {
  const std::string head =
      "| version | latency | GFLOPS | speedup |\n|---|---|---|---|\n| a | 17.4 ms/layer | 0.34 | "
      "1.0x "
      "|\n| b | 6.5 ms/layer | 0.91 | 2.7x |\n| c | 8.7 ms/layer | 0.68 | 2.0x |\n";
  CHECK(never_contradicts(head + "| d | 6.7 ms/layer | 0.77 | 2.6x |\n"));
}

TEST_CASE("a row of about 1 is no base that others must follow", "[audit][doubts]") {
  const auto table = [](const std::string& one) {
    return "| change | speedup | tokens/s |\n|---|---|---|\n| graphs | 5.00x | 500 |\n"
           "| decode | 4.00x | 400 |\n| compile | 3.25x | 200 |\n| streams | " +
           one + " | 100 |\n";
  };
  CHECK(contradicts(table("1.00x")));
  CHECK(only_doubts(table("~1.00x")));
}

TEST_CASE("a base that half of the rows do not follow", "[audit][doubts]") {
  const auto table = [](const std::string& pinned) {
    return "| change | speedup | tokens/s |\n|---|---|---|\n| graphs | 5.00x | 500 |\n"
           "| decode | 4.00x | 400 |\n| compile | 3.25x | 200 |\n| pinned | " +
           pinned + " | 120 |\n| plain | 1.00x | 100 |\n";
  };
  CHECK(contradicts(table("1.20x")));
  CHECK(never_contradicts(table("1.43x")));
  CHECK(number_of(table("1.43x"), Severity::doubtful) == 2);
}

TEST_CASE("a K means the same in all cells of a column", "[audit][doubts]") {
  const auto table = [](const std::string& first, const std::string& second) {
    return "| change | speedup | tokens/s |\n|---|---|---|\n| graphs | " + first +
           " | 800K |\n| decode | " + second +
           " | 600K |\n| compile | 9.00x | 300K |\n| plain | 1.00x | 200K |\n";
  };
  CHECK(contradicts(table("4.00x", "3.00x")));
  // Only 800 x 1024 / 200,000 and the like would give these.
  CHECK(never_contradicts(table("4.09x", "2.93x")));
  CHECK(test::held_by(audited(table("4.09x", "2.93x")), "ratio_columns") == 0);
}

TEST_CASE("a size that is not attention's", "[audit][doubts]") {
  const auto rows = [](const std::string& size) {
    return "| " + size +
           " | bind time (us) | scaling |\n|---|---|---|\n| 1,000 | 0.1 | 1x |\n"
           "| 10,000 | 1.0 | 10x (linear) |\n";
  };
  CHECK(never_contradicts(rows("n")));
  CHECK(contradicts("# Attention\n\n" + rows("n")));
  CHECK(contradicts("# Attention\n\n" + rows("n (tokens)")));
  CHECK(never_contradicts("# Attention\n\n" + rows("n (dimension)")));
}

TEST_CASE("two columns of times that no name makes a pair", "[audit][doubts]") {
  const auto table = [](const std::string& first, const std::string& second) {
    return "| call | " + first + " | " + second +
           " | speedup |\n|---|---|---|---|\n| a | 12 ms | 3 ms | 4.0x |\n| b | 20 ms | 5 ms | "
           "4.0x "
           "|\n| c | 25 ms | 5 ms | 8.0x |\n";
  };
  CHECK(contradicts(table("before", "after")));
  CHECK(only_doubts(table("1k traces", "5k traces")));
  // Round figures confirm nothing.
  CHECK(
      never_contradicts("| call | 1k | 5k | speedup |\n|---|---|---|---|\n| a | 60 ms | 12 ms | "
                        "10x |\n| b | 100 ms | 20 ms | 10x |\n| c | 120 ms | 25 ms | 8x |\n"));
}
