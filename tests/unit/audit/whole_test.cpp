// SPDX-License-Identifier: MIT
// A contradiction needs every operand read completely and no other reading: forms of public reports
// with another reading, in our own words, each beside the same form without one.
#include <string>

#include "audited.hpp"
#include "support/catch.hpp"

using namespace wb::audit;
using wb::audit::test::audited;
using wb::audit::test::contradicts;
using wb::audit::test::never_contradicts;
using wb::audit::test::number_of;
using wb::audit::test::only_doubts;

TEST_CASE("an expression is judged where it begins a statement", "[audit][whole]") {
  CHECK(never_contradicts("Lost: 20 runs/day x 3 days x (0.50 - 0.40) x $400 = $2,400\n"));
  CHECK(never_contradicts("after the third pass 4 x 16 x 2 = 60 of them\n"));
  CHECK(never_contradicts("in band: 41.3=1.05 / 41.4=0.95 / 41.5=1.10\n"));
  CHECK(never_contradicts("both: 41.3=1.05 + 41.4=0.95\n"));
  CHECK(never_contradicts("the pair 0.70x + 2.5x = 100%\n"));
  CHECK(never_contradicts("cells: 8 x 8 x 2 = 30 \xe4\xb8\x87\n"));
  CHECK(contradicts("lost: 3 x $400 = $2,400\n"));
  CHECK(contradicts("  = 2 * 8 * 64 * 2 bytes = 9.5 KB\n"));
  CHECK(contradicts("cells = 8 x 8 x 2 = 300\n"));
  // Words behind it, bare sums and shares of a product may be of something else.
  CHECK(contradicts("Cost = 3 x $0.80 = $3.40\n"));
  CHECK(only_doubts("Cost = 3 x $0.80 = $3.40 with the discount\n"));
  CHECK(only_doubts("all: 12 + 20 + 30 = 90\n"));
  CHECK(only_doubts("used: 30 / (8 x 8) = 20%\n"));
  // Multiplied before it was rounded.
  CHECK(only_doubts("gain: ($2,000,110 / $20,280) - 1 = 9,765%\n"));
}

TEST_CASE("a share is of the figure behind it", "[audit][whole]") {
  CHECK(never_contradicts("a margin of $40 (max $900, 25% of cash = $80)\n"));
  CHECK(never_contradicts("10-30x on 95 % of the time, so 8-12x in all\n"));
  CHECK(contradicts("It takes 512 bytes (4% of 48 KB)\n"));
}

TEST_CASE("quantiles beside gates and functions", "[audit][whole]") {
  const std::string head = "| case | p50 | p95 | p99 | p95 gate |\n|---|---|---|---|---|\n";
  CHECK(never_contradicts(head + "| scan | 2.0 ms | 2.5 ms | 2.8 ms | 50 ms |\n"));
  CHECK(contradicts(head + "| scan | 2.0 ms | 3.5 ms | 2.8 ms | 50 ms |\n"));
  CHECK(never_contradicts(
      "| call | time (ms) |\n|---|---|\n| min(n.age) | 6.9 |\n| max(n.age) | 6.8 |\n"
      "| median(n.age) | 9.8 |\n"));
  CHECK(never_contradicts("| share | outliers |\n|---|---|\n| P95+ | 2,580 |\n| P99+ | 515 |\n"));
  // Bare numbers may be counts.
  CHECK(only_doubts("| share | seen |\n|---|---|\n| P95 | 2,580 |\n| P99 | 515 |\n"));
  // One name beside none, of two samples.
  const std::string two = "| case | p50 (ms) | p99 (ms) | cold p99 (ms) |\n|---|---|---|---|\n";
  CHECK(never_contradicts(two + "| scan | 2.0 | 2.8 | 1.9 |\n"));
  CHECK(contradicts(two + "| scan | 3.0 | 2.8 | 9.9 |\n"));
}

TEST_CASE("grids of physics have any number of dimensions", "[audit][whole]") {
  const std::string gpu = "The solver runs on a GPU.\n\n";
  CHECK(never_contradicts(gpu + "4D and 5D grids of states converge.\n"));
  CHECK(contradicts(gpu + "The kernel is launched on a 4D grid.\n"));
}

