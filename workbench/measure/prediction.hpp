// SPDX-License-Identifier: MIT
// What became of a hypothesis, in two answers: did the change help as it says (mechanism), and was
// the gain as large as predicted (size).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/json_fwd.hpp"
#include "measure/figures.hpp"
#include "measure/finding.hpp"

namespace wb::measure {

enum class Mechanism { confirmed, not_confirmed, undecided };
std::string_view to_string(Mechanism value);

/// The measured gain beside the predicted one.
enum class GainSize { within, above, below, undecided };
std::string_view to_string(GainSize value);

struct Prediction {
  Mechanism mechanism = Mechanism::undecided;
  std::string mechanism_reason;  ///< says that no test was stated where none was
  GainSize size = GainSize::undecided;
  std::string size_reason;  ///< with its figures
};
/// mechanism, mechanism_reason, size, size_reason: members of the event hypothesis_decided.
Json to_json(const Prediction& prediction);

/// The speedups that count as predicted.
struct PredictedRange {
  double low = 0, high = 0;
};
/// Around the prediction, in logarithms, to each side: 10 % of the predicted gain or the width of
/// the measured interval, whichever is more. The width counts up to the predicted gain, so that an
/// interval that holds no gain at all is never within a predicted one.
PredictedRange predicted_range(double predicted, const Interval& measured);

/// within, above or below: the whole interval lies in, above or below the predicted range.
/// undecided: it reaches two of them, or prediction or interval cannot be reasoned with.
GainSize decide_size(double predicted, const Interval& measured);

/// No verb states a test of its own for a hypothesis, so the comparison decides the mechanism:
/// confirmed if faster, not confirmed if same or slower, undecided if ambiguous or not measured.
Prediction decide_prediction(const Hypothesis& hypothesis,
                             const std::optional<Comparison>& measured);

/// Both answers of a payload of hypothesis_decided, version 2 or 1. Version 1 has one word only:
/// `supported` confirms the mechanism; else the outcome that begins its reason decides, and without
/// one the side of 1 on which the interval lies. The size follows from the recorded figures.
Prediction prediction_of_event(const Json& payload);

}  // namespace wb::measure
