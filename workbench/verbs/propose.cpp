// SPDX-License-Identifier: MIT
// `propose`: stores, compiles and judges a variant without timing it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "engine/context.hpp"
#include "engine/iteration.hpp"
#include "engine/spending.hpp"
#include "engine/subject.hpp"
#include "engine/verdicts.hpp"
#include "verbs/arguments.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/proposed.hpp"
#include "verbs/suite_selection.hpp"
#include "verbs/table.hpp"
#include "verbs/trials.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Context;
using engine::Judgement;
using engine::Refusal;
using engine::Subject;
using engine::VerdictExtent;

Json blank_proposal(const std::string& parent) {
  return {{"pass", false},
          {"outcome", "pass"},
          {"message", ""},
          {"variant", ""},
          {"variant_id", ""},
          {"parent", parent},
          {"cached", false},
          {"worst_share", nullptr},
          {"problems", Json::array()},
          {"compiler_output", ""},
          {"output_ref", nullptr},
          {"subject_output", ""},
          {"subject_output_ref", nullptr},
          {"spill_bytes", 0},
          {"stop_reason", nullptr}};
}

Result<std::optional<std::string>> proposals_stop_reason(const Context& context) {
  WB_TRY_ASSIGN(const session::SessionView* view,
                context.session->current(session::FoldDepth::brief));
  return stop_decision(*view, context.settings.budget, context.settings.stop, context.elapsed_s())
      .reason;
}

namespace {

constexpr std::size_t k_words_max_bytes = 8192;  ///< of the compiler's output in the answer

std::string outcome_of(const Judgement& judgement) {
  if (!judgement.supported) return "not_supported";
  return judgement.invalidity ? std::string(to_string(*judgement.invalidity)) : "pass";
}

/// Makes the rows, and sets their summary in `answer`.
void tell_judgements(const std::vector<Judgement>& judgements, std::size_t of_suite, Json& answer) {
  double worst = 0;
  bool any = false;
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    const Judgement& judgement = judgements[i];
    // The suite's problems decide whether it is usable; drawn runs only whether it is correct.
    any = any || (judgement.supported && i < of_suite);
    if (!(judgement.worst_share <= worst)) worst = judgement.worst_share;
    answer["problems"].push_back({{"problem", label(judgement)},
                                  {"outcome", outcome_of(judgement)},
                                  {"message", judgement.message},
                                  {"worst_share", finite_or_null(judgement.worst_share)}});
  }
  const auto failed = first_failure(judgements);
  answer["pass"] = any && !failed;
  answer["worst_share"] = finite_or_null(worst);
  if (failed) {
    answer["outcome"] = to_string(*failed->invalidity);
    answer["message"] = label(*failed) + ": " + failed->message;
  } else if (!any) {
    answer["outcome"] = to_string(Invalidity::constraints);
    answer["message"] = "it takes no problem of the suite";
  }
}

Result<void> tell_output(Context& context, const std::string& words, Json& answer) {
  if (words.empty()) return {};
  answer["compiler_output"] = variant::cut_in_the_middle(words, k_words_max_bytes);
  WB_TRY_ASSIGN(const std::string blob, context.session->put_blob(words));
  answer["output_ref"] = blob;
  return {};
}

std::int64_t spill_bytes(const variant::PtxasRecord& record) {
  std::int64_t bytes = 0;
  for (const variant::KernelResources& kernel : record.kernels) {
    bytes += kernel.spill_store_bytes + kernel.spill_load_bytes;
  }
  return bytes;
}

Result<Json> build_and_judge(Context& context, const Proposal& proposal) {
  Json answer = blank_proposal(proposal.parent);
  answer["variant_id"] = proposal.variant.id;
  answer["variant"] = label(proposal.variant);
  context.report_progress({.stage = "build", .what = label(proposal.variant)});
  WB_TRY_ASSIGN(const Outcome<Subject> built,
                build_and_log(context, proposal.variant, proposal.configuration));
  if (!built) {
    answer["outcome"] = to_string(built.error().invalidity);
    answer["message"] = built.error().message;
    WB_TRY(tell_output(context, built.error().untrusted_output, answer));
    return answer;
  }
  answer["variant"] = built->label;
  const variant::BuildRecord& record = built->artifact.record;
  answer["cached"] = record.cached;
  answer["spill_bytes"] = spill_bytes(record.ptxas);
  WB_TRY(tell_output(context, record.log, answer));
  const std::vector<problem::Problem> problems = plain_problems(context.settings.suite);
  const std::size_t of_suite = problems.size();
  WB_TRY_ASSIGN(const auto judgements,
                judge_subject(context, *built, problems, VerdictExtent::whole, nullptr,
                              Refusal::fails, drawn_runs(context, *built, context.settings.suite)));
  tell_judgements(judgements, of_suite, answer);
  if (const auto failed = first_failure(judgements)) {
    WB_TRY(add_subject_output(context, failed->output, answer));
  }
  WB_TRY(context.check_stop());  // a stop kills the worker, which is not the variant's failure
  WB_TRY(context.spending->debit_device(built->label));
  return answer;
}

}  // namespace

