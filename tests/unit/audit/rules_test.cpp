// SPDX-License-Identifier: MIT
// Single rules of checks: where each begins and ends, with a judged case beside an unjudged one.
#include <string>

#include "audited.hpp"
#include "support/catch.hpp"

using namespace wb::audit;
using wb::audit::test::audited;
using wb::audit::test::told_as;
using wb::audit::test::with;

namespace {

bool is_clean(const std::string& text) {
  const Audited document = audited(text);
  UNSCOPED_INFO(test::told(document));
  return document.findings.empty();
}

/// The only finding of a text, which is of that check.
Finding only(const std::string& text, const std::string& check) {
  const Audited document = audited(text);
  CAPTURE(text, test::told(document));
  REQUIRE(document.findings.size() == 1);
  CHECK(document.findings[0].check == check);
  return document.findings[0];
}

/// Its total is not the sum, and counts sessions that are not there.
const std::string k_false_costs =
    "| Session | Time | Note |\n|---|---|---|\n| A | 30 min | one |\n| B | 50 min | two |\n"
    "| Total | 95 min | 3 sessions |\n";

}  // namespace

TEST_CASE("prefixes excuse a sum only as far as they reach", "[audit][rules]") {
  const auto list = [](const std::string& parts, const std::string& total) {
    return parts + "- Total: " + total + "\n";
  };
  const std::string eights = "- Q: 8 MB\n- K: 8 MB\n- V: 8 MB\n";
  // Rounded parts reach 25.5 MB: with that a printed 26 MB may be right, and need not be.
  const Finding far = only(list(eights, "26 MB"), "list_totals");
  CHECK(far.severity == Severity::doubtful);
  CHECK(far.computed == "8 MB + 8 MB + 8 MB = 24 MB");
  CHECK(told_as(only(list(eights, "28 MB"), "list_totals")) == Severity::contradiction);
  CHECK(is_clean(list(eights, "24 MB")));
  // 2 x 1024 x 1000 bytes, and 2 x 1024 x 1024.
  CHECK(is_clean(list("- K: 1024 KB\n- V: 1024 KB\n", "2.00 MB")));
  CHECK(told_as(only(list("- K: 1024 KB\n- V: 1024 KB\n", "2.20 MB"), "list_totals")) ==
        Severity::contradiction);
}

