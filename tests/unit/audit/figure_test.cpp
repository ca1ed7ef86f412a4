// SPDX-License-Identifier: MIT
#include "audit/figure.hpp"

#include "audit/expression.hpp"
#include "support/catch.hpp"

using namespace wb::audit;

namespace {

Figure only(const std::string& text) {
  const auto figures = figures_in(text);
  REQUIRE(figures.size() == 1);
  return figures.front();
}

}  // namespace

TEST_CASE("figures carry their unit, scale and last digit", "[audit][figure]") {
  CHECK(only("took 0.183 ms here").value == Approx(0.183e-3));
  CHECK(only("took 0.183 ms here").step == Approx(0.001e-3));
  CHECK(only("17 us").unit == Unit::time);
  CHECK(only("262,144 elements").value == 262144);
  CHECK(only("1.5e3 things").value == 1500);
  CHECK(only("8.4M FLOPs").value == Approx(8.4e6));
  CHECK(only("8.4M FLOPs").unit == Unit::flops);
  CHECK(only("26.3 TFLOP/s").value == Approx(26.3e12));
  CHECK(only("93 GB/s").unit == Unit::byte_rate);
  CHECK(only("0.47 FLOPs/byte").unit == Unit::intensity);
  CHECK(only("4.7%").unit == Unit::percent);
  CHECK(only("6.8x slower").unit == Unit::factor);
  CHECK(only("$0.20/hr idle").unit == Unit::money_rate);
  CHECK(only("$11.15").value == Approx(11.15));
  CHECK(only("4K tokens").value == 4000);
  CHECK(only("~17 MB").approximate);
  CHECK(only("below < 5 us").bounded);
  CHECK(only("10x+ slower").bounded);
}

TEST_CASE("ranges have two ends and one unit", "[audit][figure]") {
  const Figure factor = only("0.45-0.90x");
  CHECK(factor.is_range);
  CHECK(factor.value == Approx(0.45));
  CHECK(factor.high == Approx(0.90));
  const Figure time = only("30-45 min");
  CHECK(time.value == 1800);
  CHECK(time.high == 2700);
  CHECK(only("$1.50-2.00 each").high == Approx(2));
}

TEST_CASE("names, dates, times of day and addresses are no figures", "[audit][figure]") {
  for (const char* text : {"FA-2 and sm_90 of v3", "on 2026-10-15", "at 18:45 sharp",
                           "host 10.1.2.33", "N+6", "a 2D grid", "kernel_2", "cuda.12x4y"}) {
    CAPTURE(text);
    CHECK(figures_in(text).empty());
  }
  // A list is no number with thousands separators.
  CHECK(figures_in("sizes 4,64,65,128").size() == 4);
  CHECK(figures_in("S=128,256").front().value == 128);
}

TEST_CASE("a comma that may be decimal, a sign and what no machine holds are no figures",
          "[audit][figure]") {
  for (const char* text : {"took 1,5 ms", "| 0,50 |", "1,0", "0,500x", "a loss of -5 ms", "-2 ms",
                           "(-12%)", "1e309 ms", "1e-309 ms"}) {
    CAPTURE(text);
    CHECK(figures_in(text).empty());
  }
  CHECK(has_decimal_comma("| 64 | 1,0 | 2,0 |"));
  for (const char* text : {"1,024 ms", "sizes 4,64", "S=128,256", "(1, 4, 2)", "1,2,4 us"}) {
    CAPTURE(text);
    CHECK_FALSE(has_decimal_comma(text));
    CHECK_FALSE(figures_in(text).empty());
  }
  CHECK(only("- 5 ms").value == Approx(5e-3));  // of a list
  CHECK(only("a->5 ms").value == Approx(5e-3));
}

TEST_CASE("what the digits leave open", "[audit][figure]") {
  const Figure time = only("0.085 ms");
  CHECK(time.operand().low == Approx(0.0845e-3));
  CHECK(time.operand().high == Approx(0.0855e-3));
  CHECK(time.result().low == Approx(0.084e-3));
  CHECK(only("7 rows").operand().low == 7);  // a count is exact
  // KB may mean 1024 bytes.
  CHECK(only("48 KB").result().meets({49152, 49152}));
  CHECK_FALSE(only("48 KB").result().meets({52000, 52000}));
}

TEST_CASE("expressions are evaluated with their units", "[audit][figure]") {
  const auto low = [](const std::string& text) {
    const auto found = expression_before(text, text.size());
    return found ? found->value.low : -1;
  };
  const auto unit = [](const std::string& text) {
    return expression_before(text, text.size()).value().unit;
  };
  CHECK(low("2 x 16 x 8192") == 262144);
  CHECK(low("Memory: Q (8192x4) + K (16x8192x4)") == 557056);
  CHECK(low("2x x 1.3x x 1.2x") == Approx(3.12));
  CHECK(unit("17 MB / 0.183 ms") == Unit::byte_rate);
  CHECK(unit("64 times x 16 x 4 bytes") == Unit::bytes);
  CHECK(low("7") == -1);             // no operator
  CHECK(low("len x 4 x 8") == -1);   // the tail of something with a name
  CHECK(low("17 MB + 3 ms") == -1);  // units that do not add
  CHECK(low("5 / 0") == -1);         // not divided
  CHECK(low(std::string(5000, '(') + "1 + 2") == -1);
}
