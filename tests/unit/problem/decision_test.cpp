// SPDX-License-Identifier: MIT
// The decision that both judges share, on figures made by hand.
#include "problem/decision.hpp"

#include <array>
#include <cmath>
#include <limits>

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