Result<Json> propose_variant(Context& context, const Json& args) {
  WB_TRY(check_idea_ids(context, args.value("idea", Json::array())));
  WB_TRY_ASSIGN(const auto stop, proposals_stop_reason(context));
  if (stop) {
    Json answer = blank_proposal(args.value("parent", context.incumbent->label));
    answer.update({{"outcome", "stopped"},
                   {"message", "nothing more is built: " + *stop},
                   {"stop_reason", *stop}});
    return answer;
  }
  WB_TRY_ASSIGN(const Proposal proposal, proposal_of(context, args));
  WB_TRY_ASSIGN(Json answer, build_and_judge(context, proposal));
  for (const Json& id : args.value("idea", Json::array())) {
    WB_TRY(context.log("idea_recorded",
                       {{"idea", id}, {"entry", nullptr}, {"variant", answer["variant"]}}));
  }
  WB_TRY_ASSIGN(const auto next, proposals_stop_reason(context));
  if (next) answer["stop_reason"] = *next;
  return answer;
}

namespace {

Result<Json> propose_body(const Call& call) {
  WB_TRY(need_baseline(call.context, "propose"));
  return propose_variant(call.context, call.args);
}

Result<Json> propose_sample(FakeEngine& fake, const Json& args) {
  const bool fails = fake.course() == Course::failing;
  const std::string parent = args.value("parent", fake.incumbent);
  if (!args.contains("files") && !args.contains("edits") && !args.contains("configuration")) {
    return Error{ErrorCode::usage, "propose", "a variant", "nothing of it is new", ""};
  }
  const std::string label =
      fmt::format("{}@{:08x}", args.value("name", parent.substr(0, parent.find('@'))),
                  0x10000000 + fake.labels.size());
  const bool stopped = fake.is_stopped();
  if (!stopped) fake.labels.insert(label);
  return Json{{"pass", !stopped && !fails},
              {"outcome", stopped ? "stopped"
                          : fails ? "compile"
                                  : "pass"},
              {"message", "dry run"},
              {"variant", stopped ? "" : label},
              {"variant_id", ""},
              {"parent", parent},
              {"cached", false},
              {"worst_share", nullptr},
              {"problems", Json::array()},
              {"compiler_output", ""},
              {"output_ref", nullptr},
              {"spill_bytes", 0},
              {"stop_reason", fake.stop_reason()}};
}

}  // namespace

const Verb& verb_propose() {
  static const Verb verb{
      .spec =
          {.name = "propose",
           .doc = "store, compile and check a new variant, by files or by edits of a parent; "
                  "nothing is timed",
           .session = SessionNeed::writes,
           .arguments =
               {id_argument("parent",
                            "kernel or label it derives from, one that failed too "
                            "(default: the incumbent)"),
                edits_argument("edits",
                               "replacements {path, search, replace}; search must stand "
                               "in the parent's file exactly once"),
                files_argument("files", "whole files to replace or add: path -> content"),
                configuration_argument("tunable parameters, NAME=VALUE; the rest as in the parent"),
                string_argument("name", "name of the new variant"),
                ids_argument("idea", "ids of the ideas that it tries (`ideas` lists them)")},
           .result = {{"pass", "bool: it takes a problem of the suite and every verdict passed"},
                      {"outcome", "string: pass, stopped, or why it is invalid"},
                      {"message", "string: what happened"},
                      {"variant", "string: label, for iterate, race and as a parent"},
                      {"variant_id", "string: hash of its sources"},
                      {"parent", "string: what it derives from"},
                      {"cached", "bool: nothing was compiled"},
                      {"worst_share", "real or null: the largest share of the error budget"},
                      {"problems", "list: per problem outcome, message and worst_share"},
                      {"compiler_output", "string: the compiler's words"},
                      {"output_ref", "string or null: for read_ref, the whole of them"},
                      {"subject_output", "string: what the variant printed before it failed"},
                      {"subject_output_ref", "string or null: for read_ref, the whole of that"},
                      {"spill_bytes", "int: registers spilled, as ptxas says (bytes)"},
                      {"stop_reason", "string or null: why the session should end now"}},
           .is_long = true},
      .body = propose_body,
      .sample = propose_sample};
  return verb;
}

}  // namespace wb::verbs
