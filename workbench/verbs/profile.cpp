// SPDX-License-Identifier: MIT
// `profile`: one call of a variant under a profiler. The result is evidence in the log, without
// timing or verdict.
#include "core/json.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/arguments.hpp"
#include "verbs/single_stages.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

namespace {

ExitCode profile_exit_code(const Json& answer) {
  return answer.value("taken", false) ? ExitCode::ok : exit_code_of_rows(answer["problems"]);
}

}  // namespace

const Verb& verb_profile() {
  static const Verb verb{
      .spec = {.name = "profile",
               .doc =
                   "one call on a GPU under a profiler (a CUDA variant: ncu, what its kernels did; "
                   "Python: torch.profiler, which kernels it launched), never a timed figure",
               .session = SessionNeed::optional,
               .arguments = {variant_argument(), suite_argument(), problem_argument(),
                             configuration_argument()},
               .result = {{"taken", "bool: on every problem"},
                          {"variant", "string: label"},
                          {"problems",
                           "list: per problem outcome, message, launches (kernel, grid, block, "
                           "metrics with value and unit, share_frac of the kernels' time by "
                           "torch.profiler) and csv (ncu's report, null when it is large or none)"},
                          {"text", "string: the same for people"}},
               .is_long = true},
      .body = [](const Call& call) { return profile_variant(call.context, call.args); },
      .exit_code = profile_exit_code};
  return verb;
}

}  // namespace wb::verbs
