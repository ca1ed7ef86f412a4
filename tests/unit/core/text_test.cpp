// SPDX-License-Identifier: MIT
// Text and numbers from other systems: ASCII rules in every locale, byte order marks, line ends,
// CSV, sizes, and whole floats as integers.
#include <clocale>
#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

#include "core/ascii.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace std::string_view_literals;

TEST_CASE("letters are those of ASCII", "[core][text]") {
  for (int byte = 128; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    CHECK_FALSE((ascii::is_alnum(c) || ascii::is_space(c) || ascii::is_punct(c)));
    CHECK((ascii::lower(c) == c && ascii::upper(c) == c));
  }
  CHECK((ascii::lower('I') == 'i' && ascii::upper('i') == 'I'));  // not so in Turkish
  CHECK((ascii::is_space('\v') && ascii::is_space('\r') && !ascii::is_space('\0')));
  CHECK((ascii::is_punct('_') && ascii::is_punct('~') && !ascii::is_punct('\x7f')));
}

TEST_CASE("numbers are read whole, and with a point", "[core][text]") {
  CHECK(ascii::number<double>("1.5") == 1.5);
  CHECK(ascii::number<int>("-7") == -7);
  for (const char* text : {"", " 1", "1 ", "1,5", "+1", "x", "1.5.2"}) {
    INFO(text);
    CHECK_FALSE(ascii::number<double>(text));
  }
  CHECK_FALSE(ascii::number<std::int64_t>("9223372036854775808"));
  CHECK(ascii::whole("64.0") == 64);
  CHECK(ascii::whole("-3.000") == -3);
  for (const char* text : {"64.", ".0", "64.5", "64.0 ", "6.4e1", "inf", "nan", ""}) {
    INFO(text);
    CHECK_FALSE(ascii::whole(text));
  }
}

TEST_CASE("words and parts of a text", "[core][text]") {
  CHECK(ascii::words("  a\tbc \n") == std::vector<std::string_view>{"a", "bc"});
  CHECK(ascii::words("").empty());
  CHECK(ascii::parts("a,,b,", ',') == std::vector<std::string_view>{"a", "", "b"});
  CHECK(ascii::parts("", ',').empty());
}

