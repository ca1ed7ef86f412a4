// SPDX-License-Identifier: MIT
// Text, Markdown and pictures as markup: nothing of them becomes an element of the page.
#include <limits>

#include "html/markdown.hpp"
#include "html/svg.hpp"
#include "html/text.hpp"
#include "report/format.hpp"
#include "stored_session.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::html;

using html::Citations;
using test::holds;

namespace {

std::string rendered(std::string_view markdown, std::int64_t events = 100) {
  Citations cited(events, 10);
  return html::render_markdown(markdown, cited);
}

}  // namespace

TEST_CASE("what reports are written in becomes elements", "[html][markdown]") {
  CHECK(rendered("## A\n\n### B\n") == "<h3>A</h3>\n<h4>B</h4>\n");
  CHECK(rendered("a **b** `c`\n") == "<p>a <strong>b</strong> <code>c</code></p>\n");
  CHECK(rendered("- one\n- two\n") == "<ul><li>one</li>\n<li>two</li>\n</ul>\n");
  const std::string table = rendered("| a | n |\n|---|--:|\n| x\\|y | 1 |\n");
  CHECK(holds(table, "<div class=\"scroll\"><table>"));
  CHECK(holds(table, "<td>x|y</td><td class=\"r\">1</td>"));
  CHECK(holds(rendered("- [x] did\n- [ ] not\n"), "title=\"done\">[x]</span> did"));
  CHECK(holds(rendered("```text\na <b>\n```\n"), "<pre><code>a &lt;b&gt;\n</code></pre>"));
}

TEST_CASE("raw HTML and links out of the page are words", "[html][markdown]") {
  for (const char* hostile :
       {"<script>alert(1)</script>\n", "a <img src=x onerror=alert(1)> b\n",
        "<!-- x --><style>*{}</style>\n", "[click](javascript:alert(1))\n",
        "![p](http://a.b/c.png)\n", "<http://a.b>\n", "[r]: http://a.b\n\n[r]\n",
        "&lt;script&gt; &#60;script&#62;\n", "&notanentity<b>;\n"}) {
    const std::string text = rendered(hostile);
    INFO(hostile << " -> " << text);
    CHECK_FALSE(holds(text, "<script"));
    CHECK_FALSE(holds(text, "<img"));
    CHECK_FALSE(holds(text, "<style"));
    CHECK_FALSE(holds(text, "<b>"));
    CHECK_FALSE(holds(text, "href"));
    CHECK_FALSE(holds(text, "src=\""));
  }
}

TEST_CASE("citations lead to events that are there, and only the report's own do",
          "[html][markdown]") {
  Citations cited(20, 2);
  const std::string text =
      html::render_markdown("x [e12] to [e99], [e0], [e7] [e8], [e12]\n", cited);
  CHECK(holds(text,
              "<a href=\"#e12\">[e12]</a> to [e99], [e0], <a href=\"#e7\">[e7]</a> [e8], "
              "<a href=\"#e12\">[e12]</a>"));
  CHECK(cited.all() == std::set<std::int64_t>{7, 12});
  // As pages write what others said: their brackets are escaped.
  CHECK_FALSE(holds(rendered(report::inline_text("gain [e9]") + "\n"), "href"));
  CHECK(holds(rendered(report::inline_text("gain [e9]") + "\n"), "gain [e9]"));
}

TEST_CASE("a report is split into title, first screen and the rest", "[html][markdown]") {
  const auto parts = html::split_report("# T\n\n- **a:** b\n\n## One\n\nx\n");
  CHECK(parts.title == "T");
  CHECK(parts.first_screen == "\n\n- **a:** b\n");
  CHECK(parts.rest == "\n## One\n\nx\n");
  CHECK(html::split_report("").rest.empty());
  CHECK(html::split_report("# only").title == "only");
}

TEST_CASE("a report that is too long ends after a line and says what follows", "[html][markdown]") {
  html::Citations cited(9, 9);
  const std::string cut = html::report_part("first\nsecond\nthird", cited, 14);
  CHECK(holds(cut, "second"));
  CHECK_FALSE(holds(cut, "third"));
  CHECK(holds(cut, "6 more bytes: <code>sdpa-wb report</code> prints it."));
  const std::string none = html::report_part(std::string(20, 'x'), cited, 10);  // no line fits
  CHECK_FALSE(holds(none, "xx"));
  CHECK(holds(none, "20 more bytes"));
  CHECK_FALSE(holds(html::report_part("all of it", cited, 10), "more bytes"));
}

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

TEST_CASE("markup characters are entities, in content and in attributes", "[html][escape]") {
  CHECK(escape("</script>") == "&lt;/script&gt;");
  CHECK(escape("\"><img onerror='x'>&") == "&quot;&gt;&lt;img onerror=&#39;x&#39;&gt;&amp;");
  CHECK(words("a\u202etxt.exe \x1b[31m \xff") == "a{U+202E}txt.exe {U+001B}[31m {0xFF}");
  CHECK(words("na\u00c3\u00afve") == "na\u00c3\u00afve");  // mojibake is text like any other
  CHECK(words(std::string(500, '<'), 3) == "&lt;&lt;&lt; ... (500 bytes in all)");
}

TEST_CASE("source keeps its indentation and shows what hides in it", "[html][escape]") {
  CHECK(source_line("\t  if (a<b) \u2066x") == "    if (a&lt;b) {U+2066}x");
}

TEST_CASE("phrases of the report lose their markup, not their words", "[html][escape]") {
  CHECK(unmarked("35.9x [35.6, 36.1], faster [e838]") == "35.9x [35.6, 36.1], faster");
  CHECK(unmarked("`cpu_tiled@1f0c44aa` (`TILE_M=32`) [e3] [e4]") ==
        "cpu_tiled@1f0c44aa (TILE_M=32)");
  CHECK(unmarked("**a** \\_b\\_ \\[e9\\] &lt;i&gt; <b> &amp; & http&#58;//x") ==
        "a _b_ [e9] &lt;i&gt; &lt;b&gt; &amp; &amp; http&#58;//x");
  CHECK(unmarked("") == "");
  CHECK(unmarked("30.7x (product of 4 steps) [e4] to [e78] (4 events), hot") ==
        "30.7x (product of 4 steps), hot");
  CHECK(unmarked("2x [e4] to [e7] by all") == "2x by all");
  CHECK(unmarked("2x [e4] to (4 events) [e7] to b (2)") == "2x to (4 events) to b (2)");
}

TEST_CASE("coordinates are short and finite", "[html]") {
  CHECK(coordinate(12.345) == "12.3");
  CHECK(coordinate(7) == "7");
  CHECK(coordinate(-0.01) == "0");
  CHECK(coordinate(std::numeric_limits<double>::quiet_NaN()) == "0");
  CHECK(coordinate(std::numeric_limits<double>::infinity()) == "0");
}
