// SPDX-License-Identifier: MIT
// How far two figures of recorded sessions lie apart, for `diff` and `reproduce`.
#pragma once

#include "core/json_fwd.hpp"
#include "measure/statistics.hpp"

namespace wb::verbs {

/// Speedup, interval and noise floor of a comparison_made or iteration_closed; what it does not say
/// is NaN (the floor: 0).
measure::Comparison comparison_of(const Json& payload);

/// A figure of one session over the same figure of another, with the floor to clear before it may
/// be called a change. The sessions are independent, so the logs' half-widths add in quadrature;
/// the floors likewise. Ambiguous as soon as one interval is unknown.
measure::Comparison change_between(const measure::Comparison& before,
                                   const measure::Comparison& after);

}  // namespace wb::verbs
