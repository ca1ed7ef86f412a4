// SPDX-License-Identifier: MIT
// `run`: a session that runs a playbook. The body drives a Lua host and is in the module playbook.
#include "core/json.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/arguments.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

namespace {

/// A playbook may return a final message.
std::string run_text(const Json& answer) {
  const Json given = answer.value("result", Json());
  const bool speaks = given.is_object() && given.contains("last_words");
  return (answer.contains("summary") ? cell(answer["summary"]) + "\n" : std::string()) +
         cell(answer["session"]) + "\n" +
         (speaks ? cell(given["last_words"]) + "\n" : std::string());
}

}  // namespace

const Verb& verb_run() {
  static const Verb verb{
      .spec = {.name = "run",
               .doc = "open a session and run a playbook in it",
               .session = SessionNeed::creates,
               .arguments =
                   {id_argument("playbook", "a playbook's name or file").required().positional(),
                    suite_argument(),
                    problem_argument(),
                    start_argument(),
                    after_argument(),
                    backend_argument(),
                    rivals_argument(),
                    title_argument(),
                    repo_argument(),
                    branch_argument(),
                    effort_argument(),
                    budget_evaluations_argument(),
                    budget_wall_argument(),
                    budget_usd_argument(),
                    planned_minutes_argument(),
                    list_prices_argument(),
                    goal_argument(),
                    integer_argument("seed", "of the playbook's random source")
                        .between(0, 4294967295.0),
                    files_argument("arguments", "the playbook's own arguments, NAME=VALUE"),
                    flag_argument("resume_or_start",
                                  "go on with --session DIR when it is there, else start it")},
               .result = {{"session", "string: the session's folder"},
                          {"result", "any: what the playbook returned"}},
               .is_long = true,
               .in_playbook = false,
               .drives = true},
      .text = run_text};
  return verb;
}

}  // namespace wb::verbs
