// SPDX-License-Identifier: MIT
#include "session/line_diff.hpp"

#include "support/catch.hpp"

using namespace wb;
using namespace wb::session;

namespace {

std::string told(std::string_view before, std::string_view after) {
  const auto lines = line_diff(before, after);
  REQUIRE(lines.ok());
  std::string text;
  for (const DiffLine& line : *lines) text += line.kind + line.text + "\n";
  return text;
}

}  // namespace

TEST_CASE("a diff has hunks with context and signs", "[session][diff]") {
  CHECK(told("a\nb\nc\n", "a\nB\nc\n") == "@@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
  CHECK(told("same\n", "same\n").empty());
  CHECK(told("", "x\ny\n") == "@@@ -0,0 +1,2 @@\n+x\n+y\n");
  CHECK(told("x\n", "") == "@@@ -1 +0,0 @@\n-x\n");
}

TEST_CASE("line ends and their absence change no line's text", "[session][diff]") {
  CHECK(told("a\r\nb", "a\r\nc") == "@@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
  const std::string nul("a\0b\n", 4);
  CHECK(told(nul, "x\n") == "@@@ -1 +1 @@\n-" + std::string("a\0b", 3) + "\n+x\n");
}

TEST_CASE("far apart changes are hunks of their own", "[session][diff]") {
  std::string before, after;
  for (int i = 0; i < 40; ++i) {
    before += std::to_string(i) + "\n";
    after += (i == 3 || i == 33 ? "x" : "") + std::to_string(i) + "\n";
  }
  const std::string text = told(before, after);
  CHECK(std::count(text.begin(), text.end(), '@') == 2 * 5);
}
