// SPDX-License-Identifier: MIT
// `reproduce`: builds what a recorded iteration measured and measures it again on this machine,
// against the same incumbent. Reads the session and writes nothing to it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "engine/context.hpp"
#include "engine/recorded.hpp"
#include "engine/settings.hpp"
#include "engine/worker.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/arguments.hpp"
#include "verbs/repeat.hpp"
#include "verbs/standings.hpp"
#include "verbs/suite_selection.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::candidate_of;
using engine::Change;
using engine::changes_between;
using engine::Circumstances;
using engine::circumstances_of;
using engine::circumstances_of_environment;
using engine::Context;
using engine::member_of;
using engine::ProblemScore;
using engine::SessionSettings;
using engine::settings_from_json;
using engine::text_of;
using measure::Comparison;
using measure::ComparisonOutcome;
using session::IterationView;
using session::Session;
using session::SessionView;

namespace {

/// How far two GPUs of one model may differ in a speedup, beyond intervals and noise floors, which
/// are of one device each. On two H200s the same artifacts gave 1.070 and 1.071, and 6.512 and
/// 6.549 (docs/contracts/measurement.md, "Reproducing").
constexpr double k_between_devices_frac = 0.02;

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

/// The incumbent that the iteration was measured against, and its closing figure on `plan`.
Result<RecordedIteration> read_record(const IterationView& iteration, const std::string& id,
                                      std::string_view plan) {
  const std::string what = fmt::format("iteration {} of {}", iteration.number, id);
  if (!iteration.closed) return nothing_to_repeat(what, "it never closed");
  const Json& closed = iteration.closed->payload;
  RecordedIteration record;
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

/// True when the figures differ by no more than their intervals and noise floors allow, and a gain
/// (or loss) is one again. NaN gives false.
bool agrees(const Comparison& then, const Comparison& now) {
  if (!measure::is_shown(then.interval) || !measure::is_shown(now.interval)) return false;
  const ComparisonOutcome change = change_between(then, now).outcome;
  if (change == ComparisonOutcome::faster || change == ComparisonOutcome::slower) return false;
  if (then.interval.low > 1) return now.speedup > 1;
  if (then.interval.high < 1) return now.speedup < 1;
  return true;
}

/// True when only the device changed, to another one of the same model.
bool is_of_same_model(const std::vector<Change>& changes) {
  const auto names = [&changes](std::string_view what) {
    return std::any_of(changes.begin(), changes.end(),
                       [what](const Change& change) { return change.what == what; });
  };
  return names("device id") && !names("device");
}

Json figure_json(const Comparison& figure) {
  const bool known = measure::is_shown(figure.interval) && std::isfinite(figure.speedup);
  return {{"speedup", known ? Json(figure.speedup) : Json(nullptr)},
          {"interval", known ? to_json(figure.interval) : Json(nullptr)}};
}

std::string figure_text(const Comparison& figure) {
  if (!measure::is_shown(figure.interval)) return "no figure (" + figure.reason + ")";
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
      if (ours) row["recorded"] = member_of(made.payload, "speedup");  // the later phase counts
    }
    row.update(figure_json(*score.comparison));
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Puts the recorded session's rules into the context: suite, objective and effort, without its
/// budget.
void adopt_settings(Context& context, SessionSettings settings, const Json& args) {
  context.settings = std::move(settings);
  context.settings.budget = {};
  context.settings.effort = args.value("effort", context.settings.effort);
}

Result<Json> reproduce_body(Context& context, const Json& args) {
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
  WB_TRY_ASSIGN(RecordedIteration record, read_record(*iteration, id, plan));
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

ExitCode reproduce_exit_code(const Json& answer) {
  const std::string outcome = answer.value("outcome", "");
  if (outcome == "not_reproduced") return ExitCode::variant_failed;
  return outcome == "environment_differs" ? ExitCode::environment : ExitCode::ok;
}

}  // namespace

const Verb& verb_reproduce() {
  static const Verb verb{
      .spec =
          {.name = "reproduce",
           .doc = "measure an iteration on record again, here and now, against its incumbent; the "
                  "session stays as it is",
           .arguments = {id_argument("recorded",
                                     "a session's folder or archive, or its name in --sessions")
                             .required()
                             .positional()
                             .as_path(),
                         integer_argument("iteration", "which one (default: the last that won)")
                             .between(0, 1e9),
                         choice_argument(
                             "effort",
                             "how many processes, placements and rounds (default: the session's)",
                             {"quick", "standard", "thorough"})},
           .result = {{"outcome",
                       "string: reproduced (no change beyond the noise, and a gain is a gain), "
                       "not_reproduced, or environment_differs (not reproduced, elsewhere)"},
                      {"message", "string: both figures, or what failed"},
                      {"iteration", "int: its number"},
                      {"candidate", "string: label"},
                      {"against", "string: label of its incumbent"},
                      {"same_artifact",
                       "bool or null: compiler, flags and target made the same artifact"},
                      {"recorded", "map: speedup, interval"},
                      {"measured", "map or null: speedup, interval"},
                      {"problems", "list: per problem the recorded and the measured speedup"},
                      {"changes", "list: what, before, after"},
                      {"text", "string: the same for people"}},
           .is_long = true,
           .in_playbook = false},
      .body = [](const Call& call) { return reproduce_body(call.context, call.args); },
      .exit_code = reproduce_exit_code};
  return verb;
}

}  // namespace wb::verbs
