// SPDX-License-Identifier: MIT
#include "core/json.hpp"
#include "core/json_fields.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "support/catch.hpp"

using wb::ErrorCode;
using wb::Json;
using wb::ObjectReader;
using wb::parse_json;

namespace {

wb::Error fault_of(std::string_view text, wb::JsonLimits limits = {}) {
  auto result = parse_json(text, "x.json", limits);
  INFO("text: " << wb::printable(text));
  REQUIRE_FALSE(result.ok());
  return result.error();
}

std::string repeat(std::string_view piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

bool holds(const std::string& text, std::string_view piece) {
  return text.find(piece) != std::string::npos;
}

}  // namespace

TEST_CASE("good JSON becomes the same value as with the plain parser", "[core][json]") {
  for (const char* text :
       {"null", "true", "-0", "18446744073709551615", "-9223372036854775808", "1.5e-3", "\"\"",
        "[]", "{}", "[1,[2,[3,{}]],{\"a\":[{}]}]", " {\"b\":1,\n\"a\":{\"b\":[null,false]}} ",
        "\"\\u00fc\\ud83d\\ude00 \xf0\x9f\x98\x80\"", "[[],[],[1],{}]"}) {
    const auto result = parse_json(text, "x.json");
    INFO("text: " << text);
    REQUIRE(result.ok());
    CHECK(*result == Json::parse(text));
  }
}

TEST_CASE("keys are sorted, so equal values have equal text", "[core][json]") {
  CHECK(parse_json(R"({"b":1,"a":2})", "x")->dump() == R"({"a":2,"b":1})");
}

TEST_CASE("bad syntax is refused with its place", "[core][json]") {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[1,]",
                           "{\"a\":1,}",
                           "{a:1}",
                           "'a'",
                           "[1 2]",
                           "01",
                           "+1",
                           ".5",
                           "1.",
                           "NaN",
                           "Infinity",
                           "nul",
                           "\"a",
                           "\"\t\"",
                           "\"\\x\"",
                           "[1]x",
                           "{} {}",
                           "// note\n1",
                           "/* note */ 1",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "[}",
                           "{\"a\" 1}",
                           "1e",
                           "-"}) {
    const wb::Error error = fault_of(text);
    CHECK(error.code == ErrorCode::parse);
    CHECK(error.cause.rfind("line ", 0) == 0);
    CHECK(error.subject == "x.json");
  }
  CHECK(holds(fault_of("{\n  \"a\": 1,\n  \"b\" 2\n}").cause, "line 3, column 7: "));
  CHECK(holds(fault_of("x").cause, "line 1, column 1: "));
}

TEST_CASE("bytes that are not UTF-8 are refused, and the message is valid text", "[core][json]") {
  for (const char* text : {"\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
                           "\"\xe2\x82\"", "{\"\x80\":1}", "\xfe\xff", "\xef\xbb\xbf{}"}) {
    const wb::Error error = fault_of(text);
    CHECK(error.code == ErrorCode::parse);
    CHECK_NOTHROW(Json(error.message()).dump());  // dump() throws on text that is not UTF-8
  }
}

TEST_CASE("a NUL is refused, plain or escaped", "[core][json]") {
  CHECK(fault_of(std::string_view("[1,\0]", 5)).code == ErrorCode::invalid);
  CHECK(fault_of(std::string_view("{}\0", 3)).code == ErrorCode::invalid);
  CHECK(fault_of("\"a\\u0000b\"").code == ErrorCode::invalid);
  CHECK(fault_of("{\"a\\u0000b\":1}").code == ErrorCode::invalid);
}

TEST_CASE("a key that occurs twice is refused at every level, with its place", "[core][json]") {
  const wb::Error error = fault_of("{\"a\":1,\n \"b\":2,\"a\":3}");
  CHECK(error.code == ErrorCode::invalid);
  CHECK(error.cause == "line 2, column 10: key \"a\" occurs twice");
  CHECK(fault_of(R"([[{"x":[{"k":{},"k":{}}]}]])").code == ErrorCode::invalid);
  CHECK(fault_of(R"({"a":1,"\u0061":2})").code == ErrorCode::invalid);
  CHECK(parse_json(R"([{"a":1},{"a":2},{"b":{"a":1},"a":{"b":1}}])", "x").ok());
}

