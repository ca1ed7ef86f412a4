// SPDX-License-Identifier: MIT
#include "html/svg.hpp"

#include "html/scale.hpp"
#include "support/catch.hpp"

using namespace wb::html;

TEST_CASE("a scale maps its ends, by ratios when it is logarithmic", "[html][scale]") {
  const Scale linear{0, 10, 100, 200, false}, log{1, 100, 0, 200, true}, down{0, 1, 90, 10, false};
  CHECK(linear(5) == Approx(150));
  CHECK(log(10) == Approx(100));
  CHECK(down(1) == Approx(10));
  CHECK(linear(99) == Approx(200));  // beyond the end: at the edge
  CHECK(log(0.001) == Approx(0));
}

TEST_CASE("ticks are round and inside", "[html][scale]") {
  CHECK(ticks({0, 10, 0, 1, false}, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(ticks({1, 100, 0, 1, true}, 8) == std::vector<double>{1, 2, 5, 10, 20, 50, 100});
  CHECK(ticks({1e-3, 1e9, 0, 1, true}, 6).size() <= 7);
  for (const double low : {1e-6, 0.02, 0.7, 3.0}) {
    for (const double factor : {1.01, 1.3, 2.9, 8.0, 55.0, 1e7}) {
      const Scale scale{low, low * factor, 0, 100, true};
      const auto values = ticks(scale, 6);
      INFO(low << " * " << factor);
      CHECK(values.size() >= 2);
      CHECK(values.size() <= 12);
      CHECK(values.front() >= low * 0.999);
      CHECK(values.back() <= low * factor * 1.001);
    }
  }
  CHECK(tick_text(0.05) == "0.05");
  CHECK(tick_text(250000) == "250000");
  CHECK(tick_text(0) == "0");
}

TEST_CASE("a range without extent, or none at all, gets one", "[html][scale]") {
  double low = 5, high = 5;
  give_room(low, high, true);
  CHECK(low < 5);
  CHECK(high > 5);
  low = 1e300, high = 0;  // nothing was seen
  give_room(low, high, true);
  CHECK(low > 0);
  CHECK(high > low);
}

TEST_CASE("a picture says what it shows and escapes that", "[html][svg]") {
  Svg svg(100, 50, "a \"<b>\"");
  svg.open("#e3", "title");
  svg.mark(Shape::dot, 10, 20, 4, "good");
  svg.close();
  svg.open("", "no link");
  svg.text(1, 2, "words", "s", Anchor::end);
  svg.close();
  const std::string text = svg.str();
  CHECK(text.find("aria-label=\"a &quot;&lt;b&gt;&quot;\"") != std::string::npos);
  CHECK(text.find("<a href=\"#e3\"><title>title</title><circle class=\"good\" cx=\"10\" cy=\"20\" "
                  "r=\"4\"/></a>") != std::string::npos);
  CHECK(text.find("<g><title>no link</title><text class=\"s\" x=\"1\" y=\"2\" "
                  "text-anchor=\"end\">words</text></g>") != std::string::npos);
}

TEST_CASE("a label that is too long is cut between characters and entities", "[html][svg]") {
  CHECK(fitted("short", 200) == "short");
  const std::string cut = fitted("&lt;&lt;&lt;&lt;&lt;&lt;&lt;&lt;&lt;&lt;", 50);
  CHECK(cut == "&lt;&lt;&lt;&lt;\u2026");
  CHECK(fitted("\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", 45) ==
        "\u00e9\u00e9\u00e9\u00e9\u2026");
}
