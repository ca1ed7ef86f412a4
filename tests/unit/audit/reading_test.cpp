// SPDX-License-Identifier: MIT
#include "audit/document.hpp"
#include "audit/repair.hpp"
#include "support/catch.hpp"

using namespace wb::audit;

namespace {

/// UTF-8 taken for CP1252 and written as UTF-8 again; 0x9d and others vanish as `drop` says.
std::string damaged(const std::string& text, bool drop) {
  static const std::vector<std::pair<unsigned char, std::string>> k_table{
      {0x80, "\u20ac"}, {0x82, "\u201a"}, {0x86, "\u2020"}, {0x92, "\u2019"}, {0x93, "\u201c"},
      {0x94, "\u201d"}, {0x85, "\u2026"}, {0x9c, "\u0153"}, {0x9f, "\u0178"}, {0x98, "\u02dc"}};
  std::string made;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      made += c;
      continue;
    }
    if (drop && (byte == 0x9d || byte == 0x8d || byte == 0x8f || byte == 0x90 || byte == 0xad)) {
      continue;
    }
    bool found = false;
    for (const auto& [code, symbol] : k_table) {
      if (code == byte) made += symbol, found = true;
    }
    if (found) continue;
    made += static_cast<char>(0xc0 | (byte >> 6));
    made += static_cast<char>(0x80 | (byte & 0x3f));
  }
  return made;
}

}  // namespace

TEST_CASE("UTF-8 once read as CP1252 comes back", "[audit][repair]") {
  const std::string text = "a \u00d7 b \u2192 c \u2014 d \u2705\n3.1\u00d7\n";
  const Repaired whole = repair(damaged(text, false));
  CHECK(whole.text == text);
  CHECK(whole.restored == 5);
  CHECK(whole.not_restored == 0);
  // The cross lost its middle byte, the star two of three.
  const Repaired table = repair(damaged("\u00d7 \u2705 \u274c and \u2b50\n", true));
  CHECK(table.text == "\u00d7 \u2705 \u274c and \u2b50\n");
  CHECK(table.from_table == 2);
}

TEST_CASE("honest text is left as it is", "[audit][repair]") {
  for (const std::string text : {"caf\u00e9 \u2014 3 \u00d7 4 \u2192 12\n", "plain\n",
                                 "\u00c4pfel und \u00dcbung \u20ac 5\n", "\u6ce8\u610f\u529b\n"}) {
    const Repaired repaired = repair(text);
    CHECK(repaired.text == text);
    CHECK(repaired.restored + repaired.from_table + repaired.not_restored == 0);
  }
}

TEST_CASE("line ends and marks do not move lines", "[audit][document]") {
  const Document document =
      read_document("x", "\xef\xbb\xbf# One\r\n\r\n- **two**: `2 ms`\rthree\n");
  REQUIRE(document.lines.size() == 4);
  CHECK(document.lines[2].plain == "two: 2 ms");
  CHECK(document.lines[3].plain == "three");
  CHECK(document.sections.back().shown == "One");
}

TEST_CASE("tables of Markdown, of plain text and with boxes", "[audit][document]") {
  const Document document =
      read_document("x",
                    "| a | b (ms) |\n|---|---:|\n| 1 | 2 \\| 3 |\n\n"
                    "```\nname | t | u\nx    | 1 | 2\ny    | 3 | 4\n```\n\n"
                    "\u2502 p \u2502 q \u2502\n\u251c\u2500\u2500\u253c\u2500\u2524\n"
                    "\u2502 1 \u2502 2 \u2502\n");
  REQUIRE(document.tables.size() == 3);
  CHECK(document.tables[0].rows[0].cells[1] == "2 / 3");
  CHECK(document.tables[1].rows.size() == 2);
  CHECK(document.tables[2].headers == std::vector<std::string>{"p", "q"});
  CHECK(document.tables[2].rows.size() == 1);
  CHECK(document.gaps.empty());
}

TEST_CASE("rows with other cells than the header are a stated gap", "[audit][document]") {
  const Document document =
      read_document("x", "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n| merged | 4 |\n");
  CHECK(document.tables[0].rows.size() == 1);
  REQUIRE(document.gaps.size() == 1);
  CHECK(document.gaps[0].find("other cells than its header") != std::string::npos);
}