TEST_CASE("a table with rows left out is not added up", "[audit][rules]") {
  const Audited whole = audited(k_false_costs);
  CHECK(test::of_check(whole, "table_totals").size() == 1);
  CHECK(test::of_check(whole, "counts").size() == 1);
  // 15 minutes and one session stand in the row that could not be read.
  const Audited ragged = audited(with(k_false_costs, "| Total", "| C | 15 min |\n| Total"));
  CAPTURE(test::told(ragged));
  CHECK(ragged.findings.empty());
  CHECK(ragged.gaps.size() == 1);
  const std::string passes = "1 of 2 cases pass.\n\n| case | result |\n|---|---|\n";
  const std::string two = "| a | fail |\n| b | fail |\n";
  CHECK(told_as(only(passes + two, "counts")) == Severity::contradiction);
  CHECK(is_clean(passes + two + "| c | pass | late |\n"));
  std::string long_one = "2000 of 2000 cases pass.\n\n| case | result |\n|---|---|\n";
  for (int n = 0; n < 2'000; ++n) long_one += n == 0 ? "| a | fail |\n" : "| a | pass |\n";
  CHECK(told_as(only(long_one, "counts")) == Severity::contradiction);
  CHECK(is_clean(long_one + "| a | pass |\n"));
}

TEST_CASE("a second total counts from behind the first", "[audit][rules]") {
  const std::string table =
      "| Session | Time | Note |\n|---|---|---|\n| A | 30 min | |\n| B | 50 min | |\n"
      "| Total | 80 min | 2 sessions |\n| C | 10 min | |\n| D | 20 min | |\n| E | 5 min | |\n"
      "| Total | 35 min | 3 sessions |\n";
  CHECK(is_clean(table));
  CHECK(only(with(table, "35 min", "115 min"), "table_totals").computed ==
        "10 min + 20 min + 5 min = 35 min");
  CHECK(only(with(table, "3 sessions", "5 sessions"), "counts").computed == "3 rows stand above");
}

TEST_CASE("a list of more parts than are read is not judged", "[audit][rules]") {
  const auto list = [](int parts, int total) {
    std::string text;
    for (int n = 0; n < parts; ++n) text += "- part " + std::to_string(n) + ": 2 min\n";
    return text + "- Total: " + std::to_string(total) + " min\n";
  };
  CHECK(told_as(only(list(64, 90), "list_totals")) == Severity::contradiction);
  CHECK(is_clean(list(64, 128)));
  CHECK(is_clean(list(70, 140)));
  CHECK(is_clean(list(70, 90)));
}

TEST_CASE("quantiles of one side are no pair", "[audit][rules]") {
  const std::string head = "| n | p50 (ms) | p99 (ms) | Speedup |\n|---|---|---|---|\n";
  // Over something that the table does not show; in one row it happens to be p99 / p50.
  const Finding odd =
      only(head + "| 1 | 1.00 | 2.00 | 2.0x |\n| 2 | 1.00 | 3.00 | 1.5x |\n", "ratio_columns");
  CHECK(odd.severity == Severity::unknown);
  CHECK(
      is_clean("| n | p50 (ms) | p99 (ms) | Note |\n|---|---|---|---|\n"
               "| 1 | 1.00 | 2.00 | 7x faster |\n"));
  // Two kernels are a pair, whatever they are called.
  CHECK(told_as(only("| n | v1 (ms) | v2 (ms) | Speedup |\n|---|---|---|---|\n"
                     "| 1 | 2.00 | 1.00 | 2.0x |\n| 2 | 3.00 | 1.00 | 1.5x |\n",
                     "ratio_columns")) == Severity::contradiction);
}

TEST_CASE("a technique is in a source by its own word", "[audit][rules]") {
  const auto severity_of = [](const std::string& target, const std::string& code) {
    const Audited document =
        audited("## Recommendation\n\nTarget: " + target + "\n", {{"kernel.cu", code}});
    return document.findings.empty() ? std::string("none")
                                     : std::string(to_string(test::told_as(document.findings[0])));
  };
  CHECK(severity_of("vectorized loads", "const float2 v = *p;\n") == "contradiction");
  CHECK(severity_of("vectorized loads", "auto v = __half22float2(h);\n") == "none");
  CHECK(severity_of("cp.async copies", "__pipeline_memcpy_async(to, from, 16);\n") ==
        "contradiction");
  CHECK(severity_of("cp.async copies", "cuda::memcpy_async(block, to, from, 16);\n") ==
        "contradiction");
  CHECK(severity_of("cp.async copies", "memcpy(to, from, 16);\n") == "none");
}

TEST_CASE("the same claim of work is told once, two claims twice", "[audit][rules]") {
  const std::string first = "B=1,H=4 -> B=2,H=8 = 2x more work\n";
  const Finding same = only(first + "\nOnce more: " + first, "scaling_claims");
  CHECK(same.also == std::vector<int>{3});
  const Audited two = audited("Was B=1,H=4 -> B=2,H=8 = 2x more work, or 9x more work?\n");
  CAPTURE(test::told(two));
  REQUIRE(two.findings.size() == 2);
  CHECK(two.findings[0].printed == "2x work");
  CHECK(two.findings[1].printed == "9x work");
  CHECK(two.findings[1].computed == "B 1 -> 2, H 4 -> 8: 4x");
}

TEST_CASE("a block's size is one of threads only where it says so", "[audit][rules]") {
  CHECK(is_clean("Block size: 2048\n"));
  CHECK(is_clean("Block size: 2048 keys\n"));
  CHECK(is_clean("Block size: 1024 threads\n"));
  CHECK(only("Block size: 2048 threads\n", "geometry").computed == "2048 > 1024");
  CHECK(only("constexpr int threads_per_block = 2048;\n", "geometry").computed == "2048 > 1024");
}
