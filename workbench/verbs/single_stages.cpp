// SPDX-License-Identifier: MIT
#include "verbs/single_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "device/cpu_limits.hpp"
#include "engine/evidence.hpp"
#include "engine/parts.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "engine/verdicts.hpp"
#include "engine/worker.hpp"
#include "outcome/outcome.hpp"
#include "session/session.hpp"
#include "variant/variant.hpp"
#include "verbs/suite_selection.hpp"

namespace wb::verbs {

using engine::Context;
using engine::effort_plan;
using engine::EffortPlan;
using engine::Judgement;
using engine::plan_and_regime;
using engine::Refusal;
using engine::Subject;
using engine::TimingRequest;
using engine::VerdictExtent;
using problem::Problem;

Result<std::vector<Judgement>> judge_or_fail(Context& context, const Subject& subject,
                                             const std::vector<Problem>& problems,
                                             Refusal refusal) {
  WB_TRY_ASSIGN(auto judgements,
                judge_subject(context, subject, problems, VerdictExtent::whole, nullptr, refusal));
  if (auto failure = first_failure(judgements)) {
    const ErrorCode code = *failure->invalidity == Invalidity::environment
                               ? ErrorCode::environment
                               : ErrorCode::wrong_result;
    return Error{code, "time", subject.label,
                 fmt::format("its verdict on {} is {}: {}", label(*failure),
                             to_string(*failure->invalidity), failure->message),
                 "no speed without a verdict; see `sdpa-wb check`"};
  }
  return judgements;
}

Result<std::vector<Judgement>> judge_or_fail(Context& context, const Subject& subject,
                                             const std::vector<Problem>& problems) {
  return judge_or_fail(context, subject, problems, Refusal::fails);
}

Json notes_on_machine(const Context& context) {
  Json notes = Json::array();
  if (!worker_of(context).hello || !worker_of(context).hello->cpu_limits) return notes;
  const device::CpuLimits& limits = *worker_of(context).hello->cpu_limits;
  if (device::is_short(limits)) {
    notes.push_back("a CPU quota limits this machine to " + device::quota_text(limits) +
                    ": turns that it stops do not count");
  }
  return notes;
}

Result<TimingRequest> request_for(const Json& args, std::vector<Problem> problems) {
  TimingRequest request;
  WB_TRY_ASSIGN(const auto how, plan_and_regime(args));
  const EffortPlan effort = effort_plan(args.value("effort", "standard"));
  request.effort = effort.confirmation;
  request.plan = effort.plan;
  request.plans = {how.first};
  request.regime = how.second;
  request.problems = std::move(problems);
  request.phase = "standalone";
  return request;
}

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

/// True when an iteration of the session built these sources of its own variant.
bool was_tried(const session::SessionView& view, const std::string& variant_id) {
  return std::any_of(view.iterations.begin(), view.iterations.end(), [&](const auto& iteration) {
    return iteration.is_closed() && text_of(iteration.opened.payload, "variant_id") == variant_id;
  });
}

}  // namespace

Result<Json> with_best_variant(engine::Context& context, Json args, const char* key) {
  if (session_of(context) == nullptr || args.contains("configuration")) return args;
  const std::string name = args[key].get<std::string>();
  if (name.find('@') != std::string::npos) return args;
  WB_TRY_ASSIGN(const session::SessionView* view,
                session_of(context)->current(session::FoldDepth::full));
  const outcome::Outcome made = outcome::outcome_of(*view);
  const outcome::VariantOutcome* best = made.find(name);
  if (best == nullptr || !best->confirmed || best->built == 0) return args;
  const auto on_disk = catalogue_of(context).find(name);
  if (on_disk && !was_tried(*view, on_disk->id)) return args;
  args[key] = best->label;
  return args;
}

}  // namespace wb::verbs
