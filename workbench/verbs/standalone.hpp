// SPDX-License-Identifier: MIT
// The stages of an iteration on their own, for `measure`, `compare` and `diagnose`, with or without
// a session.
#pragma once

#include <vector>

#include "engine/call.hpp"
#include "engine/timing.hpp"
#include "engine/verdicts.hpp"

namespace wb::verbs {

/// Only what passed its verdict may be timed. Errors: wrong_result, environment; those of the log.
Result<std::vector<engine::Judgement>> judge_or_fail(
    engine::Context& context, const engine::Subject& subject,
    const std::vector<problem::Problem>& problems,
    engine::Refusal refusal = engine::Refusal::fails);
/// Who times these problems as `plan`, `regime` and `effort` say; its subjects are the caller's.
/// Errors: usage.
Result<engine::TimingRequest> request_for(const Json& args, std::vector<problem::Problem> problems);
/// What the machine does to every figure taken here, in sentences.
Json notes_on_machine(const engine::Context& context);

}  // namespace wb::verbs
