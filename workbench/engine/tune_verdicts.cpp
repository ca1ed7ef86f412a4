// SPDX-License-Identifier: MIT
// Which verdict a configuration of a search gets, and when: screened before it is timed, wholly
// judged before others are compared with it or it may be confirmed.
#include "engine/timing.hpp"
#include "engine/tune.hpp"

namespace wb {

/// The first one and whoever a race asks again for stay, so they have the whole verdict at once.
bool Tuner::may_be_screened(const Ask& ask, const Subject& candidate) const {
  return ask.against && m_plan.options.kind != StrategyKind::racing &&
         !m_judged.contains(candidate.artifact.id);
}

Result<std::optional<Failure>> Tuner::judge_to_time(const Ask& ask, const Subject& candidate,
                                                    SubjectProcesses& processes,
                                                    TuneAnswer& answer) {
  if (!may_be_screened(ask, candidate)) {
    answer.proof = Proof::whole;
    return judge_wholly(candidate);
  }
  answer.proof = Proof::screening;
  std::vector<Problem> problems = problems_to_time(candidate);
  if (problems.empty()) return std::optional<Failure>{};  // time() says so
  const auto edges = edge_problems(candidate.variant.manifest, m_context.settings.suite);
  problems.insert(problems.end(), edges.begin(), edges.end());
  WB_TRY_ASSIGN(const auto judgements,
                judge_subject(m_context, candidate, problems, Proof::screening, &processes));
  return failure_of(judgements);
}

/// In a process of its own, and once a configuration: a race that asks again has it already.
Result<std::optional<Failure>> Tuner::judge_wholly(const Subject& candidate) {
  if (m_judged.contains(candidate.artifact.id)) return std::optional<Failure>{};
  Run run;
  run.candidate = candidate;
  WB_TRY(judge_candidate(m_context, run));
  if (!run.failure) m_judged.insert(candidate.artifact.id);
  return run.failure;
}

Result<void> Tuner::prove_promising() {
  while (const auto promising = m_strategy.promising()) {
    WB_TRY(m_context.check_stop());
    WB_TRY_ASSIGN(const Outcome<Subject> candidate, subject(*promising));
    if (!candidate) return {};  // the confirmation says what became of it
    const auto begin = m_context.services.clock.steady_now();
    WB_TRY_ASSIGN(const auto failure, judge_wholly(*candidate));
    m_totals.measure_s += seconds_since(begin);
    if (!failure || failure->invalidity == Invalidity::environment) return {};
    WB_TRY(m_strategy.retract(*promising, failure->invalidity));
    TuneAnswer& answer = m_answers.at(m_place_of_answer.at(*promising));
    answer.evaluation.score = invalid_score(failure->invalidity);
    answer.message = failure->message;
    answer.proof = Proof::none;
    ++m_totals.retracted;
  }
  return {};
}

}  // namespace wb
