// SPDX-License-Identifier: MIT
// What a session has spent: the debits that this process logs, and the budgets and stop rules under
// which a session must not start another iteration.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "session/ledger.hpp"
#include "session/view.hpp"
#include "variant/builder.hpp"

namespace wb::engine {

struct Budget;  // settings.hpp
struct Context;
struct StopRules;

/// The ledger of one process for the session that it holds.
class Spending {
 public:
  explicit Spending(Context& context) : m_context(context) {}

  session::Ledger spent;               ///< by this process; for progress only
  std::optional<double> best_speedup;  ///< confirmed, over the start; for progress only
  double reported_budget_share = 0;    ///< the largest that users were told of

  /// `parts`: seconds by purpose; may be null.
  Result<void> debit(session::CostItem item, double quantity_s, std::string_view what, Json parts);
  Result<void> debit(session::CostItem item, double quantity_s, std::string_view what);
  /// Debits compile seconds, or the worker wall time since the last debit.
  Result<void> debit_compile(const variant::BuildRecord& record, std::string_view what);
  Result<void> debit_device(std::string_view what);
  /// Keeps the wall time spent waiting for the running worker, to be debited.
  void collect_worker_time();
  /// The worker wall time by verb since the last debit, which is then never debited here.
  std::map<std::string, double> take_worker_time();
  /// After the session was released: the next one does not pay for what was before it.
  void forget();

 private:
  Context& m_context;
  std::map<std::string, double> m_undebited_s;  ///< worker wall time by verb
};

/// Why no further iteration may start ("budget: 10 of 10 evaluations"), or nothing. A money budget
/// without a known rate stops nothing and sets `warning`.
struct StopDecision {
  std::optional<std::string> reason;
  std::optional<std::string> warning;
};
StopDecision stop_decision(const session::SessionView& view, const Budget& budget,
                           const StopRules& rules, double elapsed_s);

/// The largest used share of any limit; 0 without limits.
double budget_share(const session::SessionView& view, const Budget& budget, double elapsed_s);

}  // namespace wb::engine
