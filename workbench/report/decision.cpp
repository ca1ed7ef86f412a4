// SPDX-License-Identifier: MIT
// The end of the page: the decision that the reader has to take, what was done and what was left
// undone, what this session could not see, and its notes.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/json.hpp"
#include "report/findings.hpp"
#include "report/session_sections.hpp"

namespace wb::report {

using session::Fact;
using session::IterationView;

// The decision that the reader has to take, what the facts and the author advise, and what each
// choice costs.

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
  const outcome::Recommendation& made = page.conclusion.recommendation;
  if (!made.develop.empty()) {
    table.row({"use the rivals", "take " + told(outcome::rivals_to_use(page.conclusion)),
               "nothing more to run"});
  } else if (advises_change(page)) {
    const bool is_committed_win = takes_incumbent(page) && !facts.wins.empty();
    table.row({made.advice == outcome::Advice::adopt ? "adopt" : "dispatch",
               "take " + taken_words(page) +
                   (is_committed_win ? commit_words(*facts.wins.back()) : std::string()),
               made.confirmation ? "one comparison to confirm it" : "nothing more to run"});
  }
  table.row({"continue",
             view.status == session::SessionStatus::closed
                 ? "open the next session from the incumbent and take the first of the next steps"
                 : "`sdpa-wb resume` and take the first of the next steps",
             average_cost(page)});
  const auto& rate = facts.prices.rates.device_usd_per_hour;
  table.row(
      {"stop", "the session folder keeps everything",
       rate ? fmt::format("nothing; a device kept waiting costs ${:g} an hour{}{}", *rate,
                          list_mark(facts.prices.device.has_value()), cite(view.opened.seq))
            : std::string("nothing; what a waiting device costs is not known (rate not given)")});
  return out + table.str() + "\n";
}

namespace {

constexpr std::size_t k_max_items = 40;

enum class Box { done, open, not_applicable };

std::string box(Box state, const std::string& words) {
  const char* mark = state == Box::done ? "[x]" : state == Box::open ? "[ ]" : "n/a:";
  return fmt::format("- {} {}\n", mark, words);
}

Box done_if(bool done) {
  return done ? Box::done : Box::open;
}

/// Candidates with a figure on a problem but no passing verdict in the same iteration.
std::vector<std::int64_t> unjudged_figures(const Facts& facts) {
  std::vector<std::int64_t> result;
  for (const IterationView& iteration : facts.view.iterations) {
    std::map<std::string, bool> passed;
    for (const Fact& verdict : iteration.verdicts) {
      if (facts.is_rival(iteration, text(verdict.payload, "subject"))) continue;
      const bool pass = is_true(verdict.payload, "pass");
      const auto [found, is_new] = passed.try_emplace(text(verdict.payload, "problem"), pass);
      if (!is_new) found->second = found->second && pass;
    }
    for (const Fact& comparison : iteration.comparisons) {
      const std::string problem = text(comparison.payload, "problem");
      const bool has_figure = number(comparison.payload, "speedup").has_value();
      if (problem.empty() || !has_figure) continue;
      const auto found = passed.find(problem);
      if (found == passed.end() || !found->second) result.push_back(comparison.seq);
    }
  }
  return result;
}

bool is_committed(const Facts& facts) {
  return std::all_of(facts.view.iterations.begin(), facts.view.iterations.end(),
                     [](const IterationView& it) { return !it.closed || it.committed; });
}

bool confirmed_under(const Page& page, const std::string& plan) {
  return std::any_of(page.held.all().begin(), page.held.all().end(), [&](const Compared& compared) {
    return compared.plan == plan && compared.phase != "selection";
  });
}

}  // namespace

