// SPDX-License-Identifier: MIT
#include "html/markdown.hpp"

#include "report/format.hpp"
#include "stored_session.hpp"

using namespace wb;
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
