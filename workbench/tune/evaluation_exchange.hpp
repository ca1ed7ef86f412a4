// SPDX-License-Identifier: MIT
// A question of a search and its answer as JSON, for another process on a device
// of the same kind. The owner of the session writes the request and alone decides what a reply is
// worth: it scores the turns in it itself. docs/guide/simulation.md, "Evaluations on other
// machines".
#pragma once

#include <optional>
#include <string>

#include "core/json.hpp"
#include "engine/objective.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "tune/code_hash.hpp"
#include "tune/evaluation.hpp"

namespace wb::tune {

/// Of requests and replies.
inline constexpr std::int64_t k_evaluation_format = 1;

/// All that an answer depends on, but the device.
struct EvaluationRequest {
  std::string id = {};                    ///< the reply repeats it
  std::string workbench_version = {};     ///< the same on both sides
  std::string backend = {}, device = {};  ///< the session's device: its kind and name
  std::string compiler = {};              ///< compiler_of() the candidate's backend
  problem::Suite suite = {};
  engine::Objective objective = {};
  std::string effort = "standard";
  engine::NoiseFloors floors = {};  ///< the session's: they say when to stop early
  EvaluationTerms terms = {};
  search::Ask ask = {};
  Candidate candidate = {};
  std::optional<Candidate> against = {};  ///< where the ask has one
};
Json to_json(const EvaluationRequest& request);
/// Errors: invalid (a member is missing or is not what it must be), parse (a manifest).
Result<EvaluationRequest> request_from_json(const Json& json);

struct EvaluationReply {
  std::string id = {}, workbench_version = {}, backend = {}, device = {};  ///< as in the request
  std::string artifact_id = {}, code_hash = {};  ///< empty where nothing was built
  std::optional<Failure> failure = {};           ///< then no turns
  engine::Proof proof = engine::Proof::none;
  bool is_stopped_early = false;
  PairLanes lanes = {};  ///< by problem of the suite: candidate, against
  double build_s = 0, compile_cpu_s = 0, device_s = 0;
};
Json to_json(const EvaluationReply& reply, const problem::Suite& suite);
/// `within_s`: since the request was sent. Errors: invalid (not a reply to this request, from
/// another device or version, turns of what was not asked for, without a usable time, or too many;
/// more seconds than there were).
Result<EvaluationReply> reply_from_json(const Json& json, const EvaluationRequest& request,
                                        double within_s);
/// Member `lanes` of a reply. Errors: invalid.
Result<PairLanes> lanes_from_json(const Json& reply, const problem::Suite& suite);

}  // namespace wb::tune
