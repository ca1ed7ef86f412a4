// SPDX-License-Identifier: MIT
// Intervals without information are reported as such, without a figure.
#include <cmath>

#include "core/json.hpp"
#include "measure/statistics.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::measure;

namespace {

std::vector<Turn> turns_of(const std::string& subject, const std::vector<double>& by_process_us) {
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < by_process_us.size(); ++i) {
    for (std::int64_t round = 0; round < 2; ++round) {
      Turn turn;
      turn.subject = subject;
      turn.instance = static_cast<std::int64_t>(i);
      turn.round = round;
      turn.samples_us = {by_process_us[i], by_process_us[i] * 1.001};
      turns.push_back(std::move(turn));
    }
  }
  return turns;
}

}  // namespace

TEST_CASE("two processes that differ wildly give no interval, and the reason says so",
          "[measure][interval]") {
  const auto candidate = turns_of("a", {100, 300}), rival = turns_of("b", {200, 200});
  const Comparison comparison = compare(candidate, rival, CompareOptions{});
  CHECK(comparison.outcome == ComparisonOutcome::ambiguous);
  CHECK(std::isfinite(comparison.speedup));
  REQUIRE(is_uninformative(comparison.interval));
  CHECK(comparison.reason.find("says nothing") != std::string::npos);
  CHECK(comparison.reason.find("2 processes") != std::string::npos);
  CHECK(comparison.reason.find("0.000") == std::string::npos);
  const Json json = to_json(comparison);
  CHECK(json["interval"]["low"].is_null());
  CHECK(json["interval"]["high"].is_null());
  CHECK(json["speedup"].is_number());
  CHECK(std::isnan(resolution_frac(comparison)));
}

TEST_CASE("what says nothing decides nothing", "[measure][interval]") {
  const Interval wide{2, 1e6, 0.99}, narrow{2, 100, 0.99};
  CHECK(is_uninformative(wide));
  CHECK(classify(wide, 0.01, 0.05) == ComparisonOutcome::ambiguous);
  CHECK_FALSE(is_uninformative(narrow));
  CHECK(classify(narrow, 0.01, 0.05) == ComparisonOutcome::faster);
  CHECK_FALSE(is_uninformative({k_unknown, k_unknown, 0.99}));
}

TEST_CASE("a floor that nobody can use is no figure in words", "[measure][interval]") {
  CompareOptions options;
  options.noise_floor_frac = 2'108.9;
  options.between_instance_floor_frac = 0.3;
  const Comparison comparison =
      compare(turns_of("a", {100, 101}), turns_of("b", {100, 100}), options);
  INFO(comparison.reason);
  CHECK(comparison.reason.find("210890") == std::string::npos);
  CHECK(comparison.reason.find("more than 1000 %") != std::string::npos);
}
