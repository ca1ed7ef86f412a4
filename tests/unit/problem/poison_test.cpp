// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstring>

#include "core/half.hpp"
#include "problem/verdict.hpp"
#include "support/catch.hpp"

using namespace wb;

TEST_CASE("poison is counted where it stayed", "[problem][poison]") {
  const Poison poison{0x1234567890abcdefu};
  for (const std::int64_t element : {2, 4}) {
    for (const std::size_t count : {1u, 2u, 3u, 4u, 5u, 1001u}) {
      Bytes bytes(count * static_cast<std::size_t>(element));
      poison.fill(bytes);
      CHECK(poison.survivors(bytes, element) == static_cast<std::int64_t>(count));
      CHECK(Poison{5}.survivors(bytes, element) < 1 + static_cast<std::int64_t>(count) / 100);
      const std::size_t victim = count / 2 * static_cast<std::size_t>(element);
      bytes[victim] ^= std::byte{1};
      CHECK(poison.survivors(bytes, element) == static_cast<std::int64_t>(count) - 1);
    }
  }
}

TEST_CASE("poison is never a value that an output could have", "[problem][poison]") {
  Bytes bytes(1 << 16);
  Poison{77}.fill(bytes);
  std::size_t f16_non_finite = 0, bf16_non_finite = 0, negative = 0;
  const std::size_t halves = bytes.size() / 2;
  for (std::size_t i = 0; i < halves; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, bytes.data() + 2 * i, sizeof bits);
    const float as_f16 = to_float(F16{bits});
    const float as_bf16 = to_float(Bf16{bits});
    f16_non_finite += std::isfinite(as_f16) ? 0 : 1;
    bf16_non_finite += std::isfinite(as_bf16) ? 0 : 1;
    negative += bits >> 15;
    REQUIRE_FALSE(std::abs(as_f16) < 512.0f);
    REQUIRE_FALSE(std::abs(as_bf16) < 0x1p65f);
  }
  CHECK(f16_non_finite > halves / 16);  // both kinds occur
  CHECK(f16_non_finite < halves / 4);
  CHECK(bf16_non_finite > 0);
  CHECK(negative > halves / 3);
  CHECK(negative < 2 * halves / 3);
  for (std::size_t i = 0; i < bytes.size() / 4; ++i) {
    float value;
    std::memcpy(&value, bytes.data() + 4 * i, sizeof value);
    REQUIRE_FALSE(std::abs(value) < 0x1p65f);
  }
}
