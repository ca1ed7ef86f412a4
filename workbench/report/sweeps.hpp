// SPDX-License-Identifier: MIT
// Private to report: the incumbent's rate over one size while all others stay the same, for the
// bottleneck page. A table in which several sizes change at once does not show which one costs.
#pragma once

#include <string>
#include <vector>

#include "measure/finding.hpp"
#include "report/sections.hpp"

namespace wb::report {

/// One table per size that the suite varies alone: rate, share of the peak, verdict and factor
/// below the best rate of that sweep. `shares`: the incumbent's roofline findings.
std::string sweeps_section(const Page& page, const measure::Evidence& evidence,
                           const std::vector<const session::Fact*>& shares);

/// The word for a share of a peak.
std::string verdict_words(double share);

}  // namespace wb::report
