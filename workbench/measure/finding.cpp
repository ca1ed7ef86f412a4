// SPDX-License-Identifier: MIT
#include "measure/finding.hpp"
#include "core/json.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

namespace wb::measure {
namespace {

constexpr std::array<std::pair<HypothesisState, std::string_view>, 4> k_state_words{{
    {HypothesisState::open, "open"},
    {HypothesisState::supported, "supported"},
    {HypothesisState::refuted, "refuted"},
    {HypothesisState::undecided, "undecided"},
}};

}  // namespace

Json to_json(const Finding& finding) {
  return Json{{"analysis", finding.analysis},
              {"statement", finding.statement},
              {"problem", finding.problem},
              {"figures", finding.figures.is_null() ? Json::object() : finding.figures},
              {"events", finding.events},
              {"unseen", finding.unseen}};
}

Result<Finding> finding_from_json(const Json& json) {
  ObjectReader reader(json, "a finding");
  Finding finding;
  finding.analysis = reader.string("analysis");
  finding.statement = reader.string("statement");
  finding.problem = reader.string_or("problem", "");
  finding.unseen = reader.string_or("unseen", "");
  const Json* figures = reader.member("figures");
  if (figures == nullptr || !figures->is_object()) {
    reader.fail("figures", "must be an object of numbers by name");
  } else {
    finding.figures = *figures;
  }
  const Json* events = reader.member("events");
  if (events == nullptr || !events->is_array()) {
    reader.fail("events", "must be a list of event numbers");
  } else {
    for (const Json& event : *events) {
      if (!event.is_number_integer() || event.get<std::int64_t>() < 0) {
        reader.fail("events", "must be a list of event numbers");
        break;
      }
      finding.events.push_back(event.get<std::int64_t>());
    }
  }
  WB_TRY(reader.finish());
  return finding;
}

std::string_view to_string(HypothesisState value) {
  return k_state_words.at(static_cast<std::size_t>(value)).second;
}

std::optional<HypothesisState> parse_hypothesis_state(std::string_view word) {
  for (const auto& [value, text] : k_state_words) {
    if (text == word) return value;
  }
  return std::nullopt;
}

Json to_json(const Hypothesis& hypothesis) {
  return Json{{"theory", hypothesis.theory}, {"predicted_speedup", hypothesis.predicted_speedup}};
}

Result<Hypothesis> hypothesis_from_json(const Json& json) {
  ObjectReader reader(json, "a hypothesis");
  Hypothesis hypothesis;
  hypothesis.theory = reader.string("theory");
  hypothesis.predicted_speedup = reader.real("predicted_speedup");
  if (hypothesis.theory.empty()) reader.fail("theory", "must say why the change should help");
  if (!(hypothesis.predicted_speedup > 0)) {
    reader.fail("predicted_speedup", "must be a ratio above 0 (1.1 means 10 % faster)");
  }
  WB_TRY(reader.finish());
  return hypothesis;
}

Json to_json(const HypothesisDecision& decision) {
  return Json{{"state", to_string(decision.state)}, {"reason", decision.reason}};
}

Result<HypothesisDecision> hypothesis_decision_from_json(const Json& json) {
  ObjectReader reader(json, "a decided hypothesis");
  HypothesisDecision decision;
  const auto state = parse_hypothesis_state(reader.string("state"));
  if (!state) reader.fail("state", "must be open, supported, refuted or undecided");
  decision.reason = reader.string_or("reason", "");
  WB_TRY(reader.finish());
  decision.state = *state;
  return decision;
}

HypothesisDecision decide(const Hypothesis& hypothesis, const std::optional<Comparison>& measured) {
  if (!measured) return {HypothesisState::undecided, "there is no valid measurement"};
  const Interval& interval = measured->interval;
  if (!is_valid(interval) || !std::isfinite(measured->speedup)) {
    return {HypothesisState::undecided, "there is no valid measurement: " + measured->reason};
  }
  const std::string measured_words =
      fmt::format("measured {:.3f}x, {:.0f} % interval {:.3f} to {:.3f}", measured->speedup,
                  100 * interval.confidence, interval.low, interval.high);
  const double predicted = hypothesis.predicted_speedup;
  if (measured->outcome == ComparisonOutcome::ambiguous) {
    return {HypothesisState::undecided,
            fmt::format("ambiguous ({}): {}", measured->reason, measured_words)};
  }
  if (interval.high < predicted) {
    return {HypothesisState::refuted,
            fmt::format("{}, and the whole interval is below the predicted {:.3f}x: {}",
                        to_string(measured->outcome), predicted, measured_words)};
  }
  if (measured->outcome == ComparisonOutcome::faster && predicted <= interval.high) {
    return {HypothesisState::supported,
            fmt::format("faster, and the predicted {:.3f}x is {} the interval: {}", predicted,
                        predicted < interval.low ? "below" : "inside", measured_words)};
  }
  return {HypothesisState::undecided,
          fmt::format("{}, but the interval does not exclude the predicted {:.3f}x: {}",
                      to_string(measured->outcome), predicted, measured_words)};
}

}  // namespace wb::measure
