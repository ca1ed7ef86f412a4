// SPDX-License-Identifier: MIT
// Private to report: how the incumbent's rate goes with one size while all others stay, for the
// bottleneck page. A table in which several sizes change at once cannot say which of them costs.
#pragma once

#include <string>
#include <vector>

#include "measure/finding.hpp"
#include "report/sections.hpp"

namespace wb::report {

/// One table a size that the suite varies by itself: rate, share of the peak, verdict and factor
/// below the best rate of that sweep. `shares`: the incumbent's roofline findings.
std::string sweeps_section(const Page& page, const measure::Evidence& evidence,
                           const std::vector<const session::Fact*>& shares);

/// What a share of a peak is called.
std::string verdict_words(double share);

}  // namespace wb::report
