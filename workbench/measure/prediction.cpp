// SPDX-License-Identifier: MIT
#include "measure/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/json.hpp"

namespace wb::measure {
namespace {

constexpr double k_gain_tolerance_frac = 0.1;  ///< of the predicted gain's logarithm
/// Keeps an end that lies on the edge of the range inside it.
constexpr double k_log_rounding = 1e-9;
constexpr std::string_view k_no_test = "no test was stated, so the comparison decides";
constexpr std::string_view k_no_measurement = "there is no valid measurement";

constexpr std::array k_mechanisms{Mechanism::confirmed, Mechanism::not_confirmed,
                                  Mechanism::undecided};
constexpr std::array k_gain_sizes{GainSize::within, GainSize::above, GainSize::below,
                                  GainSize::undecided};

template <typename Values>
auto value_of_word(const Values& values, std::string_view word) {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const auto& value) { return to_string(value) == word; });
  return found == values.end() ? values.back() : *found;  // the last is `undecided`
}

bool is_reasonable(double speedup) {
  return std::isfinite(speedup) && speedup > 0;
}

Mechanism mechanism_of(ComparisonOutcome outcome) {
  if (outcome == ComparisonOutcome::ambiguous) return Mechanism::undecided;
  return outcome == ComparisonOutcome::faster ? Mechanism::confirmed : Mechanism::not_confirmed;
}

std::string mechanism_words(ComparisonOutcome outcome) {
  return fmt::format("{}; {}", to_string(outcome), k_no_test);
}

std::string size_words(double predicted, double measured, const Interval& interval, GainSize size) {
  const PredictedRange range = predicted_range(predicted, interval);
  const auto where = [&] {
    if (size == GainSize::within) return "lies within";
    if (size == GainSize::undecided) return "is partly outside";
    return size == GainSize::above ? "lies above" : "lies below";
  };
  return fmt::format(
      "measured {:.3f}x, whose interval {:.3f} to {:.3f} {} {:.3f} to {:.3f}, the "
      "range of the predicted {:.3f}x",
      measured, interval.low, interval.high, where(), range.low, range.high, predicted);
}

void answer_size(Prediction& answer, double predicted, double measured, const Interval& interval) {
  answer.size = decide_size(predicted, interval);
  const bool is_told = is_reasonable(predicted) && is_reasonable(measured) && is_shown(interval);
  answer.size_reason = is_told ? size_words(predicted, measured, interval, answer.size)
                               : std::string(k_no_measurement);
}

std::string text_member(const Json& payload, const char* key) {
  const auto found = payload.find(key);
  return found != payload.end() && found->is_string() ? found->get<std::string>() : std::string();
}

double figure_member(const Json& payload, const char* key) {
  const auto found = payload.find(key);
  return found != payload.end() && found->is_number() ? found->get<double>() : k_unknown;
}

Interval interval_member(const Json& payload) {
  const auto found = payload.find("interval");
  if (found == payload.end() || !found->is_object()) return {k_unknown, k_unknown};
  const auto read = interval_from_json(*found);
  return read.ok() ? *read : Interval{k_unknown, k_unknown};
}

/// The outcome with which a reason of version 1 begins: "faster, and the predicted ...". Older logs
/// say `same` also of wide intervals, which are ambiguous.
std::optional<ComparisonOutcome> outcome_in(const std::string& reason, const Interval& interval) {
  const auto outcome = parse_comparison_outcome(reason.substr(0, reason.find_first_of(" ,:;")));
  const bool is_wide = is_valid(interval) && (interval.low < 1 - k_most_same_margin_frac ||
                                              interval.high > 1 + k_most_same_margin_frac);
  if (outcome == ComparisonOutcome::same && is_wide) return ComparisonOutcome::ambiguous;
  return outcome;
}

