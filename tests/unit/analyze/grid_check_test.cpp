// SPDX-License-Identifier: MIT
// Grids as a tool prints them, compared with those that batch and heads imply.
#include "analyze/evidence.hpp"
#include "core/json.hpp"
#include "made_evidence.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::analyze;
using namespace wb::device;
using namespace wb::measure;

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
