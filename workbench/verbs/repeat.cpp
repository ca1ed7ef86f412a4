// SPDX-License-Identifier: MIT
#include "verbs/repeat.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "engine/comparing.hpp"
#include "engine/context.hpp"
#include "engine/recorded.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "engine/verdicts.hpp"
#include "measure/statistics.hpp"
#include "verbs/suite_selection.hpp"

namespace wb::verbs {

using engine::Context;
using engine::effort_plan;
using engine::EffortPlan;
using engine::stored_variant;
using engine::Subject;
using engine::SuiteScore;
using engine::TimingRequest;
using engine::TimingResult;
using problem::Problem;
using session::Session;
using session::SessionView;

namespace {

/// A variant that does not build any more is an outcome without a figure; a fault of the machine is
/// an error.
Result<Outcome<Subject>> rebuild(Context& context, const Session& session, const SessionView& view,
                                 const std::string& label) {
  WB_TRY_ASSIGN(const auto stored, stored_variant(session, view, label));
  Outcome<Subject> subject = build_subject(context, stored.first, stored.second);
  if (!subject && subject.error().invalidity == Invalidity::environment) {
    return Error{ErrorCode::environment, "build again", label, subject.error().message,
                 "the machine failed, not the variant: try again"};
  }
  return subject;
}

/// Why the verdict fails on this machine, or nothing.
Result<std::optional<std::string>> failed_verdict(Context& context, const Subject& subject,
                                                  const std::vector<Problem>& problems,
                                                  const ProblemNames& names) {
  WB_TRY_ASSIGN(const auto judgements, judge_subject(context, subject, problems));
  const auto failure = first_failure(judgements);
  if (!failure) return std::optional<std::string>{};
  const std::string where = names.of(to_text(failure->problem));
  if (*failure->invalidity == Invalidity::environment) {
    return Error{ErrorCode::environment, "judge", subject.label + " on " + where, failure->message,
                 "the machine failed, not the variant: try again"};
  }
  return std::optional(fmt::format("{} is {} on {} here: {}", subject.label,
                                   to_string(*failure->invalidity), where,
                                   names.hide(failure->message)));
}

/// The A/A noise floors of this run, from the incumbent's two lanes.
void measure_floors(Context& context, const TimingRequest& request, const TimingResult& result) {
  context.floors.clear();
  for (std::size_t p = 0; p < request.problems.size(); ++p) {
    std::vector<measure::Turn> same_code;
    for (std::size_t s = 1; s < 3; ++s) {
      for (measure::Turn turn : result.lanes[p][0][s].turns) {
        turn.instance = 2 * turn.instance + static_cast<std::int64_t>(s - 1);
        same_code.push_back(std::move(turn));
      }
    }
    if (same_code.empty()) continue;
    context.floors[{to_text(request.problems[p]), std::string(to_string(request.plans[0]))}] =
        measure::noise_floor(same_code);
  }
}

/// A subject's own failure during timing; a fault of the machine is reported by the total.
std::optional<std::string> timing_failure(const TimingRequest& request,
                                          const TimingResult& result) {
  for (const auto& problem : result.lanes) {
    for (std::size_t s = 0; s < request.subjects.size(); ++s) {
      const auto& failure = problem[0][s].failure;
      if (!failure || failure->invalidity == Invalidity::environment) continue;
      return fmt::format("{} failed here ({}): {}", request.subjects[s]->label,
                         to_string(failure->invalidity), failure->message);
    }
  }
  return std::nullopt;
}

Result<void> measure_again(Context& context, const Subject& candidate, const Subject& incumbent,
                           const std::vector<Problem>& problems, Repeat& repeat) {
  TimingRequest request;
  const EffortPlan effort = effort_plan(context.settings.effort);
  request.subjects = {&candidate, &incumbent, &incumbent};
  request.problems = problems;
  request.plans = {context.settings.objective.plan};
  request.effort = effort.confirmation;
  request.plan = effort.plan;
  request.regime = context.settings.objective.regime;
  request.phase = "confirmation";
  request.first_calls = true;
  WB_TRY_ASSIGN(const TimingResult result, time_subjects(context, request));
  repeat.failure = timing_failure(request, result);
  if (repeat.failure) return {};
  measure_floors(context, request, result);
  WB_TRY_ASSIGN(const auto suite_scores, log_comparisons(context, request, result, 1));
  for (const SuiteScore& suite : suite_scores) {
    if (suite.subject != 1) continue;
    repeat.total = suite.total;
    repeat.scores = suite.scores;
    return {};
  }
  throw std::logic_error("no score against the incumbent");
}

}  // namespace

Result<Repeat> repeat_all(Context& context, const Session& session, const SessionView& view,
                          const RecordedIteration& record, const ProblemNames& names) {
  Repeat repeat;
  std::vector<Subject> subjects;
  for (const std::string& label : {record.candidate, record.incumbent}) {
    WB_TRY_ASSIGN(Outcome<Subject> built, rebuild(context, session, view, label));
    if (!built) {
      const Failure& failure = built.error();
      repeat.failure = fmt::format("{} does not build here ({}): {}", label,
                                   to_string(failure.invalidity), names.hide(failure.message));
      return repeat;
    }
    subjects.push_back(*std::move(built));
  }
  repeat.same_artifact = subjects[0].label == record.candidate;
  std::vector<Problem> problems;
  for (const problem::SuiteProblem& member : context.settings.suite.problems) {
    if (member.held_out && !record.confirmed) continue;
    if (!not_supported(subjects[0], member.problem)) problems.push_back(member.problem);
  }
  for (const Subject& subject : subjects) {
    WB_TRY_ASSIGN(repeat.failure, failed_verdict(context, subject, problems, names));
    if (repeat.failure) return repeat;
  }
  WB_TRY(measure_again(context, subjects[0], subjects[1], problems, repeat));
  if (repeat.failure) {
    repeat.failure = names.hide(*repeat.failure);
  } else if (!measure::is_valid(repeat.total.interval)) {
    return Error{ErrorCode::environment, "measure again", record.candidate,
                 names.hide(repeat.total.reason), "nothing says that the variant is at fault"};
  }
  return repeat;
}

}  // namespace wb::verbs