Prediction prediction_of_old_event(const Json& payload) {
  const std::string state = text_member(payload, "state"), reason = text_member(payload, "reason");
  const double measured = figure_member(payload, "measured_speedup");
  const Interval interval = interval_member(payload);
  Prediction answer{.mechanism_reason = std::string(k_no_measurement), .size_reason = {}};
  answer_size(answer, figure_member(payload, "predicted_speedup"), measured, interval);
  if (state == "supported") {
    answer.mechanism = Mechanism::confirmed;
    answer.mechanism_reason = mechanism_words(ComparisonOutcome::faster);
  } else if (state == "refuted" || is_reasonable(measured)) {
    if (const auto outcome = outcome_in(reason, interval)) {
      answer.mechanism = mechanism_of(*outcome);
      answer.mechanism_reason = mechanism_words(*outcome);
    } else if (is_shown(interval) && (interval.low > 1 || interval.high < 1)) {
      answer.mechanism = interval.low > 1 ? Mechanism::confirmed : Mechanism::not_confirmed;
      answer.mechanism_reason = fmt::format("the interval lies {} 1; {}",
                                            interval.low > 1 ? "above" : "below", k_no_test);
    }
  }
  return answer;
}

}  // namespace

std::string_view to_string(Mechanism value) {
  switch (value) {
    case Mechanism::confirmed:
      return "confirmed";
    case Mechanism::not_confirmed:
      return "not_confirmed";
    case Mechanism::undecided:
      break;
  }
  return "undecided";
}

std::string_view to_string(GainSize value) {
  switch (value) {
    case GainSize::within:
      return "within";
    case GainSize::above:
      return "above";
    case GainSize::below:
      return "below";
    case GainSize::undecided:
      break;
  }
  return "undecided";
}

Json to_json(const Prediction& prediction) {
  return Json{{"mechanism", to_string(prediction.mechanism)},
              {"mechanism_reason", prediction.mechanism_reason},
              {"size", to_string(prediction.size)},
              {"size_reason", prediction.size_reason}};
}

PredictedRange predicted_range(double predicted, const Interval& measured) {
  const double gain_log = std::abs(std::log(predicted));
  double width_log = std::log(measured.high / measured.low);
  if (gain_log > 0) width_log = std::min(width_log, gain_log);
  const double tolerance_log = std::max(k_gain_tolerance_frac * gain_log, width_log);
  return {predicted * std::exp(-tolerance_log), predicted * std::exp(tolerance_log)};
}

GainSize decide_size(double predicted, const Interval& measured) {
  if (!is_reasonable(predicted) || !is_shown(measured)) return GainSize::undecided;
  const PredictedRange range = predicted_range(predicted, measured);
  const double low = range.low * (1 - k_log_rounding), high = range.high * (1 + k_log_rounding);
  if (measured.low > high) return GainSize::above;
  if (measured.high < low) return GainSize::below;
  return low <= measured.low && measured.high <= high ? GainSize::within : GainSize::undecided;
}

Prediction decide_prediction(const Hypothesis& hypothesis,
                             const std::optional<Comparison>& measured) {
  Prediction answer{.mechanism_reason = std::string(k_no_measurement),
                    .size_reason = std::string(k_no_measurement)};
  if (!measured || !is_shown(measured->interval) || !is_reasonable(measured->speedup)) {
    return answer;
  }
  answer.mechanism = mechanism_of(measured->outcome);
  answer.mechanism_reason = mechanism_words(measured->outcome);
  answer_size(answer, hypothesis.predicted_speedup, measured->speedup, measured->interval);
  return answer;
}

Prediction prediction_of_event(const Json& payload) {
  if (!payload.is_object()) {
    return {.mechanism_reason = std::string(k_no_measurement),
            .size_reason = std::string(k_no_measurement)};
  }
  if (!payload.contains("mechanism")) return prediction_of_old_event(payload);
  return {.mechanism = value_of_word(k_mechanisms, text_member(payload, "mechanism")),
          .mechanism_reason = text_member(payload, "mechanism_reason"),
          .size = value_of_word(k_gain_sizes, text_member(payload, "size")),
          .size_reason = text_member(payload, "size_reason")};
}

}  // namespace wb::measure
