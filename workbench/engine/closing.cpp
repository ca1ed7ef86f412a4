// SPDX-License-Identifier: MIT
// The last stages: pages, iteration_closed, commit, and the session's report.
#include "engine/closing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/context.hpp"
#include "engine/spending.hpp"
#include "report/report.hpp"

namespace wb::engine {

using session::Fact;
using session::FoldDepth;
using session::IterationView;
using session::Ledger;
using session::SessionView;

namespace {

std::string speedup_text(const Json& closed) {
  const auto found = closed.find("speedup");
  if (found == closed.end() || !found->is_number()) return "none";
  return fmt::format("{:.4f}", found->get<double>());
}

std::string cost_text(const Ledger& ledger) {
  const Ledger::Total total = ledger.total();
  if (!total.complete) return "rate not given";
  return fmt::format("${:.4f}{}", total.usd, total.is_listed ? " (list price)" : "");
}

constexpr std::array k_budget_percents{50, 80};

void tell(const Context& context, std::string_view event, Json details) {
  details["event"] = event;
  details["session"] = context.session ? context.session->folder().string() : "";
  details["best_speedup"] =
      context.spending->best_speedup ? Json(*context.spending->best_speedup) : Json(nullptr);
  context.services.on_milestone(details);
}

/// After an iteration was closed and committed. `closed` is the payload of iteration_closed. A
/// share of the budget is reported once, by the iteration that crosses it.
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
  WB_TRY_ASSIGN(const SessionView* view, context.session->current(FoldDepth::brief));
  const double share = budget_share(*view, context.settings.budget, context.elapsed_s());
  for (const int percent : k_budget_percents) {
    const double limit = percent / 100.0;
    if (share >= limit && context.spending->reported_budget_share < limit) {
      tell(context, "budget", {{"percent", percent}});
    }
  }
  context.spending->reported_budget_share =
      std::max(context.spending->reported_budget_share, share);
  return {};
}

}  // namespace

Result<std::string> close_iteration(Context& context, const IterationEnd& end) {
  const auto number = end.closed["iteration"].get<std::int64_t>();
  WB_TRY_ASSIGN(const SessionView* current, context.session->current(FoldDepth::full));
  const SessionView& view = *current;
  const IterationView* found = view.find(number);
  if (found == nullptr) {
    return Error{ErrorCode::internal, "close", fmt::format("iteration {}", number),
                 "it is not in the log", ""};
  }
  // iteration_closed names the pages' hashes, so they are rendered as if it were already logged.
  IterationView iteration = *found;
  iteration.closed = Fact{0, to_iso8601(context.services.clock.now()), end.closed};
  const std::string base = session::iteration_name(number);
  session::Session::Closing closing;
  closing.iteration = number;
  closing.closed = end.closed;
  closing.pages = {{base + ".md", report::render_iteration(view, iteration)},
                   {base + ".json", report::iteration_json(view, iteration).dump(2) + "\n"}};
  closing.variant_id = end.variant_id;
  const auto outcome = end.closed["outcome"].get<std::string>();
  closing.subject = fmt::format("Iteration {}: {} ({})", number,
                                end.variant_label.empty() ? "-" : end.variant_label, outcome);
  closing.trailers = {
      {"Iteration", fmt::to_string(number)},
      {"Variant", end.variant_label.empty() ? "none" : end.variant_label},
      {"Artifact", end.artifact_id.empty() ? "none" : short_hash(end.artifact_id)},
      {"Outcome", outcome},
      {"Speedup", speedup_text(end.closed)},
      {"Predicted",
       end.predicted_speedup ? fmt::format("{:.4f}", *end.predicted_speedup) : std::string("none")},
      {"Device-Seconds",
       fmt::format("{:.3f}", iteration.ledger.quantity(session::CostItem::device))},
      {"Cost", cost_text(iteration.ledger)},
      {"Log-Head", context.session->log().head()}};
  WB_TRY_ASSIGN(std::string oid, context.session->close_iteration(closing));
  WB_TRY(write_session_report(context));
  WB_TRY(report_iteration_milestone(context, end.closed, end.variant_label));
  return oid;
}

Result<void> abandon_in_flight(Context& context, const SessionView& view, std::string_view reason) {
  const IterationView* open = view.in_flight();
  if (open == nullptr) return {};
  WB_TRY(context.spending->debit_device("abandoned"));
  WB_TRY(close_iteration(context, {.closed = {{"iteration", open->number},
                                              {"outcome", "abandoned"},
                                              {"invalidity", nullptr},
                                              {"message", reason},
                                              {"speedup", nullptr},
                                              {"interval", nullptr}},
                                   .variant_id = "",
                                   .variant_label = open->opened.payload.value("variant", ""),
                                   .artifact_id = "",
                                   .predicted_speedup = {}}));
  return {};
}

Result<void> write_session_report(Context& context) {
  WB_TRY_ASSIGN(const SessionView* current, context.session->current(FoldDepth::full));
  WB_TRY(context.session->write_report("session_full.md", report::render_session(*current)));
  return context.session->write_report("session.md", report::render_summary(*current));
}

Json closed_answer(const session::Session& session, const std::string& commit) {
  const fs::path& folder = session.folder();
  return Json{{"session", folder.string()},
              {"report", (folder / "reports" / "session.md").string()},
              {"commit", commit},
              {"measured", nullptr}};
}

void report_end_milestone(Context& context, std::string_view how, std::string_view reason) {
  if (context.services.on_milestone) tell(context, "end", {{"how", how}, {"reason", reason}});
}

}  // namespace wb::engine
