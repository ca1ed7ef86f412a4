// SPDX-License-Identifier: MIT
#include "engine/evaluation_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wb {
namespace {

constexpr std::int64_t k_format = 1, k_many = 1'000'000;
/// More than any effort takes of one side of a pair.
constexpr std::size_t k_turns_max = 10'000, k_samples_max = 100'000, k_message_max = 4'096;
constexpr std::array<std::string_view, 2> k_sides{"candidate", "against"};

Error refused(std::string cause) {
  return Error{ErrorCode::invalid, "read", "an evaluation", std::move(cause),
               "both sides must be of one version of the workbench"};
}

Json or_null(const std::optional<Configuration>& configuration) {
  return configuration ? to_json(*configuration) : Json(nullptr);
}

Result<Configuration> read_configuration(const Json& json) {
  if (!json.is_object()) return refused("a configuration is no map");
  Configuration configuration;
  for (const auto& [name, value] : json.items()) {
    if (!value.is_number_integer()) return refused("the parameter " + name + " is no integer");
    configuration[name] = value.get<std::int64_t>();
  }
  return configuration;
}

Json candidate_json(const Candidate& candidate) {
  return {{"kernel", candidate.variant.manifest.name},
          {"files", candidate.variant.files},
          {"configuration", to_json(candidate.configuration)}};
}

Result<Candidate> read_candidate(const Json& json) {
  ObjectReader reader(json, "a candidate");
  const std::string kernel = reader.string("kernel");
  const Json* files = reader.member("files");
  const Json* configuration = reader.member("configuration");
  WB_TRY(reader.finish());
  if (files == nullptr || !files->is_object()) return refused("a candidate has no files");
  std::map<std::string, std::string> texts;
  for (const auto& [name, text] : files->items()) {
    if (!text.is_string()) return refused("the file " + name + " is no text");
    texts[name] = text.get<std::string>();
  }
  Candidate candidate;
  WB_TRY_ASSIGN(candidate.variant, variant_from_files(kernel, std::move(texts)));
  WB_TRY_ASSIGN(candidate.configuration,
                read_configuration(configuration == nullptr ? Json() : *configuration));
  candidate.name = to_text(candidate.configuration);
  return candidate;
}

Json ask_json(const Ask& ask) {
  return {{"configuration", to_json(ask.configuration)},
          {"against", or_null(ask.against)},
          {"stage", ask.stage},
          {"rounds", ask.rounds},
          {"confidence", ask.confidence}};
}

Result<Ask> read_ask(const Json& json) {
  ObjectReader reader(json, "an ask");
  Ask ask;
  ask.stage = reader.integer("stage", 0, k_many);
  ask.rounds = reader.integer("rounds", 1, k_many);
  ask.confidence = reader.real("confidence");
  const Json* configuration = reader.member("configuration");
  const Json* against = reader.member("against");
  if (!(ask.confidence > 0 && ask.confidence < 1)) reader.fail("confidence", "must be in (0, 1)");
  WB_TRY(reader.finish());
  WB_TRY_ASSIGN(ask.configuration,
                read_configuration(configuration == nullptr ? Json() : *configuration));
  if (against != nullptr && !against->is_null()) {
    WB_TRY_ASSIGN(ask.against, read_configuration(*against));
  }
  return ask;
}

Json floors_json(const NoiseFloors& floors) {
  Json list = Json::array();
  for (const auto& [key, floor] : floors) {
    list.push_back({{"problem", key.first}, {"plan", key.second}, {"floor", to_json(floor)}});
  }
  return list;
}

Result<NoiseFloors> read_floors(const Json& json) {
  if (!json.is_array()) return refused("the floors are no list");
  NoiseFloors floors;
  for (const Json& item : json) {
    ObjectReader reader(item, "a floor");
    const std::string problem = reader.string("problem"), plan = reader.string("plan");
    const Json* floor = reader.member("floor");
    WB_TRY(reader.finish());
    WB_TRY_ASSIGN(floors[std::pair(problem, plan)],
                  noise_floor_from_json(floor == nullptr ? Json() : *floor));
  }
  return floors;
}

Json terms_json(const EvaluationTerms& terms) {
  return {{"strategy", to_string(terms.kind)},
          {"placements", terms.placements},
          {"stop_speedup", terms.early_stop.speedup},
          {"stop_min_rounds", terms.early_stop.min_rounds}};
}

Result<EvaluationTerms> read_terms(const Json& json) {
  ObjectReader reader(json, "the terms");
  EvaluationTerms terms;
  const auto kind = parse_strategy_kind(reader.string("strategy"));
  if (!kind) reader.fail("strategy", "is unknown here");
  terms.placements = reader.integer("placements", 1, k_many);
  terms.early_stop.speedup = reader.real("stop_speedup");
  terms.early_stop.min_rounds = reader.integer("stop_min_rounds", 0, k_many);
  WB_TRY(reader.finish());
  terms.kind = *kind;
  return terms;
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
  if (turns == nullptr || !turns->is_array()) return refused("one side has no list of turns");
  if (turns->size() > k_turns_max) return refused("one side has too many turns");
  Lane lane;
  WB_TRY_ASSIGN(lane.failure, read_failure(failure));
  for (const Json& item : *turns) {
    WB_TRY_ASSIGN(Turn turn, turn_from_json(item));
    const auto is_time = [](double us) { return std::isfinite(us) && us > 0; };
    if (turn.samples_us.empty() || turn.samples_us.size() > k_samples_max ||
        !std::all_of(turn.samples_us.begin(), turn.samples_us.end(), is_time)) {
      return refused("a turn has no samples, too many, or one that is no time");
    }
    lane.turns.push_back(std::move(turn));
  }
  return lane;
}

/// What must agree, so that the figures are of what was asked for.
Result<void> check_origin(const EvaluationReply& reply, const EvaluationRequest& request) {
  if (reply.id != request.id) return refused("it answers another request");
  if (reply.workbench_version != request.workbench_version) {
    return refused(fmt::format("it is from version {}, and this is {}",
                               printable(reply.workbench_version, 64), request.workbench_version));
  }
  if (reply.backend != request.backend || reply.device != request.device) {
    return refused(fmt::format("it was measured on {}, and the session measures on {}",
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
        if (turn.instance != request.ask.stage) return refused("a turn is of another stage");
      }
    }
    any = any || !pair[0].turns.empty();
    if (!request.ask.against && !pair[1].turns.empty()) {
      return refused("it has turns of something that was not asked for");
    }
  }
  if (!any) return refused("it has neither turns nor a failure");
  return {};
}

}  // namespace

