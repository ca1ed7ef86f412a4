// SPDX-License-Identifier: MIT
// Bad input: each case gives a named error or a stated gap, and none takes long.
#include <chrono>

#include "audited.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::audit;

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
