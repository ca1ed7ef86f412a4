// SPDX-License-Identifier: MIT
// One evaluation of a tune: built, told apart by its code, judged, timed beside the best so far.
#include <algorithm>

#include "engine/code_hash.hpp"
#include "engine/timing.hpp"
#include "engine/tune.hpp"

namespace wb {
namespace {

constexpr std::uint64_t k_library_max_bytes = 256ull << 20;
/// A turn of a search settles for 1 to 10 ms. What it chooses is measured again, in turns that
/// settle for five times as long.
constexpr double k_settle_us = 1'000;

void fail(TuneAnswer& answer, const Failure& failure) {
  answer.evaluation.score = invalid_score(failure.invalidity);
  answer.message = failure.message;
  answer.proof = Proof::none;
}

/// Turns that are taken in one go; after each but the last the search may have seen enough.
struct Step {
  std::int64_t first, rounds;
  RoundPart part = RoundPart::whole;
};

/// A race asks again for whom it keeps, so it takes whole rounds; its later stages are not stopped.
std::vector<Step> steps_of(const Ask& ask, StrategyKind kind) {
  if (!ask.against || ask.stage > 0) return {{0, ask.rounds}};
  std::vector<Step> steps;
  if (kind == StrategyKind::racing) {
    steps = {{0, 1}};
  } else {
    steps = {{0, 1, RoundPart::first_half}, {0, 1, RoundPart::second_half}};
  }
  if (ask.rounds > 1) steps.push_back({1, ask.rounds - 1});
  return steps;
}

void append(Lane& lane, const Lane& more) {
  lane.turns.insert(lane.turns.end(), more.turns.begin(), more.turns.end());
  lane.disturbed_by.insert(more.disturbed_by.begin(), more.disturbed_by.end());
  if (more.failure) lane.failure = more.failure;
}

/// The first failure of one side, if any.
std::optional<Failure> failure_of(const std::vector<std::array<Lane, 2>>& lanes, std::size_t side) {
  for (const auto& pair : lanes) {
    if (pair[side].failure) return pair[side].failure;
  }
  return std::nullopt;
}

}  // namespace

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
  if (candidate.variant.manifest.backend != Backend::python) {
    const auto bytes =
        m_context.services.file_system.read(candidate.artifact.path, k_library_max_bytes);
    // The cache folder went away under us, say: nothing that could be told of the configuration.
    if (!bytes) {
      fail(answer, {Invalidity::environment, bytes.error().message(), ""});
      return answer;
    }
    answer.evaluation.artifact = code_hash(*bytes, candidate.artifact.id);
  }
  const auto twin = m_ledger.first_with(answer.evaluation.artifact);
  if (twin && *twin != ask.configuration) {
    if (auto score = m_strategy.duplicate_of(*twin)) {
      answer.evaluation.score = *score;
      answer.duplicate_of = *twin;
      const auto place = m_place_of_answer.find(*twin);
      if (place != m_place_of_answer.end()) answer.proof = m_answers[place->second].proof;
      return answer;
    }
  }
  const auto begin = m_context.services.clock.steady_now();
  WB_TRY(judge_and_time(ask, candidate, answer));
  m_totals.measure_s += seconds_since(begin);
  return answer;
}

Result<void> Tuner::judge_and_time(const Ask& ask, const Subject& candidate, TuneAnswer& answer) {
  std::optional<Failure> failure;
  {
    SubjectProcesses processes(m_context);
    WB_TRY_ASSIGN(failure, judge_to_time(ask, candidate, processes, answer));
    if (!failure) WB_TRY(time(ask, candidate, processes, answer));
  }
  const Score& score = answer.evaluation.score;
  if (!failure && !score.invalidity && score.outcome == ComparisonOutcome::faster) {
    // The others are going to be compared with it.
    WB_TRY_ASSIGN(failure, judge_wholly(candidate));
    answer.proof = Proof::whole;
  }
  if (failure) fail(answer, *failure);
  if (answer.proof == Proof::screening) ++m_totals.screened;
  return {};
}

