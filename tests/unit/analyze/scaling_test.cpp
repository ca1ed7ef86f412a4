// SPDX-License-Identifier: MIT
#include <cmath>

#include "analyze/evidence.hpp"
#include "core/json.hpp"
#include "made_evidence.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::analyze;
using namespace wb::device;
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

// Grids as a tool prints them, compared with those that batch and heads imply.

namespace {

/// The findings about one launch of `grid` on a GPU of 132 SMs; timed unless said otherwise.
std::vector<Finding> checked(const char* problem, const char* grid, bool timed = true) {
  Evidence evidence;
  evidence.device = *known_gpu("NVIDIA H200");
  const Observation one = made::observation(problem, 10, PlanKind::hot, "flash@1", {7});
  if (timed) evidence.observations = {one};
  add_launches(evidence, Json::array({{{"kernel", "k"}, {"grid", grid}, {"block", "(128, 1, 1)"}}}),
               "flash@1", one.problem, "ncu", {20});
  return made::run("grid_check", evidence);
}

std::string verdict(const char* problem, const char* grid) {
  const auto findings = checked(problem, grid);
  return findings.size() == 1 ? findings[0].figures.at("verdict").get<std::string>() : "none";
}

}  // namespace

TEST_CASE("A grid is printed beside the one that batch and heads ask for", "[analyze][grid]") {
  // S 512 in two blocks of rows: with batch and heads in the grid, and without them.
  const auto good = checked("B=8 Hq=16 Sq=512 D=64 f16", "(2, 128, 1)");
  REQUIRE(good.size() == 1);
  CHECK(good[0].statement.find("Grid: (2, 128, 1), Block: (128, 1, 1): 256 blocks; expected n x "
                               "128 (B x Hq), n at least 1: as expected, 2 for each head") !=
        std::string::npos);
  CHECK(good[0].figures.at("verdict") == "full");
  CHECK(good[0].events == std::vector<std::int64_t>{20});
  const auto bad = checked("B=8 Hq=16 Sq=512 D=64 f16", "(2, 1, 1)");
  REQUIRE(bad.size() == 1);
  CHECK(bad[0].figures.at("verdict") == "misses_heads");
  CHECK(bad[0].figures.at("expected_multiple_of") == 128);
  CHECK(bad[0].statement.find("Grid: (2, 1, 1)") != std::string::npos);
  CHECK(bad[0].statement.find("130 of 132 SMs have none") != std::string::npos);
}

TEST_CASE("The count of blocks decides, not how the grid is written", "[analyze][grid]") {
  CHECK(verdict("B=8 Hq=16 Sq=512 D=64 f16", "(256, 1, 1)") == "full");
  CHECK(verdict("B=8 Hq=16 Sq=512 D=64 f16", "(200, 1, 1)") == "uneven");
  CHECK(verdict("B=8 Hq=32 Sq=512 D=64 f16", "(132, 1, 1)") == "persistent");
  CHECK(verdict("B=8 Hq=32 Sq=512 D=64 f16", "(131, 1, 1)") == "misses_heads");
  CHECK(verdict("B=4 Hq=32 Hkv=8 Sq=1 Skv=8192 D=128 f16", "(2, 32, 1)") == "grouped");
  CHECK(verdict("B=4 Hq=32 Hkv=8 Sq=1 Skv=8192 D=128 f16", "(1, 31, 1)") == "misses_heads");
}

TEST_CASE("Launches that say the same are told once", "[analyze][grid]") {
  Evidence evidence;
  evidence.device = *known_gpu("NVIDIA H200");
  for (const auto& [problem, grid] : {std::pair{"B=1 Hq=8 Sq=512 D=64 f16", "(8, 8, 1)"},
                                      std::pair{"B=2 Hq=8 Sq=512 D=64 f16", "(8, 16, 1)"},
                                      std::pair{"B=4 Hq=8 Sq=512 D=64 f16", "(8, 1, 1)"}}) {
    const Observation one = made::observation(problem, 10, PlanKind::hot, "flash@1", {7});
    evidence.observations.push_back(one);
    evidence.observations.push_back(made::observation(problem, 12, PlanKind::cold, "flash@1"));
    add_launches(evidence, Json::array({{{"kernel", "k"}, {"grid", grid}}}), "flash@1", one.problem,
                 "torch.profiler", {20});
  }
  const auto findings = made::run("grid_check", evidence);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].statement.find("the like on 1 more problem") != std::string::npos);
  CHECK(findings[0].figures.at("launches").size() == 2);
  CHECK(findings[0].statement.find("Block: ?") != std::string::npos);
  CHECK(findings[1].figures.at("verdict") == "misses_heads");
}

TEST_CASE("What no tool saw is not guessed", "[analyze][grid]") {
  CHECK(checked("B=8 Hq=16 Sq=512 D=64 f16", "").empty());
  CHECK(checked("B=8 Hq=16 Sq=512 D=64 f16", "(0, 1, 1)").empty());
  CHECK(checked("B=8 Hq=16 Sq=512 D=64 f16", "(2, 1, 1)", false).size() == 1);  // a profile alone
  Evidence cpu;
  cpu.device = made::device();
  cpu.observations = {made::observation("B=8 Hq=16 Sq=512 D=64 f16", 10)};
  CHECK(made::run("grid_check", cpu).empty());
}
