// SPDX-License-Identifier: MIT
// One evaluation of a tune: built, identified by its code hash, answered on this device. Also the
// search's own state: turns of a race's earlier stages, and whether the best is proved.
#include "core/json.hpp"
#include "engine/context.hpp"
#include "engine/subject.hpp"
#include "tune/builds.hpp"
#include "tune/evaluation.hpp"
#include "tune/evaluation_exchange.hpp"
#include "tune/tune.hpp"

namespace wb::tune {

using engine::Subject;
using engine::VerdictExtent;
using search::Ask;

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
  const auto begin = m_context.services.clock.steady_now();
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
  const auto [found, is_new] = m_lanes.try_emplace(key, m_context.settings.suite.problems.size());
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
    const auto text = m_context.session->read_blob(answer.remote->reply);
    if (!text) return {};
    const auto json = parse_json(*text, "a kept reply");
    if (!json) return {};
    if (auto more = lanes_from_json(*json, m_context.settings.suite)) append(lanes, *more);
    return {};
  }
  if (answer.turns.first == 0) return {};
  const session::EventLog& log = m_context.session->log();
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
    WB_TRY(m_context.check_stop());
    WB_TRY_ASSIGN(const Outcome<Subject> candidate, subject(*promising));
    if (!candidate) return {};  // the confirmation reports it
    const auto begin = m_context.services.clock.steady_now();
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

}  // namespace wb::tune