TEST_CASE("lists of labels and figures have totals", "[audit][whole]") {
  CHECK(only_doubts("- Vectors: 77 MB\n- Text: 13 MB\n- Total: ~109 MB\n"));
  CHECK(only_doubts("- Vectors: 1,000,000 x 77 = 77 MB\n- Text: 13 MB\n- Total: 109 MB\n"));
  CHECK(never_contradicts(
      "- Storage: $800/month\n- Mail: $200/month\n- Total: $1,000/month = $12,000/year\n"));
  CHECK(contradicts("- Vectors: 77 MB\n- Text: 13 MB\n- Total: 109 MB\n"));
  // Neither end is the product: the factors may be of parts of the whole.
  CHECK(only_doubts("- Grid: 2-4x\n- Loads: 3-5x\n- Total: 3-6x\n"));
  CHECK(contradicts("- Grid: 2-4x\n- Loads: 3-5x\n- Total: 6-9x\n"));
  CHECK(never_contradicts("Spent $1.40 (GPU $0.40 + agent $0.90 + tax)\n"));
}

TEST_CASE("parts of parts, and what a table does not list", "[audit][whole]") {
  const std::string head = "| part | time |\n|---|---|\n";
  // 5 + 12 + 3 are what the layers do.
  CHECK(only_doubts(head + "| attention | 18 s |\n| layers | 20 s |\n| read | 5 s |\n"
                           "| multiply | 12 s |\n| add | 3 s |\n| total | 38 s |\n"));
  CHECK(contradicts(head + "| attention | 18 h |\n| layers | 20 h |\n| read | 5 h |\n"
                           "| multiply | 12 h |\n| add | 3 h |\n| total | 64 h |\n"));
  CHECK(never_contradicts(
      "| file | lines |\n|---|---|\n| a | 20 |\n| b | 30 |\n| product total | 50 |\n| test | 9 |\n"
      "| total | 59 |\n"));
  CHECK(only_doubts("| file | tests |\n|---|---|\n| a | 20 |\n| b | 30 |\n| total | 300 |\n"));
  CHECK(contradicts("| file | tests |\n|---|---|\n| a | 20 |\n| b | 30 |\n| total | 60 |\n"));
  // The suite's row tells the tests of the parts again.
  CHECK(
      only_doubts("| part | tests |\n|---|---|\n| a | 40 |\n| b | 3 |\n| suite | 40 |\n"
                  "| total | 43 |\n"));
  const std::string offers =
      "| offer | device | power | total |\n|---|---|---|---|\n| a | $20 | $2 | $22 |\n"
      "| b | $75 | $4 | $79 |\n";
  CHECK(only_doubts(offers + "| c | $0 | $0 | $3,650 |\n"));
  CHECK(contradicts(offers + "| c | $10 | $4 | $19 |\n"));
}

TEST_CASE("one quantity told twice is of the whole in both places", "[audit][whole]") {
  const std::string title = "# One\n\n";
  CHECK(only_doubts("## Plan\n\nTotal cost: $24.10\n\n## With the cache\n\nTotal cost: $11.90\n"));
  CHECK(never_contradicts(title +
                          "Duration: 40 minutes (cycles 1 to 3)\n\n## Summary\n\nDuration: 9 "
                          "minutes (so far)\n"));
  CHECK(contradicts(title + "Cost: $0.90 (GPU $0.15 + AI $0.75)\n\n## Summary\n\nCost: $0.95\n"));
  CHECK(only_doubts(title + "Duration: 40 minutes\n\n## Summary\n\nDuration: 9 minutes\n"));
  CHECK(only_doubts("All 940 sessions are right.\n\nAll 19195 sessions are kept.\n"));
  // Three that all differ are of three things.
  CHECK(
      only_doubts("## A\n\nAll 20 experiments end.\n\n## B\n\nAll 15 experiments end.\n\n## C\n\n"
                  "All 6 experiments end.\n"));
}

