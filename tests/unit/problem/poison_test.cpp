// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstring>

#include "core/half.hpp"
#include "problem/verdict.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::problem;

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

TEST_CASE("poison is the pattern that the GPU's judge knows", "[problem][poison]") {
  const std::uint64_t seed = 0xfedcba9876543210u;
  std::vector<std::uint64_t> words;
  for (std::uint64_t i = 1; i <= 200; ++i) {  // splitmix64, exponents set
    std::uint64_t z = seed + i * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    words.push_back((z ^ (z >> 31)) | 0x6000600060006000u);
  }
  for (const std::size_t size : {1u, 7u, 8u, 511u, 512u, 513u, 1030u, 1600u}) {
    Bytes bytes(size);
    Poison{seed}.fill(bytes);
    CHECK(std::memcmp(bytes.data(), words.data(), size) == 0);
    for (const std::int64_t element : {2, 4, 8}) {
      CHECK(Poison{seed}.survivors(bytes, element) == static_cast<std::int64_t>(size) / element);
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
