// SPDX-License-Identifier: MIT
#include <cmath>

#include "core/json.hpp"
#include "made_evidence.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::measure;

namespace {

std::vector<Finding> scaling(std::vector<Observation> observations) {
  Evidence evidence;
  evidence.device = made::device();
  evidence.observations = std::move(observations);
  return made::run("scaling", evidence);
}

Observation at_length(int s, double median_us, std::string subject = "cpu_tiled") {
  return made::observation("B=1 Hq=2 Sq=" + std::to_string(s) + " D=64 f32", median_us,
                           PlanKind::hot, std::move(subject), {s});
}

double exponent(const Finding& finding) {
  return finding.figures.at("exponent");
}

}  // namespace

TEST_CASE("Time proportional to work is linear, though it is quadratic in S", "[analyze][unit]") {
  const auto findings = scaling({at_length(128, 1), at_length(256, 4), at_length(512, 16)});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].figures.at("axis") == "S");
  CHECK(exponent(findings[0]) == Approx(1));
  CHECK(findings[0].figures.at("exponent_standard_error").get<double>() == Approx(0).margin(1e-9));
  CHECK(findings[0].figures.at("class") == "linear");
  CHECK(findings[0].figures.at("work_ratio").get<double>() == Approx(16));
  CHECK(findings[0].figures.at("sizes") == Json::array({128, 256, 512}));
  CHECK(findings[0].events == std::vector<std::int64_t>{128, 256, 512});
  CHECK(findings[0].problem.empty());
}

TEST_CASE("A fixed cost makes scaling sub-linear, and the last step tells", "[analyze][unit]") {
  const auto findings = scaling({at_length(512, 26), at_length(64, 10.25), at_length(128, 11),
                                 at_length(256, 14), at_length(1024, 74), at_length(2048, 266)});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].figures.at("class") == "sub-linear");
  CHECK(findings[0].figures.at("last_step_exponent").get<double>() ==
        Approx(std::log(266.0 / 74) / std::log(4.0)));
}

TEST_CASE("Super-linear growth is seen", "[analyze][unit]") {
  const auto findings = scaling({at_length(128, 1), at_length(256, 8), at_length(512, 64)});
  REQUIRE(findings.size() == 1);
  CHECK(exponent(findings[0]) == Approx(1.5));
  CHECK(findings[0].figures.at("class") == "super-linear");
}

TEST_CASE("Batch and heads are one size; 16 times the work is not 8 times", "[analyze][unit]") {
  const auto findings = scaling({made::observation("B=1 Hq=8 Sq=512 D=64 f32", 10),
                                 made::observation("B=4 Hq=16 Sq=512 D=64 f32", 84),
                                 made::observation("B=8 Hq=16 Sq=512 D=64 f32", 172)});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].figures.at("axis") == "B*Hq");
  CHECK(findings[0].figures.at("work_ratio").get<double>() == Approx(16));
  CHECK(findings[0].figures.at("time_ratio").get<double>() == Approx(17.2));
  CHECK(findings[0].figures.at("class") == "linear");
}

TEST_CASE("Keys of a decode and head dims are sizes too", "[analyze][unit]") {
  const auto keys = scaling({made::observation("B=1 Hq=8 Sq=1 Skv=1024 D=64 f32", 10),
                             made::observation("B=1 Hq=8 Sq=1 Skv=2048 D=64 f32", 20),
                             made::observation("B=1 Hq=8 Sq=1 Skv=4096 D=64 f32", 40)});
  REQUIRE(keys.size() == 1);
  CHECK(keys[0].figures.at("axis") == "Skv");
  CHECK(exponent(keys[0]) == Approx(1));
  const auto dims = scaling({made::observation("B=1 Hq=8 Sq=512 D=32 f32", 10),
                             made::observation("B=1 Hq=8 Sq=512 D=64 f32", 20),
                             made::observation("B=1 Hq=8 Sq=512 D=128 f32", 40)});
  REQUIRE(dims.size() == 1);
  CHECK(dims[0].figures.at("axis") == "D");
}

TEST_CASE("Problems that differ in two sizes are not mixed", "[analyze][unit]") {
  // Head dims that grow while heads and lengths shrink: no single cause, no finding.
  CHECK(scaling({made::observation("B=1 Hq=4 Sq=64 D=512 f32", 28),
                 made::observation("B=1 Hq=4 Sq=64 D=2048 f32", 62),
                 made::observation("B=1 Hq=2 Sq=32 D=4096 f32", 98),
                 made::observation("B=1 Hq=1 Sq=16 D=8192 f32", 24)})
            .empty());
}

TEST_CASE("Subjects and plans are fitted apart; two sizes are too few", "[analyze][unit]") {
  CHECK(scaling({at_length(128, 1), at_length(256, 4)}).empty());
  CHECK(scaling({at_length(128, 1), at_length(256, 4, "other"), at_length(512, 16, "other")})
            .empty());
  CHECK(
      scaling({at_length(128, 1), at_length(256, 4), at_length(512, 16), at_length(128, 2, "other"),
               at_length(256, 8, "other"), at_length(512, 32, "other")})
          .size() == 2);
  auto cold = at_length(512, 16);
  cold.plan = PlanKind::cold;
  CHECK(scaling({at_length(128, 1), at_length(256, 4), cold}).empty());
}

TEST_CASE("Sizes that hardly differ give no exponent", "[analyze][unit]") {
  CHECK(scaling({at_length(500, 10), at_length(510, 10.4), at_length(520, 10.8)}).empty());
}
