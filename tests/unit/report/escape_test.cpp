// SPDX-License-Identifier: MIT
// Text from kernels, compilers and agents must not change how a page is read.
#include "log_builder.hpp"
#include "report/format.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb::report;

TEST_CASE("inline text cannot act as Markdown, HTML or a table cell", "[report][escape]") {
  CHECK(inline_text("a|b") == "a\\|b");
  CHECK(inline_text("<script>alert(1)</script>") == "&lt;script&gt;alert(1)&lt;/script&gt;");
  CHECK(inline_text("[x](y) `c` *b* a&b \\| ~s~") ==
        "\\[x\\](y) \\`c\\` \\*b\\* a&amp;b \\\\\\| \\~s\\~");
  CHECK(inline_text("line\none\r\n\ttwo ") == "line one two");
  CHECK(inline_text("http://a.b www.c.d") == "http&#58;//a.b www&#46;c.d");
  CHECK(inline_text("cpu_tiled __m512 _x_") == "cpu_tiled \\_\\_m512 \\_x\\_");
  CHECK(inline_text("gain [e99]") == "gain \\[e99\\]");
}

TEST_CASE("hidden and reordering characters are shown", "[report][escape]") {
  CHECK(plain("a\x1b[31mred") == "a{U+001B}[31mred");
  CHECK(plain("evil\u202etxt.exe\u2066") == "evil{U+202E}txt.exe{U+2066}");
  CHECK(plain("zero\u200bwidth\ufeff\u00ad") == "zero{U+200B}width{U+FEFF}{U+00AD}");
  CHECK(plain(std::string_view("nul\0here", 8)) == "nul{U+0000}here");
  CHECK(plain("bad\xff\xc0\x80") == "bad{0xFF}{0xC0}{0x80}");
  CHECK(plain("\xed\xa0\x80 \xf4\x90\x80\x80") == "{0xED}{0xA0}{0x80} {0xF4}{0x90}{0x80}{0x80}");
  CHECK(plain("h\u00e9 \u4f60 \U0001f600") == "h\u00e9 \u4f60 \U0001f600");
}

TEST_CASE("long text is cut at a character and counted", "[report][escape]") {
  CHECK(plain(std::string(500, 'x'), 10) == "xxxxxxxxxx ... (500 bytes in all)");
  CHECK(plain("\u00e9\u00e9\u00e9", 3) == "\u00e9\u00e9 ... (6 bytes in all)");
}

TEST_CASE("brief text ends with a word", "[report][escape]") {
  CHECK(brief("one two three", 40) == "one two three");
  CHECK(brief("one two three", 9) == "one two ...");
  CHECK(brief("one two three  ", 13) == "one two three");
  CHECK(brief("abcdefghijkl", 6) == "abcdef ...");
  CHECK(brief("\u00e9\u00e9\u00e9\u00e9", 5) == "\u00e9\u00e9 ...");
  CHECK(brief("a|b <i> c d", 9) == "a\\|b &lt;i&gt; c ...");
}

TEST_CASE("a code span is used for harmless names only", "[report][escape]") {
  CHECK(code("cpu_tiled@1f0c44aa") == "`cpu_tiled@1f0c44aa`");
  CHECK(code("a`b") == "a\\`b");
  CHECK(code("a|b") == "a\\|b");
  CHECK(code("") == "");
}

TEST_CASE("a fence cannot be closed from inside", "[report][escape]") {
  const std::string block = fenced("before\n```\n# not a heading\n````\nafter");
  CHECK(block == "`````text\nbefore\n```\n# not a heading\n````\nafter\n`````\n");
  CHECK(fenced("\n\n").empty());
}

TEST_CASE("a block is capped in lines and bytes, head and tail kept", "[report][escape]") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "line " + std::to_string(i) + "\n";
  const std::string block = fenced(text, 8);
  CHECK(block.find("line 5\n... (992 lines left out)\nline 998\nline 999\n") != std::string::npos);
  CHECK(block.find("line 6\n") == std::string::npos);
  const std::string huge = fenced(std::string(1 << 20, 'y') + "\n" + text);
  CHECK(huge.size() < 20'000);
}

TEST_CASE("hostile names and messages stay inside their cells", "[report][escape]") {
  using namespace wb::test;
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  const std::string name = "x|y\n# Gain: 9.99x [e1]<img src=x>\u202e";
  open_iteration(log, 1, name, "theory | with **bold**\n\n## Fake heading\n- [x] done", 1.5);
  fail_build(log, 1, name, "```\n# escaped?\n\x1b[2J\u202e\n~~~");
  close_iteration(log, 1, "invalid", "compile", "```\n## also fake\n```");
  const wb::session::SessionView& view = log.view();
  for (const std::string& page :
       {wb::report::render_session(view), wb::report::render_iteration(view, view.iterations[1])}) {
    CHECK(page.find("\n# Gain") == std::string::npos);
    CHECK(page.find("<img") == std::string::npos);
    CHECK(page.find("\n## Fake") == std::string::npos);
    CHECK(page.find("\u202e") == std::string::npos);
    CHECK(page.find('\x1b') == std::string::npos);
    // Every row of a table has as many cells as its head.
    std::size_t bars = 0;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
      std::size_t here = 0;
      for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '|' && (i == 0 || line[i - 1] != '\\')) ++here;
      }
      if (line.empty() || line[0] != '|') {
        bars = 0;
      } else if (bars == 0) {
        bars = here;
      } else {
        INFO(line);
        CHECK(here == bars);
      }
    }
  }
  // What a fence holds stays in it: the fence is longer than any run of backticks inside.
  const std::string page = wb::report::render_iteration(view, view.iterations[1]);
  CHECK(page.find("````text\n```\n## also fake\n```\n````\n") != std::string::npos);
}