TEST_CASE("what is not told with the figures is not held against them", "[audit][whole]") {
  // Gigabytes above; parts that run at once; more parts than are listed.
  CHECK(never_contradicts("Database: (5 + 730 + 913) * 1.2 = 2 TB\n"));
  CHECK(never_contradicts("spent: $900 / 1,900,000,000 = $0.474 per million\n"));
  CHECK(never_contradicts("against raw: 895 / (1M * 384 * 4) = 58% of it\n"));
  CHECK(never_contradicts("the grid (396,1,1) = 3 blocks/SM x 132 SMs\n"));
  CHECK(contradicts("the grid (396,1,1) = 3 blocks\n"));
  CHECK(never_contradicts(
      "| part | cost |\n|---|---|\n| a | 6.56 |\n| b | 7.41 |\n| Total | 14 |\n"));
  CHECK(contradicts("| part | cost |\n|---|---|\n| a | 6.56 |\n| b | 7.41 |\n| Total | 16 |\n"));
  const std::string rates = "| node | messages/sec |\n|---|---|\n| a | 60,400 |\n| b | 37,349 |\n";
  CHECK(only_doubts(rates + "| Total | 97,741 |\n"));
  const std::string spans =
      "| span (ns) | before |\n|---|---|\n| reply | 1581 |\n| native | 4539 |\n";
  CHECK(only_doubts(spans + "| TOTAL | 4848 |\n"));
  const std::string phases =
      "| phase | before | after |\n|---|---|---|\n| 2 | 40 min | 25 min |\n| 3 | 45 min | 17 min "
      "|\n";
  CHECK(number_of(phases + "| Total | 150 min | 50 min |\n", Severity::doubtful) == 2);
  CHECK(number_of(phases + "| Total | 95 min | 50 min |\n", Severity::contradiction) == 2);
  CHECK(never_contradicts("| Total | < 2.2 ms | 0.5% of a 16.6 ms frame |\n"));
  CHECK(never_contradicts("a step of 2.2 ms, 0.5% of 16.6 ms in all\n"));
  CHECK(
      never_contradicts("| Standard | n | Name |\n|---|---|---|\n| a | 1 | one |\n| b | 1 | two |\n"
                        "| Total | 2 | all 12 standards |\n"));
  // Rows tell of several things.
  CHECK(
      only_doubts("| step | result |\n|---|---|\n| load | bit-exact |\n| sum | max diff 7e-6 |\n"));
  CHECK(never_contradicts("Rank 0 is 99.3% bit-exact, the maximum difference is 0.0019.\n"));
  CHECK(contradicts("Rank 0 is bit-exact, the maximum difference is 0.0019.\n"));
  CHECK(
      only_doubts("Rank 0 is bit-exact, the maximum difference is 0.0019.\n\n## More\n\nRank 1 "
                  "is bit-exact.\n"));
  CHECK(only_doubts(
      "| stage | core-s |\n|---|---|\n| a | 481.29 |\n| b | 16.20 |\n| total | 497.79 |\n"));
  // Each part is there twice, once in the heading of its group.
  CHECK(only_doubts(
      "| group | issues |\n|---|---|\n| First | 9 |\n| a | 4 |\n| b | 5 |\n| Second | 8 |\n"
      "| c | 6 |\n| d | 2 |\n| Total | 17 |\n"));
  // "All 940" and "all 195" of a list are of two sets.
  CHECK(only_doubts("- one: all 940 sessions\n- two: all 195 sessions\n"));
  CHECK(contradicts("Of all 940 sessions, right.\n\nIn all 945 sessions, right.\n"));
}

TEST_CASE("a ratio that is right over another row is not wrong", "[audit][whole]") {
  const std::string head = "| run | time (ms) | speedup |\n|---|---|---|\n";
  const std::string rows =
      "| a | 20.0 | 1.00x |\n| b | 10.0 | 2.00x |\n| c | 5.00 | 4.00x |\n| d | 8.00 | ";
  CHECK(only_doubts(head + rows + "1.25x |\n"));  // over b
  CHECK(contradicts(head + rows + "3.10x |\n"));
  // Behind another column it is of that one.
  const std::string sizes =
      "| run | size | vs a | time (ms) | vs a |\n|---|---|---|---|---|\n| a | 6.4B | 1.00x | 400 | "
      "1.00x |\n| b | 6.4B | 1.00x | 800 | 2.00x slower |\n| c | 3.2B | 0.50x | 600 | 1.50x slower "
      "|\n| d | 1.1B | 0.17x | 100 | 4.00x faster |\n";
  CHECK(never_contradicts(sizes));
  // The mean of ratios is no ratio of means, and may lie anywhere.
  const std::string means =
      "| set | old avg (ms) | new avg (ms) | avg speedup |\n|---|---|---|---|\n| a | 4.00 | 2.00 | "
      "2.00x |\n| b | 6.00 | 2.00 | 3.00x |\n| c | 8.00 | 2.00 | 4.00x |\n| d | 2.70 | 1.80 | ";
  CHECK(only_doubts(means + "2.50x |\n"));
}
