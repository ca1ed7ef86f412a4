// SPDX-License-Identifier: MIT
#include "core/error.hpp"

#include <memory>
#include <set>
#include <string>

#include "support/catch.hpp"

using wb::Error;
using wb::ErrorCode;
using wb::Result;

namespace {

Result<int> half_of(int value) {
  if (value % 2 != 0) return Error{ErrorCode::invalid, "halve", std::to_string(value), "odd", ""};
  return value / 2;
}

Result<int> quarter_of(int value) {
  WB_TRY_ASSIGN(const int half, half_of(value));
  WB_TRY_ASSIGN(const int quarter, half_of(half));
  return quarter;
}

Result<void> check_even(int value) {
  WB_TRY(half_of(value));
  return {};
}

}  // namespace

TEST_CASE("a message says what, on what, why and what next", "[core][error]") {
  const Error whole{ErrorCode::parse, "read the manifest", "k/kernel.json", "no key \"name\"",
                    "add one"};
  CHECK(whole.message() == "cannot read the manifest k/kernel.json: no key \"name\"; add one");
  const Error bare{ErrorCode::io, "create a pipe", "", "too many open files", ""};
  CHECK(bare.message() == "cannot create a pipe: too many open files");
}

TEST_CASE("a message is one line of valid text, whatever it quotes", "[core][error]") {
  const Error error{ErrorCode::io, "read", "a\nb\x1b[31m", "\xff\xc3(", "\xe2\x82\xac"};
  CHECK(error.message() == "cannot read a\\nb\\x1b[31m: \\xff\\xc3(; \xe2\x82\xac");
}

TEST_CASE("JSON keeps its meaning without hidden characters", "[core][error]") {
  CHECK(wb::without_hidden_characters("{\n \"a\": \"x\xe2\x80\xaey\"}") ==
        "{\n \"a\": \"x\\u202ey\"}");
  CHECK(wb::without_hidden_characters("\"\xf3\xa0\x81\x81 gr\xc3\xbc\"") ==
        "\"\\udb40\\udc41 gr\xc3\xbc\"");
}

TEST_CASE("printable keeps good UTF-8 and escapes the rest", "[core][error]") {
  CHECK(wb::printable("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80") ==
        "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80");
  CHECK(wb::printable("\xc0\xaf") == "\\xc0\\xaf");           // overlong
  CHECK(wb::printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // surrogate
  CHECK(wb::printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(wb::printable("\xe2\x82") == "\\xe2\\x82");  // cut short
  CHECK(wb::printable("a\tb\x7f") == "a\\tb\\x7f");
  CHECK(wb::printable(std::string(1, '\0')) == "\\x00");
  CHECK(wb::printable(std::string(500, 'x'), 10) == "xxxxxxxxxx... (500 bytes)");
  CHECK(wb::printable("a\xe2\x80\xae"
                      "b\xc2\x9b") == "a\\xe2\\x80\\xaeb\\xc2\\x9b");
  for (const char* hidden :
       {"\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa", "\xe2\x80\xab", "\xe2\x80\xac",
        "\xe2\x80\xad", "\xe2\x81\xa6", "\xe2\x81\xa7", "\xe2\x81\xa8", "\xe2\x81\xa9"}) {
    CHECK(wb::printable(hidden).starts_with("\\x"));  // they reorder what is read
  }
  CHECK(wb::printable("") == "");
}

TEST_CASE("a Result holds a value or an error", "[core][error]") {
  const Result<int> good = half_of(8);
  REQUIRE(good.ok());
  CHECK(*good == 4);
  const Result<int> bad = half_of(7);
  REQUIRE_FALSE(bad.ok());
  CHECK(bad.error().code == ErrorCode::invalid);
  CHECK_THROWS_AS(bad.value(), std::bad_variant_access);
  CHECK(Result<void>().ok());
  CHECK_THROWS_AS(Result<void>().error(), std::bad_optional_access);
}

TEST_CASE("a Result carries what can only be moved", "[core][error]") {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  REQUIRE(result.ok());
  const std::unique_ptr<int> taken = *std::move(result);
  CHECK(*taken == 5);
}

TEST_CASE("WB_TRY hands the first error to the caller", "[core][error]") {
  CHECK(*quarter_of(12) == 3);
  CHECK(quarter_of(7).error().subject == "7");
  CHECK(quarter_of(6).error().subject == "3");
  CHECK(check_even(2).ok());
  CHECK(check_even(3).error().cause == "odd");
}

TEST_CASE("every error code has a word of its own", "[core][error]") {
  std::set<std::string_view> words;
  for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code) {
    const auto value = static_cast<ErrorCode>(code);
    words.insert(wb::to_string(value));
    CHECK(wb::parse_error_code(wb::to_string(value)) == value);
  }
  CHECK(words.size() == static_cast<std::size_t>(ErrorCode::internal) + 1);
  CHECK_FALSE(wb::parse_error_code("No_space").has_value());
  CHECK(words.count("no_space") == 1);
  CHECK(words.count("wrong_result") == 1);
}

TEST_CASE("invalidity words are read back as written", "[core][error]") {
  for (const char* word :
       {"constraints", "compile", "runtime", "timeout", "correctness", "environment"}) {
    const auto value = wb::parse_invalidity(word);
    REQUIRE(value.has_value());
    CHECK(wb::to_string(*value) == word);
  }
  CHECK_FALSE(wb::parse_invalidity("Timeout").has_value());
  CHECK_FALSE(wb::parse_invalidity("").has_value());
}
