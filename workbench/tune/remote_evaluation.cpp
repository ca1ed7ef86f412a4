// SPDX-License-Identifier: MIT
// Evaluations of a tune by the program's executor. They run in any order, and their answers are
// told in the order of the questions, so that the search does not depend on their speed. This file
// decides what a reply is worth: its turns are scored again, and the most promising configuration
// gets its verdict and figure from this process's own device.
#include <algorithm>

#include "engine/comparing.hpp"
#include "engine/context.hpp"
#include "engine/spending.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "engine/worker.hpp"
#include "tune/builds.hpp"
#include "tune/evaluation.hpp"
#include "tune/evaluation_exchange.hpp"
#include "tune/tune.hpp"

namespace wb::tune {

using engine::Lane;
using engine::Subject;
using engine::VerdictExtent;
using search::Ask;

namespace {

constexpr auto k_reply_patience = std::chrono::milliseconds(100);
/// Evaluations sent ahead, as a multiple of those running, so that a slow first one does not leave
/// the others idle.
constexpr std::size_t k_ahead_of_the_slowest = 4;

/// A race adds up the turns of its stages, which must be of one artifact.
bool are_of_the_same(const PairLanes& known, const PairLanes& more) {
  for (std::size_t p = 0; p < known.size(); ++p) {
    for (std::size_t side = 0; side < 2; ++side) {
      const auto& before = known[p][side].turns;
      const auto& now = more[p][side].turns;
      if (before.empty() || now.empty()) continue;
      if (before.front().subject != now.front().subject) return false;
    }
  }
  return true;
}

}  // namespace

Result<EvaluationRequest> Tuner::request_for(const Ask& ask) const {
  const device::Device& device = m_context.worker->hello->device;
  EvaluationRequest request{
      .workbench_version = m_context.services.workbench_version,
      .backend = device.backend,
      .device = device.name,
      .suite = m_context.settings.suite,
      .objective = m_context.settings.objective,
      .effort = m_context.settings.effort,
      .floors = m_context.floors,
      .terms = {m_plan.options.kind, m_plan.effort.placements, m_plan.early_stop},
      .ask = ask,
      .candidate = m_plan.candidate(ask.configuration)};
  if (ask.against) request.against = m_plan.candidate(*ask.against);
  WB_TRY_ASSIGN(request.compiler,
                compiler_of(m_context, request.candidate.variant.manifest.backend));
  return request;
}

Result<void> Tuner::send(const Ask& ask) {
  WB_TRY_ASSIGN(EvaluationRequest request, request_for(ask));
  return m_remote->send(std::move(request));
}

Result<void> Tuner::send_out(const Ask& first) {
  const auto at_a_time = static_cast<std::size_t>(m_plan.in_flight);
  if (m_remote->away() >= at_a_time) return {};
  if (!m_remote->knows(first)) WB_TRY(send(first));
  // Until one is valid, there is nothing to time the others beside.
  if (!m_strategy.best()) return {};
  const std::size_t most = left_to_tell(k_ahead_of_the_slowest * at_a_time);
  for (const Ask& ask : m_strategy.certain(most)) {
    if (m_remote->away() >= at_a_time || m_remote->size() >= most) break;
    if (!m_remote->knows(ask)) WB_TRY(send(ask));
  }
  return {};
}

/// Costs are debited as soon as they are known, whether the answer is told or not.
Result<void> Tuner::collect_replies() {
  WB_TRY_ASSIGN(const auto came, m_remote->collect(k_reply_patience));
  for (const RemoteEvaluator::Sent* sent : came) {
    if (!sent->reply) continue;
    const std::string what = m_plan.candidate(sent->request.ask.configuration).name;
    const EvaluationReply& reply = *sent->reply;
    WB_TRY(m_context.spending->debit(session::CostItem::compile_cpu, reply.compile_cpu_s, what));
    WB_TRY(m_context.spending->debit(session::CostItem::device, reply.device_s, what,
                                     {{"elsewhere", reply.device_s}}));
    m_totals.remote_build_s += reply.build_s;
    m_totals.remote_device_s += reply.device_s;
  }
  return {};
}

/// No remote evaluation may run during the confirmation, since it may be on the same machine.
Result<void> Tuner::dismiss_remote() {
  WB_TRY(m_remote->cancel());
  while (m_remote->away() > 0) {
    WB_TRY(m_context.check_stop());
    WB_TRY(collect_replies());
  }
  return {};
}

Result<std::optional<TuneAnswer>> Tuner::evaluate_remotely(const Ask& ask) {
  const auto begin = m_context.services.clock.steady_now();
  WB_TRY(send_out(ask));
  while (!m_remote->has_reply(ask)) {
    WB_TRY(m_context.check_stop());
    WB_TRY_ASSIGN(const auto stop, why_stop());
    if (stop) return std::optional<TuneAnswer>{};
    WB_TRY(collect_replies());
    WB_TRY(send_out(ask));
  }
  m_totals.wait_s += seconds_since(begin);
  TuneAnswer answer;
  answer.evaluation.configuration = ask.configuration;
  answer.stage = ask.stage;
  answer.against = ask.against;
  WB_TRY(take_reply(ask, m_remote->take(ask), answer));
  return std::optional(std::move(answer));
}

/// Why the reply is incomplete, or nothing.
std::optional<std::string> Tuner::missing_of(const EvaluationRequest& request,
                                             const PairLanes& lanes) const {
  const auto subject_of = [](const Candidate& made) {
    Subject subject;
    subject.variant = made.variant;
    subject.configuration = made.configuration;
    return subject;
  };
  const Subject own = subject_of(request.candidate);
  for (const problem::Problem& problem : m_evaluator.problems_to_time(own)) {
    const auto& pair = lanes.at(m_evaluator.place_in_suite(to_text(problem)));
    bool is_there = !pair[0].turns.empty();
    if (request.against && !not_supported(subject_of(*request.against), problem)) {
      is_there = is_there && (!pair[1].turns.empty() || pair[1].failure.has_value());
    }
    if (!is_there) return "it has no turns on " + label(problem);
  }
  return std::nullopt;
}

Result<void> Tuner::take_reply(const Ask& ask, const RemoteEvaluator::Sent& sent,
                               TuneAnswer& answer) {
  const auto is_lost = [&](std::string message) {
    fail(answer, {Invalidity::environment, std::move(message), ""});
    return Result<void>();
  };
  if (!sent.reply) return is_lost(sent.fault);
  const EvaluationReply& reply = *sent.reply;
  ++m_totals.remote;
  answer.artifact_id = reply.artifact_id;
  answer.evaluation.artifact = reply.code_hash;
  answer.build_s = reply.build_s;
  if (reply.failure) {
    fail(answer, *reply.failure);
    // Its claimed code hash must not condemn other configurations.
    answer.evaluation.artifact.clear();
    return {};
  }
  if (auto missing = missing_of(sent.request, reply.lanes)) {
    return is_lost("a reply was refused: " + *missing);
  }
  if (take_duplicate_score(ask, answer)) return {};
  answer.proof = reply.proof;
  if (reply.is_stopped_early) ++m_totals.stopped_early;
  if (answer.proof == VerdictExtent::screening) ++m_totals.screened;
  Ask measured = ask;
  measured.against = sent.request.ask.against;
  WB_TRY_ASSIGN(PairLanes* const known, lanes_of(measured));
  PairLanes lanes = *known;
  PairLanes more = reply.lanes;
  const measure::PlanKind plan = m_context.settings.objective.plan;
  for (std::size_t p = 0; p < more.size(); ++p) {
    const problem::Problem& problem = m_context.settings.suite.problems[p].problem;
    for (Lane& lane : more[p]) refuse_impossible(m_context, problem, plan, lane);
  }
  if (!are_of_the_same(lanes, more)) {
    return is_lost("a reply was refused: its turns are of another build than those before");
  }
  append(lanes, more);
  m_evaluator.set_score(measured, lanes, answer);
  search::Score& score = answer.evaluation.score;
  if (score.invalidity) return {};
  *known = std::move(lanes);
  WB_TRY_ASSIGN(const std::string blob, m_context.session->put_blob(sent.text));
  answer.remote = RemoteMeasurement{reply.device, blob, measured.against, score};
  // Another configuration was found faster since this was asked.
  if (measured.against && measured.against != ask.against) {
    if (const auto other = m_strategy.duplicate_of(*measured.against)) {
      score = search::chained(score, *other);
    }
  }
  return {};
}

}  // namespace wb::tune
