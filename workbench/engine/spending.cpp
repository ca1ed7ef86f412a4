// SPDX-License-Identifier: MIT
#include "engine/spending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/json.hpp"
#include "engine/context.hpp"
#include "engine/worker.hpp"

namespace wb::engine {

using session::CostItem;

namespace {

std::string closed_word(const session::IterationView& iteration, std::string_view field) {
  if (!iteration.closed) return {};
  const auto found = iteration.closed->payload.find(field);
  if (found == iteration.closed->payload.end() || !found->is_string()) return {};
  return found->get<std::string>();
}

}  // namespace

Result<void> Spending::debit(CostItem item, double quantity_s, std::string_view what, Json parts) {
  const session::Prices& prices = m_context.settings.prices;
  const auto usd = session::price_usd(prices.rates, item, quantity_s);
  const bool is_listed = usd && prices.is_listed(item);
  spent.debit(item, quantity_s, usd, is_listed);
  Json debited{{"iteration", m_context.iteration_or_null()},
               {"item", to_string(item)},
               {"quantity", quantity_s},
               {"unit", "s"},
               {"usd", usd ? Json(*usd) : Json(nullptr)},
               {"what", what}};
  if (is_listed) debited["priced_by"] = session::k_priced_by_list;
  if (!parts.is_null()) debited["parts"] = std::move(parts);
  WB_TRY(m_context.log("cost_debited", std::move(debited)));
  return {};
}

Result<void> Spending::debit(CostItem item, double quantity_s, std::string_view what) {
  return debit(item, quantity_s, what, Json());
}

Result<void> Spending::debit_compile(const variant::BuildRecord& record, std::string_view what) {
  return debit(CostItem::compile_cpu, record.cached ? 0.0 : record.cpu_s, what);
}

Result<void> Spending::debit_device(std::string_view what) {
  collect_worker_time();
  if (m_undebited_s.empty()) return {};
  double quantity = 0;
  for (const auto& [verb, wall_s] : m_undebited_s) quantity += wall_s;
  WB_TRY(debit(CostItem::device, quantity, what, m_undebited_s));
  m_undebited_s.clear();
  return {};
}

void Spending::collect_worker_time() {
  auto& client = m_context.worker->client;
  if (!client) return;
  for (const auto& [verb, wall_s] : client->take_wall_s()) {
    m_undebited_s[std::string(protocol::to_string(verb))] += wall_s;
  }
}

std::map<std::string, double> Spending::take_worker_time() {
  collect_worker_time();
  return std::exchange(m_undebited_s, {});
}

void Spending::forget() {
  collect_worker_time();  // spent on no session, or debited to the one let go
  spent = {};
  best_speedup.reset();
  reported_budget_share = 0;
  m_undebited_s.clear();
}

StopDecision stop_decision(const session::SessionView& view, const Budget& budget,
                           const StopRules& rules, double elapsed_s) {
  StopDecision decision;
  std::int64_t evaluations = 0, without_win = 0, equal_failures = 0;
  std::string last_failure;
  for (const session::IterationView& iteration : view.iterations) {
    const std::string outcome = closed_word(iteration, "outcome");
    if (outcome.empty() || outcome == "baseline" || outcome == "abandoned") continue;
    ++evaluations;
    without_win = outcome == "win" ? 0 : without_win + 1;
    const std::string failure = outcome == "invalid" ? closed_word(iteration, "invalidity") : "";
    // A fault of the machine never counts against the variants.
    if (failure == "environment") continue;
    equal_failures = failure.empty() ? 0 : (failure == last_failure ? equal_failures + 1 : 1);
    last_failure = failure;
  }
  if (budget.evaluations && evaluations >= *budget.evaluations) {
    decision.reason = fmt::format("budget: {} of {} evaluations", evaluations, *budget.evaluations);
  } else if (budget.wall_s && elapsed_s >= *budget.wall_s) {
    decision.reason =
        fmt::format("budget: {:.0f} of {:.0f} s wall time", elapsed_s, *budget.wall_s);
  } else if (rules.plateau && without_win >= *rules.plateau) {
    decision.reason = fmt::format("plateau: {} iterations without a win", without_win);
  } else if (rules.equal_failures && equal_failures >= *rules.equal_failures) {
    decision.reason = fmt::format("{} {} failures in a row", equal_failures, last_failure);
  }
  if (budget.usd) {
    const session::Ledger::Total total = view.ledger.total();
    if (total.usd >= *budget.usd && !decision.reason) {
      decision.reason = fmt::format("budget: ${:.2f} of ${:.2f}{}", total.usd, *budget.usd,
                                    total.is_listed ? " (list price)" : "");
    }
    if (!total.complete) {
      decision.warning =
          "a money budget is set, but some rates are not given: costs without a rate "
          "do not count";
    }
  }
  return decision;
}

double budget_share(const session::SessionView& view, const Budget& budget, double elapsed_s) {
  double share = 0;
  const auto take = [&](double used, double limit) {
    if (limit > 0) share = std::max(share, used / limit);
  };
  if (budget.evaluations) {
    const auto tried =
        std::count_if(view.iterations.begin(), view.iterations.end(), [](const auto& iteration) {
          const std::string outcome = closed_word(iteration, "outcome");
          return !outcome.empty() && outcome != "baseline" && outcome != "abandoned";
        });
    take(static_cast<double>(tried), static_cast<double>(*budget.evaluations));
  }
  if (budget.wall_s) take(elapsed_s, *budget.wall_s);
  if (budget.usd) take(view.ledger.total().usd, *budget.usd);
  return share;
}

}  // namespace wb::engine
