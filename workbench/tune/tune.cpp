// SPDX-License-Identifier: MIT
// `tune` and `race`: one iteration that searches a variant's space, or a list of variants, and
// confirms the most promising one.
#include "tune/tune.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "engine/candidate_timing.hpp"
#include "engine/context.hpp"
#include "engine/evidence.hpp"
#include "engine/iteration.hpp"
#include "engine/subject.hpp"
#include "tune/evaluation.hpp"

namespace wb::tune {

using engine::Context;
using engine::Run;
using engine::Subject;
using search::Strategy;

namespace {

constexpr std::size_t k_rows_max = 40;  ///< of the answer's table; the log has all
/// The share of comparisons at 99 % that find `faster` without a difference. A confirmation's
/// samples took no part in choosing, so it is not multiplied by the number of tries.
constexpr double k_false_win_frac = 0.005;

std::string_view plural(const TunePlan& plan) {
  return plan.entrants.empty() ? "configurations" : "variants";
}

std::string best_name(const Candidate& best) {
  return best.name.empty() ? std::string("the only configuration") : best.name;
}

/// The last answers, best first, all against the present best; those without a figure come last.
Json answer_rows(const Tuner& tuner, const TunePlan& plan) {
  struct Row {
    const TuneAnswer* answer;
    search::Score score;
  };
  std::vector<Row> rows;
  for (const TuneAnswer& answer : tuner.answers()) {
    const auto now = tuner.strategy().duplicate_of(answer.evaluation.configuration);
    rows.push_back({&answer, now.value_or(answer.evaluation.score)});
  }
  const auto rank = [](const Row& row) {
    return row.score.invalidity || !(row.score.speedup > 0) ? 0.0 : row.score.speedup;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Row& a, const Row& b) { return rank(a) > rank(b); });
  if (rows.size() > k_rows_max) rows.resize(k_rows_max);
  Json list = Json::array();
  for (const Row& row : rows) {
    Json json = to_json(row.score);
    for (const char* key : {"turns", "samples"}) json.erase(key);
    const Candidate made = plan.candidate(row.answer->evaluation.configuration);
    json["variant"] = plan.entrants.empty() ? made.variant.manifest.name : made.name;
    json["configuration"] = variant::to_json(made.configuration);
    json["duplicate"] = row.answer->evaluation.score.is_duplicate;
    json["message"] = printable(row.answer->message, 200);
    list.push_back(std::move(json));
  }
  return list;
}

/// Why nothing can be confirmed: the first failure of the variant itself represents all.
Failure no_valid(const Tuner& tuner, const TunePlan& plan) {
  std::map<std::string, int> words;
  const TuneAnswer* first = nullptr;
  for (const TuneAnswer& answer : tuner.answers()) {
    if (!answer.evaluation.score.invalidity)
      continue;  // without a figure there is nothing to confirm
    const Invalidity invalidity = *answer.evaluation.score.invalidity;
    ++words[std::string(to_string(invalidity))];
    const bool is_own = invalidity != Invalidity::environment;
    const bool has_own =
        first != nullptr && first->evaluation.score.invalidity != Invalidity::environment;
    if (first == nullptr || (is_own && !has_own)) first = &answer;
  }
  std::string counts;
  for (const auto& [word, n] : words) {
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", n, word);
  }
  return Failure{
      *first->evaluation.score.invalidity,
      fmt::format("none of {} {} is valid ({}); {}: {}", tuner.answers().size(), plural(plan),
                  counts, plan.candidate(first->evaluation.configuration).name, first->message),
      ""};
}

/// The same code as the incumbent's, so that no comparison is needed.
measure::Comparison unchanged(const std::string& label) {
  measure::Comparison comparison;
  comparison.candidate = comparison.rival = label;
  comparison.speedup = 1.0;
  comparison.interval = {1.0, 1.0, 0.99};
  comparison.outcome = measure::ComparisonOutcome::same;
  comparison.reason = "the incumbent's own configuration looks best";
  return comparison;
}

/// Confirms the most promising configuration beside incumbent and rivals in fresh processes.
Result<void> confirm(Context& context, const TunePlan& plan, Tuner& tuner, Run& run,
                     const std::string& ended) {
  const search::Standing standing = tuner.strategy().standing();
  const auto promising = tuner.strategy().promising();
  if (tuner.answers().empty()) {
    run.preface = "nothing was evaluated: " + ended;
    return {};
  }
  if (!promising) {
    run.failure = no_valid(tuner, plan);
    return {};
  }
  WB_TRY_ASSIGN(Outcome<Subject> subject, tuner.subject(*promising));
  run.preface = fmt::format("{} looks best of {} {} tried, {} of them valid ({}); ",
                            best_name(plan.candidate(*promising)), standing.told, plural(plan),
                            standing.valid, ended);
  if (!subject) {
    run.failure = std::move(subject).error();
    return {};
  }
  run.candidate = *std::move(subject);
  WB_TRY(record_build_findings(context, *run.candidate));
  if (run.candidate->artifact.id == context.incumbent->artifact.id) {
    run.preface += "it is the incumbent's own";
    // Only a complete search says something about the space.
    if (!tuner.strategy().next()) {
      run.total = unchanged(run.candidate->label);
      run.refusal = run.total->reason;
    }
    return {};
  }
  if (!tuner.was_judged(*run.candidate)) {
    WB_TRY(judge_candidate(context, run));
  } else {
    for (const problem::SuiteProblem& member : context.settings.suite.problems) {
      if (member.held_out || not_supported(*run.candidate, member.problem)) continue;
      run.problems.push_back(member.problem);
    }
  }
  if (!run.failure) WB_TRY(time_candidate(context, run, "confirmation"));
  return {};
}

/// Member `tune` of iteration_closed and of the answer.
Json summary(const Tuner& tuner, const TunePlan& plan, const Run& run, const std::string& ended) {
  const search::Standing standing = tuner.strategy().standing();
  const TuneTotals& totals = tuner.totals();
  const auto promising = tuner.strategy().promising();
  // The builders' available time: their own CPUs always, the device's while it waited.
  const double window_s = totals.search_s * static_cast<double>(tuner.place().builders) +
                          totals.wait_s * static_cast<double>(tuner.place().lent_cpus.size());
  const auto share = [](double part_s, double whole_s) {
    return whole_s > 0 ? Json(std::min(1.0, part_s / whole_s)) : Json(nullptr);
  };
  Json json{{"strategy", to_string(plan.options.kind)},
            {"space_size", plan.space.size()},
            {"told", standing.told},
            {"valid", standing.valid},
            {"contenders", standing.contenders},
            {"best", promising ? variant::to_json(plan.candidate(*promising).configuration)
                               : Json(nullptr)},
            {"ended", ended},
            {"tries", standing.told},
            {"confirmed", run.confirmed},
            {"expected_false_wins", run.confirmed ? k_false_win_frac : 0.0},
            {"duplicates", totals.duplicates},
            {"stopped_early", totals.stopped_early},
            {"screened", totals.screened},
            {"retracted", totals.retracted},
            {"replayed", totals.replayed},
            {"builds", totals.builds},
            {"builders", tuner.place().builders},
            {"overlapped", tuner.place().overlaps},
            {"build_s", totals.build_s},
            {"measure_s", totals.measure_s},
            {"wait_s", totals.wait_s},
            {"search_s", totals.search_s},
            {"build_share_frac", share(totals.build_s, window_s)},
            {"measure_share_frac", share(totals.measure_s, totals.search_s)}};
  if (plan.in_flight > 0) {
    json["elsewhere"] = {{"in_flight", plan.in_flight},
                         {"answers", totals.remote},
                         {"build_s", totals.remote_build_s},
                         {"device_s", totals.remote_device_s}};
  }
  return json;
}

/// Member `tune` of iteration_opened.
Json plan_json(const TunePlan& plan, const Strategy& strategy) {
  Json json = to_json(plan);
  if (!strategy.about().empty()) json["proposer"] = strategy.about();
  return json;
}

/// The fields that both verbs add to an iteration's answer, when nothing was searched.
Json with_no_rows(Json answer) {
  answer.update({{"configuration", nullptr}, {"evaluations", Json::array()}, {"tune", nullptr}});
  return answer;
}

Result<Json> search_and_confirm(Context& context, const TunePlan& plan, const Json& args) {
  WB_TRY_ASSIGN(Strategy strategy, Strategy::make(plan.space, plan.options));
  WB_TRY_ASSIGN(const session::SessionView* view,
                context.session->current(session::FoldDepth::brief));
  WB_TRY_ASSIGN(const TuneHistory past, tune_history(*view, plan.id));
  WB_TRY_ASSIGN(const auto known, replayable(plan, past));
  Run run;
  WB_TRY_ASSIGN(run.number, next_iteration(context));
  run.hypothesis = {args["hypothesis"].get<std::string>(), args["predicted_speedup"].get<double>()};
  run.confirm = "always";
  context.iteration = run.number;
  const Candidate start = plan.candidate(plan.options.start.value());
  WB_TRY(open_iteration(context, run, start.variant, start.configuration, args,
                        {{"tune", plan_json(plan, strategy)}}));
  // Stored first, since the iteration's commit names it even if the time is up before a build.
  WB_TRY(context.session->store_variant(plan.variant.id, plan.variant.files));
  Tuner tuner(context, plan, std::move(strategy), past);
  WB_TRY(tuner.replay_past(known));
  WB_TRY_ASSIGN(const std::string ended, tuner.search());
  WB_TRY(confirm(context, plan, tuner, run, ended));
  const Json tune = summary(tuner, plan, run, ended);
  const variant::Variant& searched = run.candidate ? run.candidate->variant : plan.variant;
  WB_TRY_ASSIGN(Json answer,
                conclude_iteration(context, run, variant::Variant(searched), {{"tune", tune}}));
  answer["configuration"] = tune["best"];
  answer["evaluations"] = answer_rows(tuner, plan);
  return answer;
}

}  // namespace

Result<Json> tune_variant(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const auto refused, refuse_to_start(context));
  if (refused) return with_no_rows(*refused);
  WB_TRY_ASSIGN(const TunePlan plan, plan_tune(context, args));
  return search_and_confirm(context, plan, args);
}

Result<Json> race_variants(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const auto refused, refuse_to_start(context));
  if (refused) return with_no_rows(*refused);
  WB_TRY_ASSIGN(const TunePlan plan, plan_race(context, args));
  return search_and_confirm(context, plan, args);
}

}  // namespace wb::tune
