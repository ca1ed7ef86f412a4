// SPDX-License-Identifier: MIT
#include <cmath>
#include <fstream>

#include "core/json.hpp"
#include "measure/finding.hpp"
#include "measure/prediction.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::measure;

namespace {

Comparison compared(ComparisonOutcome outcome, double speedup, double low, double high) {
  Comparison comparison;
  comparison.outcome = outcome;
  comparison.speedup = speedup;
  comparison.interval = {low, high, 0.99};
  comparison.reason = "as made";
  return comparison;
}

GainSize size(double predicted, double low, double high) {
  return decide_size(predicted, {low, high, 0.99});
}

Mechanism mechanism(ComparisonOutcome outcome) {
  return decide_prediction({"t", 1.1}, compared(outcome, 1.05, 1.04, 1.06)).mechanism;
}

}  // namespace

TEST_CASE("a gain close to its prediction is within, a larger one above", "[measure][prediction]") {
  const auto close =
      decide_prediction({"t", 1.4}, compared(ComparisonOutcome::faster, 1.386, 1.378, 1.394));
  CHECK(close.mechanism == Mechanism::confirmed);
  CHECK(close.size == GainSize::within);
  const auto large =
      decide_prediction({"t", 1.3}, compared(ComparisonOutcome::faster, 3.81, 3.70, 3.92));
  CHECK(large.mechanism == Mechanism::confirmed);
  CHECK(large.size == GainSize::above);
}

TEST_CASE("the comparison decides a mechanism without a test", "[measure][prediction]") {
  CHECK(mechanism(ComparisonOutcome::faster) == Mechanism::confirmed);
  CHECK(mechanism(ComparisonOutcome::same) == Mechanism::not_confirmed);
  CHECK(mechanism(ComparisonOutcome::slower) == Mechanism::not_confirmed);
  CHECK(mechanism(ComparisonOutcome::ambiguous) == Mechanism::undecided);
}

TEST_CASE("a size is decided at the edges of a tenth of the predicted gain",
          "[measure][prediction]") {
  // 1.4 to the powers 0.9 and 1.1: 1.3537 to 1.4479.
  CHECK(size(1.4, 1.3540, 1.3545) == GainSize::within);
  CHECK(size(1.4, 1.3530, 1.3560) == GainSize::undecided);
  CHECK(size(1.4, 1.3530, 1.3532) == GainSize::below);
  CHECK(size(1.4, 1.4460, 1.4475) == GainSize::within);
  CHECK(size(1.4, 1.4470, 1.4500) == GainSize::undecided);
  CHECK(size(1.4, 1.4490, 1.4500) == GainSize::above);
}

TEST_CASE("an interval wider than the tolerance holds its prediction or is undecided",
          "[measure][prediction]") {
  CHECK(size(1.02, 1.010, 1.030) == GainSize::within);
  CHECK(size(1.02, 1.020, 1.030) == GainSize::within);  // the prediction is its end
  CHECK(size(1.02, 1.021, 1.030) == GainSize::undecided);
  CHECK(size(1.02, 1.050, 1.060) == GainSize::above);
  CHECK(size(1.05, 1.001, 1.003) == GainSize::below);
}

TEST_CASE("no gain is never within a predicted gain", "[measure][prediction]") {
  CHECK(size(1.02, 0.99, 1.03) == GainSize::undecided);
  CHECK(size(1.30, 0.90, 1.35) == GainSize::undecided);
  CHECK(size(1.02, 1.001, 1.5) == GainSize::undecided);  // reaches far above
  CHECK(size(1.0, 0.99, 1.02) == GainSize::within);      // none was predicted
  CHECK(size(1.0, 1.05, 1.06) == GainSize::above);
}

TEST_CASE("a predicted loss has a size as well", "[measure][prediction]") {
  CHECK(size(0.9, 0.89, 0.91) == GainSize::within);
  CHECK(size(0.9, 0.96, 0.98) == GainSize::above);
  CHECK(size(0.9, 0.80, 0.82) == GainSize::below);
}

TEST_CASE("both answers stay open without a valid measurement", "[measure][prediction]") {
  const auto check_open = [](const Prediction& answer) {
    CHECK(answer.mechanism == Mechanism::undecided);
    CHECK(answer.size == GainSize::undecided);
    CHECK_FALSE(answer.mechanism_reason.empty());
    CHECK_FALSE(answer.size_reason.empty());
  };
  check_open(decide_prediction({"t", 1.1}, std::nullopt));
  check_open(decide_prediction({"t", 1.1}, Comparison{}));
  check_open(decide_prediction(
      {"t", 1.1}, compared(ComparisonOutcome::ambiguous, 1.1, std::nan(""), std::nan(""))));
  // Two processes that differ by more than ten thousand tell nothing.
  check_open(decide_prediction({"t", 1.1}, compared(ComparisonOutcome::faster, 9, 0.001, 100)));
  check_open(prediction_of_event(Json()));
  check_open(prediction_of_event(Json::object()));
  CHECK(size(std::nan(""), 1.1, 1.2) == GainSize::undecided);
  CHECK(size(0, 1.1, 1.2) == GainSize::undecided);
  CHECK(size(-1, 1.1, 1.2) == GainSize::undecided);
}

TEST_CASE("each answer says why, with its figures", "[measure][prediction]") {
  const auto answer =
      decide_prediction({"t", 1.4}, compared(ComparisonOutcome::faster, 1.386, 1.378, 1.394));
  CHECK(answer.mechanism_reason == "faster; no test was stated, so the comparison decides");
  CHECK(answer.size_reason ==
        "measured 1.386x, whose interval 1.378 to 1.394 lies within 1.354 to 1.448, the range of "
        "the predicted 1.400x");
  const Prediction back = prediction_of_event(to_json(answer));
  CHECK(to_json(back) == to_json(answer));
}

TEST_CASE("events of both versions are read as two answers", "[measure][prediction][fixture]") {
  for (const char* version : {"v1", "v2"}) {
    std::ifstream lines(source_dir() / "tests" / "data" / "events" /
                        (std::string("hypothesis_decided_") + version + ".jsonl"));
    int read = 0;
    for (std::string line; std::getline(lines, line); ++read) {
      INFO(version << ": " << line);
      const Json row = Json::parse(line);
      const Prediction answer = prediction_of_event(row["payload"]);
      CHECK(to_string(answer.mechanism) == row["mechanism"].get<std::string>());
      CHECK(to_string(answer.size) == row["size"].get<std::string>());
    }
    CHECK(read >= 3);
  }
}

using namespace wb::device;
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
