// SPDX-License-Identifier: MIT
// What is read of a text: repairs, tables and figures, and of bad input, where each case gives a
// named error or a stated gap and none takes long.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "audit/document.hpp"
#include "audit/expression.hpp"
#include "audit/figure.hpp"
#include "audit/repair.hpp"
#include "audited.hpp"
#include "support/catch.hpp"

using namespace wb;
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

Figure only(const std::string& text) {
  const auto figures = figures_in(text);
  REQUIRE(figures.size() == 1);
  return figures.front();
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

TEST_CASE("what is no text is refused by name", "[audit][hostile]") {
  const auto nul = audit_document("x.md", std::string("a\0b", 3));
  REQUIRE_FALSE(nul);
  CHECK(nul.error().code == ErrorCode::parse);
  CHECK(nul.error().message().find("NUL") != std::string::npos);
  const auto controls = audit_document("x.md", std::string(1000, '\x01'));
  REQUIRE_FALSE(controls);
  CHECK(controls.error().code == ErrorCode::parse);
  const auto large = audit_document("x.md", std::string(k_max_document_bytes + 1, 'a'));
  REQUIRE_FALSE(large);
  CHECK(large.error().code == ErrorCode::limit);
}

TEST_CASE("bytes that are not UTF-8 are a gap", "[audit][hostile]") {
  const Audited latin = test::audited("Total: 3 \xe9 \xff\n");
  REQUIRE(latin.gaps.size() == 1);
  CHECK(latin.gaps[0].find("2 bytes are not UTF-8") != std::string::npos);
}

TEST_CASE("an empty file says so", "[audit][hostile]") {
  for (const char* text : {"", "\n\n  \n"}) {
    const Audited empty = test::audited(text);
    CHECK(empty.findings.empty());
    REQUIRE(empty.gaps.size() == 1);
    CHECK(empty.gaps[0] == "the file has no text");
    CHECK(render({empty}).find("Not read: the file has no text") != std::string::npos);
  }
}

TEST_CASE("large and odd shapes end soon", "[audit][hostile]") {
  const auto begun = std::chrono::steady_clock::now();
  std::string wide = "|", rule = "|";
  for (int n = 0; n < 100'000; ++n) {
    wide += " 1 |";
    rule += "---|";
  }
  const Audited columns = test::audited(wide + "\n" + rule + "\n" + wide + "\n");
  CHECK(columns.tables == 0);
  CHECK(columns.gaps.size() >= 2);

  std::string many;
  for (int n = 0; n < 2'000; ++n) many += "| B | H | x (ms) |\n|---|---|---|\n| 1 | 8 | 2 |\n\n";
  const Audited tables = test::audited(many);
  CHECK(tables.tables == 200);
  CHECK(tables.gaps.size() == 1);

  for (const std::string piece :
       {"(", "1 x ", "= ", "1 = ", "| ", "$", "9", "9,999", "~~~\n", "# a\n", "Phase 1 (2 min)\n",
        "B=1,", "- Total: 3x\n", "\xc3\x97"}) {
    std::string text;
    while (text.size() < 100'000) text += piece;
    CAPTURE(piece);
    CHECK(audit_document("x.md", text));
  }
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(60));
}

TEST_CASE("decimal commas and signs are not misread, and that is said", "[audit][hostile]") {
  const Audited german = test::audited(
      "| S | Torch (ms) | Mine (ms) | Speedup |\n|---|---|---|---|\n| 64 | 1,0 | 2,0 | 0,90x |\n"
      "| 128 | 1,5 | 3,0 | 0,90x |\n\n- a: -2 ms\n- b: 3 ms\n- Total: 1 ms\n");
  CHECK(german.findings.empty());
  CHECK(german.held.empty());
  REQUIRE(german.gaps.size() == 2);
  CHECK(german.gaps[0].starts_with("2 lines have figures with a decimal comma"));
}

TEST_CASE("figures that no machine holds do no harm", "[audit][hostile]") {
  const std::string digits(400, '9');
  const Audited odd = test::audited(
      "| B | H | S | D | a (ms) | TFLOPS |\n|---|---|---|---|---|---|\n"
      "| 0 | 8 | 9 | 4 | 0 | 1 |\n| 1 | 8 | 9 | 4 | " +
      digits + " | 0 |\n| Total | 1 | 1 | 1 | 0.000 | 0 |\n\n" + digits +
      " / 0 = 3x\n1e308 x 1e308 = 5\n");
  CHECK(odd.lines == 8);
  CHECK(render({odd}).find("report.md") != std::string::npos);
}
