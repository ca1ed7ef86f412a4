// SPDX-License-Identifier: MIT
#include "html/text.hpp"

#include <limits>

#include "support/catch.hpp"

using namespace wb::html;

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
