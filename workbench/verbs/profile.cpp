// SPDX-License-Identifier: MIT
// `profile`: one call of a variant under a profiler. The result is evidence in the log, without
// timing or verdict.
#include "verbs/profile.hpp"
#include "verbs/bare_name.hpp"

#include <fmt/format.h>

#include <array>

#include "core/json.hpp"
#include "engine/building.hpp"
#include "engine/call.hpp"
#include "engine/evidence.hpp"
#include "engine/subject.hpp"
#include "engine/verb.hpp"
#include "verbs/arguments.hpp"
#include "verbs/exit_code.hpp"
#include "verbs/suites_of.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Context;
using engine::Subject;
using problem::Problem;

namespace {

/// Metrics shown from ncu's details page, in reading order; the record has all.
constexpr std::array k_shown_metrics = {"Compute (SM) Throughput",
                                        "Memory Throughput",
                                        "DRAM Throughput",
                                        "L2 Cache Throughput",
                                        "L1/TEX Cache Throughput",
                                        "L2 Hit Rate",
                                        "Registers Per Thread",
                                        "Dynamic Shared Memory Per Block",
                                        "Static Shared Memory Per Block",
                                        "Theoretical Occupancy",
                                        "Achieved Occupancy",
                                        "Executed Ipc Active",
                                        "Issued Warp Per Scheduler",
                                        "Eligible Warps Per Scheduler",
                                        "Warp Cycles Per Issued Instruction"};

/// The suitable profiler: ncu, or the one inside an interpreter.
std::string_view profiler_of(const Subject& subject) {
  const bool is_python = subject.variant.manifest.backend == variant::Backend::python;
  return is_python ? protocol::k_kernel_names_tool : "ncu";
}

std::string metric_text(const Json& metric) {
  const Json& value = metric["value"];
  const std::string number =
      value.is_number() ? fmt::format("{:.6g}", value.get<double>()) : value.get<std::string>();
  const std::string unit = metric.value("unit", "");
  return unit.empty() ? number : number + " " + unit;
}

std::string launch_text(const Json& launch) {
  const Json metrics = launch.value("metrics", Json::object());  // absent for torch.profiler
  std::string text = fmt::format("  {}  grid {}  block {}\n", launch.value("kernel", ""),
                                 launch.value("grid", ""), launch.value("block", ""));
  if (const auto share = launch.find("share_frac"); share != launch.end()) {
    text += fmt::format("    {:<36} {:.0f} %\n", "Share of the kernels' time",
                        100 * share->get<double>());
  }
  std::size_t shown = 0;
  for (const char* name : k_shown_metrics) {
    const auto found = metrics.find(name);
    if (found == metrics.end()) continue;
    text += fmt::format("    {:<36} {}\n", name, metric_text(*found));
    ++shown;
  }
  if (metrics.size() > shown) {
    text += fmt::format("    {} more metrics are in the record (--json)\n", metrics.size() - shown);
  }
  return text;
}

}  // namespace

Json profile_row(const Problem& problem, const Outcome<protocol::ProfileResult>& result) {
  Json row{{"problem", label(problem)}, {"outcome", "taken"}, {"message", ""}};
  if (!result) {
    row["outcome"] = to_string(result.error().invalidity);
    row["message"] = result.error().message;
  } else if (!result->available) {
    row["outcome"] = "not_available";
    row["message"] = result->reason;
  }
  return row;
}

Result<Json> profile_variant(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const Json asked, with_best_variant(context, args, "variant"));
  WB_TRY_ASSIGN(const Subject subject, subject_from_arguments(context, asked, "variant"));
  WB_TRY_ASSIGN(const problem::Suite suite, problems_of(context, args));
  Json rows = Json::array();
  bool taken = true;
  std::string text = subject.label + "\n";
  for (const Problem& problem : plain_problems(suite)) {
    WB_TRY_ASSIGN(const auto result, inspect_call(context, subject, problem, profiler_of(subject)));
    Json row = profile_row(problem, result);
    text += fmt::format("{}  {}{}\n", row["problem"].get<std::string>(),
                        row["outcome"].get<std::string>(),
                        row["message"].empty() ? "" : ": " + row["message"].get<std::string>());
    row["launches"] = Json::array();
    row["csv"] = nullptr;
    if (result && result->available) {
      row["launches"] = result->records.value("launches", Json::array());
      if (result->records.contains("csv")) row["csv"] = result->records["csv"];
      for (const Json& launch : row["launches"]) text += launch_text(launch);
    }
    taken = taken && row["outcome"] == "taken";
    rows.push_back(std::move(row));
  }
  return Json{{"taken", taken},
              {"variant", subject.label},
              {"problems", std::move(rows)},
              {"text", std::move(text)}};
}

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
