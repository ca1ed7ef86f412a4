// SPDX-License-Identifier: MIT
// profile and sanitize: one call of a variant under NVIDIA's tools. What they say is evidence in
// the log; it times nothing and passes no verdict.
#include <fmt/format.h>

#include <algorithm>

#include "core/ascii.hpp"
#include "engine/building.hpp"
#include "engine/timing.hpp"
#include "engine/verb_bodies.hpp"

namespace wb::engine {

using problem::Problem;

namespace {

/// Of ncu's details page, in the order in which they are read; the rest is in the record.
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

/// A hung profiler holds a session up no longer than this.
constexpr std::int64_t k_kernel_names_deadline_ms = 60'000;

Outcome<protocol::ProfileResult> ask(Context& context, std::int64_t handle, const Problem& problem,
                                     std::string_view tool) {
  auto worker = context.need_worker();
  if (!worker) return worker.error();
  protocol::ProfileArgs args;
  args.handle = handle;
  args.problem = problem;
  args.tool = std::string(tool);
  if (tool == protocol::k_kernel_names_tool) args.deadline_ms = k_kernel_names_deadline_ms;
  return (*worker)->profile(args);
}

/// Every answer is an event.
Result<void> log_look(Context& context, const Subject& subject, const Problem& problem,
                      std::string_view tool, const Outcome<protocol::ProfileResult>& result) {
  const bool has_result = static_cast<bool>(result);
  WB_TRY(context.log("profile_taken",
                     {{"iteration", context.iteration_or_null()},
                      {"subject", subject.label},
                      {"problem", to_text(problem)},
                      {"tool", tool},
                      {"available", has_result && result->available},
                      {"reason", has_result ? result->reason : result.error().message},
                      {"records", has_result ? result->records : Json::object()}}));
  return {};
}

/// What the tool said of one problem, in a process of its own.
Result<Outcome<protocol::ProfileResult>> look(Context& context, const Subject& subject,
                                              const Problem& problem, std::string_view tool) {
  WB_TRY(context.check_stop());
  SubjectProcesses processes(context);
  const auto load_and_ask = [&]() -> Outcome<protocol::ProfileResult> {
    auto worker = context.need_worker();
    if (!worker) return worker.error();
    auto loaded = (*worker)->load(subject.variant, subject.artifact);
    if (!loaded) return loaded.error();
    processes.handles.emplace_back(loaded->handle);
    return ask(context, loaded->handle, problem, tool);
  };
  Outcome<protocol::ProfileResult> result = load_and_ask();
  WB_TRY(log_look(context, subject, problem, tool, result));
  return result;
}

/// The one that can look at it: ncu, or what looks from inside an interpreter.
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
  const Json metrics = launch.value("metrics", Json::object());  // torch.profiler has none
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

Json row_of(const Problem& problem, const Outcome<protocol::ProfileResult>& result) {
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

}  // namespace

Result<void> log_kernel_names(Context& context, const Subject& subject,
                              const std::vector<Problem>& problems, std::int64_t handle) {
  const bool on_gpu = context.device && context.device->backend == "cuda";
  if (!on_gpu || subject.variant.manifest.backend != variant::Backend::python) return {};
  for (const Problem& problem : problems) {
    if (not_supported(subject, problem)) continue;
    WB_TRY(context.check_stop());
    const auto result = ask(context, handle, problem, protocol::k_kernel_names_tool);
    WB_TRY(log_look(context, subject, problem, protocol::k_kernel_names_tool, result));
    if (!result) break;  // its process is gone
  }
  return {};
}

Result<Json> verb_profile(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const Subject subject, subject_from_arguments(context, args, "variant"));
  WB_TRY_ASSIGN(const problem::Suite suite, problems_of(context, args));
  Json rows = Json::array();
  bool taken = true;
  std::string text = subject.label + "\n";
  for (const Problem& problem : plain_problems(suite)) {
    WB_TRY_ASSIGN(const auto result, look(context, subject, problem, profiler_of(subject)));
    Json row = row_of(problem, result);
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

Result<Json> verb_sanitize(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const std::vector<std::string> tools, tools_of(args));
  WB_TRY_ASSIGN(const Subject subject, subject_from_arguments(context, args, "variant"));
  WB_TRY_ASSIGN(const problem::Suite suite, problems_of(context, args));
  // The tools slow a kernel down a hundredfold, and wrong accesses are at the edges.
  const std::vector<Problem> problems = args.contains("problem")
                                            ? plain_problems(suite)
                                            : edge_problems(subject.variant.manifest, suite);
  Json rows = Json::array();
  bool pass = !problems.empty();
  for (const std::string& tool : tools) {
    for (const Problem& problem : problems) {
      WB_TRY_ASSIGN(const auto result, look(context, subject, problem, tool));
      Json row = row_of(problem, result);
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

}  // namespace wb::engine
