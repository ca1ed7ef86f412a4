// SPDX-License-Identifier: MIT
#include "tune/evaluation.hpp"

#include <algorithm>

#include "engine/comparing.hpp"
#include "engine/iteration.hpp"
#include "engine/parts.hpp"
#include "engine/services.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "engine/verdicts.hpp"
#include "tune/builds.hpp"

namespace wb::tune {

using engine::Context;
using engine::effort_plan;
using engine::Lane;
using engine::Objective;
using engine::ObjectiveRule;
using engine::ProblemScore;
using engine::Refusal;
using engine::RoundPart;
using engine::Run;
using engine::Subject;
using engine::SubjectProcesses;
using engine::TimingRequest;
using engine::TimingResult;
using engine::VerdictExtent;
using measure::Comparison;
using problem::Problem;
using search::Ask;
using search::StrategyKind;

namespace {

/// A turn of a search settles for 1 to 10 ms. The chosen configuration is measured again, in turns
/// that settle five times as long.
constexpr double k_settle_us = 1'000;
constexpr std::uint64_t k_library_max_bytes = 256ull << 20;

/// Turns taken in one request; after each but the last the search may stop early.
struct Step {
  std::int64_t first, rounds;
  RoundPart part = RoundPart::whole;
};

/// A race asks again for its survivors, so it takes whole rounds, and its later stages are not
/// stopped early.
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
std::optional<Failure> failure_of(const PairLanes& lanes, std::size_t side) {
  for (const auto& pair : lanes) {
    if (pair[side].failure) return pair[side].failure;
  }
  return std::nullopt;
}

}  // namespace

void fail(TuneAnswer& answer, const Failure& failure) {
  answer.evaluation.score = search::invalid_score(failure.invalidity);
  answer.message = failure.message;
  answer.proof = VerdictExtent::none;
}

void append(PairLanes& lanes, const PairLanes& more) {
  for (std::size_t p = 0; p < std::min(lanes.size(), more.size()); ++p) {
    for (std::size_t side = 0; side < 2; ++side) append(lanes[p][side], more[p][side]);
  }
}

Outcome<std::string> code_hash_of(const Context& context, const Subject& subject) {
  if (subject.variant.manifest.backend == variant::Backend::python) return std::string();
  const auto bytes =
      services_of(context).file_system.read(subject.artifact.path, k_library_max_bytes);
  if (!bytes) return Failure{Invalidity::environment, bytes.error().message(), ""};
  return code_hash(*bytes, subject.artifact.id);
}

Evaluator::Evaluator(Context& context, const EvaluationTerms& terms, SubjectOf subject_of)
    : m_context(context), m_terms(terms), m_subject_of(std::move(subject_of)) {}

/// The first configuration, and those that a race asks for again, stay, so they get the whole
/// verdict at once.
bool Evaluator::may_be_screened(const Ask& ask, const Subject& candidate) const {
  return ask.against && m_terms.kind != StrategyKind::racing &&
         !m_judged.contains(candidate.artifact.id);
}

Result<std::optional<Failure>> Evaluator::judge_to_time(const Ask& ask, const Subject& candidate,
                                                        SubjectProcesses& processes,
                                                        TuneAnswer& answer) {
  if (!may_be_screened(ask, candidate)) {
    answer.proof = VerdictExtent::whole;
    return judge_wholly(candidate);
  }
  answer.proof = VerdictExtent::screening;
  const std::vector<Problem> problems = problems_to_time(candidate);
  if (problems.empty()) return std::optional<Failure>{};  // time() reports it
  WB_TRY_ASSIGN(const auto judgements,
                judge_subject(m_context, candidate, problems, VerdictExtent::screening, &processes,
                              Refusal::fails,
                              drawn_runs(m_context, candidate, settings_of(m_context).suite,
                                         VerdictExtent::screening)));
  return failure_of(judgements);
}

/// Judges in its own process, once per artifact, since a race asks for the same artifact again.
Result<std::optional<Failure>> Evaluator::judge_wholly(const Subject& candidate) {
  if (m_judged.contains(candidate.artifact.id)) return std::optional<Failure>{};
  Run run;
  run.candidate = candidate;
  WB_TRY(judge_candidate(m_context, run));
  if (!run.failure) m_judged.insert(candidate.artifact.id);
  return run.failure;
}

Result<bool> Evaluator::judge_and_time(const Ask& ask, const Subject& candidate, PairLanes& lanes,
                                       TuneAnswer& answer) {
  std::optional<Failure> failure;
  bool is_stopped = false;
  {
    SubjectProcesses processes(m_context);
    WB_TRY_ASSIGN(failure, judge_to_time(ask, candidate, processes, answer));
    if (!failure) {
      WB_TRY_ASSIGN(is_stopped, time(ask, candidate, processes, lanes, answer));
    }
  }
  const search::Score& score = answer.evaluation.score;
  if (!failure && !score.invalidity && score.outcome == measure::ComparisonOutcome::faster) {
    // The others will be compared with it.
    WB_TRY_ASSIGN(failure, judge_wholly(candidate));
    answer.proof = VerdictExtent::whole;
  }
  if (failure) fail(answer, *failure);
  return is_stopped;
}

/// An objective of one problem is searched on that problem only; the others are measured at
/// confirmation.
std::vector<Problem> Evaluator::problems_to_time(const Subject& candidate) const {
  const Objective& objective = settings_of(m_context).objective;
  std::vector<Problem> problems;
  for (const problem::SuiteProblem& member : settings_of(m_context).suite.problems) {
    const bool counts =
        objective.rule != ObjectiveRule::one_problem || label(member.problem) == objective.problem;
    if (member.held_out || !counts || not_supported(candidate, member.problem)) continue;
    problems.push_back(member.problem);
  }
  return problems;
}

std::size_t Evaluator::place_in_suite(const std::string& problem) const {
  const auto& problems = settings_of(m_context).suite.problems;
  const auto place = std::find_if(problems.begin(), problems.end(), [&](const auto& member) {
    return to_text(member.problem) == problem;
  });
  return static_cast<std::size_t>(place - problems.begin());
}

Result<void> Evaluator::take_rounds(TimingRequest& request, std::int64_t first, std::int64_t rounds,
                                    PairLanes& lanes, TuneAnswer& answer) {
  request.first_round = first;
  request.effort = {1, m_terms.placements, rounds};
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

Result<bool> Evaluator::time(const Ask& ask, const Subject& candidate, SubjectProcesses& processes,
                             PairLanes& known, TuneAnswer& answer) {
  TimingRequest request;
  request.problems = problems_to_time(candidate);
  if (request.problems.empty()) {
    fail(answer, {Invalidity::constraints, "it does not take the objective's problem", ""});
    return false;
  }
  request.subjects = {&candidate};
  std::optional<Subject> best;
  if (ask.against) {
    WB_TRY_ASSIGN(Outcome<Subject> other, m_subject_of(*ask.against));
    if (!other) {
      fail(answer, {Invalidity::environment,
                    "what it is compared with cannot be had: " + other.error().message, ""});
      return false;
    }
    best = *std::move(other);
    request.subjects.push_back(&*best);
  }
  request.plans = {settings_of(m_context).objective.plan};
  request.plan = effort_plan(settings_of(m_context).effort).plan;
  request.regime = settings_of(m_context).objective.regime;
  request.plan.settle_us = k_settle_us;
  request.phase = "tune";
  request.first_instance = ask.stage;
  request.kept = &processes;
  PairLanes lanes = known;
  bool is_stopped = false;
  const std::vector<Step> steps = steps_of(ask, m_terms.kind);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    request.part = steps[i].part;
    const bool is_glance = request.part == RoundPart::first_half;
    // A candidate stopped here gains nothing; one that continues has fresh calls in the second
    // half.
    request.fresh_calls = !is_glance;
    WB_TRY(take_rounds(request, steps[i].first, steps[i].rounds, lanes, answer));
    if (i + 1 == steps.size() || failure_of(lanes, 0) || failure_of(lanes, 1)) break;
    const Comparison now = compare_pair(ask, lanes);
    if (!search::is_clearly_slow(now, m_terms.early_stop) && !(is_glance && search::is_behind(now)))
      continue;
    is_stopped = true;
    break;
  }
  for (auto& pair : lanes) {
    for (Lane& lane : pair) fail_if_disturbed(lane);
  }
  set_score(ask, lanes, answer);
  if (!answer.evaluation.score.invalidity) known = std::move(lanes);
  return is_stopped;
}

void Evaluator::set_score(const Ask& ask, const PairLanes& lanes, TuneAnswer& answer) const {
  if (const auto own = failure_of(lanes, 0)) return fail(answer, *own);
  const auto other = failure_of(lanes, 1);
  if (other && other->invalidity == Invalidity::environment) return fail(answer, *other);
  std::vector<measure::Turn> own_turns;
  for (const auto& pair : lanes) {
    own_turns.insert(own_turns.end(), pair[0].turns.begin(), pair[0].turns.end());
  }
  if (!ask.against) {
    answer.evaluation.score = search::first_score(own_turns);
    return;
  }
  const Comparison total = compare_pair(ask, lanes);
  answer.evaluation.score = search::score_of(total, own_turns);
  if (total.outcome == measure::ComparisonOutcome::ambiguous) answer.message = total.reason;
}

/// Compares by the objective's rule. A problem that one of the two does not support counts as 1;
/// only the confirmation measures the incumbent on it.
Comparison Evaluator::compare_pair(const Ask& ask, const PairLanes& lanes) const {
  const Objective& objective = settings_of(m_context).objective;
  std::vector<ProblemScore> scores;
  const auto& problems = settings_of(m_context).suite.problems;
  for (std::size_t p = 0; p < problems.size(); ++p) {
    if (problems[p].held_out) continue;
    ProblemScore& part = scores.emplace_back();
    part.problem = problems[p];
    const auto is_taken = [](const Lane& lane) { return lane.failure || !lane.turns.empty(); };
    if (!is_taken(lanes[p][0]) || !is_taken(lanes[p][1])) continue;
    const Problem& problem = problems[p].problem;
    part.comparison = compare_lanes(m_context, problem, objective.plan, lanes[p][0],
                                    variant::to_text(ask.configuration), lanes[p][1],
                                    variant::to_text(*ask.against), &ask);
    part.candidate_us = lane_median_us(lanes[p][0]);
    part.incumbent_us = lane_median_us(lanes[p][1]);
    part.same_margin_frac = same_margin(m_context, problem, objective.plan);
  }
  return score(objective, scores);
}

}  // namespace wb::tune
