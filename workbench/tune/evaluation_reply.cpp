// SPDX-License-Identifier: MIT
// Replies, and the checks on them, since a reply may be wrong in any way.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "tune/builds.hpp"
#include "tune/evaluation.hpp"
#include "tune/evaluation_exchange.hpp"

namespace wb::tune {

using engine::Lane;
using engine::parse_verdict_extent;
using measure::Turn;

namespace {

/// More than any effort needs for one side of a pair.
constexpr std::size_t k_turns_max = 10'000, k_samples_max = 100'000, k_message_max = 4'096;
/// Clocks differ a little, and a compiler may use this many CPUs.
constexpr double k_slack_s = 1, k_cpus_max = 1'024;
constexpr std::array<std::string_view, 2> k_sides{"candidate", "against"};

Error bad_reply(std::string cause) {
  return Error{ErrorCode::invalid, "read", "a reply", std::move(cause),
               "both sides must be of one version of the workbench"};
}

Json failure_json(const std::optional<Failure>& failure) {
  if (!failure) return nullptr;
  return {{"invalidity", to_string(failure->invalidity)}, {"message", failure->message}};
}

Result<std::optional<Failure>> read_failure(const Json* json) {
  if (json == nullptr || json->is_null()) return std::optional<Failure>{};
  ObjectReader reader(*json, "a failure");
  const auto word = parse_invalidity(reader.string("invalidity"));
  if (!word) reader.fail("invalidity", "is unknown here");
  const std::string message = reader.string("message");
  WB_TRY(reader.finish());
  return std::optional(Failure{*word, printable(message, k_message_max), ""});
}

Json lane_json(const Lane& lane) {
  Json turns = Json::array();
  for (const Turn& turn : lane.turns) turns.push_back(to_json(turn));
  return {{"turns", std::move(turns)}, {"failure", failure_json(lane.failure)}};
}

Result<Lane> read_lane(const Json* json) {
  const Json empty = Json::object();
  ObjectReader reader(json == nullptr ? empty : *json, "one side of a pair");
  const Json* turns = reader.member("turns");
  const Json* failure = reader.member("failure");
  WB_TRY(reader.finish());
  if (turns == nullptr || !turns->is_array()) return bad_reply("one side has no list of turns");
  if (turns->size() > k_turns_max) return bad_reply("one side has too many turns");
  Lane lane;
  WB_TRY_ASSIGN(lane.failure, read_failure(failure));
  for (const Json& item : *turns) {
    WB_TRY_ASSIGN(Turn turn, measure::turn_from_json(item));
    const auto is_time = [](double us) { return std::isfinite(us) && us > 0; };
    if (turn.samples_us.empty() || turn.samples_us.size() > k_samples_max ||
        !std::all_of(turn.samples_us.begin(), turn.samples_us.end(), is_time)) {
      return bad_reply("a turn has no samples, too many, or one that is no time");
    }
    lane.turns.push_back(std::move(turn));
  }
  return lane;
}

/// Checks the fields that must agree, so that the figures are of the requested evaluation.
Result<void> check_origin(const EvaluationReply& reply, const EvaluationRequest& request) {
  if (reply.id != request.id) return bad_reply("it answers another request");
  if (reply.workbench_version != request.workbench_version) {
    return bad_reply(fmt::format("it is from version {}, and this is {}",
                                 printable(reply.workbench_version, 64),
                                 request.workbench_version));
  }
  if (reply.backend != request.backend || reply.device != request.device) {
    return bad_reply(fmt::format("it was measured on {}, and the session measures on {}",
                                 printable(reply.device, 128), request.device));
  }
  return {};
}

Result<void> check_turns(const EvaluationReply& reply, const EvaluationRequest& request) {
  if (reply.failure) return {};
  bool any = false;
  for (const auto& pair : reply.lanes) {
    for (const Lane& lane : pair) {
      for (const Turn& turn : lane.turns) {
        if (turn.instance != request.ask.stage) return bad_reply("a turn is of another stage");
      }
    }
    any = any || !pair[0].turns.empty();
    if (!request.ask.against && !pair[1].turns.empty()) {
      return bad_reply("it has turns of something that was not asked for");
    }
  }
  if (!any) return bad_reply("it has neither turns nor a failure");
  return {};
}

}  // namespace

Json to_json(const EvaluationReply& reply, const problem::Suite& suite) {
  Json lanes = Json::array();
  for (std::size_t p = 0; p < reply.lanes.size(); ++p) {
    Json row{{"problem", to_text(suite.problems.at(p).problem)}};
    for (std::size_t side = 0; side < k_sides.size(); ++side) {
      row[std::string(k_sides[side])] = lane_json(reply.lanes[p][side]);
    }
    lanes.push_back(std::move(row));
  }
  return {{"format", k_evaluation_format},
          {"id", reply.id},
          {"workbench_version", reply.workbench_version},
          {"backend", reply.backend},
          {"device", reply.device},
          {"artifact_id", reply.artifact_id},
          {"code_hash", reply.code_hash},
          {"failure", failure_json(reply.failure)},
          {"proof", to_string(reply.proof)},
          {"stopped_early", reply.is_stopped_early},
          {"build_s", reply.build_s},
          {"compile_cpu_s", reply.compile_cpu_s},
          {"device_s", reply.device_s},
          {"lanes", std::move(lanes)}};
}

Result<PairLanes> lanes_from_json(const Json& reply, const problem::Suite& suite) {
  const Json list = reply.value("lanes", Json());
  if (!list.is_array() || list.size() != suite.problems.size()) {
    return bad_reply("it has not one row for each problem of the suite");
  }
  PairLanes lanes(suite.problems.size());
  for (std::size_t p = 0; p < lanes.size(); ++p) {
    ObjectReader reader(list[p], "a row of turns");
    if (reader.string("problem") != to_text(suite.problems[p].problem)) {
      reader.fail("problem", "is not the suite's");
    }
    std::array<const Json*, 2> sides{};
    for (std::size_t side = 0; side < sides.size(); ++side) {
      sides[side] = reader.member(k_sides[side]);
    }
    WB_TRY(reader.finish());
    for (std::size_t side = 0; side < sides.size(); ++side) {
      WB_TRY_ASSIGN(lanes[p][side], read_lane(sides[side]));
    }
  }
  return lanes;
}

Result<EvaluationReply> reply_from_json(const Json& json, const EvaluationRequest& request,
                                        double within_s) {
  if (!json.is_object()) return bad_reply("a reply is a map");
  ObjectReader reader(json, "a reply");
  EvaluationReply reply;
  reader.integer("format", k_evaluation_format, k_evaluation_format);
  reply.id = reader.string("id");
  reply.workbench_version = reader.string("workbench_version");
  reply.backend = reader.string("backend");
  reply.device = reader.string("device");
  reply.artifact_id = printable(reader.string("artifact_id"), 128);
  reply.code_hash = printable(reader.string("code_hash"), 128);
  reply.proof = parse_verdict_extent(reader.string("proof"));
  reply.is_stopped_early = reader.boolean_or("stopped_early", false);
  for (auto& [key, value] :
       {std::pair{"build_s", &reply.build_s}, std::pair{"compile_cpu_s", &reply.compile_cpu_s},
        std::pair{"device_s", &reply.device_s}}) {
    *value = reader.real(key);
    if (*value < 0) reader.fail(key, "is negative");
    const double cpus = value == &reply.compile_cpu_s ? k_cpus_max : 1;
    if (*value > (within_s + k_slack_s) * cpus) reader.fail(key, "is more than there was");
  }
  const Json* failure = reader.member("failure");
  reader.member("lanes");
  WB_TRY(reader.finish());
  WB_TRY(check_origin(reply, request));
  WB_TRY_ASSIGN(reply.failure, read_failure(failure));
  WB_TRY_ASSIGN(reply.lanes, lanes_from_json(json, request.suite));
  WB_TRY(check_turns(reply, request));
  return reply;
}

}  // namespace wb::tune
