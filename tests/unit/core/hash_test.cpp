// SPDX-License-Identifier: MIT
#include "core/hash.hpp"

#include <random>
#include <stdexcept>
#include <vector>

#include "support/catch.hpp"

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