/// An objective of one problem is searched on that problem; the others are seen at confirmation.
std::vector<Problem> Tuner::problems_to_time(const Subject& candidate) const {
  const Objective& objective = m_context.settings.objective;
  std::vector<Problem> problems;
  for (const SuiteProblem& member : m_context.settings.suite.problems) {
    const bool counts =
        objective.rule != ObjectiveRule::one_problem || label(member.problem) == objective.problem;
    if (member.held_out || !counts || not_supported(candidate, member.problem)) continue;
    problems.push_back(member.problem);
  }
  return problems;
}

std::size_t Tuner::place_in_suite(const std::string& problem) const {
  const auto& problems = m_context.settings.suite.problems;
  const auto place = std::find_if(problems.begin(), problems.end(), [&](const auto& member) {
    return to_text(member.problem) == problem;
  });
  return static_cast<std::size_t>(place - problems.begin());
}

Result<void> Tuner::take_rounds(TimingRequest& request, std::int64_t first, std::int64_t rounds,
                                PairLanes& lanes, TuneAnswer& answer) {
  request.first_round = first;
  request.effort = {1, m_plan.effort.placements, rounds};
  WB_TRY_ASSIGN(const TimingResult result, time_subjects(m_context, request));
  for (std::size_t p = 0; p < request.problems.size(); ++p) {
    auto& pair = lanes.at(place_in_suite(to_text(request.problems[p])));
    for (std::size_t s = 0; s < request.subjects.size(); ++s) {
      append(pair[s], result.lanes[p][0][s]);
    }
    const auto& [begin, end] = result.events[p];
    if (answer.turns.first == 0) answer.turns.first = begin;
    answer.turns.second = std::max(answer.turns.second, end);
  }
  return {};
}

Result<void> Tuner::time(const Ask& ask, const Subject& candidate, SubjectProcesses& processes,
                         TuneAnswer& answer) {
  TimingRequest request;
  request.problems = problems_to_time(candidate);
  if (request.problems.empty()) {
    fail(answer, {Invalidity::constraints, "it does not take the objective's problem", ""});
    return {};
  }
  request.subjects = {&candidate};
  std::optional<Subject> best;
  if (ask.against) {
    WB_TRY_ASSIGN(Outcome<Subject> other, subject(*ask.against));
    if (!other) {
      fail(answer, {Invalidity::environment,
                    "what it is compared with cannot be had: " + other.error().message, ""});
      return {};
    }
    best = *std::move(other);
    request.subjects.push_back(&*best);
  }
  request.plans = {m_context.settings.objective.plan};
  request.plan = effort_plan(m_context.settings.effort).plan;
  request.regime = m_context.settings.objective.regime;
  request.plan.settle_us = k_settle_us;
  request.phase = "tune";
  request.first_instance = ask.stage;
  request.kept = &processes;
  WB_TRY_ASSIGN(PairLanes* const known, lanes_of(ask));
  PairLanes lanes = *known;
  const std::vector<Step> steps = steps_of(ask, m_plan.options.kind);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    request.part = steps[i].part;
    const bool is_glance = request.part == RoundPart::first_half;
    // Who is stopped here gains nothing; whoever goes on has them in the second half.
    request.fresh_calls = !is_glance;
    WB_TRY(take_rounds(request, steps[i].first, steps[i].rounds, lanes, answer));
    if (i + 1 == steps.size() || failure_of(lanes, 0) || failure_of(lanes, 1)) break;
    const Comparison now = compare_pair(ask, lanes);
    if (!is_clearly_slow(now, m_plan.early_stop) && !(is_glance && is_behind(now))) continue;
    ++m_totals.stopped_early;
    break;
  }
  for (auto& pair : lanes) {
    for (Lane& lane : pair) fail_if_disturbed(lane);
  }
  set_score(ask, lanes, answer);
  if (!answer.evaluation.score.invalidity) *known = std::move(lanes);
  return {};
}

