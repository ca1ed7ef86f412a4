// SPDX-License-Identifier: MIT
// Stages of an iteration on their own, for `measure`, `compare` and `diagnose`, with or without a
// session.
#pragma once

#include <vector>

#include "core/json_fwd.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "engine/verb.hpp"
#include "engine/verdicts.hpp"

namespace wb::verbs {

/// Judges the subject, since only one that passed may be timed. Errors: wrong_result, environment;
/// those of the log.
Result<std::vector<engine::Judgement>> judge_or_fail(
    engine::Context& context, const engine::Subject& subject,
    const std::vector<problem::Problem>& problems,
    engine::Refusal refusal = engine::Refusal::fails);
/// A timing request for these problems by `plan`, `regime` and `effort`; the caller adds the
/// subjects. Errors: usage.
Result<engine::TimingRequest> request_for(const Json& args, std::vector<problem::Problem> problems);
/// Sentences on how this machine affects every figure measured on it.
Json notes_on_machine(const engine::Context& context);

}  // namespace wb::verbs