Json to_json(const EvaluationRequest& request) {
  return {{"format", k_format},
          {"id", request.id},
          {"workbench_version", request.workbench_version},
          {"backend", request.backend},
          {"device", request.device},
          {"suite", suite_json(request.suite)},
          {"objective", to_json(request.objective)},
          {"effort", request.effort},
          {"floors", floors_json(request.floors)},
          {"terms", terms_json(request.terms)},
          {"ask", ask_json(request.ask)},
          {"candidate", candidate_json(request.candidate)},
          {"against", request.against ? candidate_json(*request.against) : Json(nullptr)}};
}

Result<EvaluationRequest> request_from_json(const Json& json) {
  if (!json.is_object()) return refused("a request is a map");
  ObjectReader reader(json, "a request");
  EvaluationRequest request;
  reader.integer("format", k_format, k_format);
  request.id = reader.string("id");
  request.workbench_version = reader.string("workbench_version");
  request.backend = reader.string("backend");
  request.device = reader.string("device");
  request.effort = reader.string("effort");
  std::map<std::string, const Json*> parts;
  for (const char* key : {"suite", "objective", "floors", "terms", "ask", "candidate", "against"}) {
    parts[key] = reader.member(key);
    if (parts[key] == nullptr) reader.fail(key, "is missing");
  }
  WB_TRY(reader.finish());
  WB_TRY_ASSIGN(request.suite, suite_from_json(*parts["suite"]));
  WB_TRY_ASSIGN(request.objective, objective_from_json(*parts["objective"]));
  WB_TRY_ASSIGN(request.floors, read_floors(*parts["floors"]));
  WB_TRY_ASSIGN(request.terms, read_terms(*parts["terms"]));
  WB_TRY_ASSIGN(request.ask, read_ask(*parts["ask"]));
  WB_TRY_ASSIGN(request.candidate, read_candidate(*parts["candidate"]));
  if (!parts["against"]->is_null()) {
    WB_TRY_ASSIGN(request.against, read_candidate(*parts["against"]));
  }
  if (request.against.has_value() != request.ask.against.has_value()) {
    return refused("what it is timed beside is named and not given, or given and not named");
  }
  return request;
}

Json to_json(const EvaluationReply& reply, const Suite& suite) {
  Json lanes = Json::array();
  for (std::size_t p = 0; p < reply.lanes.size(); ++p) {
    Json row{{"problem", to_text(suite.problems.at(p).problem)}};
    for (std::size_t side = 0; side < k_sides.size(); ++side) {
      row[std::string(k_sides[side])] = lane_json(reply.lanes[p][side]);
    }
    lanes.push_back(std::move(row));
  }
  return {{"format", k_format},
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

Result<PairLanes> lanes_from_json(const Json& reply, const Suite& suite) {
  const Json list = reply.value("lanes", Json());
  if (!list.is_array() || list.size() != suite.problems.size()) {
    return refused("it has not one row for each problem of the suite");
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

Result<EvaluationReply> reply_from_json(const Json& json, const EvaluationRequest& request) {
  if (!json.is_object()) return refused("a reply is a map");
  ObjectReader reader(json, "a reply");
  EvaluationReply reply;
  reader.integer("format", k_format, k_format);
  reply.id = reader.string("id");
  reply.workbench_version = reader.string("workbench_version");
  reply.backend = reader.string("backend");
  reply.device = reader.string("device");
  reply.artifact_id = printable(reader.string("artifact_id"), 128);
  reply.code_hash = printable(reader.string("code_hash"), 128);
  reply.proof = parse_proof(reader.string("proof"));
  reply.is_stopped_early = reader.boolean_or("stopped_early", false);
  for (auto& [key, value] :
       {std::pair{"build_s", &reply.build_s}, std::pair{"compile_cpu_s", &reply.compile_cpu_s},
        std::pair{"device_s", &reply.device_s}}) {
    *value = reader.real(key);
    if (*value < 0) reader.fail(key, "is negative");
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

}  // namespace wb
