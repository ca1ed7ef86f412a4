// SPDX-License-Identifier: MIT
// The correctness stage: one fresh subject process, judged on every problem before it is timed.
#include <fmt/format.h>

#include <algorithm>

#include "engine/timing.hpp"
#include "variant/ptxas_record.hpp"

namespace wb {
namespace {

Json run_json(Draw draw, const protocol::RunResult& run) {
  static constexpr std::string_view k_draw_words[] = {"normal", "large", "edge"};
  const BudgetUse& worst = run.verdict.worst;
  return {{"draw", k_draw_words[static_cast<int>(draw)]},
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

/// One normal draw, judged on some blocks, in the form of a verdict.
Outcome<protocol::VerdictResult> screen(WorkerClient& worker, const protocol::VerdictArgs& args) {
  protocol::RunArgs one;
  one.handle = args.handle;
  one.problem = args.problem;
  one.draw = Draw::normal;
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
    // Written so that NaN wins: a NaN share must not hide behind an earlier small one.
    if (!(share <= judgement.worst_share)) judgement.worst_share = share;
    if (!run.verdict.pass) judgement.message = run.verdict.reason;
  }
  if (!verdict->pass) judgement.invalidity = Invalidity::correctness;
  return runs;
}

bool is_held_out(const Suite& suite, const Problem& problem) {
  return std::any_of(suite.problems.begin(), suite.problems.end(), [&](const SuiteProblem& member) {
    return member.held_out && to_text(member.problem) == to_text(problem);
  });
}

}  // namespace

std::string_view to_string(Proof value) {
  static constexpr std::string_view k_words[] = {"none", "screening", "whole"};
  return k_words[static_cast<int>(value)];
}

Proof parse_proof(std::string_view word) {
  return word == "none" ? Proof::none : word == "screening" ? Proof::screening : Proof::whole;
}

Result<std::vector<Judgement>> judge_subject(Context& context, const Subject& subject,
                                             const std::vector<Problem>& problems, Proof extent,
                                             SubjectProcesses* kept, Refusal refusal) {
  std::vector<Judgement> judgements;
  // A subject that already died has no process left to unload; either way it is gone afterwards.
  SubjectProcesses own(context);
  std::optional<std::int64_t> handle;
  Json versions = Json::object();
  const auto fail_load = [&](const Failure& failure) {
    Judgement judgement;
    judgement.invalidity = failure.invalidity;
    judgement.message = failure.message;
    judgement.output = failure.untrusted_output;
    return judgement;
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
    auto worker = context.need_worker();
    Json runs = Json::array();
    if (!worker) {
      judgement = fail_load(worker.error());
    } else {
      if (!handle) {
        auto loaded = (*worker)->load(subject.variant, subject.artifact);
        if (loaded) {
          handle = loaded->handle;
          versions = loaded->versions;
          (kept != nullptr ? *kept : own).handles.emplace_back(handle);
        } else {
          judgement = fail_load(loaded.error());
        }
      }
      if (handle) {
        protocol::VerdictArgs args;
        args.handle = *handle;
        args.problem = problem;
        args.want_lse = subject.variant.manifest.backend != Backend::python;
        args.rows_without_keys = subject.variant.manifest.support.rows_without_keys;
        runs = read_verdict(
            extent == Proof::whole ? (*worker)->verdict(args) : screen(**worker, args), judgement);
      }
    }
    judgement.problem = problem;
    Json event{{"iteration", context.iteration_or_null()},
               {"subject", subject.label},
               {"problem", to_text(problem)},
               {"proof", to_string(extent)},
               {"pass", !judgement.invalidity.has_value()},
               {"outcome",
                judgement.invalidity ? to_string(*judgement.invalidity) : std::string_view("pass")},
               {"message", judgement.message},
               {"versions", versions},
               {"runs", std::move(runs)}};
    // A subject may print the shape that it is shown: that of a held-out problem stays unsaid.
    if (!judgement.output.empty() && context.session &&
        !is_held_out(context.settings.suite, problem)) {
      WB_TRY_ASSIGN(event["output_blob"], context.session->put_blob(judgement.output));
    }
    WB_TRY_ASSIGN(judgement.event, context.log("verdict_given", std::move(event)));
    if (refusal == Refusal::excludes && judgement.invalidity == Invalidity::constraints) {
      judgement.invalidity.reset();
      judgement.supported = false;
    }
    const bool failed = judgement.invalidity.has_value();
    judgements.push_back(std::move(judgement));
    if (failed) break;  // wrong stops here and is never timed
  }
  return judgements;
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
  return Failure{*failed->invalidity,
                 fmt::format("{}: {}", label(failed->problem), failed->message), failed->output};
}

Result<void> tell_subject_output(Context& context, const std::string& words, Json& answer) {
  constexpr std::size_t most_bytes = 4096;
  answer["subject_output"] = words.empty() ? words : cut_in_the_middle(words, most_bytes);
  answer["subject_output_ref"] = nullptr;
  if (words.empty() || !context.session) return {};
  WB_TRY_ASSIGN(answer["subject_output_ref"], context.session->put_blob(words));
  return {};
}

}  // namespace wb
