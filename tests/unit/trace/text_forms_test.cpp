// SPDX-License-Identifier: MIT
// The text forms that are read: a profile's JSON; tables as CSV and the Python literals in their
// cells.
#include <random>

#include "core/json.hpp"
#include "support/catch.hpp"
#include "trace/csv.hpp"
#include "trace/json_scanner.hpp"

using namespace wb;
using namespace wb::trace;

namespace {

/// Bytes handed out in pieces of a given size.
class Pieces final : public ByteSource {
 public:
  Pieces(std::string text, std::size_t piece) : m_text(std::move(text)), m_piece(piece) {}
  Result<std::size_t> read(std::span<char> into) override {
    const std::size_t count = std::min({m_piece, into.size(), m_text.size() - m_at});
    std::copy_n(m_text.data() + m_at, count, into.data());
    m_at += count;
    return count;
  }

 private:
  std::string m_text;
  std::size_t m_piece, m_at = 0;
};

/// "" when the whole text is one good value.
std::string fault_of(const std::string& text, std::size_t piece = 1 << 20) {
  Pieces source(text, piece);
  JsonScanner scan(source, "text");
  if (scan.skip() && !scan.at_end()) scan.fail(ErrorCode::parse, "more text");
  return scan.fault() ? scan.fault()->cause : std::string();
}

}  // namespace

TEST_CASE("the scanner takes what JSON is and refuses what it is not", "[trace][scanner]") {
  for (const char* good : {"0", "-1.5e-7", "[]", "{}", "[1,\"a\",null,true,false]",
                           " {\"a\" : [ ] } ", R"(["\"\\\/\b\f\n\r\t\u00e9"])", "NaN",
                           "[Infinity,-Infinity]", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""}) {
    INFO(good);
    CHECK(fault_of(good).empty());
    CHECK(fault_of(good, 1).empty());
  }
  for (const char* bad : {"",
                          "[",
                          "{",
                          "[1,]",
                          "{\"a\":}",
                          "{\"a\" 1}",
                          "{a:1}",
                          "[1 2]",
                          "01",
                          "1.",
                          ".5",
                          "+1",
                          "1e",
                          "nul",
                          "truE",
                          "\"",
                          "\"\\x\"",
                          "\"\\u12g4\"",
                          "\"a\nb\"",
                          "{\"a\":1,}",
                          "[1]]",
                          "\"\xc3\"",
                          "\"\xed\xa0\x80\"",
                          "\"\xff\"",
                          "\"\xc0\xaf\"",
                          "\"\xf4\x90\x80\x80\"",
                          "'a'",
                          "[1,2"}) {
    INFO(bad);
    CHECK_FALSE(fault_of(bad).empty());
    CHECK_FALSE(fault_of(bad, 1).empty());
  }
}

TEST_CASE("depth has an end and no stack is at risk", "[trace][scanner]") {
  const std::string open(100'000, '[');
  CHECK(fault_of(open).find("nested deeper than 512") != std::string::npos);
  CHECK(fault_of(std::string(500, '[') + std::string(500, ']')).empty());
}

TEST_CASE("slices survive a moving buffer", "[trace][scanner]") {
  std::string text = "[";
  for (int i = 0; i < 2000; ++i)
    text += "{\"name\":\"" + std::string(500, 'x') + std::to_string(i) + "\"},";
  text += "{\"name\":\"end\"}]";
  Pieces source(text, 777);
  JsonScanner scan(source, "text");
  int place = 0;
  const bool good = scan.array([&] {
    scan.peek();
    scan.hold();
    Slice name;
    const bool read = scan.object(
        [&](std::string_view key) { return key == "name" ? scan.string(name) : scan.skip(); });
    if (place < 2000) {
      CHECK(scan.text(name) == std::string(500, 'x') + std::to_string(place));
    } else {
      CHECK(scan.text(name) == "end");
    }
    ++place;
    scan.release();
    return read;
  });
  CHECK(good);
  CHECK(place == 2001);
  CHECK(scan.at_end());
}

TEST_CASE("escapes are resolved", "[trace][scanner]") {
  CHECK(unescaped(R"(a\"\\\/\n\u00e9\u20ac\ud83d\ude00)") ==
        "a\"\\/\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(unescaped(R"(\ud83d!)") == "\xef\xbf\xbd!");
}

TEST_CASE("the scanner agrees with the strict parser on damaged texts", "[trace][scanner][fuzz]") {
  const std::string base =
      R"({"a":[1,-2.5e3,"x\u00e9y",{"b":null,"c":[true,false,""]}],"d":"\"\\","e":{}})";
  std::mt19937 random(7);
  const std::string letters = "{}[],:\"\\ 01.eEtnu-\xc3\xa9\x01";
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = base;
    for (int k = 0; k < 1 + i % 3; ++k) {
      const std::size_t at = random() % text.size();
      const char letter = letters[random() % letters.size()];
      switch (random() % 3) {
        case 0:
          text[at] = letter;
          break;
        case 1:
          text.insert(at, 1, letter);
          break;
        default:
          text.erase(at, 1);
      }
    }
    // nlohmann's acceptor has no NaN and looks at neither duplicate keys nor depth.
    const bool accepted = Json::accept(text);
    INFO(text);
    CHECK(fault_of(text, 1 + i % 5).empty() == accepted);
    refused += accepted ? 0 : 1;
  }
  CHECK(refused > 1000);
}

