// SPDX-License-Identifier: MIT
// What follows from a variant's manifest, its configuration and the launch rule of its kernel
// (kernels/launches.json), for logs in which no tool saw the launch or the machine code. Nothing of
// it was measured: rules that use it have the strength `derived`. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalogue/launches.hpp"
#include "measure/finding.hpp"
#include "variant/manifest.hpp"

namespace wb::analyze {

struct DerivedInput {
  std::string subject;
  const variant::Manifest* manifest = nullptr;
  variant::Configuration configuration;         ///< complete
  const catalogue::LaunchRule* rule = nullptr;  ///< nullptr: the catalogue has none for it
  std::vector<problem::Problem> problems;
  std::optional<bool> spills;  ///< of its build; nothing: no record
};

/// One finding `configuration` where the manifest names techniques, and one finding `launch_rule` a
/// problem where there is a rule that has values. `evidence`: the device and ptxas' facts.
std::vector<measure::Finding> derived_findings(const DerivedInput& input,
                                               const measure::Evidence& evidence);

}  // namespace wb::analyze
