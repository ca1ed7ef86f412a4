// SPDX-License-Identifier: MIT
// Evidence in the log beside timings: findings of the analyses and of builds, and inspections of
// one call by tools (ncu, compute-sanitizer, torch.profiler), which give no timing and no verdict.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "measure/finding.hpp"
#include "protocol/protocol.hpp"

namespace wb::engine {

struct Context;
struct Subject;
struct TimingRequest;  // timing.hpp
struct TimingResult;

/// Runs a tool on one problem, in a process of its own; every answer is an event. Errors: only
/// those of the log and canceled.
Result<Outcome<protocol::ProfileResult>> inspect_call(Context& context, const Subject& subject,
                                                      const problem::Problem& problem,
                                                      std::string_view tool);

/// For a Python subject on a GPU: logs a profile_taken event per supported problem with the kernels
/// that one call launches, or with the reason why their names are unknown. `handle` is its loaded
/// process, which cannot be judged or timed afterwards. Errors: only those of the log and canceled.
Result<void> log_kernel_names(Context& context, const Subject& subject,
                              const std::vector<problem::Problem>& problems, std::int64_t handle);

/// The input of the analyses: one subject's figures, and those of the subjects beside it.
measure::Evidence evidence_of(const Context& context, const TimingRequest& request,
                              const TimingResult& result, std::size_t subject);
/// Adds what the subject's manifest and launch rule tell of its f32 products and its blocks.
/// Without a catalogue of launches the manifest tells alone.
void add_rule_facts(const Context& context, const Subject& subject, measure::Evidence& evidence);
/// Analyzes a timing result and logs the findings.
Result<std::vector<measure::Finding>> record_findings(Context& context,
                                                      const TimingRequest& request,
                                                      const TimingResult& result,
                                                      std::size_t subject);

/// Logs the compiler's warnings about a build as findings on the last variant_built of this
/// artifact in the running iteration, or outside. Logged once per artifact, also when it comes from
/// the cache.
Result<void> record_build_findings(Context& context, const Subject& subject);

}  // namespace wb::engine
