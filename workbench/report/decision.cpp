// SPDX-License-Identifier: MIT
// The decision that the reader has to take, what the facts and the author advise, and what each
// choice costs.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "report/sections.hpp"

namespace wb::report {
namespace {

constexpr std::size_t k_max_decisions = 40;

std::string commit_words(const session::IterationView& win) {
  if (!win.committed) return ", not committed yet";
  return " from commit " + code(text(win.committed->payload, "oid").substr(0, 10), 40) +
         cite(win.committed->seq);
}

std::string average_cost(const Page& page) {
  // Plain means of the cost table's figures.
  const std::size_t n = page.facts.tries.size();
  double device_s = 0, compiler_s = 0;
  for (const session::IterationView* iteration : page.facts.tries) {
    for (const auto& [item, line] : iteration->ledger.items) {
      if (item == session::CostItem::device) device_s += line.quantity;
      if (item == session::CostItem::compile_cpu) compiler_s += line.quantity;
    }
  }
  if (n == 0) return "no iteration was run, so there is no figure for its cost";
  return fmt::format(
      "an iteration took {} of device and {} of compiler CPU on average (mean of {}; "
      "cost table)",
      duration(device_s / static_cast<double>(n)), duration(compiler_s / static_cast<double>(n)),
      n);
}

}  // namespace

std::string decision_section(const Page& page) {
  const Facts& facts = page.facts;
  const session::SessionView& view = facts.view;
  std::string out = "## Decision\n\n";
  out += "The facts advise: " + advice(page) + "\n\n";
  if (view.closed) {
    const std::string recorded = text(view.closed->payload, "recommendation");
    if (!recorded.empty()) {
      out += fmt::format("The session's author advised{}: {}\n\n", cite(view.closed->seq),
                         inline_text(recorded, 1'000));
    }
  }
  const std::size_t n = view.decisions.size();
  for (std::size_t i = n > k_max_decisions ? n - k_max_decisions : 0; i < n; ++i) {
    const session::Fact& decision = view.decisions[i];
    out += fmt::format("- decided{}: {}: {} ({})\n", cite(decision.seq),
                       brief(text(decision.payload, "question"), 200),
                       brief(text(decision.payload, "choice"), 200),
                       brief(text(decision.payload, "reason"), 300));
  }
  if (!view.decisions.empty()) out += "\n";
  Table table({"option", "what it means", "what it costs"});
  if (!facts.wins.empty()) {
    table.row({"adopt", "take " + incumbent_name(page, false) + commit_words(*facts.wins.back()),
               "nothing more to run"});
  }
  table.row({"continue",
             view.status == session::SessionStatus::closed
                 ? "open the next session from the incumbent and take the first of the next steps"
                 : "`sdpa-wb resume` and take the first of the next steps",
             average_cost(page)});
  const auto rate = number(field(view.opened.payload, "rates"), "device_usd_per_hour");
  table.row(
      {"stop", "the session folder keeps everything",
       rate ? fmt::format("nothing; a device kept waiting costs ${} an hour{}", *rate,
                          cite(view.opened.seq))
            : std::string("nothing; what a waiting device costs is not known (rate not given)")});
  return out + table.str() + "\n";
}

}  // namespace wb::report
