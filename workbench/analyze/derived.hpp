// SPDX-License-Identifier: MIT
// What follows from a variant's manifest, its configuration, its build and the launch rule of its
// kernel (kernels/launches.json). Launches that the log has take the place of the rule's bounds and
// are cited; without them nothing of it was seen, and rules that use it have the strength
// `derived`. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalogue/launches.hpp"
#include "measure/finding.hpp"
#include "variant/manifest.hpp"
#include "variant/ptxas_record.hpp"

namespace wb::analyze {

/// Spills of up to so many bytes a thread are a remark. They are eight registers, which lie in the
/// L1 cache and are mostly stored before the loop over the keys and loaded behind it.
inline constexpr std::int64_t k_small_spill_bytes = 32;

struct DerivedInput {
  std::string subject;
  const variant::Manifest* manifest = nullptr;
  variant::Configuration configuration;         ///< complete
  const catalogue::LaunchRule* rule = nullptr;  ///< nullptr: the catalogue has none for it
  std::vector<problem::Problem> problems;
  std::optional<variant::PtxasRecord> ptxas;  ///< of its build; nothing: no record
  std::vector<std::int64_t> build_events;     ///< of that record
};

/// `configuration`: one finding where the manifest names techniques. `spills`: one a problem on
/// which a kernel that spills is launched, by the recorded launches, or where the log has none by
/// dtype and head dimension in its name. `launch_rule`: one a problem where there is a rule that
/// has values. `evidence`: the device, times and launches.
std::vector<measure::Finding> derived_findings(const DerivedInput& input,
                                               const measure::Evidence& evidence);

/// Adds what manifest, configuration and launch rule (nullptr: none) tell of a GPU's subject that
/// the evidence observes: how it makes f32 products; and of any subject how many blocks its calls
/// have.
void add_rule_facts(measure::Evidence& evidence, const std::string& subject,
                    const variant::Manifest& manifest, const variant::Configuration& configuration,
                    const catalogue::LaunchRule* rule);

/// True when matrix units are fed by asynchronous copies: then few warps are enough, and a low
/// occupancy alone is no cause.
bool hides_latency(const DerivedInput& input);

}  // namespace wb::analyze
