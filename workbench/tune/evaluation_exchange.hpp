// SPDX-License-Identifier: MIT
// A search's question and its answer as JSON, for another process on a device of the same kind. The
// owner of the session writes the request and does not trust the reply: it scores the turns itself.
// RemoteEvaluator sends them through the executor of the program around the engine. See
// docs/guide/simulation.md, "Evaluations on other machines".
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "search/program.hpp"
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

// RemoteEvaluator: evaluates a search's requests through the executor of the program around the
// engine, in any order. search/program.hpp lists its questions.

/// The number of evaluations that the program's executor runs at a time; 0 without an executor.
Result<std::int64_t> remote_capacity(const search::AskProgram& ask);

class RemoteEvaluator {
 public:
  struct Sent {
    EvaluationRequest request;
    std::chrono::steady_clock::time_point at;
    std::optional<EvaluationReply> reply;
    std::string text;   ///< text of the reply as received
    std::string fault;  ///< why there is no reply
    bool is_back = false;
  };
  RemoteEvaluator(search::AskProgram ask, const Clock& clock)
      : m_ask(std::move(ask)), m_clock(clock) {}

  [[nodiscard]] bool knows(const search::Ask& ask) const { return m_numbers.contains(key(ask)); }
  [[nodiscard]] bool has_reply(const search::Ask& ask) const;
  [[nodiscard]] std::size_t size() const { return m_sent.size(); }  ///< not taken yet
  [[nodiscard]] std::size_t away() const;                           ///< without a reply
  /// Assigns the request's id. Errors: those of the program.
  Result<void> send(EvaluationRequest request);
  /// Replies since the last call, waiting up to `patience` for the first; also requests given up
  /// long after the slowest one. Valid until taken. Errors: those of the program; canceled.
  Result<std::vector<const Sent*>> collect(std::chrono::milliseconds patience);
  /// Removes a request that has a reply or was given up, so that it can be sent again.
  Sent take(const search::Ask& ask);
  /// Requests that are not running yet return as faults.
  Result<void> cancel();

 private:
  using Key = std::pair<std::int64_t, variant::Configuration>;
  static Key key(const search::Ask& ask) { return {ask.stage, ask.configuration}; }
  search::AskProgram m_ask;
  const Clock& m_clock;
  double m_slowest_s = 0;
  std::int64_t m_next = 1;
  std::map<Key, std::int64_t> m_numbers;
  std::map<std::int64_t, Sent> m_sent;
};

}  // namespace wb::tune
