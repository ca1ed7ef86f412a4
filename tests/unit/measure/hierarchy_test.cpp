// SPDX-License-Identifier: MIT
#include "measure/hierarchy.hpp"

#include <cmath>

#include "simulated.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::measure;

namespace {

Turn turn(std::int64_t instance, std::int64_t placement, std::int64_t round, std::int64_t position,
          std::vector<double> samples_us) {
  Turn result;
  result.subject = "s";
  result.instance = instance;
  result.placement = placement;
  result.round = round;
  result.position = position;
  result.samples_us = std::move(samples_us);
  return result;
}

}  // namespace

TEST_CASE("Turns are nested by instance, placement, round and position", "[measure][unit]") {
  const double e = std::exp(1.0);
  const std::vector<Turn> turns{turn(2, 0, 0, 3, {e * e}), turn(2, 0, 0, 0, {e}),
                                turn(2, 1, 0, 0, {1.0}), turn(2, 1, 4, 0, {1.0}),
                                turn(0, 0, 0, 0, {1, 2, 300})};
  const auto clusters = measure::hierarchy::clusters(measure::hierarchy::cell_logs(turns));
  REQUIRE(clusters.size() == 2);
  CHECK(clusters[0].instance == 0);
  CHECK(measure::hierarchy::center(clusters[0]) == Approx(std::log(2.0)));
  REQUIRE(clusters[1].placements.size() == 2);
  CHECK(clusters[1].rounds() == 3);
  REQUIRE(clusters[1].placements[0].size() == 1);
  CHECK(clusters[1].placements[0][0][0] == Approx(1));
  CHECK(clusters[1].placements[0][0][1] == Approx(2));
  CHECK(measure::hierarchy::center(clusters[1]) == Approx(0.5));  // of 0, 0, 1, 2
}

TEST_CASE("A disturbed placement of three does not move the center", "[measure][unit]") {
  const measure::hierarchy::Cluster cluster{0, {{{1.0, 1.0}}, {{1.0, 1.0}}, {{1.0, 9.0}}}};
  CHECK(measure::hierarchy::center(cluster) == 1.0);
}

TEST_CASE("One disturbed turn of two rounds does not move the center", "[measure][unit]") {
  measure::hierarchy::Cluster cluster{0, {{{1.0, 1.0}, {1.0, 9.0}}}};
  CHECK(measure::hierarchy::center(cluster) == 1.0);
}

TEST_CASE("The bootstrap of instances gives the standard error of a mean", "[measure][unit]") {
  simulated::Random random(3);
  std::vector<measure::hierarchy::Cluster> clusters;
  for (int i = 0; i < 40; ++i) clusters.push_back({i, {{{random.normal()}}}});
  const double error = measure::hierarchy::bootstrap_error(
                           clusters, measure::hierarchy::Level::instances, 20'000, 1) *
                       measure::hierarchy::small_count_factor(clusters.size());
  const double expected =
      measure::hierarchy::standard_deviation(measure::hierarchy::centers(clusters)) /
      std::sqrt(40.0);
  CHECK(error == Approx(expected).epsilon(0.03));
}

TEST_CASE("The bootstrap of rounds leaves the instances alone", "[measure][unit]") {
  const std::vector<measure::hierarchy::Cluster> apart{{0, {{{1.0}, {1.0}}}},
                                                       {1, {{{5.0}, {5.0}}}}};
  CHECK(measure::hierarchy::bootstrap_error(apart, measure::hierarchy::Level::rounds, 500, 1) == 0);
  CHECK(measure::hierarchy::bootstrap_error(apart, measure::hierarchy::Level::instances, 500, 1) >
        1);
  const std::vector<measure::hierarchy::Cluster> within{{0, {{{1.0}, {2.0}, {3.0}}}}};
  CHECK(measure::hierarchy::bootstrap_error(within, measure::hierarchy::Level::rounds, 500, 1) >
        0.3);
  CHECK(measure::hierarchy::bootstrap_error(within, measure::hierarchy::Level::instances, 500, 1) ==
        0);
}

TEST_CASE("The same seed draws the same, another seed another", "[measure][unit]") {
  const std::vector<measure::hierarchy::Cluster> clusters{
      {0, {{{1.0}}}}, {1, {{{2.0}}}}, {2, {{{4.0}}}}};
  const auto draw = [&](std::uint64_t seed) {
    return measure::hierarchy::bootstrap_error(clusters, measure::hierarchy::Level::instances, 300,
                                               seed);
  };
  CHECK(draw(7) == draw(7));
  CHECK(draw(7) != draw(8));
}
