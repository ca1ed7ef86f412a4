// SPDX-License-Identifier: MIT
// Means of tables, and what is reported about totals and ratios that no check judged.
#include <string>

#include "audited.hpp"
#include "support/catch.hpp"

using namespace wb::audit;
using wb::audit::test::audited;
using wb::audit::test::contradicts;
using wb::audit::test::held_by;
using wb::audit::test::k_times;
using wb::audit::test::never_contradicts;
using wb::audit::test::number_of;
using wb::audit::test::only_doubts;

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
