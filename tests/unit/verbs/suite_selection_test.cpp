// SPDX-License-Identifier: MIT
#include "verbs/suite_selection.hpp"

#include "support/catch.hpp"

namespace wb {

using problem::SuiteProblem;

namespace {

SuiteProblem named_problem(const std::string& name, bool held_out = false) {
  SuiteProblem entry;
  entry.problem.name = name;
  entry.held_out = held_out;
  return entry;
}

const std::map<std::string, problem::Suite>& suites() {
  static const std::map<std::string, problem::Suite> all{
      {"prefill",
       {"prefill",
        "long queries",
        {named_problem("fa_D64_full"), named_problem("fa_D64_causal"),
         named_problem("fa_D128_full"), named_problem("secret", true)}}},
      {"short", {"short", "small ones", {named_problem("small_c"), named_problem("small_f")}}}};
  return all;
}

std::vector<std::string> names(const std::string& words) {
  const auto suite = verbs::select_problems(suites(), words);
  INFO(words);
  REQUIRE(suite.ok());
  CHECK(suite->name == words);
  std::vector<std::string> result;
  for (const SuiteProblem& entry : suite->problems) result.push_back(entry.problem.name);
  return result;
}

std::string refusal(const std::string& words) {
  const auto suite = verbs::select_problems(suites(), words);
  INFO(words);
  REQUIRE_FALSE(suite.ok());
  CHECK(suite.error().code == ErrorCode::not_found);
  return suite.error().message();
}

using Names = std::vector<std::string>;

TEST_CASE("suites, several and parts of them") {
  CHECK(names("short") == Names{"small_c", "small_f"});
  CHECK(names("short:*_f") == Names{"small_f"});
  CHECK(names("short+short:small_c") == Names{"small_c", "small_f", "small_c"});
  // In the suite's order, each once; what is held out stays, and stays so.
  CHECK(names("prefill:fa_D64_*") == Names{"fa_D64_full", "fa_D64_causal", "secret"});
  CHECK(names("prefill:fa_D128_full,*_full") == Names{"fa_D64_full", "fa_D128_full", "secret"});
  CHECK(verbs::select_problems(suites(), "prefill:fa_D128_full")->problems.back().held_out);
}

TEST_CASE("a word that names nothing is refused, and held-out problems are not told") {
  CHECK_THAT(refusal("shrt"), Catch::Contains("did you mean short?"));
  CHECK_THAT(refusal("short+"), Catch::Contains("no such suite"));
  CHECK_THAT(refusal(""), Catch::Contains("no such suite"));
  CHECK_THAT(refusal("short:"), Catch::Contains("no problem of it has this name"));
  CHECK_THAT(refusal("prefill:fa_D64_*,fa_D129_full"), Catch::Contains("fa_D128_full"));
  const std::string unknown = refusal("prefill:zzzzzz");
  CHECK_THAT(unknown, Catch::Contains("fa_D64_causal"));
  CHECK_THAT(unknown, !Catch::Contains("secret"));
  CHECK_THAT(refusal("prefill:secret"), Catch::Contains("no problem of it has this name"));
}

}  // namespace
}  // namespace wb
