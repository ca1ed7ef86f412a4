// SPDX-License-Identifier: MIT
// `check`: judges a variant without timing it.
#include <fmt/format.h>

#include <cmath>

#include "core/json.hpp"
#include "engine/subject.hpp"
#include "engine/verdicts.hpp"
#include "variant/edge_draws.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/arguments.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/suite_selection.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Context;
using engine::Judgement;
using engine::Refusal;
using engine::Subject;
using engine::VerdictExtent;
using problem::Suite;

namespace {

Result<Json> check_body(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const Subject subject, subject_from_arguments(context, args, "variant"));
  WB_TRY_ASSIGN(const Suite suite, problems_of(context, args));
  std::optional<std::int64_t> draws;
  if (args.contains("draws")) draws = args["draws"].get<std::int64_t>();
  WB_TRY_ASSIGN(const auto judgements,
                judge_subject(context, subject, plain_problems(suite), VerdictExtent::whole,
                              nullptr, Refusal::fails,
                              drawn_runs(context, subject, suite, VerdictExtent::whole, draws)));
  Json rows = Json::array();
  bool any = false;
  for (const Judgement& judgement : judgements) {
    const std::string outcome = !judgement.supported ? "not_supported"
                                : judgement.invalidity
                                    ? std::string(to_string(*judgement.invalidity))
                                    : "pass";
    any = any || judgement.supported;
    rows.push_back(
        {{"problem", label(judgement)},
         {"outcome", outcome},
         {"message", judgement.message},
         {"worst_share",
          std::isfinite(judgement.worst_share) ? Json(judgement.worst_share) : Json(nullptr)}});
  }
  const auto failed = first_failure(judgements);
  Json answer{{"pass", any && !failed}, {"variant", subject.label}, {"problems", std::move(rows)}};
  WB_TRY(add_subject_output(context, failed ? failed->output : "", answer));
  return answer;
}

std::string check_text(const Json& answer) {
  return fmt::format("{}: {}\n", cell(answer["variant"]), answer["pass"] ? "pass" : "FAIL") +
         rows_of(answer["problems"], {"problem", "outcome", "worst_share", "message"});
}

ExitCode check_exit_code(const Json& answer) {
  return answer.value("pass", false) ? ExitCode::ok : exit_code_of_rows(answer["problems"]);
}

Result<Json> check_sample(FakeEngine& fake, const Json& args) {
  const auto variant = args["variant"].get<std::string>();
  WB_TRY(fake.misfit(variant, Json::object()));
  return Json{{"variant", variant},
              {"problems", Json::array()},
              {"pass", fake.course() != Course::failing}};
}

}  // namespace

const Verb& verb_check() {
  static const Verb verb{
      .spec = {.name = "check",
               .doc = "build a variant and judge it against scaled dot product attention",
               .session = SessionNeed::optional,
               .arguments = {variant_argument(), suite_argument(), problem_argument(),
                             configuration_argument(),
                             integer_argument("draws",
                                              "drawn runs, of everything that the manifest claims "
                                              "(default 72; a Python subject on a GPU 16)")
                                 .between(1, static_cast<double>(variant::k_most_edge_draws))},
               .result = {{"pass", "bool: every supported problem passed, and every drawn run"},
                          {"variant", "string: label"},
                          {"problems",
                           "list: per problem, and once for the drawn runs, outcome, message and "
                           "the worst share of the error budget"},
                          {"subject_output", "string: what the variant printed before it failed"},
                          {"subject_output_ref",
                           "string or null: for read_ref, the whole of that"}},
               .is_long = true},
      .body = [](const Call& call) { return check_body(call.context, call.args); },
      .text = check_text,
      .exit_code = check_exit_code,
      .sample = check_sample};
  return verb;
}

}  // namespace wb::verbs
