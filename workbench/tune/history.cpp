// SPDX-License-Identifier: MIT
// A search's answers in the log, and what an interrupted run knows from them.
#include <fmt/format.h>

#include "core/clock.hpp"
#include "core/json.hpp"
#include "engine/subject.hpp"
#include "session/view.hpp"
#include "tune/code_hash.hpp"
#include "tune/evaluation.hpp"
#include "tune/tune.hpp"

namespace wb::tune {

using engine::parse_verdict_extent;
using variant::Configuration;

namespace {

std::optional<Configuration> configuration_or_nothing(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  Configuration configuration;
  for (const auto& [name, value] : json.items()) {
    if (value.is_number_integer()) configuration[name] = value.get<std::int64_t>();
  }
  return configuration;
}

std::string pair_key(const TuneAnswer& answer) {
  return fmt::format("{} {}", answer.stage, variant::to_text(answer.evaluation.configuration));
}

std::vector<search::Evaluation> evaluations_of(const std::vector<TuneAnswer>& answers) {
  std::vector<search::Evaluation> evaluations;
  for (const TuneAnswer& answer : answers) evaluations.push_back(answer.evaluation);
  return evaluations;
}

bool is_environment(const TuneAnswer& answer) {
  return answer.evaluation.score.invalidity == Invalidity::environment;
}

}  // namespace

Json to_json(const TuneAnswer& answer) {
  const auto or_null = [](const std::optional<Configuration>& configuration) {
    return configuration ? variant::to_json(*configuration) : Json(nullptr);
  };
  Json json = to_json(answer.evaluation.score);
  json["configuration"] = variant::to_json(answer.evaluation.configuration);
  json["artifact_id"] = answer.artifact_id;
  json["code_hash"] = answer.evaluation.artifact;
  json["stage"] = answer.stage;
  json["against"] = or_null(answer.against);
  json["duplicate_of"] = or_null(answer.duplicate_of);
  json["proof"] = to_string(answer.proof);
  json["build_s"] = answer.build_s;
  json["message"] = answer.message;
  json["events"] =
      answer.turns.first > 0 ? Json{answer.turns.first, answer.turns.second} : Json(nullptr);
  if (const auto& there = answer.remote) {
    const Json score = to_json(there->score);
    json["elsewhere"] = {{"device", there->device},
                         {"reply_blob", there->reply},
                         {"against", or_null(there->against)},
                         {"outcome", score["outcome"]},
                         {"speedup", score["speedup"]},
                         {"interval", score["interval"]}};
  }
  return json;
}

Result<TuneAnswer> answer_from_json(const Json& payload) {
  ObjectReader reader(payload, "an evaluation");
  TuneAnswer answer;
  answer.artifact_id = reader.string_or("artifact_id", "");
  answer.evaluation.artifact = reader.string_or("code_hash", "");
  answer.message = reader.string_or("message", "");
  answer.proof = parse_verdict_extent(reader.string_or("proof", ""));
  answer.stage = reader.integer_or("stage", 0, 0, 1'000'000);
  answer.build_s = reader.real_or("build_s", 0);
  const Json* configuration = reader.member("configuration");
  if (configuration == nullptr || !configuration->is_object()) {
    reader.fail("configuration", "must be a map");
  }
  WB_TRY(reader.finish(true));
  answer.evaluation.configuration = configuration_or_nothing(*configuration).value();
  answer.against = configuration_or_nothing(payload.value("against", Json()));
  answer.duplicate_of = configuration_or_nothing(payload.value("duplicate_of", Json()));
  WB_TRY_ASSIGN(answer.evaluation.score, search::score_from_json(payload));
  if (const Json there = payload.value("elsewhere", Json()); there.is_object()) {
    ObjectReader kept(there, "what was measured elsewhere");
    answer.remote.emplace();
    answer.remote->device = kept.string("device");
    answer.remote->reply = kept.string("reply_blob");
    WB_TRY(kept.finish(true));
    answer.remote->against = configuration_or_nothing(there.value("against", Json()));
    WB_TRY_ASSIGN(answer.remote->score, search::score_from_json(there));
  }
  const Json events = payload.value("events", Json());
  if (events.is_array() && events.size() == 2 && events[0].is_number_integer() &&
      events[1].is_number_integer()) {
    answer.turns = {events[0].get<std::int64_t>(), events[1].get<std::int64_t>()};
  }
  return answer;
}

Result<TuneHistory> tune_history(const session::SessionView& view, std::string_view tune_id) {
  TuneHistory past;
  for (const session::IterationView& iteration : view.iterations) {
    const Json tune = iteration.opened.payload.value("tune", Json::object());
    if (!tune.is_object() || tune.value("tune_id", "") != tune_id || !iteration.closed) continue;
    if (iteration.closed->payload.value("outcome", "") != "abandoned") {
      past = {};  // that tune finished: the same again is a new tune
      continue;
    }
    past.usd += iteration.ledger.total().usd;
    for (const session::Fact& fact : iteration.evaluations) {
      WB_TRY_ASSIGN(TuneAnswer answer, answer_from_json(fact.payload));
      past.answers.push_back(std::move(answer));
    }
    const auto opened = parse_iso8601(iteration.opened.t);
    const auto last = parse_iso8601(iteration.evaluations.empty() ? iteration.opened.t
                                                                  : iteration.evaluations.back().t);
    if (opened && last) past.seconds += std::chrono::duration<double>(*last - *opened).count();
  }
  return past;
}

Result<std::vector<TuneAnswer>> replayable(const TunePlan& plan, const TuneHistory& past) {
  std::vector<TuneAnswer> answers;
  std::set<std::string> answered;
  for (const TuneAnswer& answer : past.answers) {
    if (is_environment(answer)) continue;
    answers.push_back(answer);
    answered.insert(pair_key(answer));
  }
  if (answers.size() == past.answers.size()) return answers;
  const auto can_be_told = [&](const std::vector<TuneAnswer>& told) -> Result<bool> {
    WB_TRY_ASSIGN(search::Strategy strategy, search::Strategy::make(plan.space, plan.options));
    search::TuneLedger ledger;
    return search::replay(strategy, ledger, evaluations_of(told)).ok();
  };
  WB_TRY_ASSIGN(const bool without, can_be_told(answers));
  if (without) return answers;
  answers.clear();
  for (const TuneAnswer& answer : past.answers) {
    const bool is_needed = !is_environment(answer) || !answered.contains(pair_key(answer));
    if (is_needed) answers.push_back(answer);
    if (is_needed && is_environment(answer)) answered.insert(pair_key(answer));
  }
  return answers;
}

}  // namespace wb::tune
