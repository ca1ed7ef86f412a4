// SPDX-License-Identifier: MIT
#include "analyze/analysis.hpp"

#include <array>
#include <iterator>
#include <utility>

namespace wb {

// One analysis, one file of that name. A new one is declared and listed here.
std::vector<Finding> analyze_clocks(const Evidence& evidence);
std::vector<Finding> analyze_regime(const Evidence& evidence);
std::vector<Finding> analyze_roofline_share(const Evidence& evidence);
std::vector<Finding> analyze_scaling(const Evidence& evidence);

namespace {

constexpr std::array<Analysis, 4> k_analyses{{
    {"clocks", "whether a GPU's clock was another for one side of a comparison", analyze_clocks},
    {"regime", "what bounds each problem on this device: launch, latency, memory or compute",
     analyze_regime},
    {"roofline_share", "how much of the device's peak each subject reaches, and the headroom",
     analyze_roofline_share},
    {"scaling", "how time grows with work where the problems vary one size", analyze_scaling},
}};

}  // namespace

std::span<const Analysis> analyses() {
  return k_analyses;
}

std::vector<Finding> analyze(const Evidence& evidence) {
  std::vector<Finding> all;
  for (const Analysis& analysis : analyses()) {
    std::vector<Finding> found = analysis.run(evidence);
    std::move(found.begin(), found.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace wb
