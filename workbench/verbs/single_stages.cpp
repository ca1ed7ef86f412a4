// SPDX-License-Identifier: MIT
#include "verbs/single_stages.hpp"

#include <fmt/format.h>

#include "core/json.hpp"
#include "device/cpu_limits.hpp"
#include "engine/context.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "engine/verdicts.hpp"
#include "engine/worker.hpp"

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

Json notes_on_machine(const Context& context) {
  Json notes = Json::array();
  if (!context.worker->hello || !context.worker->hello->cpu_limits) return notes;
  const device::CpuLimits& limits = *context.worker->hello->cpu_limits;
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

}  // namespace wb::verbs
