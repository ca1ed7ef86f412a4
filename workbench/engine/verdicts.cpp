// SPDX-License-Identifier: MIT
// The correctness stage: a fresh subject process is judged on every problem before it is timed.
#include "engine/verdicts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "engine/context.hpp"
#include "engine/timing.hpp"
#include "engine/worker.hpp"
#include "problem/inputs.hpp"
#include "protocol/protocol.hpp"

namespace wb::engine {

using problem::Problem;
using runner::WorkerClient;
using variant::EdgeDraw;
using variant::k_edge_draws;

namespace {

constexpr std::size_t k_drawn_at_once = 24;

/// A run of a verdict as the log keeps it.
Json run_json(problem::Draw draw, const protocol::RunResult& run) {
  const problem::BudgetUse& worst = run.verdict.worst;
  return {{"draw", to_string(draw)},
          {"seed", run.seed},
          {"pass", run.verdict.pass},
          {"reason", run.verdict.reason},
          {"worst",
           {{"rule", worst.rule},
            {"error", worst.error},
            {"budget", worst.budget},
            {"share", worst.share},
            {"row", worst.row},
            {"column", worst.column},
            {"b", worst.block.b},
            {"h", worst.block.h},
            {"got", worst.got},
            {"want", worst.want}}},
          {"blocks_judged", run.verdict.blocks_judged},
          {"blocks_total", run.verdict.blocks_total},
          {"lse_judged", run.lse_judged}};
}

/// A drawn run in the log: like any run, with its problem and form.
Json drawn_json(const EdgeDraw& drawn, const protocol::RunResult& run) {
  Json json = run_json(drawn.draw, run);
  if (run.verdict.pass) {
    json["worst"] = {{"rule", run.verdict.worst.rule}, {"share", run.verdict.worst.share}};
  }
  json["problem"] = to_text(drawn.problem);
  json["form"] = to_json(drawn.form);
  return json;
}

std::string how(const EdgeDraw& drawn) {
  std::string words = fmt::format("in a drawn run (draw {}", to_string(drawn.draw));
  const std::string form = to_text(drawn.form);
  return words + (form.empty() ? "" : "; ") + form + ")";
}

protocol::VerdictArgs drawn_request(const std::vector<EdgeDraw>& drawn, std::size_t begin,
                                    std::size_t end, std::int64_t handle, VerdictExtent extent) {
  protocol::VerdictArgs args;
  args.handle = handle;
  args.problem = drawn[begin].problem;
  for (std::size_t i = begin; i < end; ++i) {
    protocol::RunArgs& run = args.drawn.emplace_back();
    run.handle = handle;
    run.problem = drawn[i].problem;
    run.draw = drawn[i].draw;
    run.want_lse = drawn[i].want_lse;
    run.form = drawn[i].form;
    if (extent == VerdictExtent::screening) run.max_blocks = k_screening_blocks;
  }
  return args;
}

void fail_drawn(const EdgeDraw& drawn, const Failure& failure, Judgement& judgement) {
  judgement.problem = drawn.problem;
  judgement.invalidity = failure.invalidity;
  judgement.message = failure.message + " " + how(drawn);
  judgement.output = failure.untrusted_output;
}

/// Reads the runs from `at` on into judgement and log. Returns the index of the next run.
std::size_t read_drawn(const Outcome<protocol::VerdictResult>& verdict, const Subject& subject,
                       const std::vector<EdgeDraw>& drawn, std::size_t at, Judgement& judgement,
                       Json& runs) {
  const auto fail = [&](const Failure& failure) {
    fail_drawn(drawn[at], failure, judgement);
    return at;
  };
  if (!verdict.ok()) return fail(verdict.error());
  for (const auto& [draw, run] : verdict->runs) {
    if (at >= drawn.size()) break;
    runs.push_back(drawn_json(drawn[at], run));
    const double share = run.verdict.worst.share;
    if (!(share <= judgement.worst_share)) {
      judgement.worst_share = share;
      judgement.problem = drawn[at].problem;
    }
    if (!run.verdict.pass) return fail({Invalidity::correctness, run.verdict.reason, ""});
    ++at;
  }
  if (!verdict->failure && verdict->runs.empty()) {
    return fail({Invalidity::environment, "the worker judged nothing", ""});
  }
  if (!verdict->failure || at >= drawn.size()) return at;
  // A library learns only when called what it supports.
  const bool is_refusal = verdict->failure->invalidity == Invalidity::constraints;
  if (is_refusal && subject.variant.manifest.backend == variant::Backend::python) return at + 1;
  return fail(*verdict->failure);
}

/// Judges the drawn runs, of which there is at least one, a few per request so that others can use
/// the device in between. Stops at the first failure. `runs` gets them as the log keeps them.
/// Errors: canceled.
Result<Judgement> judge_drawn(Context& context, const Subject& subject,
                              const std::vector<EdgeDraw>& drawn, VerdictExtent extent,
                              WorkerClient& worker, std::int64_t handle, Json& runs) {
  Judgement judgement;
  judgement.drawn = drawn.size();
  judgement.problem = drawn.front().problem;
  judgement.worst_share = -1;
  for (std::size_t at = 0; at < drawn.size() && !judgement.invalidity;) {
    WB_TRY(context.check_stop());
    context.report_progress({.stage = "verdict",
                             .what = subject.label + " on drawn runs",
                             .done = static_cast<std::int64_t>(at),
                             .total = static_cast<std::int64_t>(drawn.size())});
    const std::size_t end = std::min(at + k_drawn_at_once, drawn.size());
    at = read_drawn(worker.verdict(drawn_request(drawn, at, end, handle, extent)), subject, drawn,
                    at, judgement, runs);
  }
  if (judgement.worst_share < 0) judgement.worst_share = 0;
  return judgement;
}

/// One normal draw, judged on some blocks, in the form of a verdict.
Outcome<protocol::VerdictResult> screen(WorkerClient& worker, const protocol::VerdictArgs& args) {
  protocol::RunArgs one;
  one.handle = args.handle;
  one.problem = args.problem;
  one.draw = problem::Draw::normal;
  one.want_lse = args.want_lse;
  one.max_blocks = k_screening_blocks;
  auto run = worker.run(one);
  if (!run) return std::move(run).error();
  protocol::VerdictResult result;
  result.pass = run->verdict.pass;
  result.runs.emplace_back(one.draw, *std::move(run));
  return result;
}

/// Fills the judgement from the worker's answer and returns the runs for the log.
Json read_verdict(const Outcome<protocol::VerdictResult>& verdict, Judgement& judgement) {
  Json runs = Json::array();
  if (!verdict) {
    judgement.invalidity = verdict.error().invalidity;
    judgement.message = verdict.error().message;
    judgement.output = verdict.error().untrusted_output;
    return runs;
  }
  for (const auto& [draw, run] : verdict->runs) {
    runs.push_back(run_json(draw, run));
    const double share = run.verdict.worst.share;
    // Written so that NaN wins over an earlier small share.
    if (!(share <= judgement.worst_share)) judgement.worst_share = share;
    if (!run.verdict.pass) judgement.message = run.verdict.reason;
  }
  if (!verdict->pass) judgement.invalidity = Invalidity::correctness;
  return runs;
}

Json part_of(const Json& runs, std::size_t begin, std::size_t end) {
  Json part = Json::array();
  for (std::size_t i = begin; i < end; ++i) part.push_back(runs[i]);
  return part;
}

bool is_held_out(const problem::Suite& suite, const Problem& problem) {
  return std::any_of(suite.problems.begin(), suite.problems.end(),
                     [&](const problem::SuiteProblem& member) {
                       return member.held_out && to_text(member.problem) == to_text(problem);
                     });
}

}  // namespace

Result<std::vector<Judgement>> judge_subject(Context& context, const Subject& subject,
                                             const std::vector<Problem>& problems,
                                             VerdictExtent extent, SubjectProcesses* kept,
                                             Refusal refusal, const std::vector<EdgeDraw>& drawn) {
  std::vector<Judgement> judgements;
  // A subject that has died has no process to unload; either way it is gone afterwards.
  SubjectProcesses own(context);
  std::optional<std::int64_t> handle;
  Json versions = Json::object();
  /// Null without a worker or when the subject cannot be loaded; the judgement says so.
  const auto loaded_in = [&](Judgement& judgement) -> WorkerClient* {
    const auto fail = [&judgement](const Failure& failure) -> WorkerClient* {
      judgement.invalidity = failure.invalidity;
      judgement.message = failure.message;
      judgement.output = failure.untrusted_output;
      return nullptr;
    };
    auto worker = context.worker->need();
    if (!worker) return fail(worker.error());
    if (!handle) {
      auto loaded = (*worker)->load(subject.variant, subject.artifact);
      if (!loaded) return fail(loaded.error());
      handle = loaded->handle;
      versions = loaded->versions;
      (kept != nullptr ? *kept : own).handles.emplace_back(handle);
    }
    return *worker;
  };
  const auto log = [&](Judgement& judgement, Json runs) -> Result<void> {
    Json event{{"iteration", context.iteration_or_null()},
               {"subject", subject.label},
               {"problem", to_text(judgement.problem)},
               {"proof", to_string(extent)},
               {"pass", !judgement.invalidity.has_value()},
               {"outcome",
                judgement.invalidity ? to_string(*judgement.invalidity) : std::string_view("pass")},
               {"message", judgement.message},
               {"versions", versions},
               {"runs", std::move(runs)}};
    if (judgement.drawn > 0) event["drawn"] = judgement.drawn;
    // The output may contain the shape of a held-out problem.
    if (!judgement.output.empty() && context.session &&
        !is_held_out(context.settings.suite, judgement.problem)) {
      WB_TRY_ASSIGN(event["output_blob"], context.session->put_blob(judgement.output));
    }
    WB_TRY_ASSIGN(judgement.event, context.log("verdict_given", std::move(event)));
    return {};
  };
  std::int64_t done = 0;
  for (const Problem& problem : problems) {
    WB_TRY(context.check_stop());
    context.report_progress({.stage = "verdict",
                             .what = subject.label + " on " + label(problem),
                             .done = done++,
                             .total = static_cast<std::int64_t>(problems.size())});
    Judgement judgement;
    judgement.problem = problem;
    if (auto reason = not_supported(subject, problem)) {
      judgement.supported = false;
      judgement.message = *reason;
      judgements.push_back(std::move(judgement));
      continue;
    }
    Json runs = Json::array();
    if (WorkerClient* worker = loaded_in(judgement); worker != nullptr) {
      protocol::VerdictArgs args;
      args.handle = *handle;
      args.problem = problem;
      args.want_lse = subject.variant.manifest.backend != variant::Backend::python;
      args.rows_without_keys = subject.variant.manifest.support.rows_without_keys;
      runs = read_verdict(
          extent == VerdictExtent::whole ? worker->verdict(args) : screen(*worker, args),
          judgement);
    }
    judgement.problem = problem;
    WB_TRY(log(judgement, std::move(runs)));
    if (refusal == Refusal::excludes && judgement.invalidity == Invalidity::constraints) {
      judgement.invalidity.reset();
      judgement.supported = false;
    }
    const bool failed = judgement.invalidity.has_value();
    judgements.push_back(std::move(judgement));
    if (failed) return judgements;  // a variant that fails its verdict is never timed
  }
  // A subject that supports none of the requested problems gets only that answer.
  const bool takes_any =
      std::any_of(judgements.begin(), judgements.end(),
                  [](const Judgement& judgement) { return judgement.supported; });
  if (drawn.empty() || !takes_any) return judgements;
  Judgement judgement;
  if (WorkerClient* worker = loaded_in(judgement); worker != nullptr) {
    Json all = Json::array();
    WB_TRY_ASSIGN(judgement, judge_drawn(context, subject, drawn, extent, *worker, *handle, all));
    // An event is one line of limited length, so many runs become several events; the last one
    // decides.
    std::size_t begin = 0;
    for (; begin + k_edge_draws < all.size(); begin += k_edge_draws) {
      Judgement passed;
      passed.drawn = k_edge_draws;
      passed.problem = drawn[begin].problem;
      WB_TRY(log(passed, part_of(all, begin, begin + k_edge_draws)));
    }
    const std::size_t in_all = judgement.drawn;
    judgement.drawn = std::max<std::size_t>(all.size() - begin, 1);
    WB_TRY(log(judgement, part_of(all, begin, all.size())));
    judgement.drawn = in_all;
  }
  judgements.push_back(std::move(judgement));
  return judgements;
}

std::string label(const Judgement& judgement) {
  if (judgement.drawn == 0 || judgement.invalidity) return label(judgement.problem);
  return fmt::format("{} drawn runs", judgement.drawn);
}

std::optional<Judgement> first_failure(const std::vector<Judgement>& judgements) {
  for (const Judgement& judgement : judgements) {
    if (judgement.invalidity) return judgement;
  }
  return std::nullopt;
}

std::optional<Failure> failure_of(const std::vector<Judgement>& judgements) {
  const auto failed = first_failure(judgements);
  if (!failed) return std::nullopt;
  return Failure{*failed->invalidity, fmt::format("{}: {}", label(*failed), failed->message),
                 failed->output};
}

}  // namespace wb::engine
