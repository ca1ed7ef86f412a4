// SPDX-License-Identifier: MIT
// Stages of an iteration on their own, with or without a session, for `measure`, `compare`,
// `profile`, `sanitize` and `diagnose`, and what a kernel's bare name means to them inside a
// session.
#pragma once

#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "problem/problem.hpp"
#include "protocol/protocol.hpp"

namespace wb::engine {
struct Context;
struct Judgement;  // verdicts.hpp
enum class Refusal;
struct Subject;
struct TimingRequest;  // timing.hpp
}  // namespace wb::engine

namespace wb::verbs {

/// Judges the subject, since only one that passed may be timed. Errors: wrong_result, environment;
/// those of the log.
Result<std::vector<engine::Judgement>> judge_or_fail(engine::Context& context,
                                                     const engine::Subject& subject,
                                                     const std::vector<problem::Problem>& problems,
                                                     engine::Refusal refusal);
/// With Refusal::fails, as a candidate is judged.
Result<std::vector<engine::Judgement>> judge_or_fail(engine::Context& context,
                                                     const engine::Subject& subject,
                                                     const std::vector<problem::Problem>& problems);
/// A timing request for these problems by `plan`, `regime` and `effort`; the caller adds the
/// subjects. Errors: usage.
Result<engine::TimingRequest> request_for(const Json& args, std::vector<problem::Problem> problems);
/// Sentences on how this machine affects every figure measured on it.
Json notes_on_machine(const engine::Context& context);

/// A tool's result on one problem as a row: problem, outcome (taken, not_available or an
/// invalidity), message.
Json profile_row(const problem::Problem& problem, const Outcome<protocol::ProfileResult>& result);

/// The verb `profile`: each problem under a profiler, also for `diagnose --measure`. Uses
/// `variant`, `suite`, `problem` and `configuration` of `args`. Errors: those of builds and of the
/// log.
Result<Json> profile_variant(engine::Context& context, const Json& args);

/// The arguments, in which a bare name at `key` is replaced by the label of the session's best
/// confirmed variant of that name (outcome::Outcome::find), so that sources and configuration are
/// those that won. They stay as they are without a session, for labels, with a configuration of the
/// caller's, and where the sources on disk are none that an iteration of the session tried: then
/// these are meant, as somebody is working on them. Errors: those of the log.
Result<Json> with_best_variant(engine::Context& context, Json args, const char* key);

}  // namespace wb::verbs
