// SPDX-License-Identifier: MIT
// What follows from the facts: next steps in order of what they would bring, and the decision to
// take.
#include <fmt/format.h>

#include <algorithm>

#include "report/sections.hpp"

namespace wb::page {
namespace {

constexpr std::size_t k_max_named = 5, k_max_decisions = 40;

/// Iterations that ended without a figure: mend, drop or repeat.
std::string invalid_steps(const Facts& facts) {
  std::string out;
  std::size_t named = 0;
  for (const IterationView* iteration : facts.tries) {
    if (outcome_of(*iteration) != IterationOutcome::invalid) continue;
    if (++named > k_max_named) break;
    const std::string word = invalidity_of(*iteration);
    out += word == "environment"
               ? fmt::format("1. Repeat iteration {}{}: the machine failed, not the variant.\n",
                             iteration->number, cite(iteration->opened.seq))
               : fmt::format(
                     "1. Mend {} (iteration {}, {}{}) or drop it: its hypothesis was never "
                     "measured.\n",
                     code(candidate_label(*iteration), 60), iteration->number,
                     inline_text(word, 40), iteration->closed ? cite(iteration->closed->seq) : "");
  }
  return out;
}

std::string undecided_steps(const Facts& facts) {
  std::string out;
  std::size_t named = 0;
  for (const IterationView* iteration : facts.tries) {
    const bool measured = outcome_of(*iteration) == IterationOutcome::no_gain;
    if (!iteration->hypothesis || !measured ||
        text(iteration->hypothesis->payload, "state") != "undecided") {
      continue;
    }
    if (++named > k_max_named) break;
    out += fmt::format(
        "1. Measure {} again with more processes or rounds: iteration {} stayed "
        "undecided{}.\n",
        code(candidate_label(*iteration), 60), iteration->number, cite(iteration->hypothesis->seq));
  }
  return out;
}

std::string lost_steps(const Page& page) {
  if (page.rival == nullptr) {
    return page.facts.baseline == nullptr
               ? std::string()
               : "1. Measure a rival that passes its verdict: without one nothing says how the "
                 "incumbent stands against PyTorch's SDPA.\n";
  }
  std::string out;
  const Standing stands = standing(page, *page.rival);
  for (std::size_t i = 0; i < std::min(stands.lost.size(), k_max_named); ++i) {
    const Compared& lost = *stands.lost[i];
    out += fmt::format("1. Close the gap on {}: {} against {}{}.\n",
                       inline_text(page.facts.title(lost.problem), 60), speedup(lost.ratio),
                       code(page.rival->name, 60), cite(lost.seq));
  }
  return out;
}

std::string headroom_steps(const Page& page) {
  std::string out;
  std::size_t named = 0;
  for (const Headroom& room : headroom(page)) {
    if (room.factor < 1.5 || ++named > 2) break;
    out += fmt::format(
        "1. Look at {}: it runs at {} of its roofline bound, so at most {}x is left{}.\n",
        room.problem.empty() ? "the suite" : inline_text(page.facts.title(room.problem), 60),
        percent(1 / room.factor), fixed(room.factor, room.factor < 10 ? 1 : 0),
        cite(room.finding->seq));
  }
  return out;
}

/// "1. " at the front of each line becomes its number.
std::string numbered(const std::string& steps) {
  std::string out;
  int n = 0;
  for (std::size_t at = 0; at < steps.size();) {
    const std::size_t end = std::min(steps.find('\n', at), steps.size());
    out += fmt::format("{}{}\n", ++n, steps.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return out;
}

std::string commit_words(const IterationView& win) {
  if (!win.committed) return ", not committed yet";
  return " from commit " + code(text(win.committed->payload, "oid").substr(0, 10), 40) +
         cite(win.committed->seq);
}

std::string average_cost(const Page& page) {
  // Plain means of what the cost table prints.
  const std::size_t n = page.facts.tries.size();
  double device_s = 0, compiler_s = 0;
  for (const IterationView* iteration : page.facts.tries) {
    for (const auto& [item, line] : iteration->ledger.items) {
      if (item == CostItem::device) device_s += line.quantity;
      if (item == CostItem::compile_cpu) compiler_s += line.quantity;
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

std::string next_steps_section(const Page& page) {
  const Facts& facts = page.facts;
  std::string steps;
  if (facts.view.in_flight() != nullptr) {
    steps +=
        "1. Go on with `sdpa-wb resume`: an iteration is in flight, or was when the session "
        "died.\n";
  } else if (facts.view.status != SessionStatus::closed) {
    steps += "1. Go on with `sdpa-wb resume`, or end with `sdpa-wb close`.\n";
  }
  steps += lost_steps(page) + headroom_steps(page) + undecided_steps(facts) + invalid_steps(facts);
  return "## Next steps\n\n" +
         (steps.empty() ? "The facts of this session suggest none.\n" : numbered(steps)) + "\n";
}

std::string decision_section(const Page& page) {
  const Facts& facts = page.facts;
  const SessionView& view = facts.view;
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
    const Fact& decision = view.decisions[i];
    out += fmt::format("- decided{}: {}: {} ({})\n", cite(decision.seq),
                       inline_text(text(decision.payload, "question"), 200),
                       inline_text(text(decision.payload, "choice"), 200),
                       inline_text(text(decision.payload, "reason"), 300));
  }
  if (!view.decisions.empty()) out += "\n";
  Table table({"option", "what it means", "what it costs"});
  if (!facts.wins.empty()) {
    table.row({"adopt", "take " + incumbent_name(page, false) + commit_words(*facts.wins.back()),
               "nothing more to run"});
  }
  table.row({"continue",
             view.status == SessionStatus::closed
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

}  // namespace wb::page