std::string checklist_section(const Page& page) {
  const Facts& facts = page.facts;
  const session::SessionView& view = facts.view;
  std::string out = "## Checklist\n\n";
  const bool baseline_done =
      facts.baseline != nullptr && outcome_of(*facts.baseline) == IterationOutcome::baseline;
  out += box(done_if(baseline_done), "baseline measured and closed");
  out += box(done_if(!view.noise_floors.empty()), "noise floor measured");
  out += box(done_if(has_rival_figure(page)),
             "a rival passed its verdict and was measured beside the incumbent");
  const auto unjudged = unjudged_figures(facts);
  out += box(facts.baseline == nullptr ? Box::not_applicable : done_if(unjudged.empty()),
             "every figure belongs to a variant that passed its verdict on that problem" +
                 (unjudged.empty() ? std::string() : ": not so in" + cite(unjudged)));
  out += box(facts.wins.empty() ? Box::not_applicable : done_if(gain(page, facts.plan).has_value()),
             "the gain was confirmed in fresh processes");
  for (const char* plan : {"hot", "cold", "eager"}) {
    out += box(done_if(confirmed_under(page, plan)), fmt::format("incumbent measured {}", plan));
  }
  const bool any_held_out = std::any_of(facts.suite.begin(), facts.suite.end(),
                                        [](const SuiteEntry& entry) { return entry.held_out; });
  const bool held_out_measured =
      std::any_of(page.held.all().begin(), page.held.all().end(),
                  [&](const Compared& compared) { return facts.is_held_out(compared.problem); });
  out += box(any_held_out ? done_if(held_out_measured) : Box::not_applicable,
             "held-out problems measured at confirmation");
  const bool all_priced =
      std::all_of(page.costs.total().cells.begin(), page.costs.total().cells.end(),
                  [](const CostCell& cell) { return !cell.used || cell.priced; });
  out += box(done_if(all_priced), "every cost item has a rate");
  out += box(view.iterations.empty() ? Box::not_applicable : done_if(is_committed(facts)),
             "every closed iteration is committed");
  out += box(done_if(view.status == session::SessionStatus::closed), "session closed");
  return out + "\n";
}

std::string unseen_section(const Page& page) {
  const Facts& facts = page.facts;
  const session::SessionView& view = facts.view;
  std::vector<std::string> items;
  if (facts.holder != nullptr) {
    items = unseen_lines(facts.holder->findings);
    bool is_profiled = false;
    for (const Fact& profile : facts.holder->profiles) {
      const std::string tool = text(profile.payload, "tool");
      if (!tool.empty() && tool != "ncu") continue;  // older logs name none
      is_profiled = true;
      if (!is_true(profile.payload, "available")) {
        items.push_back("no profile: " + inline_text(text(profile.payload, "reason"), 200) +
                        cite(profile.seq));
        break;
      }
    }
    if (!is_profiled) items.push_back("no profile was taken of the incumbent");
  }
  if (view.not_understood > 0) {
    items.push_back(count(view.not_understood, "event") +
                    " of a kind that this version does not know");
  }
  for (const Fact& recovery : view.recoveries) {
    if (items.size() > k_max_items) break;
    items.push_back(fmt::format("the log lost {} at its end and was mended{}",
                                count(integer(recovery.payload, "cut_bytes").value_or(0), "byte"),
                                cite(recovery.seq)));
  }
  for (const IterationView* iteration : facts.tries) {
    if (outcome_of(*iteration) != IterationOutcome::abandoned || items.size() > k_max_items)
      continue;
    items.push_back(fmt::format("iteration {} was abandoned{}", iteration->number,
                                cite(iteration->closed->seq)));
  }
  if (facts.hide_held_out && std::any_of(facts.suite.begin(), facts.suite.end(),
                                         [](const SuiteEntry& entry) { return entry.held_out; })) {
    items.push_back("shapes of held-out problems are shown once the session is closed");
  }
  std::string out = "## Not seen\n\n";
  for (const std::string& item : items) out += "- " + item + "\n";
  if (items.empty()) out += "Nothing was recorded as out of sight.\n";
  return out + "\n";
}

std::string notes_section(const Page& page) {
  constexpr std::size_t k_most = 50;
  const std::vector<Fact>& notes = page.facts.view.notes;
  if (notes.empty()) return {};
  std::string out = "## Notes\n\n";
  for (std::size_t i = 0; i < std::min(notes.size(), k_most); ++i) {
    out += "- " + inline_text(text(notes[i].payload, "text"), 400) + cite(notes[i].seq) + "\n";
  }
  if (notes.size() > k_most)
    out += fmt::format("- {} more are in the log\n", notes.size() - k_most);
  return out + "\n";
}

}  // namespace wb::report
