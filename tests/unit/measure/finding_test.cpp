// SPDX-License-Identifier: MIT
#include "measure/finding.hpp"
#include "core/json.hpp"

#include <cmath>

#include "support/catch.hpp"

using namespace wb;
using namespace wb::device;
using namespace wb::measure;
using namespace wb::problem;

namespace {

Comparison measured(ComparisonOutcome outcome, double low, double high) {
  Comparison comparison;
  comparison.outcome = outcome;
  comparison.speedup = std::sqrt(low * high);
  comparison.interval = {low, high, 0.99};
  comparison.reason = "as made";
  return comparison;
}

HypothesisState state(double predicted, const std::optional<Comparison>& comparison) {
  return decide({"larger tiles reuse keys", predicted}, comparison).state;
}

}  // namespace

TEST_CASE("A hypothesis is supported by a win that holds its prediction", "[measure][unit]") {
  const auto win = measured(ComparisonOutcome::faster, 1.10, 1.20);
  CHECK(state(1.15, win) == HypothesisState::supported);
  CHECK(state(1.20, win) == HypothesisState::supported);
  CHECK(state(1.05, win) == HypothesisState::supported);  // the interval is above the prediction
}

TEST_CASE("A hypothesis is refuted by an interval wholly below it", "[measure][unit]") {
  CHECK(state(1.3, measured(ComparisonOutcome::faster, 1.10, 1.20)) == HypothesisState::refuted);
  CHECK(state(1.1, measured(ComparisonOutcome::slower, 0.80, 0.90)) == HypothesisState::refuted);
  CHECK(state(1.1, measured(ComparisonOutcome::same, 0.99, 1.01)) == HypothesisState::refuted);
}

TEST_CASE("A hypothesis is never refuted while its prediction lies in the interval",
          "[measure][unit]") {
  for (const auto outcome : {ComparisonOutcome::faster, ComparisonOutcome::slower,
                             ComparisonOutcome::same, ComparisonOutcome::ambiguous}) {
    for (const double predicted : {0.95, 1.0, 1.02, 1.05}) {
      CHECK(state(predicted, measured(outcome, 0.95, 1.05)) != HypothesisState::refuted);
    }
  }
  CHECK(state(1.02, measured(ComparisonOutcome::same, 0.97, 1.03)) == HypothesisState::undecided);
  CHECK(state(0.95, measured(ComparisonOutcome::slower, 0.90, 0.97)) == HypothesisState::undecided);
}

TEST_CASE("A hypothesis stays undecided without a clear answer", "[measure][unit]") {
  CHECK(state(1.05, measured(ComparisonOutcome::ambiguous, 0.98, 1.10)) ==
        HypothesisState::undecided);
  // An ambiguous comparison refutes nothing, whatever its interval.
  CHECK(state(1.5, measured(ComparisonOutcome::ambiguous, 0.98, 1.10)) ==
        HypothesisState::undecided);
  CHECK(state(1.05, std::nullopt) == HypothesisState::undecided);
  CHECK(state(1.05, Comparison{}) == HypothesisState::undecided);
  CHECK(state(1.05, measured(ComparisonOutcome::ambiguous, std::nan(""), std::nan(""))) ==
        HypothesisState::undecided);
  CHECK(state(std::nan(""), measured(ComparisonOutcome::faster, 1.1, 1.2)) ==
        HypothesisState::undecided);
}

TEST_CASE("Every decision says why, with its figures", "[measure][unit]") {
  const auto decision = decide({"t", 1.15}, measured(ComparisonOutcome::faster, 1.10, 1.20));
  CHECK(decision.reason.find("1.150x") != std::string::npos);
  CHECK(decision.reason.find("1.100 to 1.200") != std::string::npos);
  CHECK_FALSE(decide({"t", 1.15}, std::nullopt).reason.empty());
}

TEST_CASE("Hypotheses, decisions and findings survive JSON", "[measure][unit]") {
  const Hypothesis hypothesis{"fewer passes over the scores", 1.4};
  CHECK(*hypothesis_from_json(to_json(hypothesis)) == hypothesis);
  for (const auto value : {HypothesisState::open, HypothesisState::supported,
                           HypothesisState::refuted, HypothesisState::undecided}) {
    const auto decision = hypothesis_decision_from_json(to_json(HypothesisDecision{value, "why"}));
    REQUIRE(decision.ok());
    CHECK(decision->state == value);
    CHECK(decision->reason == "why");
  }
  Finding finding{"regime", "S=64 is launch-bound", "n6_S64", {{"time_us", 4.9}}, {3, 9}, "power"};
  const auto back = finding_from_json(to_json(finding));
  REQUIRE(back.ok());
  CHECK(to_json(*back) == to_json(finding));
  CHECK(back->events == std::vector<std::int64_t>{3, 9});
}

TEST_CASE("Readers of hypotheses and findings are strict", "[measure][unit]") {
  CHECK_FALSE(hypothesis_from_json({{"theory", ""}, {"predicted_speedup", 1.1}}).ok());
  CHECK_FALSE(hypothesis_from_json({{"theory", "t"}}).ok());
  CHECK_FALSE(hypothesis_from_json({{"theory", "t"}, {"predicted_speedup", 0}}).ok());
  CHECK_FALSE(hypothesis_from_json({{"theory", "t"}, {"predicted_speedup", "1.1"}}).ok());
  CHECK_FALSE(hypothesis_from_json({{"theory", "t"}, {"predicted_speedup", 1.1}, {"x", 1}}).ok());
  CHECK_FALSE(hypothesis_decision_from_json({{"state", "confirmed"}}).ok());
  Json finding = to_json(Finding{});
  finding["events"] = Json::array({-1});
  CHECK_FALSE(finding_from_json(finding).ok());
  finding["events"] = Json::array();
  CHECK(finding_from_json(finding).ok());
  finding["figures"] = 3;
  CHECK_FALSE(finding_from_json(finding).ok());
}
