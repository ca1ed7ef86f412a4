// SPDX-License-Identifier: MIT
// `reproduce`: builds what an iteration on record measured and measures it again, here and now,
// against the same incumbent. Reads the session, writes nothing to it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/environment_changes.hpp"
#include "engine/memory_verbs.hpp"
#include "engine/recorded.hpp"
#include "engine/timing.hpp"

namespace wb::engine {

using measure::Comparison;
using measure::ComparisonOutcome;
using problem::Problem;
using session::IterationView;
using session::Session;
using session::SessionView;

namespace {

/// How far two GPUs of one model may differ in a speedup. On two H200s the same artifacts gave
/// 1.070 and 1.071, and 6.512 and 6.549 (docs/contracts/measurement.md, "Reproducing"), beyond
/// intervals and noise floors, which are of one device each.
constexpr double k_between_devices_frac = 0.02;

/// What the record says of one iteration.
struct Record {
  std::int64_t iteration = 0;
  std::string candidate, incumbent;  ///< labels
  Comparison figure;                 ///< over the objective, as the iteration closed
  bool confirmed = false;            ///< then the figure covers the held-out problems too
};

Error nothing_to_repeat(const std::string& id, std::string cause) {
  return Error{ErrorCode::invalid, "reproduce", id, std::move(cause),
               "`sdpa-wb report` lists the iterations; name one with --iteration"};
}

Result<const IterationView*> choose_iteration(const SessionView& view, const Json& args,
                                              const std::string& id) {
  if (args.contains("iteration")) {
    const auto number = args["iteration"].get<std::int64_t>();
    const IterationView* named = view.find(number);
    if (named == nullptr) {
      return Error{ErrorCode::not_found, "reproduce", fmt::format("iteration {} of {}", number, id),
                   "there is no such iteration", "`sdpa-wb report` lists them"};
    }
    return named;
  }
  const IterationView* last = nullptr;
  for (const IterationView& it : view.iterations) {
    if (it.closed && text_of(it.closed->payload, "outcome") == "win") last = &it;
  }
  if (last == nullptr) return nothing_to_repeat(id, "no iteration of it won");
  return last;
}

/// The incumbent that the iteration was measured against, and the figure it closed with, on `plan`.
Result<Record> read_record(const IterationView& iteration, const std::string& id,
                           std::string_view plan) {
  const std::string what = fmt::format("iteration {} of {}", iteration.number, id);
  if (!iteration.closed) return nothing_to_repeat(what, "it never closed");
  const Json& closed = iteration.closed->payload;
  Record record;
  record.iteration = iteration.number;
  record.candidate = candidate_of(iteration);
  record.figure = comparison_of(closed);
  for (const session::Fact& made : iteration.comparisons) {
    if (text_of(made.payload, "role") != "incumbent") continue;
    record.candidate = text_of(made.payload, "candidate");
    record.incumbent = text_of(made.payload, "against");
    record.confirmed = text_of(made.payload, "phase") == "confirmation";
    const bool total =
        member_of(made.payload, "problem").is_null() && text_of(made.payload, "plan") == plan;
    if (total) record.figure.noise_floor_frac = comparison_of(made.payload).noise_floor_frac;
  }
  if (record.incumbent.empty() || !measure::is_valid(record.figure.interval)) {
    return nothing_to_repeat(what,
                             fmt::format("it closed as {} without a figure against an incumbent",
                                         text_of(closed, "outcome")));
  }
  return record;
}

/// What does not build any more has no figure here; that is an outcome. A fault of the machine is
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

/// Why its verdict fails here, or nothing.
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

/// A/A over the incumbent's two lanes gives this run's noise floors.
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

struct Repeat {
  Comparison total;
  std::vector<ProblemScore> scores;
  std::optional<std::string> failure;  ///< why one of the variants has no figure here
  std::optional<bool> same_artifact;   ///< nothing when one of them does not build
};

/// A subject's own failure while it was timed; a fault of the machine is told by the total.
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

/// The figures do not differ by more than their intervals and noise floors allow, and what was a
/// gain (or a loss) is one again. NaN says no.
bool agrees(const Comparison& then, const Comparison& now) {
  if (!measure::is_told(then.interval) || !measure::is_told(now.interval)) return false;
  const ComparisonOutcome change = change_between(then, now).outcome;
  if (change == ComparisonOutcome::faster || change == ComparisonOutcome::slower) return false;
  if (then.interval.low > 1) return now.speedup > 1;
  if (then.interval.high < 1) return now.speedup < 1;
  return true;
}

/// Another device of the same model is in place of the recorded one.
bool is_of_same_model(const std::vector<Change>& changes) {
  const auto names = [&changes](std::string_view what) {
    return std::any_of(changes.begin(), changes.end(),
                       [what](const Change& change) { return change.what == what; });
  };
  return names("device id") && !names("device");
}

Json figure_json(const Comparison& figure) {
  const bool known = measure::is_told(figure.interval) && std::isfinite(figure.speedup);
  return {{"speedup", known ? Json(figure.speedup) : Json(nullptr)},
          {"interval", known ? to_json(figure.interval) : Json(nullptr)}};
}

std::string figure_text(const Comparison& figure) {
  if (!measure::is_told(figure.interval)) return "no figure (" + figure.reason + ")";
  return fmt::format("{:.3f}x [{:.3f}, {:.3f}]", figure.speedup, figure.interval.low,
                     figure.interval.high);
}

Result<std::vector<Change>> changes_since(Context& context, const SessionView& view) {
  WB_TRY_ASSIGN(const Json environment, environment_json(context));
  Circumstances now = circumstances_of_environment(environment);
  now["workbench"] = context.services.workbench_version;
  now["effort"] = context.settings.effort;
  return changes_between(circumstances_of(view), now);
}

Json problem_rows(const Repeat& repeat, const IterationView& iteration, const ProblemNames& names,
                  std::string_view plan) {
  Json rows = Json::array();
  for (const ProblemScore& score : repeat.scores) {
    if (!score.comparison) continue;
    const std::string problem = to_text(score.problem.problem);
    Json row{{"problem", names.of(problem)}, {"recorded", nullptr}};
    for (const session::Fact& made : iteration.comparisons) {
      const bool ours = text_of(made.payload, "role") == "incumbent" &&
                        text_of(made.payload, "plan") == plan &&
                        text_of(made.payload, "problem") == problem;
      if (ours) row["recorded"] = member_of(made.payload, "speedup");  // the later phase stands
    }
    row.update(figure_json(*score.comparison));
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Builds both, judges both, times both; stops at the first thing that gives no figure here.
Result<Repeat> repeat_all(Context& context, const Session& session, const SessionView& view,
                          const Record& record, const ProblemNames& names) {
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

/// Puts the recorded session's rules into the context: the same suite, objective and effort. Its
/// budget is not ours.
void adopt_settings(Context& context, SessionSettings settings, const Json& args) {
  context.settings = std::move(settings);
  context.settings.budget = {};
  context.settings.effort = args.value("effort", context.settings.effort);
}

}  // namespace

Result<Json> verb_reproduce(Context& context, const Json& args) {
  const auto id = args["recorded"].get<std::string>();
  if (context.session) {
    return Error{ErrorCode::usage, "reproduce", id, "this process holds a session",
                 "close it first: what is measured here belongs to no session"};
  }
  WB_TRY_ASSIGN(const Session session, open_recorded(context.services, id));
  WB_TRY_ASSIGN(const SessionView view, session.view(session::FoldDepth::full));
  WB_TRY_ASSIGN(const IterationView* iteration, choose_iteration(view, args, id));
  WB_TRY_ASSIGN(SessionSettings settings, settings_from_json(view.opened.payload));
  adopt_settings(context, std::move(settings), args);
  const std::string_view plan = to_string(context.settings.objective.plan);
  WB_TRY_ASSIGN(Record record, read_record(*iteration, id, plan));
  const ProblemNames names(context.settings.suite);
  WB_TRY_ASSIGN(const auto changes, changes_since(context, view));
  WB_TRY_ASSIGN(const Repeat repeat, repeat_all(context, session, view, record, names));
  if (is_of_same_model(changes)) {
    double& floor_frac = record.figure.noise_floor_frac;
    if (!(floor_frac >= k_between_devices_frac)) floor_frac = k_between_devices_frac;
  }
  const bool same = !repeat.failure && agrees(record.figure, repeat.total);
  const std::string outcome = same              ? "reproduced"
                              : changes.empty() ? "not_reproduced"
                                                : "environment_differs";
  const std::string message = repeat.failure
                                  ? *repeat.failure
                                  : fmt::format("recorded {}, here {}", figure_text(record.figure),
                                                figure_text(repeat.total));
  return Json{{"outcome", outcome},
              {"message", message},
              {"iteration", record.iteration},
              {"candidate", record.candidate},
              {"against", record.incumbent},
              {"same_artifact", repeat.same_artifact ? Json(*repeat.same_artifact) : Json(nullptr)},
              {"recorded", figure_json(record.figure)},
              {"measured", repeat.failure ? Json(nullptr) : figure_json(repeat.total)},
              {"problems", problem_rows(repeat, *iteration, names, plan)},
              {"changes", to_json(changes)},
              {"text", fmt::format("{}: iteration {}, {} against {}\n{}\n{}", outcome,
                                   record.iteration, record.candidate, record.incumbent, message,
                                   changes.empty() ? "same environment\n"
                                                   : "differs from the recorded environment:\n" +
                                                         to_lines(changes))}};
}

}  // namespace wb::engine
