// SPDX-License-Identifier: MIT
#include "report/format.hpp"
#include "core/json.hpp"
#include "support/catch.hpp"

using namespace wb::report;

namespace {

Ratio make(double value, double low, double high) {
  Ratio ratio;
  ratio.value = value;
  ratio.low = low;
  ratio.high = high;
  return ratio;
}

}  // namespace

TEST_CASE("a speedup has the digits that its interval supports", "[report][format]") {
  CHECK(speedup(make(1.3234, 1.289, 1.352)) == "1.32x [1.29, 1.35]");
  CHECK(speedup(make(0.0154, 0.0149, 0.0160)) == "0.0154x [0.0149, 0.0160]");
  CHECK(speedup(make(12.34, 11.0, 13.0)) == "12.3x [11.0, 13.0]");
  CHECK(speedup(make(441.2, 400.0, 480.0)) == "441x [400, 480]");
  // A narrow interval gets more digits, and no end is rounded onto 1.
  CHECK(speedup(make(1.0124, 1.0104, 1.0139)) == "1.012x [1.010, 1.014]");
  CHECK(speedup(make(1.05, 0.9996, 1.1)) == "1.0500x [0.9996, 1.1000]");
  CHECK(speedup(Ratio{}) == "not measured");
}

TEST_CASE("times, shares and durations are printed without exponents", "[report][format]") {
  CHECK(microseconds(5210.44) == "5210");
  CHECK(microseconds(10.5234) == "10.52");
  CHECK(microseconds(0.01234) == "0.0123");
  CHECK(microseconds(12345678.0) == "12345678");
  CHECK(microseconds(std::nullopt) == "not measured");
  CHECK(percent(0.0123) == "1.2 %");
  CHECK(percent(0.31) == "31 %");
  CHECK(percent(1.75) == "175 %");
  CHECK(percent(0.0004) == "0.040 %");
  CHECK(percent(0.0) == "0 %");
  CHECK(duration(0.04) == "0.0 s");
  CHECK(duration(59.4) == "59 s");
  CHECK(duration(252) == "4 min 12 s");
  CHECK(duration(600) == "10 min");
  CHECK(duration(3780) == "1 h 03 min");
  CHECK(duration(-1) == "unknown");
  CHECK(with_prefix(1.568e11) == "156.8 G");
  CHECK(with_prefix(12) == "12.00 ");
  CHECK(bytes(33554432) == "32 MiB");
  CHECK(bytes(27145465856.0) == "25.3 GiB");
}

TEST_CASE("events are cited singly or as a range", "[report][format]") {
  CHECK(cite(12) == " [e12]");
  CHECK(cite(0) == "");
  CHECK(cite({3, 5}) == " [e3] [e5]");
  CHECK(cite({9, 3, 5, 7}) == " [e3] to [e9] (4 events)");
  // Nothing lies between them: the range says it all.
  CHECK(cite({5, 3, 4, 6}) == " [e3] to [e6]");
  CHECK(cite(std::vector<std::int64_t>{}) == "");
}

TEST_CASE("tables are padded and aligned", "[report][format]") {
  Table table({"name", "us>"});
  table.row({"a", "1.5"});
  table.row({" long name", "10"});
  CHECK(table.str() ==
        "| name      |  us |\n"
        "|-----------|----:|\n"
        "| a         | 1.5 |\n"
        "| long name |  10 |\n");
}

TEST_CASE("time between two events", "[report][format]") {
  CHECK(seconds_between("2026-11-20T18:03:22.123Z", "2026-11-20T18:04:22.623Z") == Approx(60.5));
  CHECK(seconds_between("2026-12-31T23:59:59Z", "2027-01-01T00:00:01.000Z") == Approx(2.0));
  CHECK_FALSE(seconds_between("yesterday", "2026-11-20T18:04:22.623Z").has_value());
  CHECK_FALSE(seconds_between("2026-02-31T00:00:00Z", "2026-11-20T18:04:22Z").has_value());
}

TEST_CASE("fields of the wrong type are not there", "[report][format]") {
  const wb::Json json{{"a", "text"}, {"b", 1.5}, {"c", nullptr}, {"d", {1, "x", nullptr}}};
  CHECK(text(json, "b").empty());
  CHECK_FALSE(number(json, "a").has_value());
  CHECK_FALSE(number(json, "c").has_value());
  CHECK_FALSE(integer(wb::Json(5), "a").has_value());
  CHECK_FALSE(integer(wb::Json{{"a", 1e300}}, "a").has_value());
  CHECK(strings(json, "d") == std::vector<std::string>{"x"});
  CHECK_FALSE(is_true(json, "a"));
}
