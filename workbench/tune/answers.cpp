// SPDX-License-Identifier: MIT
// One evaluation of a tune: built, identified by its code hash, answered on this device. Also the
// search's own state: turns of a race's earlier stages, and whether the best is proved.
#include <fmt/format.h>

#include "core/clock.hpp"
#include "core/json.hpp"
#include "engine/parts.hpp"
#include "engine/services.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "session/session.hpp"
#include "session/view.hpp"
#include "tune/builds.hpp"
#include "tune/evaluation.hpp"
#include "tune/evaluation_exchange.hpp"
#include "tune/tune.hpp"

namespace wb::tune {

using engine::parse_verdict_extent;
using engine::Subject;
using engine::VerdictExtent;
using search::Ask;
using variant::Configuration;

Result<TuneAnswer> Tuner::evaluate(const Ask& ask) {
  TuneAnswer answer;
  answer.evaluation.configuration = ask.configuration;
  answer.stage = ask.stage;
  answer.against = ask.against;
  WB_TRY_ASSIGN(const BuildQueue::Built* built, need(ask.configuration));
  answer.build_s = built->wall_s;
  if (!built->subject) {
    fail(answer, built->subject.error());
    return answer;
  }
  const Subject candidate = *built->subject;
  answer.artifact_id = candidate.artifact.id;
  Outcome<std::string> hash = code_hash_of(m_context, candidate);
  if (!hash) {
    fail(answer, hash.error());
    return answer;
  }
  answer.evaluation.artifact = *std::move(hash);
  if (take_duplicate_score(ask, answer)) return answer;
  const auto begin = services_of(m_context).clock.steady_now();
  WB_TRY_ASSIGN(PairLanes* const lanes, lanes_of(ask));
  WB_TRY_ASSIGN(const bool is_stopped, m_evaluator.judge_and_time(ask, candidate, *lanes, answer));
  if (is_stopped) ++m_totals.stopped_early;
  if (answer.proof == VerdictExtent::screening) ++m_totals.screened;
  m_totals.measure_s += seconds_since(begin);
  return answer;
}

bool Tuner::take_duplicate_score(const Ask& ask, TuneAnswer& answer) const {
  const auto twin = m_ledger.first_with(answer.evaluation.artifact);
  if (!twin || *twin == ask.configuration) return false;
  const auto score = m_strategy.duplicate_of(*twin);
  if (!score) return false;
  answer.evaluation.score = *score;
  answer.duplicate_of = *twin;
  const auto place = m_place_of_answer.find(*twin);
  if (place != m_place_of_answer.end()) answer.proof = m_answers[place->second].proof;
  return true;
}

Result<PairLanes*> Tuner::lanes_of(const Ask& ask) {
  const bool lasts = m_plan.options.kind == search::StrategyKind::racing && ask.against;
  if (!lasts) m_lanes.clear();
  const auto key = std::pair{ask.configuration, ask.against.value_or(variant::Configuration{})};
  const auto [found, is_new] =
      m_lanes.try_emplace(key, settings_of(m_context).suite.problems.size());
  if (!is_new || !lasts) return &found->second;
  for (const TuneAnswer& answer : m_past) {
    if (answer.evaluation.configuration != ask.configuration || answer.against != ask.against) {
      continue;
    }
    if (answer.evaluation.score.invalidity) continue;
    WB_TRY(restore_lanes(answer, found->second));
  }
  return &found->second;
}

/// The turns of an interrupted run, from its log or from the stored reply.
Result<void> Tuner::restore_lanes(const TuneAnswer& answer, PairLanes& lanes) const {
  if (answer.remote) {
    // Unreadable turns count as unknown, as in a truncated log.
    const auto text = session_of(m_context)->read_blob(answer.remote->reply);
    if (!text) return {};
    const auto json = parse_json(*text, "a kept reply");
    if (!json) return {};
    if (auto more = lanes_from_json(*json, settings_of(m_context).suite)) append(lanes, *more);
    return {};
  }
  if (answer.turns.first == 0) return {};
  const session::EventLog& log = session_of(m_context)->log();
  for (std::int64_t seq = answer.turns.first; seq <= answer.turns.second; ++seq) {
    if (seq > log.size() || log.envelope(seq).type != "turn_measured") continue;
    WB_TRY_ASSIGN(Json payload, log.payload(seq));
    const std::string problem = payload.value("problem", "");
    for (const char* key : {"iteration", "problem", "plan", "phase", "spot_pass"}) {
      payload.erase(key);
    }
    WB_TRY_ASSIGN(measure::Turn turn, measure::turn_from_json(payload));
    if (measure::is_disturbed(turn.flags)) continue;
    const std::size_t place = m_evaluator.place_in_suite(problem);
    if (place >= lanes.size()) continue;
    // Labels end in the first digits of the artifact's id.
    const std::string id = turn.subject.substr(turn.subject.find('@') + 1);
    const std::size_t side = answer.artifact_id.starts_with(id) ? 0 : 1;
    lanes[place][side].turns.push_back(std::move(turn));
  }
  return {};
}

Result<void> Tuner::prove_promising() {
  while (const auto promising = m_strategy.promising()) {
    WB_TRY(check_stop(m_context));
    WB_TRY_ASSIGN(const Outcome<Subject> candidate, subject(*promising));
    if (!candidate) return {};  // the confirmation reports it
    const auto begin = services_of(m_context).clock.steady_now();
    WB_TRY_ASSIGN(const auto failure, m_evaluator.judge_wholly(*candidate));
    m_totals.measure_s += seconds_since(begin);
    if (!failure || failure->invalidity == Invalidity::environment) return {};
    WB_TRY(m_strategy.retract(*promising, failure->invalidity));
    TuneAnswer& answer = m_answers.at(m_place_of_answer.at(*promising));
    answer.evaluation.score = search::invalid_score(failure->invalidity);
    answer.message = failure->message;
    answer.proof = VerdictExtent::none;
    ++m_totals.retracted;
  }
  return {};
}

// A search's answers in the log, and what an interrupted run knows from them.

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
