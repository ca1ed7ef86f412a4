// SPDX-License-Identifier: MIT
// How far two figures of recorded sessions lie apart, for `diff` and `reproduce`.
#pragma once

#include "core/json_fwd.hpp"
#include "measure/statistics.hpp"

namespace wb::verbs {

/// Speedup, interval and noise floor of a comparison_made or iteration_closed; an absent value is
/// NaN (the floor: 0).
measure::Comparison comparison_of(const Json& payload);

/// The ratio of one session's figure to another's, with the floor that a change must clear. The
/// sessions are independent, so half-widths (in logs) and floors add in quadrature. Ambiguous when
/// an interval is unknown.
measure::Comparison change_between(const measure::Comparison& before,
                                   const measure::Comparison& after);

}  // namespace wb::verbs
