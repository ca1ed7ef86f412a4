// SPDX-License-Identifier: MIT
#include "made_evidence.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::measure;

namespace {

Observation clocked(const std::string& subject, std::optional<double> mhz,
                    PlanKind plan = PlanKind::hot,
                    std::string_view problem = "B=1 Hq=8 Sq=512 D=64 bf16") {
  Observation observation = made::observation(problem, 100, plan, subject, {7, 9});
  observation.conditions.emplace();
  observation.conditions->readings = 4;
  if (mhz) observation.conditions->sm_clock_mhz = ReadingRange{*mhz, *mhz, *mhz};
  observation.conditions->clocks_event_reasons = {"sw_power_cap"};
  return observation;
}

std::vector<Finding> clock_findings(Observation one, std::vector<Observation> beside) {
  Evidence evidence;
  evidence.observations = {std::move(one)};
  evidence.beside = std::move(beside);
  return made::run("clocks", evidence);
}

}  // namespace

TEST_CASE("A clock that was another for one side is told", "[analyze][unit]") {
  const auto findings = clock_findings(clocked("a@1", 1'800), {clocked("b@2", 1'980)});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].statement ==
        "a@1 (hot): the SM clock was 1800 MHz in its turns (sw_power_cap) and 1980 MHz in those of "
        "b@2 (sw_power_cap): 9.1 % lower");
  CHECK(findings[0].figures.at("clock_ratio") == Approx(1'800.0 / 1'980));
  CHECK(findings[0].events == std::vector<std::int64_t>{7, 9});
  CHECK_FALSE(findings[0].unseen.empty());
  CHECK(clock_findings(clocked("a@1", 1'980), {clocked("b@2", 1'800)})[0].statement.find(
            "10.0 % higher") != std::string::npos);
}

TEST_CASE("Clocks within 2 %, unknown ones, and other plans and problems say nothing",
          "[analyze][unit]") {
  CHECK(clock_findings(clocked("a@1", 1'965), {clocked("b@2", 1'980)}).empty());
  CHECK(clock_findings(clocked("a@1", std::nullopt), {clocked("b@2", 1'980)}).empty());
  CHECK(clock_findings(clocked("a@1", 1'500), {clocked("b@2", std::nullopt)}).empty());
  CHECK(clock_findings(clocked("a@1", 1'500), {clocked("b@2", 1'980, PlanKind::cold)}).empty());
  CHECK(clock_findings(clocked("a@1", 1'500),
                       {clocked("b@2", 1'980, PlanKind::hot, "B=2 Hq=8 Sq=512 D=64 bf16")})
            .empty());
  CHECK(clock_findings(clocked("a@1", 1'500), {clocked("a@1", 1'980)}).empty());
  CHECK(clock_findings(clocked("a@1", 1'500), {}).empty());
  Observation on_a_cpu = made::observation("B=1 Hq=8 Sq=512 D=64 bf16", 100);
  CHECK(clock_findings(on_a_cpu, {on_a_cpu}).empty());
}

TEST_CASE("The same code beside a subject twice is told once", "[analyze][unit]") {
  CHECK(clock_findings(clocked("a@1", 1'500), {clocked("b@2", 1'980), clocked("b@2", 1'980)})
            .size() == 1);
}