TEST_CASE("nesting is limited while parsing", "[core][json]") {
  const wb::JsonLimits three{1000, 3};
  CHECK(parse_json("[[[1]]]", "x", three).ok());
  CHECK(parse_json("[[[1]],[[2]],{\"a\":{}}]", "x", three).ok());
  CHECK(fault_of("[[[[1]]]]", three).code == ErrorCode::limit);
  CHECK(fault_of("{\"a\":{\"a\":{\"a\":{}}}}", three).code == ErrorCode::limit);
  CHECK(fault_of("[]", wb::JsonLimits{1000, 0}).code == ErrorCode::limit);
  CHECK(fault_of(repeat("[", 1'000'000)).code == ErrorCode::limit);
  CHECK(fault_of(repeat("{\"a\":", 100'000)).code == ErrorCode::limit);
  CHECK(fault_of(repeat("[{\"a\":", 100'000)).code == ErrorCode::limit);
}

TEST_CASE("size is limited before parsing", "[core][json]") {
  CHECK(parse_json("[1,2]", "x", wb::JsonLimits{5, 3}).ok());
  const wb::Error error = fault_of("[1,23]", wb::JsonLimits{5, 3});
  CHECK(error.code == ErrorCode::limit);
  CHECK(holds(error.cause, "6 bytes"));
}

TEST_CASE("a number that no double holds is refused", "[core][json]") {
  CHECK(fault_of("1e999").code == ErrorCode::parse);
  CHECK(fault_of("[-1e999]").code == ErrorCode::parse);
  CHECK(fault_of("{\"a\":" + repeat("9", 400) + "}").code == ErrorCode::parse);
  CHECK(parse_json("1e-999", "x").ok());
  CHECK(parse_json("1e308", "x").ok());
}

TEST_CASE("a long bad token does not make a long message", "[core][json]") {
  CHECK(fault_of("[\"" + repeat("a", 1'000'000)).message().size() < 600);
}

TEST_CASE("random damage never makes the strict parser accept more", "[core][json][fuzz]") {
  const std::string seed =
      R"({"name":"cpu_tiled","n":[1,-2,3.5e2,true,null],"deep":{"a":{"b":[{}]}},"s":"\u00fc\n"})";
  std::mt19937 random(42);
  const std::string alphabet = "{}[]\",:0123456789eE+-.\\unltrfa \n\xc3\xbc\xff";
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = seed;
    for (auto edits = 1 + random() % 3; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          text.erase(at, 1);
          break;
        default:
          text.insert(at, 1, alphabet[random() % alphabet.size()]);
      }
    }
    const auto strict = parse_json(text, "x");
    const Json plain = Json::parse(text, nullptr, false);
    if (strict.ok()) {
      ++accepted;
      REQUIRE_FALSE(plain.is_discarded());
      REQUIRE(*strict == plain);
    } else if (!plain.is_discarded()) {
      REQUIRE(strict.error().code == ErrorCode::invalid);  // only duplicates and NUL
    }
  }
  CHECK(accepted > 1000);
}

TEST_CASE("a reader gives fields of the right type", "[core][json]") {
  const Json json =
      Json::parse(R"({"s":"x","i":7,"r":2,"q":0.5,"b":true,"l":["a","b"],"o":{"k":1},)"
                  R"("big":9223372036854775807})");
  ObjectReader reader(json, "the manifest x");
  CHECK(reader.string("s") == "x");
  CHECK(reader.string_or("none", "d") == "d");
  CHECK(reader.integer("i", 0, 7) == 7);
  CHECK(reader.integer("big", 0, INT64_MAX) == INT64_MAX);
  CHECK(reader.integer_or("none", -3, 0, 1) == -3);
  CHECK(reader.real("r") == 2.0);
  CHECK(reader.real_or("q", 1.0) == 0.5);
  CHECK(reader.boolean_or("b", false));
  CHECK(reader.boolean_or("none", true));
  CHECK(reader.strings_or("l", {}) == std::vector<std::string>{"a", "b"});
  CHECK(reader.strings_or("none", {"z"}) == std::vector<std::string>{"z"});
  REQUIRE(reader.member("o") != nullptr);
  CHECK(reader.member("o")->at("k") == 1);
  CHECK(reader.member("none") == nullptr);
  CHECK(reader.finish().ok());
}

TEST_CASE("an integer field refuses everything else", "[core][json]") {
  for (const char* value :
       {"1.5", "1e17", "true", "\"1\"", "null", "[]", "{}", "11", "-1", "11.0", "1e2",
        "9223372036854775808", "18446744073709551615", "123456789012345678901234567890"}) {
    const Json json = Json::parse(std::string("{\"n\":") + value + "}");
    ObjectReader reader(json, "the plan");
    CHECK(reader.integer("n", 0, 10) == 0);
    const auto result = reader.finish();
    INFO("value: " << value);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == ErrorCode::invalid);
    CHECK(holds(result.error().message(), "cannot read the plan: key \"n\": must be an integer"));
  }
}

TEST_CASE("other fields refuse wrong types", "[core][json]") {
  const Json json = Json::parse(R"({"s":1,"r":"1","b":0,"l":["a",1],"t":true})");
  const auto fault = [&](auto read) {
    ObjectReader reader(json, "x");
    read(reader);
    const auto result = reader.finish(true);
    return result.ok() ? std::string("none") : result.error().cause;
  };
  CHECK(fault([](auto& r) { r.string("s"); }) == "key \"s\": must be a string, not 1");
  CHECK(fault([](auto& r) { r.string_or("l", ""); }) == "key \"l\": must be a string, not a list");
  CHECK(fault([](auto& r) { r.real("r"); }) == "key \"r\": must be a finite number, not \"1\"");
  CHECK(fault([](auto& r) { r.real("t"); }) == "key \"t\": must be a finite number, not true");
  CHECK(fault([](auto& r) { r.boolean_or("b", true); }) ==
        "key \"b\": must be true or false, not 0");
  CHECK(fault([](auto& r) { r.strings_or("l", {}); }) == "key \"l\": must be a list of strings");
  CHECK(fault([](auto& r) { r.strings_or("s", {}); }) == "key \"s\": must be a list of strings");
  CHECK(fault([](auto& r) { r.string("none"); }) == "key \"none\" is missing");
  CHECK(fault([](auto& r) { r.integer("none", 0, 1); }) == "key \"none\" is missing");
  CHECK(fault([](auto& r) { r.real("none"); }) == "key \"none\" is missing");
  const Json infinite = {{"x", std::numeric_limits<double>::infinity()}};
  ObjectReader reader(infinite, "x");
  CHECK(reader.real("x") == 0.0);
  CHECK_FALSE(reader.finish().ok());
}

TEST_CASE("only the first fault is kept", "[core][json]") {
  const Json json = Json::parse(R"({"b":1})");
  ObjectReader reader(json, "x");
  reader.string("a");
  reader.boolean_or("b", false);
  reader.fail("c", "is late");
  CHECK(reader.finish().error().cause == "key \"a\" is missing");
}

TEST_CASE("a caller's own fault and unknown keys are reported", "[core][json]") {
  const Json json = Json::parse(R"({"a":1,"zz":2})");
  ObjectReader caller(json, "x");
  caller.fail("a", "must be even");
  CHECK(caller.finish().error().cause == "key \"a\": must be even");

  ObjectReader strict(json, "x");
  strict.integer("a", 0, 9);
  const auto result = strict.finish();
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().message() == "cannot read x: key \"zz\" is not known here; known keys: a");
  ObjectReader loose(json, "x");
  loose.integer("a", 0, 9);
  CHECK(loose.finish(true).ok());
}

TEST_CASE("what is no object is a fault, and reading it is harmless", "[core][json]") {
  for (const char* text : {"[1]", "1", "\"a\"", "null"}) {
    const Json json = Json::parse(text);
    ObjectReader reader(json, "x");
    CHECK(reader.string("a").empty());
    CHECK(reader.integer_or("a", 4, 0, 9) == 4);
    CHECK(reader.member("a") == nullptr);
    const auto result = reader.finish();
    REQUIRE_FALSE(result.ok());
    CHECK(holds(result.error().cause, "must be an object"));
  }
}

TEST_CASE("a forgiving read takes what has another type as absent", "[core][json]") {
  const Json json = Json::parse(R"({"n":1.5,"i":7,"big":1e30,"s":"x","yes":true,"null":null,
                                    "list":["a",1,"b"],"o":{"n":2}})");
  CHECK(wb::number_of(json, "n") == 1.5);
  CHECK(wb::integer_of(json, "i") == 7);
  CHECK(wb::integer_of(json, "n") == 1);
  CHECK_FALSE(wb::integer_of(json, "big"));
  CHECK(wb::text_of(json, "s") == "x");
  CHECK(wb::text_or(json, "n", "else") == "else");
  CHECK(wb::is_true(json, "yes"));
  CHECK(wb::strings_of(json, "list") == std::vector<std::string>{"a", "b"});
  CHECK(wb::number_of(wb::member_of(json, "o"), "n") == 2);
  for (const Json& other : {json, Json(), Json(3), Json::array({1}), Json("n")}) {
    for (const char* key : {"null", "no such", "o"}) {
      CHECK_FALSE((wb::number_of(other, key) || wb::integer_of(other, key)));
      CHECK((wb::text_of(other, key).empty() && !wb::is_true(other, key)));
      CHECK((wb::strings_of(other, key).empty() && wb::list_of(other, key).empty()));
    }
  }
  CHECK_FALSE(wb::number_of(Json{{"n", std::numeric_limits<double>::infinity()}}, "n"));
  CHECK(wb::or_null(std::optional<double>()).is_null());
  CHECK(wb::or_null(std::optional<std::int64_t>(3)) == 3);
  CHECK(wb::finite_or_null(std::nan("")).is_null());
  CHECK(wb::finite_or_null(0.5) == 0.5);
}
