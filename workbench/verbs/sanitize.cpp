// SPDX-License-Identifier: MIT
// `sanitize`: one call of a CUDA variant under compute-sanitizer.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/ascii.hpp"
#include "core/json.hpp"
#include "engine/evidence.hpp"
#include "engine/subject.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/arguments.hpp"
#include "verbs/single_stages.hpp"
#include "verbs/suite_selection.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Context;
using engine::Subject;
using problem::Causal;
using problem::Layout;
using problem::MaskKind;
using problem::Problem;

namespace {

/// Small odd-shaped problems beside the suite's: S = 1, odd sizes, Sq != Skv, GQA, causal kinds,
/// layouts and masks, as far as the manifest claims them. A verdict uses drawn runs instead.
std::vector<Problem> edge_problems(const variant::Manifest& manifest, const problem::Suite& suite) {
  struct Shape {
    std::int64_t hq, hkv, sq, skv;
    Causal causal;
    MaskKind mask;
    Layout layout;
  };
  static constexpr Shape k_shapes[] = {
      {2, 2, 1, 67, Causal::none, MaskKind::none, Layout::bhsd},
      {4, 2, 67, 67, Causal::top_left, MaskKind::none, Layout::bhsd},
      {2, 2, 130, 67, Causal::bottom_right, MaskKind::none, Layout::bhsd},  // rows with no key
      {2, 1, 33, 129, Causal::none, MaskKind::boolean, Layout::bshd},
      {2, 2, 65, 65, Causal::none, MaskKind::additive, Layout::bhsd},
  };
  std::vector<Problem> problems;
  std::set<std::string> seen;
  for (const problem::SuiteProblem& member : suite.problems) {
    for (const Shape& shape : k_shapes) {
      Problem problem = member.problem;
      problem.name.clear();
      problem.scale.reset();
      problem.B = 2;
      problem.Hq = shape.hq;
      problem.Hkv = shape.hkv;
      problem.Sq = shape.sq;
      problem.Skv = shape.skv;
      problem.causal = shape.causal;
      problem.mask = shape.mask;
      problem.keep_frac = shape.mask == MaskKind::boolean ? 0.7 : 1.0;
      problem.layout = shape.layout;
      if (variant::unsupported_reason(manifest, problem)) {
        // Use the plain form of the same sizes, so that odd sizes are always judged.
        problem.Hkv = problem.Hq;
        problem.causal = Causal::none;
        problem.mask = MaskKind::none;
        problem.keep_frac = 1.0;
        problem.layout = member.problem.layout;
      }
      if (variant::unsupported_reason(manifest, problem)) continue;
      if (seen.insert(to_text(problem)).second) problems.push_back(problem);
    }
  }
  return problems;
}

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