TEST_CASE("CSV with quotes, commas and line ends in cells", "[trace][csv]") {
  const auto table = parse_csv("a,b,c\r\n1,\"x, \"\"y\"\"\nz\",\n,,3\n", "t.csv");
  REQUIRE(table.ok());
  REQUIRE(table->rows.size() == 2);
  CHECK(table->cell(0, "b") == "x, \"y\"\nz");
  CHECK(table->cell(0, "c").empty());
  CHECK(table->cell(1, "c") == "3");
  CHECK(table->cell(1, "no such").empty());
  CHECK(parse_csv("", "t.csv")->rows.empty());
  CHECK(parse_csv("a,b\n1\n", "t.csv").error().message().find("line 2 has 1 cells") !=
        std::string::npos);
  CHECK(parse_csv("a\n\"never", "t.csv").error().message().find("never closes") !=
        std::string::npos);
  for (const std::string cell : {"plain", "a,b", "say \"x\"", "two\nlines", ""}) {
    const auto back = parse_csv("h,i\n" + csv_cell(cell) + ",2\n", "t.csv");
    REQUIRE(back.ok());
    CHECK(back->cell(0, "h") == cell);
  }
}

TEST_CASE("Python literals as pandas writes them", "[trace][csv]") {
  const auto value = [](std::string_view text) {
    const auto parsed = parse_python_literal(text);
    return parsed.ok() ? parsed->dump() : parsed.error().message();
  };
  CHECK(value("((1, 32), (), (8192,))") == "[[1,32],[],[8192]]");
  CHECK(value("[{'name': 'a', 'count': 10, 'mean': np.float64(65846.0038)}]") ==
        R"([{"count":10,"mean":65846.0038,"name":"a"}])");
  CHECK(value("{'a': np.float64(nan), 'b': nan, 'c': None, 'd': True, 'e': -inf}") ==
        R"({"a":null,"b":null,"c":null,"d":true,"e":null})");
  CHECK(value("[np.float64(1.5e-07), np.int64(-3), 1., -2.5]") == "[1.5e-07,-3,1.0,-2.5]");
  CHECK(value("'it\\'s'") == "\"it's\"");
  CHECK(value("\"void f<g(int)>(h)\"") == "\"void f<g(int)>(h)\"");
  for (const char* bad : {"", "[1", "{'a' 1}", "[1 2]", "open('x')", "__import__('os')", "1 2",
                          "np.float64(1", "'never", "{1: 2}"}) {
    INFO(bad);
    CHECK_FALSE(parse_python_literal(bad).ok());
  }
  CHECK(parse_python_literal(std::string(100'000, '[')).error().code == ErrorCode::limit);
}

TEST_CASE("what is written as a literal reads back", "[trace][csv]") {
  const Json value = {{"a", {1, 2.5, "it's \"x\"", nullptr, true}}, {"b", Json::array()}};
  CHECK(*parse_python_literal(python_literal(value, false)) == value);
  CHECK(*parse_python_literal(python_literal(value, true)) == value);
  CHECK(python_literal(Json::parse("[[8192],[]]"), true) == "((8192,), ())");
  CHECK(python_number(1024) == "1024.0");
  CHECK(python_number(0.1) == "0.1");
}

TEST_CASE("numbers of cells", "[trace][csv]") {
  CHECK(cell_number("1.5") == 1.5);
  CHECK(cell_number("np.float64(2.5)") == 2.5);
  CHECK_FALSE(cell_number("nan"));
  CHECK_FALSE(cell_number(""));
  CHECK_FALSE(cell_number("1.5x"));
}

TEST_CASE("random bytes are no table and no literal, and no crash", "[trace][csv][fuzz]") {
  std::mt19937 random(5);
  const std::string letters = "'\"()[]{}:,.np1e-\\\n a";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (auto k = random() % 30; k > 0; --k) text += letters[random() % letters.size()];
    (void)parse_csv(text, "t.csv").ok();
    (void)parse_python_literal(text).ok();
  }
  SUCCEED();
}
