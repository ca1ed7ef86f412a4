// SPDX-License-Identifier: MIT
// `sanitize`: one call of a CUDA variant under compute-sanitizer.
#include <fmt/format.h>

#include <algorithm>

#include "core/ascii.hpp"
#include "core/json.hpp"
#include "engine/building.hpp"
#include "engine/call.hpp"
#include "engine/evidence.hpp"
#include "engine/subject.hpp"
#include "engine/verb.hpp"
#include "verbs/arguments.hpp"
#include "verbs/bare_name.hpp"
#include "verbs/exit_code.hpp"
#include "verbs/profile.hpp"
#include "verbs/suites_of.hpp"
#include "verbs/text.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Context;
using engine::edge_problems;
using engine::Subject;
using problem::Problem;

namespace {

Result<std::vector<std::string>> tools_of(const Json& args) {
  std::vector<std::string> tools;
  const std::string asked = args.value("tools", "memcheck,racecheck");
  for (const std::string_view part : ascii::parts(asked, ',')) {
    const std::string word(part);
    const auto& known = protocol::k_inspection_tools;
    if (word == "ncu" || std::find(known.begin(), known.end(), word) == known.end()) {
      return Error{ErrorCode::usage, "read the tools", word, "it is no tool of compute-sanitizer",
                   "choose among memcheck, racecheck, initcheck and synccheck"};
    }
    tools.push_back(word);
  }
  if (!tools.empty()) return tools;
  return Error{ErrorCode::usage, "read the tools", "--tools", "it names none",
               "choose among memcheck, racecheck, initcheck and synccheck"};
}

Result<Json> sanitize_body(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const std::vector<std::string> tools, tools_of(args));
  WB_TRY_ASSIGN(const Json asked, with_best_variant(context, args, "variant"));
  WB_TRY_ASSIGN(const Subject subject, subject_from_arguments(context, asked, "variant"));
  WB_TRY_ASSIGN(const problem::Suite suite, problems_of(context, args));
  // The tools slow a kernel down a hundredfold, and wrong accesses are at the edges.
  const std::vector<Problem> problems = args.contains("problem")
                                            ? plain_problems(suite)
                                            : edge_problems(subject.variant.manifest, suite);
  Json rows = Json::array();
  bool pass = !problems.empty();
  for (const std::string& tool : tools) {
    for (const Problem& problem : problems) {
      WB_TRY_ASSIGN(const auto result, inspect_call(context, subject, problem, tool));
      Json row = profile_row(problem, result);
      row["tool"] = tool;
      row["errors"] = row["warnings"] = nullptr;
      row["messages"] = Json::array();
      if (result && result->available) {
        const Json& records = result->records;
        for (const char* key : {"errors", "warnings", "messages"}) {
          row[key] = records.value(key, Json());
        }
        row["outcome"] = records.value("clean", false) ? "clean" : "found";
        const Json& messages = row["messages"];
        if (!messages.empty()) row["message"] = messages.front();
      }
      pass = pass && row["outcome"] == "clean";
      rows.push_back(std::move(row));
    }
  }
  return Json{{"pass", pass}, {"variant", subject.label}, {"runs", std::move(rows)}};
}

std::string sanitize_text(const Json& answer) {
  const bool found = std::any_of(answer["runs"].begin(), answer["runs"].end(), [](const Json& run) {
    return run.value("outcome", "") == "found";
  });
  return fmt::format("{}: {}\n", cell(answer["variant"]),
                     answer["pass"] ? "clean"
                     : found        ? "NOT CLEAN"
                                    : "not examined") +
         rows_of(answer["runs"], {"tool", "problem", "outcome", "errors", "warnings", "message"});
}

ExitCode sanitize_exit_code(const Json& answer) {
  return answer.value("pass", false) ? ExitCode::ok : exit_code_of_rows(answer["runs"]);
}

}  // namespace

const Verb& verb_sanitize() {
  static const Verb verb{
      .spec = {.name = "sanitize",
               .doc =
                   "one call of a CUDA variant under compute-sanitizer: wrong accesses and races",
               .session = SessionNeed::optional,
               .arguments = {variant_argument(), suite_argument(),
                             string_argument("problem",
                                             "small ones; default: the edge shapes of the suite"),
                             configuration_argument(),
                             string_argument("tools",
                                             "of memcheck, racecheck, initcheck and synccheck, "
                                             "with commas between (default memcheck,racecheck)")},
               .result = {{"pass", "bool: every run was clean"},
                          {"variant", "string: label"},
                          {"runs",
                           "list: per tool and problem outcome (clean, found, not_available or an "
                           "invalidity), errors, warnings, messages"}},
               .is_long = true},
      .body = [](const Call& call) { return sanitize_body(call.context, call.args); },
      .text = sanitize_text,
      .exit_code = sanitize_exit_code};
  return verb;
}

}  // namespace wb::verbs
