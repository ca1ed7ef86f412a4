// SPDX-License-Identifier: MIT
// The one measurement that decides an open cause, as a command that a person can run, and the
// problems that a probe varies for it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "problem/problem.hpp"

namespace wb::catalogue {
struct Cause;
struct CauseNeed;
}  // namespace wb::catalogue

namespace wb::advise {

struct Target;

struct DecidingMeasurement {
  std::string command;  ///< "sdpa-wb profile ours@1 --problem '…'"
  std::string probe;    ///< "keys", where `diagnose --measure` and `close --measure` take it; or ""
  std::string brings;   ///< the figures that it gives, in words
  std::string counter;  ///< of the profiler, by its own name; empty: none
};

/// Whether this device, plan and kernel can have the measurement.
bool can_be_taken(const catalogue::CauseNeed& need, const Target& target);

/// The first of the cause's needs that this device, plan and kernel can have, those with a probe
/// before others; nothing where none can. `open`: the problem on which the cause is open; nullptr:
/// not known, then the command has "P" in its place.
std::optional<DecidingMeasurement> deciding_measurement(const catalogue::Cause& cause,
                                                        const Target& target,
                                                        const problem::Problem* open);

/// The problems that a probe measures. They differ in one size only: B ("heads": 1, 2 and 4 times
/// the base's) or Skv ("keys": 2, 4 and 8 times, without a causal rule). Other probes measure the
/// base itself.
std::vector<problem::Problem> probe_problems(const problem::Problem& base, std::string_view probe);

/// The one with the fewest row blocks, which leaves most of the device unused: what probes vary.
/// nullptr where there is none.
const problem::Problem* smallest_problem(const std::vector<const problem::Problem*>& problems);

}  // namespace wb::advise