void Tuner::set_score(const Ask& ask, const PairLanes& lanes, TuneAnswer& answer) const {
  if (const auto own = failure_of(lanes, 0)) return fail(answer, *own);
  const auto other = failure_of(lanes, 1);
  if (other && other->invalidity == Invalidity::environment) return fail(answer, *other);
  std::vector<Turn> own_turns;
  for (const auto& pair : lanes) {
    own_turns.insert(own_turns.end(), pair[0].turns.begin(), pair[0].turns.end());
  }
  if (!ask.against) {
    answer.evaluation.score = first_score(own_turns);
    return;
  }
  const Comparison total = compare_pair(ask, lanes);
  answer.evaluation.score = score_of(total, own_turns);
  if (total.outcome == ComparisonOutcome::ambiguous) answer.message = total.reason;
}

/// By the objective's rule. A problem that one of the two does not take says nothing here: it
/// counts as 1. Only the confirmation knows what the incumbent does on it.
Comparison Tuner::compare_pair(const Ask& ask, const PairLanes& lanes) const {
  const Objective& objective = m_context.settings.objective;
  std::vector<ProblemScore> scores;
  const auto& problems = m_context.settings.suite.problems;
  for (std::size_t p = 0; p < problems.size(); ++p) {
    if (problems[p].held_out) continue;
    ProblemScore& part = scores.emplace_back();
    part.problem = problems[p];
    const auto is_taken = [](const Lane& lane) { return lane.failure || !lane.turns.empty(); };
    if (!is_taken(lanes[p][0]) || !is_taken(lanes[p][1])) continue;
    const Problem& problem = problems[p].problem;
    part.comparison =
        compare_lanes(m_context, problem, objective.plan, lanes[p][0], to_text(ask.configuration),
                      lanes[p][1], to_text(*ask.against), &ask);
    part.candidate_us = lane_median_us(lanes[p][0]);
    part.incumbent_us = lane_median_us(lanes[p][1]);
    part.same_margin_frac = same_margin(m_context, problem, objective.plan);
  }
  return score(objective, scores);
}

Result<Tuner::PairLanes*> Tuner::lanes_of(const Ask& ask) {
  const bool lasts = m_plan.options.kind == StrategyKind::racing && ask.against;
  if (!lasts) m_lanes.clear();
  const auto key = std::pair{ask.configuration, ask.against.value_or(Configuration{})};
  const auto [found, is_new] = m_lanes.try_emplace(key, m_context.settings.suite.problems.size());
  if (!is_new || !lasts) return &found->second;
  for (const TuneAnswer& answer : m_past) {
    if (answer.evaluation.configuration != ask.configuration || answer.against != ask.against) {
      continue;
    }
    if (answer.evaluation.score.invalidity || answer.turns.first == 0) continue;
    WB_TRY(restore_lanes(answer, found->second));
  }
  return &found->second;
}

/// The turns of an interrupted run, from its log.
Result<void> Tuner::restore_lanes(const TuneAnswer& answer, PairLanes& lanes) const {
  const EventLog& log = m_context.session->log();
  for (std::int64_t seq = answer.turns.first; seq <= answer.turns.second; ++seq) {
    if (seq > log.size() || log.envelope(seq).type != "turn_measured") continue;
    WB_TRY_ASSIGN(Json payload, log.payload(seq));
    const std::string problem = payload.value("problem", "");
    for (const char* key : {"iteration", "problem", "plan", "phase", "spot_pass"}) {
      payload.erase(key);
    }
    WB_TRY_ASSIGN(Turn turn, turn_from_json(payload));
    if (is_disturbed(turn.flags)) continue;
    const std::size_t place = place_in_suite(problem);
    if (place >= lanes.size()) continue;
    // Labels end in the first digits of the artifact's id.
    const std::string id = turn.subject.substr(turn.subject.find('@') + 1);
    const std::size_t side = answer.artifact_id.starts_with(id) ? 0 : 1;
    lanes[place][side].turns.push_back(std::move(turn));
  }
  return {};
}

}  // namespace wb
