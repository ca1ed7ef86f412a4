// SPDX-License-Identifier: MIT
// A search's question and its answer as JSON, for another process on a device of the same kind. The
// owner of the session writes the request and does not trust the reply: it scores the turns itself.
// See docs/guide/simulation.md, "Evaluations on other machines".
#pragma once

#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "tune/builds.hpp"
#include "tune/evaluation.hpp"

namespace wb::tune {

/// Version of requests and replies.
inline constexpr std::int64_t k_evaluation_format = 1;

/// Everything that an answer depends on, except the device.
struct EvaluationRequest {
  std::string id = {};                    ///< repeated by the reply
  std::string workbench_version = {};     ///< the same on both sides
  std::string backend = {}, device = {};  ///< kind and name of the session's device
  std::string compiler = {};              ///< compiler_of() the candidate's backend
  problem::Suite suite = {};
  engine::Objective objective = {};
  std::string effort = "standard";
  engine::NoiseFloors floors = {};  ///< the session's; early stop uses them
  EvaluationTerms terms = {};
  search::Ask ask = {};
  Candidate candidate = {};
  std::optional<Candidate> against = {};  ///< if the ask has one
};
Json to_json(const EvaluationRequest& request);
/// Errors: invalid (a missing or wrong member), parse (a manifest).
Result<EvaluationRequest> request_from_json(const Json& json);

struct EvaluationReply {
  std::string id = {}, workbench_version = {}, backend = {}, device = {};  ///< as in the request
  std::string artifact_id = {}, code_hash = {};  ///< empty when nothing was built
  std::optional<Failure> failure = {};           ///< if set, there are no turns
  engine::VerdictExtent proof = engine::VerdictExtent::none;
  bool is_stopped_early = false;
  PairLanes lanes = {};  ///< by problem of the suite: candidate, against
  double build_s = 0, compile_cpu_s = 0, device_s = 0;
};
Json to_json(const EvaluationReply& reply, const problem::Suite& suite);
/// `within_s`: seconds since the request was sent. Errors: invalid (not a reply to this request;
/// another device or version; turns that were not requested, without a usable time, or too many;
/// more seconds than have passed).
Result<EvaluationReply> reply_from_json(const Json& json, const EvaluationRequest& request,
                                        double within_s);
/// Member `lanes` of a reply. Errors: invalid.
Result<PairLanes> lanes_from_json(const Json& reply, const problem::Suite& suite);

}  // namespace wb::tune
