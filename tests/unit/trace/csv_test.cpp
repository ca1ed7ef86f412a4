// SPDX-License-Identifier: MIT
#include "trace/csv.hpp"
#include "core/json.hpp"

#include <random>

#include "support/catch.hpp"

using namespace wb;
using namespace wb::trace;

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
