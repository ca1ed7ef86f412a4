// SPDX-License-Identifier: MIT
// The held session's state: logged, released, and restored from its log with incumbent and rivals
// built again.
#include "engine/context.hpp"

#include <algorithm>

#include "core/json.hpp"
#include "engine/recorded.hpp"
#include "engine/spending.hpp"
#include "engine/worker.hpp"
#include "measure/figures.hpp"

namespace wb::engine {
namespace {

/// The problems that a rival refused in the baseline, with reasons. Nothing when it was not a rival
/// there.
std::optional<std::map<std::string, std::string>> refusals_of(const session::SessionView& view,
                                                              const std::string& rival) {
  bool any_passed = false;
  std::map<std::string, std::string> refused;
  for (const session::IterationView& iteration : view.iterations) {
    // An abandoned baseline was measured again, and the same kernel may have been a candidate
    // later.
    if (!iteration.closed || iteration.closed->payload.value("outcome", "") != "baseline") continue;
    for (const session::Fact& verdict : iteration.verdicts) {
      const Json& given = verdict.payload;
      if (given.value("subject", "") != rival) continue;  // a rival uses its plain name
      if (given.value("pass", false)) {
        any_passed = true;
      } else if (given.value("outcome", "") == to_string(Invalidity::constraints)) {
        refused.emplace(given.value("problem", ""), given.value("message", ""));
      } else {
        return std::nullopt;  // also after a fault of the machine, which gave no verdict
      }
    }
  }
  if (!any_passed) return std::nullopt;
  return refused;
}

}  // namespace

Context::Context(Services given)
    : services(std::move(given)),
      cache(services.file_system, services.cache_root),
      catalogue(services.file_system, services.search_path),
      started(services.clock.steady_now()),
      worker(std::make_unique<Worker>(*this)),
      spending(std::make_unique<Spending>(*this)),
      recent(std::make_unique<RecentSession>()) {}
Context::~Context() = default;

void Context::let_go() {
  static_cast<HeldSession&>(*this) = HeldSession{};
  worker->fits = false;
  spending->forget();
}

Json Context::iteration_or_null() const {
  return iteration < 0 ? Json(nullptr) : Json(iteration);
}

Result<std::int64_t> Context::log(std::string_view type, Json payload) {
  if (!session) return std::int64_t{0};
  return session->append(type, payload);
}

Result<void> Context::check_stop() const {
  if (services.stop_requested != nullptr && services.stop_requested->load()) {
    return Error{ErrorCode::canceled, "go on with", "the session", "a stop was requested",
                 "run `sdpa-wb resume --session DIR` to go on"};
  }
  return {};
}

void Context::report_progress(Progress progress) const {
  if (!services.progress) return;
  progress.iteration = iteration;
  progress.elapsed_s = elapsed_s();
  progress.best_speedup = spending->best_speedup;
  const session::Ledger::Total total = spending->spent.total();
  if (total.complete) progress.cost_usd = total.usd;
  progress.is_list_price = total.is_listed;
  if (settings.budget.wall_s) {
    progress.left_s = *settings.budget.wall_s - progress.elapsed_s;
  } else if (settings.budget.evaluations && iteration >= 0) {
    // The baseline counts as one more; in an iteration, the present stage counts as half done.
    const double parts = static_cast<double>(*settings.budget.evaluations) + 1.0;
    const double share = std::min(1.0, (static_cast<double>(iteration) + 0.5) / parts);
    progress.left_s = progress.elapsed_s * (1.0 - share) / share;
  }
  services.progress(progress);
}

double Context::elapsed_s() const {
  return std::chrono::duration<double>(services.clock.steady_now() - started).count();
}

Result<void> restore_context(Context& context) {
  WB_TRY_ASSIGN(const session::SessionView view, context.session->view(session::FoldDepth::full));
  for (const session::Fact& fact : view.noise_floors) {
    Json figures = fact.payload;
    for (const char* key : {"problem", "plan", "subject", "used", "unfit", "cannot_show_frac"}) {
      figures.erase(key);
    }
    WB_TRY_ASSIGN(const measure::NoiseFloor floor, measure::noise_floor_from_json(figures));
    if (!fact.payload.value("used", true)) continue;
    const std::pair key(fact.payload.value("problem", ""), fact.payload.value("plan", ""));
    context.floors[key] = floor;
    // Older logs do not record whether a floor is usable.
    const std::string unfit =
        fact.payload.value("unfit", measure::unfit_reason(floor, false).value_or(std::string()));
    context.unfit_floors.erase(key);
    if (!unfit.empty()) context.unfit_floors[key] = unfit;
  }
  const auto rebuild = [&](const std::string& id) -> Result<Subject> {
    WB_TRY_ASSIGN(const auto resolved, resolve_variant(context, id));
    Outcome<Subject> subject = build_subject(context, resolved.first, resolved.second);
    const double cpu_s = !subject                          ? subject.error().compile_cpu_s
                         : subject->artifact.record.cached ? 0
                                                           : subject->artifact.record.cpu_s;
    // The cache was emptied since, or lies on another machine.
    if (cpu_s > 0) WB_TRY(context.spending->debit(session::CostItem::compile_cpu, cpu_s, id));
    if (!subject) {
      return Error{ErrorCode::environment, "build again", id, subject.error().message,
                   "was the toolchain changed? `sdpa-wb doctor` tells"};
    }
    return *std::move(subject);
  };
  // All or none: a verb without one of the rivals would not say so.
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

}  // namespace wb::engine