TEST_CASE("a whole float is an integer, as far as a double holds each", "[core][text]") {
  CHECK(whole_number(Json(32.0)) == 32);
  CHECK(whole_number(Json(-0.0)) == 0);
  CHECK(whole_number(Json(9'007'199'254'740'992.0)) == 9'007'199'254'740'992);
  for (const Json& value : {Json(1e16), Json(1e300), Json(0.5), Json(std::nan("")),
                            Json(std::uint64_t{1} << 63), Json("32"), Json(true), Json()}) {
    INFO(value.dump());
    CHECK_FALSE(whole_number(value));
  }
}

TEST_CASE("texts of other editors lose their marks, not their lines", "[core][text]") {
  CHECK(plain_text("\xef\xbb\xbf"
                   "a\r\nb\rc\n") == "a\nb\nc\n");
  CHECK(plain_text("") == "");
  CHECK(plain_text("a\r") == "a\n");
  CHECK(foreign_encoding("plain").empty());
  CHECK(foreign_encoding("").empty());
  CHECK(foreign_encoding("\xff\xfe caf\xe9\n").empty());
  CHECK(foreign_encoding("\xff\xfe"
                         "a\0"sv) == "UTF-16, not UTF-8");
  CHECK(foreign_encoding("\xfe\xff\0a"sv) == "UTF-16, not UTF-8");
  CHECK(foreign_encoding("\xff\xfe\0\0"sv) == "UTF-32, not UTF-8");
  CHECK(foreign_encoding("r\0e\0"sv) == "UTF-16, not UTF-8");
  CHECK(foreign_encoding("\0r\0e"sv) == "UTF-16, not UTF-8");
  const TempDirectory folder = TempDirectory::create("wb-text").value();
  REQUIRE(RealFileSystem()
              .write_atomic(folder.path() / "t",
                            "\xff\xfe"
                            "a\0"sv,
                            Durability::none)
              .ok());
  const auto read = read_plain_text(RealFileSystem(), folder.path() / "t", 100, "read the table");
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().message().find("UTF-16") != std::string::npos);
}

TEST_CASE("comma-separated values keep commas, quotes and line ends inside quotes",
          "[core][text]") {
  using Rows = std::vector<std::vector<std::string>>;
  const auto fields_of = [](std::string_view text) {
    Rows rows;
    for (const CsvRow& row : parse_csv(text)) rows.push_back(row.fields);
    return rows;
  };
  CHECK(fields_of("a,\"b,c\",\"d\"\"e\"\r\n\"f\ng\",,h") ==
        Rows{{"a", "b,c", "d\"e"}, {"f\ng", "", "h"}});
  CHECK(fields_of("\n\na\n\n") == Rows{{"a"}});
  CHECK(fields_of("1, \"a,b\"") == Rows{{"1", " a,b"}});
  CHECK(fields_of("").empty());
  const auto rows = parse_csv("\na,\"b\n\nc\"\n\nd\n\"never closed, it\nends");
  REQUIRE(rows.size() == 3);
  CHECK((rows[0].line == 2 && rows[1].line == 6 && rows[2].line == 7));
  CHECK((rows[0].is_closed && rows[1].is_closed && !rows[2].is_closed));
  CHECK(rows[2].fields == std::vector<std::string>{"never closed, it\nends"});
}

TEST_CASE("sizes have the largest unit that fits", "[core][text]") {
  CHECK((binary_size(1023).value == 1023 && binary_size(1023).unit == "B"));
  CHECK((binary_size(1536).value == 1.5 && binary_size(1536).unit == "KiB"));
  CHECK(binary_size(std::ldexp(3, 50)).unit == "TiB");
  CHECK((binary_size(512, BinaryUnit::kib).value == 0.5 &&
         binary_size(512, BinaryUnit::kib).unit == "KiB"));
  CHECK(binary_size(std::ldexp(3, 30), BinaryUnit::kib, BinaryUnit::mib).value == 3072);
}

TEST_CASE("rows of a Markdown table", "[core][text]") {
  CHECK(markdown::head({"a", "b"}) == "| a | b |\n| --- | --- |\n");
  CHECK(markdown::row({"1", ""}) == "| 1 |  |\n");
}

TEST_CASE("JSON has the same numbers in a locale with a decimal comma", "[core][text]") {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  bool found = false;
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "fa_IR.UTF-8", "ps_AF.UTF-8"}) {
    if (std::setlocale(LC_NUMERIC, name) == nullptr) continue;
    found = true;
    const auto json = parse_json("[1.5, -2.25e3, 1e-400, 12345678.875]", "x");
    std::setlocale(LC_NUMERIC, before.c_str());
    REQUIRE(json.ok());
    CHECK(*json == Json::array({1.5, -2250.0, 0.0, 12345678.875}));
  }
  if (!found) SUCCEED("no such locale is installed here");
}

TEST_CASE("SHA-256 agrees with the published vectors", "[core][hash]") {
  CHECK(wb::sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(wb::sha256_hex("abc") ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(wb::sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(wb::sha256_hex(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("pieces hash like the whole, wherever it was cut", "[core][hash]") {
  std::mt19937 random(7);
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(random());
  const std::string whole = wb::sha256_hex(text);
  for (int round = 0; round < 50; ++round) {
    wb::Sha256 hash;
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t length = std::min<std::size_t>(random() % 200, text.size() - at);
      if (round % 2 == 0) {
        hash.update(std::string_view(text).substr(at, length));
      } else {
        hash.update(std::as_bytes(std::span(text).subspan(at, length)));
      }
      at += length;
    }
    REQUIRE(hash.hex() == whole);
  }
}

TEST_CASE("a spent hash refuses further use", "[core][hash]") {
  wb::Sha256 hash;
  hash.update("x");
  wb::Sha256 moved = std::move(hash);
  CHECK(moved.hex() == wb::sha256_hex("x"));
  CHECK_THROWS_AS(moved.hex(), std::logic_error);
  CHECK_THROWS_AS(moved.update("y"), std::logic_error);
}

TEST_CASE("a short hash is the first eight digits", "[core][hash]") {
  CHECK(wb::short_hash(wb::sha256_hex("abc")) == "ba7816bf");
  CHECK(wb::short_hash("abc") == "abc");
}

TEST_CASE("a hash is told from other words", "[core][hash]") {
  CHECK(wb::is_sha256(wb::sha256_hex("")));
  for (const std::string& word : {std::string(), std::string(63, 'a'), std::string(65, 'a'),
                                  std::string(64, 'A'), std::string(64, 'g')}) {
    INFO(word);
    CHECK_FALSE(wb::is_sha256(word));
  }
}
