// SPDX-License-Identifier: MIT
// The decision that both judges share, on figures made by hand.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/dtype.hpp"
#include "problem/decision.hpp"
#include "problem/verdict.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::problem;

namespace {

constexpr double k_inf = std::numeric_limits<double>::infinity();
constexpr double k_not_a_number = std::numeric_limits<double>::quiet_NaN();

/// bf16's share of an output, with 128 keys added up in f32.
const double k_share = 0x1p-8 + 0x1p-23 * std::sqrt(128.0) + 0x1p-28 * 128;

/// A whole block of 64 rows and 64 columns in bf16, with room to spare.
struct Figures {
  Problem p = parse_problem("B=1 Hq=2 Sq=128 D=64 bf16").value();
  RowBlock block{0, 1, 64, 128};
  std::array<double, 64> lse{}, norm{};
  std::array<float, 64> got_lse{};
  BlockStatistics statistics;

  Figures() {
    lse.fill(3.0);
    norm.fill(0.1);
    got_lse.fill(3.0f);
    statistics.out = {.max = 0.01, .mean = 0.001, .worst_index = 130, .mean_magnitude = 0.2};
    statistics.got = 0.51;
    statistics.want = 0.5;
    statistics.of_std = {.max = 0.01, .mean = 0.001};
    statistics.max_ref = 1.0;
    statistics.mean_ref = 0.2;
    statistics.ref_lse = lse;
    statistics.weight_norm = norm;
    statistics.got_lse = got_lse;
  }
  [[nodiscard]] BudgetUse judge() const { return judge_statistics(p, block, statistics); }
};

}  // namespace

TEST_CASE("the worst inequality of a block, with its budget", "[problem][decision]") {
  Figures f;
  // s = 2^-24 sqrt(64) |LSE| norm
  const double s = 0x1p-24 * 8 * 3.0 * 0.1;
  const BudgetUse use = f.judge();
  CHECK(use.rule == "mean");
  CHECK(use.budget == Approx(1.5 * 0.001 + k_share * 0.2 + s));
  CHECK(use.error == 0.001);
  f.statistics.out.max = 0.02;
  const BudgetUse max = f.judge();
  CHECK(max.rule == "max");
  CHECK(max.budget == Approx(2.0 * 0.01 + k_share * 1.0 + s));
  CHECK(max.share == Approx(0.02 / max.budget));
  CHECK(max.row == 66);
  CHECK(max.column == 2);
  CHECK(max.got == 0.51);
}

TEST_CASE("many keys may lose more than few: f32 adds them up one by one", "[problem][decision]") {
  for (const std::int64_t keys : {64, 16'000, 130'000}) {
    Figures f;
    f.p = parse_problem("B=1 Hq=2 Sq=128 D=64 f32").value();
    f.p.Skv = keys;
    f.statistics.of_std = {};
    f.statistics.out = {.max = 1.9e-5, .mean = 0, .worst_index = 0, .mean_magnitude = 0.2};
    CHECK((f.judge().share <= 1) == (keys > 64));
    f.statistics.out.max = 1.2e-3;
    CHECK(f.judge().share > 1);
  }
}

TEST_CASE("a figure that is no number fails its block", "[problem][decision]") {
  for (const double bad : {k_inf, k_not_a_number}) {
    Figures out, std_max, std_mean, ref;
    out.statistics.out.max = bad;
    CHECK(out.judge().share == k_inf);
    std_max.statistics.of_std.max = bad;
    CHECK(std_max.judge().share == k_inf);
    std_mean.statistics.of_std.mean = bad;
    CHECK(std_mean.judge().share == k_inf);
    ref.statistics.max_ref = bad;
    CHECK(ref.judge().share == k_inf);
  }
}

TEST_CASE("LSE is judged row by row", "[problem][decision]") {
  Figures f;
  f.got_lse[5] = 3.0f + 6e-5f;
  BudgetUse use = f.judge();
  CHECK(use.rule == "lse");
  CHECK(use.row == 69);
  CHECK(use.share > 1);
  f.got_lse[5] = -std::numeric_limits<float>::infinity();
  use = f.judge();
  CHECK(use.share == k_inf);
  f.lse[5] = -k_inf;
  CHECK(f.judge().rule == "mean");
  f.lse[5] = 0;  // by cancellation, of scores that are larger
  f.got_lse[5] = 6e-5f;
  CHECK(f.judge().share == Approx(6.0).epsilon(1e-4));
  f.statistics.score_deviation = 20;
  CHECK(f.judge().rule == "mean");
  f.got_lse[5] = 4e-4f;
  CHECK(f.judge().share == Approx(2.0).epsilon(1e-4));
  f.lse[5] = -k_inf;
  f.got_lse[5] = -1e30f;  // a masked row says -inf and nothing else
  CHECK(f.judge().share == k_inf);
}

TEST_CASE("counts come before inequalities in a verdict's reason", "[problem][decision]") {
  const Figures f;
  std::array<BudgetUse, 2> uses{f.judge(), f.judge()};
  CHECK(conclude(f.p, uses, {}).pass);
  CHECK(conclude(f.p, uses, {}).blocks_judged == 2);
  CHECK(conclude(f.p, uses, {}).blocks_total == 4);
  uses[1].share = 1.5;
  const OutputVerdict wrong = conclude(f.p, uses, {});
  CHECK_FALSE(wrong.pass);
  CHECK(wrong.reason.find("exceeds its budget") != std::string::npos);
  CHECK(conclude(f.p, uses, {.non_finite = 3}).reason == "3 elements are infinite or NaN");
  CHECK(conclude(f.p, uses, {.non_finite = 3, .unwritten = 2}).reason ==
        "2 elements were never written");
  CHECK(conclude(f.p, {}, {}).reason == "no block was judged");
  CHECK_FALSE(conclude(f.p, {}, {}).pass);
}

TEST_CASE("a small block takes the weights' expected output for its size", "[problem][decision]") {
  Figures f;
  f.p.Sq = 65;
  f.block = {0, 1, 64, 65};
  REQUIRE(is_small_block(f.p, f.block));
  f.statistics.ref_lse = std::span(f.lse).first(1);
  f.statistics.weight_norm = std::span(f.norm).first(1);
  f.statistics.got_lse = std::span(f.got_lse).first(1);
  f.norm[0] = 0.5;
  f.statistics.max_ref = f.statistics.mean_ref = 0;
  f.statistics.out.max = 0.2;
  const double s = 0x1p-24 * 8 * 3.0 * 0.5;
  CHECK(f.judge().budget == Approx(2.0 * 0.01 + k_share * 1.1547 * 0.5 + s));
}

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
