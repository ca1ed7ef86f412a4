// SPDX-License-Identifier: MIT
#include "verbs/suites_of.hpp"

#include <algorithm>

#include "core/json.hpp"
#include "engine/context.hpp"
#include "engine/services.hpp"
#include "verbs/suite_selection.hpp"

namespace wb::verbs {

using engine::Context;
using engine::Services;
using problem::Problem;
using problem::Suite;
using problem::SuiteProblem;

Result<std::map<std::string, Suite>> load_all_suites(const Services& services) {
  std::map<std::string, Suite> all;
  bool found = false;
  for (const fs::path& root : services.search_path.roots) {
    const fs::path path = root / "kernels" / "suites.json";
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    found = true;
    WB_TRY_ASSIGN(auto suites, problem::load_suites(services.file_system, path));
    all.merge(suites);  // the first root wins
  }
  if (!found) {
    return Error{ErrorCode::not_found, "find", "kernels/suites.json",
                 "no folder of the search path has it", "run in a checkout, or give --path DIR"};
  }
  return all;
}

Result<Suite> suite_from_arguments(Context& context, const Json& args) {
  Suite suite;
  if (args.contains("suite")) {
    WB_TRY_ASSIGN(const auto all, load_all_suites(context.services));
    WB_TRY_ASSIGN(suite, select_problems(all, args["suite"].get<std::string>()));
  }
  if (args.contains("problem")) {
    WB_TRY_ASSIGN(auto problems, problem::parse_problems(args["problem"].get<std::string>()));
    for (problem::Problem& problem : problems)
      suite.problems.push_back({std::move(problem), 1.0, false});
    suite.name += suite.name.empty() ? "problem" : "+problems";
  }
  if (suite.problems.empty()) {
    return Error{
        ErrorCode::usage, "find", "the problems", "neither a suite nor a problem was named",
        "give --suite NAME (see `sdpa-wb suites`) or --problem 'B=1 Hq=8 Sq=512 D=64 f32'"};
  }
  // A problem in two suites counts once.
  std::vector<SuiteProblem> unique;
  for (SuiteProblem& member : suite.problems) {
    const bool known = std::any_of(unique.begin(), unique.end(), [&](const SuiteProblem& other) {
      return to_text(other.problem) == to_text(member.problem);
    });
    if (!known) unique.push_back(std::move(member));
  }
  suite.problems = std::move(unique);
  return suite;
}

Result<Suite> problems_of(Context& context, const Json& args) {
  if (context.session && !args.contains("suite") && !args.contains("problem")) {
    return context.settings.suite;
  }
  return suite_from_arguments(context, args);
}

std::vector<Problem> plain_problems(const Suite& suite) {
  std::vector<Problem> problems;
  for (const problem::SuiteProblem& member : suite.problems) {
    if (!member.held_out) problems.push_back(member.problem);
  }
  return problems;
}

}  // namespace wb::verbs
