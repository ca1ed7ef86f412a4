// SPDX-License-Identifier: MIT
#include <random>
#include <string>

#include "protocol/protocol.hpp"
#include "support/catch.hpp"

using wb::protocol::base64_decode;
using wb::protocol::base64_encode;

TEST_CASE("base64 agrees with the vectors of RFC 4648", "[protocol][base64]") {
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    CHECK(base64_encode(bytes) == text);
    CHECK(*base64_decode(text) == bytes);
  }
}

TEST_CASE("any bytes survive base64", "[protocol][base64]") {
  std::mt19937 random(7);
  for (std::size_t size = 0; size < 300; ++size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    REQUIRE(*base64_decode(base64_encode(bytes)) == bytes);
  }
}

TEST_CASE("text that is not base64 is refused", "[protocol][base64]") {
  for (const std::string text : {"Zg=", "Zg", "Z", "====", "=g==", "Zg==Zg==", "Zm9v\n",
                                 "Zm 9v===", "Zh==", "Zm9=", "Z-8=", "Zm9v\x80zzz"}) {
    INFO(text);
    CHECK_FALSE(base64_decode(text).ok());
  }
}
