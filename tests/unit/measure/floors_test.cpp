// SPDX-License-Identifier: MIT
#include "measure/floors.hpp"

#include <cmath>

#include "simulated.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::measure;

namespace {

NoiseFloor floor_of(double floor_frac, double between_frac, double sd_frac = 0.01) {
  NoiseFloor floor;
  floor.floor_frac = floor_frac;
  floor.between_instance_frac = between_frac;
  floor.instance_sd_frac = sd_frac;
  return floor;
}

}  // namespace

TEST_CASE("a floor serves unless it hides what a session is for", "[measure][floors]") {
  CHECK_FALSE(unfit_reason(floor_of(0.02, 0.15), false));
  CHECK_FALSE(unfit_reason(floor_of(0.10, 0.50), false));
  CHECK(unfit_reason(floor_of(0.11, 0.15), false)->find("11.0 %") != std::string::npos);
  CHECK(unfit_reason(floor_of(0.02, 21'677.0), false)->find("single processes") !=
        std::string::npos);
  CHECK(unfit_reason(floor_of(0.02, 0.15), true)->find("other work") != std::string::npos);
  NoiseFloor none;
  none.reason = "one process shows no spread between processes";
  CHECK(unfit_reason(none, false)->find(none.reason) != std::string::npos);
}

TEST_CASE("the smallest gain is found about every second time", "[measure][floors]") {
  simulated::Noise noise;
  noise.bias = simulated::Bias::normal;
  simulated::Random random(7);
  int found = 0, all = 0;
  for (int session = 0; session < 60; ++session) {
    const auto same = simulated::measure_same_code({10, 1, 2}, noise, random);
    const NoiseFloor floor = noise_floor(same);
    const double gain = smallest_gain_frac(floor, 5);
    REQUIRE(gain > floor.floor_frac);
    for (int i = 0; i < 5; ++i, ++all) {
      const auto turns = simulated::measure({{"candidate", 100 / (1 + gain)}, {"rival", 100}},
                                            {5, 1, 2}, noise, random);
      CompareOptions options = compare_options(floor, 1);
      options.resamples = 200;
      found += compare(turns[0], turns[1], options).outcome == ComparisonOutcome::faster;
    }
  }
  CAPTURE(found, all);
  CHECK(found > 0.3 * all);
  CHECK(found < 0.8 * all);
}

TEST_CASE("without a spread between processes no gain can be named", "[measure][floors]") {
  CHECK(std::isnan(smallest_gain_frac(floor_of(0.02, 0.1), 1)));
  CHECK(std::isnan(smallest_gain_frac(NoiseFloor{}, 5)));
  CHECK(smallest_gain_frac(floor_of(0.02, 0.1, 0), 5) == Approx(0.02));
}
