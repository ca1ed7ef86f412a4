// SPDX-License-Identifier: MIT
#include "made_evidence.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::measure;

namespace {

Finding regime_of(std::string_view problem, double median_us, double overhead_us = 0) {
  Evidence evidence;
  evidence.device = made::device();
  evidence.call_overhead_us = overhead_us;
  evidence.observations.push_back(made::observation(problem, median_us));
  const auto findings = made::run("regime", evidence);
  REQUIRE(findings.size() == 1);
  return findings[0];
}

std::string word(const Finding& finding) {
  return finding.figures.at("regime");
}

// 4*8*512*512*64*2*2 = 2.1e9 FLOP: 2147 us at 1 TFLOP/s
constexpr std::string_view k_prefill = "B=4 Hq=8 Sq=512 D=64 f32";
// one query row, 32768 keys: 0.5 FLOP per byte in f32
constexpr std::string_view k_decode = "B=4 Hq=8 Sq=1 Skv=32768 D=64 f32";

}  // namespace

TEST_CASE("Large prefill is compute-bound", "[analyze][unit]") {
  const Finding finding = regime_of(k_prefill, 3000);
  CHECK(word(finding) == "compute");
  CHECK(finding.figures.at("flop_floor_us").get<double>() == Approx(2147.48).epsilon(1e-4));
  CHECK(finding.statement.find("compute-bound") != std::string::npos);
  CHECK(finding.statement.find("ridge") != std::string::npos);
  CHECK(finding.events == std::vector<std::int64_t>{1});
}

TEST_CASE("A slow implementation is said to be one", "[analyze][unit]") {
  const Finding finding = regime_of(k_prefill, 300'000);
  CHECK(word(finding) == "compute");
  CHECK(finding.statement.find("the implementation sets the time") != std::string::npos);
}

TEST_CASE("Decode over many keys is memory-bound", "[analyze][unit]") {
  const Finding finding = regime_of(k_decode, 8000);
  CHECK(word(finding) == "memory");
  CHECK(finding.figures.at("intensity_flops_per_byte").get<double>() == Approx(0.5).epsilon(0.01));
}

TEST_CASE("A tiny problem is launch-bound when an empty call is known", "[analyze][unit]") {
  const Finding finding = regime_of("B=1 Hq=1 Sq=16 D=64 f32", 1.8, 1.3);
  CHECK(word(finding) == "launch");
  CHECK(finding.statement.find("empty call") != std::string::npos);
  // At four empty calls three quarters of the time pass inside the kernel.
  CHECK(word(regime_of("B=1 Hq=1 Sq=16 D=64 f32", 5.2, 1.3)) == "latency");
}

TEST_CASE("Too few row blocks for the device is latency-bound", "[analyze][unit]") {
  const Finding finding = regime_of("B=1 Hq=2 Sq=256 D=64 f32", 500);
  CHECK(word(finding) == "latency");
  CHECK(finding.figures.at("row_blocks") == 8);
  CHECK(finding.statement.find("2 heads x 256 rows for 16 units: at most 50 %") !=
        std::string::npos);
  CHECK(finding.unseen.find("empty call was not measured") != std::string::npos);
}

TEST_CASE("Few row blocks do not matter to one that reaches the peak", "[analyze][unit]") {
  // one row block, 1 MiB of keys and values per tensor: 5.2 us at 100 GB/s is 21 us
  const Finding finding = regime_of("B=1 Hq=1 Sq=1 Skv=4096 D=64 f32", 25);
  CHECK(word(finding) == "memory");
}

TEST_CASE("The fastest subject speaks for the problem", "[analyze][unit]") {
  Evidence evidence;
  evidence.device = made::device();
  evidence.observations.push_back(made::observation(k_prefill, 90'000, PlanKind::hot, "slow"));
  evidence.observations.push_back(made::observation(k_prefill, 3'000, PlanKind::hot, "quick"));
  evidence.observations.push_back(made::observation(k_prefill, 9'000, PlanKind::cold, "quick"));
  const auto findings = made::run("regime", evidence);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].figures.at("subject") == "quick");
  CHECK(findings[0].figures.at("plan") == "hot");
}

TEST_CASE("Without a peak the regime is unknown, not guessed", "[analyze][unit]") {
  const Finding finding = regime_of("B=4 Hq=8 Sq=512 D=64 bf16", 3000);
  CHECK(word(finding) == "unknown");
  CHECK(finding.statement.find("not known") != std::string::npos);
  CHECK_FALSE(finding.figures.contains("flop_floor_us"));
}

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
