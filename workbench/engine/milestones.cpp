// SPDX-License-Identifier: MIT
#include "engine/milestones.hpp"

#include <array>

#include "core/json.hpp"
#include "engine/context.hpp"
#include "engine/spending.hpp"

namespace wb::engine {
namespace {

constexpr std::array k_budget_percents{50, 80};

void tell(const Context& context, std::string_view event, Json details) {
  details["event"] = event;
  details["session"] = context.session ? context.session->folder().string() : "";
  details["best_speedup"] = context.best_speedup ? Json(*context.best_speedup) : Json(nullptr);
  context.services.on_milestone(details);
}

}  // namespace

Result<void> report_iteration_milestone(Context& context, const Json& closed,
                                        std::string_view variant) {
  if (!context.services.on_milestone) return {};
  const std::string outcome = closed.value("outcome", "");
  const Json details{{"iteration", closed.value("iteration", Json())},
                     {"variant", variant},
                     {"speedup", closed.value("speedup", Json())},
                     {"invalidity", closed.value("invalidity", Json())},
                     {"message", closed.value("message", "")}};
  if (outcome == "win") tell(context, "win", details);
  if (outcome == "invalid") tell(context, "failure", details);
  WB_TRY_ASSIGN(const session::SessionView* view,
                context.session->current(session::FoldDepth::brief));
  const double share = budget_share(*view, context.settings.budget, context.elapsed_s());
  for (const int percent : k_budget_percents) {
    const double limit = percent / 100.0;
    if (share >= limit && context.reported_budget_share < limit) {
      tell(context, "budget", {{"percent", percent}});
    }
  }
  context.reported_budget_share = std::max(context.reported_budget_share, share);
  return {};
}

void report_end_milestone(Context& context, std::string_view how, std::string_view reason) {
  if (context.services.on_milestone) tell(context, "end", {{"how", how}, {"reason", reason}});
}

}  // namespace wb::engine
