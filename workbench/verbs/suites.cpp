// SPDX-License-Identifier: MIT
// `suites`: lists the available problem suites.
#include "core/json.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/arguments.hpp"
#include "verbs/suite_selection.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Services;
using problem::Suite;
using problem::SuiteProblem;

namespace {

Result<Json> suites_body(const Services& services, const Json& args) {
  WB_TRY_ASSIGN(const auto all, load_all_suites(services));
  Json rows = Json::array();
  const auto add_row = [&](const Suite& suite) -> Json& {
    rows.push_back(
        {{"name", suite.name}, {"about", suite.about}, {"count", suite.problems.size()}});
    return rows.back();
  };
  if (!args.contains("suite")) {
    for (const auto& entry : all) add_row(entry.second);
    return Json{{"suites", std::move(rows)}};
  }
  WB_TRY_ASSIGN(const Suite suite, select_problems(all, args["suite"].get<std::string>()));
  Json& problems = add_row(suite)["problems"] = Json::array();
  for (const SuiteProblem& member : suite.problems) {
    if (member.held_out) continue;
    problems.push_back({{"name", member.problem.name},
                        {"problem", to_text(member.problem)},
                        {"weight", member.weight}});
  }
  return Json{{"suites", std::move(rows)}};
}

std::string suites_text(const Json& answer) {
  if (answer["suites"].size() == 1 && answer["suites"][0].contains("problems")) {
    return rows_of(answer["suites"][0]["problems"], {"name", "problem"});
  }
  return rows_of(answer["suites"], {"name", "count", "about"});
}

}  // namespace

const Verb& verb_suites() {
  static const Verb verb{
      .spec =
          {.name = "suites",
           .doc = "the problem suites",
           .arguments = {string_argument("suite", "only this one, with its problems").positional()},
           .result = {{"suites", "list: name, about, problems"}},
           .reads_only = true},
      .body = [](const Call& call) { return suites_body(call.services, call.args); },
      .text = suites_text};
  return verb;
}

}  // namespace wb::verbs
