// SPDX-License-Identifier: MIT
#include "search/seeded_order.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>

#include "support/catch.hpp"

using namespace wb;
using namespace wb::search;

TEST_CASE("the generator is SplitMix64 and stays so", "[search][order]") {
  // The reference implementation's first words for state 0 (Vigna, prng.di.unimi.it).
  CHECK(scramble(0x9e3779b97f4a7c15) == 0xe220a8397b1dcdaf);
  CHECK(scramble(2 * 0x9e3779b97f4a7c15u) == 0x6e789e6aa1b965f4);
  SeededRandom random(0);  // scramble(0) is 0
  CHECK(random.next() == 0xe220a8397b1dcdaf);
}

TEST_CASE("an order holds each position once", "[search][order]") {
  for (const std::uint64_t size : {1u, 2u, 3u, 10u, 1000u, 65'536u, 65'537u, 100'000u, 262'144u}) {
    const SeededOrder order(size, 7);
    std::vector<bool> seen(size);
    for (std::uint64_t p = 0; p < size; ++p) {
      const std::uint64_t value = order.at(p);
      REQUIRE(value < size);
      REQUIRE_FALSE(seen[value]);
      seen[value] = true;
    }
    CHECK_THROWS_AS(order.at(size), std::out_of_range);
  }
  CHECK_THROWS_AS(SeededOrder(0, 1).at(0), std::out_of_range);
}

TEST_CASE("orders differ by seed and are the same for one", "[search][order]") {
  for (const std::uint64_t size : {50u, 1'000'000'000u}) {
    const SeededOrder a(size, 1), again(size, 1), b(size, 2);
    int equal = 0;
    for (std::uint64_t p = 0; p < 50; ++p) {
      CHECK(a.at(p) == again.at(p));
      equal += a.at(p) == b.at(p) ? 1 : 0;
    }
    CHECK(equal < 10);
  }
}

TEST_CASE("every position is equally likely, small and large", "[search][order]") {
  // Where position 0 lands over many seeds, in ten bins. 99.99 % of a chi-square with 9 degrees of
  // freedom lies below 33.7.
  for (const std::uint64_t size : {10u, 1'000'000u}) {
    std::array<int, 10> bins{};
    for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
      ++bins[SeededOrder(size, seed).at(0) * 10 / size];
    }
    double chi = 0;
    for (const int count : bins) chi += (count - 2000.0) * (count - 2000.0) / 2000.0;
    CHECK(chi < 33.7);
  }
}

TEST_CASE("bounded numbers are in range and even", "[search][order]") {
  SeededRandom random(3);
  std::array<int, 7> bins{};
  for (int i = 0; i < 70'000; ++i) ++bins[random.below(7)];
  for (const int count : bins) CHECK(std::abs(count - 10'000) < 500);
  for (int i = 0; i < 1000; ++i) {
    const double u = random.uniform();
    CHECK((u >= 0 && u < 1));
  }
  CHECK(random.below(1) == 0);
  CHECK_THROWS_AS(random.below(0), std::invalid_argument);
}
