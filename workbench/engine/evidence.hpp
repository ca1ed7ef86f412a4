// SPDX-License-Identifier: MIT
// What the log keeps beside figures: findings of the analyses and of builds, and looks of tools
// (ncu, compute-sanitizer, torch.profiler) at one call, which times nothing and passes no verdict.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/invalidity.hpp"
#include "measure/finding.hpp"
#include "protocol/protocol.hpp"

namespace wb::engine {

struct Context;
struct Subject;
struct TimingRequest;  // timing.hpp
struct TimingResult;

/// What the tool said of one problem, in a process of its own; every answer is an event. Errors:
/// only those of the log and canceled.
Result<Outcome<protocol::ProfileResult>> look_at(Context& context, const Subject& subject,
                                                 const problem::Problem& problem,
                                                 std::string_view tool);

/// Where the device is a GPU and the subject is Python: a profile_taken event for each problem that
/// it takes, with the kernels that one call launches. `handle` is its loaded process, which cannot
/// be judged or timed afterwards. Names that cannot be had are an event with the reason. Errors:
/// only those of the log and canceled.
Result<void> log_kernel_names(Context& context, const Subject& subject,
                              const std::vector<problem::Problem>& problems, std::int64_t handle);

/// What analyses may look at: one subject's figures, and who was beside it.
measure::Evidence evidence_of(const Context& context, const TimingRequest& request,
                              const TimingResult& result, std::size_t subject);
/// Findings from a timing result, logged.
Result<std::vector<measure::Finding>> record_findings(Context& context,
                                                      const TimingRequest& request,
                                                      const TimingResult& result,
                                                      std::size_t subject);

/// What the compiler's record says against a build, as findings that rest on its variant_built: the
/// last one of this artifact in the iteration that runs, or outside. Once there for each artifact,
/// however often it comes from the cache.
Result<void> record_build_findings(Context& context, const Subject& subject);

}  // namespace wb::engine
