// SPDX-License-Identifier: MIT
// The way back: a context restored from a log, with the incumbent and the rivals built again.
#include <map>
#include <optional>
#include <utility>

#include "engine/context.hpp"

namespace wb {
namespace {

/// The problems that a rival refused in the baseline, and why. Nothing where it did not serve
/// there.
std::optional<std::map<std::string, std::string>> refusals_of(const SessionView& view,
                                                              const std::string& rival) {
  bool any_passed = false;
  std::map<std::string, std::string> refused;
  for (const IterationView& iteration : view.iterations) {
    // What was abandoned was measured again, and later the same kernel may have been a candidate.
    if (!iteration.closed || iteration.closed->payload.value("outcome", "") != "baseline") continue;
    for (const Fact& verdict : iteration.verdicts) {
      const Json& given = verdict.payload;
      if (given.value("subject", "") != rival) continue;  // it goes by its plain name
      if (given.value("pass", false)) {
        any_passed = true;
      } else if (given.value("outcome", "") == to_string(Invalidity::constraints)) {
        refused.emplace(given.value("problem", ""), given.value("message", ""));
      } else {
        return std::nullopt;  // the machine's fault too: no verdict was given after it
      }
    }
  }
  if (!any_passed) return std::nullopt;
  return refused;
}

}  // namespace

Result<void> restore_context(Context& context) {
  WB_TRY_ASSIGN(const SessionView view, context.session->view(FoldDepth::full));
  for (const Fact& fact : view.noise_floors) {
    Json figures = fact.payload;
    for (const char* key : {"problem", "plan", "subject"}) figures.erase(key);
    WB_TRY_ASSIGN(const NoiseFloor floor, noise_floor_from_json(figures));
    context.floors[{fact.payload.value("problem", ""), fact.payload.value("plan", "")}] = floor;
  }
  const auto rebuild = [&](const std::string& id) -> Result<Subject> {
    WB_TRY_ASSIGN(const auto resolved, resolve_variant(context, id));
    Outcome<Subject> subject = build_subject(context, resolved.first, resolved.second);
    if (!subject) {
      return Error{ErrorCode::environment, "build again", id, subject.error().message,
                   "was the toolchain changed? `sdpa-wb doctor` tells"};
    }
    return *std::move(subject);
  };
  // All of them, or none: a verb that goes on without a rival would say nothing of it.
  WB_TRY_ASSIGN(Subject incumbent, rebuild(view.incumbent));
  std::vector<Subject> rivals;
  for (const std::string& name : context.settings.rivals) {
    auto refused = refusals_of(view, name);
    if (!refused) continue;
    WB_TRY_ASSIGN(Subject rival, rebuild(name));
    rival.refused = *std::move(refused);
    refuse_held_out(rival, context.settings.suite);
    rival.label = name;
    rivals.push_back(std::move(rival));
  }
  context.rivals = std::move(rivals);
  context.incumbent = std::move(incumbent);
  return {};
}

}  // namespace wb
