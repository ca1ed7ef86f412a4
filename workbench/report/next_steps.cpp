// SPDX-License-Identifier: MIT
// What follows from the facts: next steps in order of what they would bring, the decision to take,
// what was done and left undone, and what this session could not see.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/sections.hpp"

namespace wb::page {
namespace {

constexpr std::size_t k_max_named = 5, k_max_items = 40;

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

enum class Box { done, open, not_applicable };

std::string box(Box state, const std::string& words) {
  const char* mark = state == Box::done ? "[x]" : state == Box::open ? "[ ]" : "n/a:";
  return fmt::format("- {} {}\n", mark, words);
}

Box done_if(bool done) {
  return done ? Box::done : Box::open;
}

/// Candidates that have a figure on a problem without a passing verdict in the same iteration.
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
  for (std::size_t i = n > k_max_items ? n - k_max_items : 0; i < n; ++i) {
    const Fact& decision = view.decisions[i];
    out += fmt::format("- decided{}: {}: {} ({})\n", cite(decision.seq),
                       inline_text(text(decision.payload, "question"), 200),
                       inline_text(text(decision.payload, "choice"), 200),
                       inline_text(text(decision.payload, "reason"), 300));
  }
  if (!view.decisions.empty()) out += "\n";
  Table table({"option", "what it means", "what it costs"});
  if (!facts.wins.empty()) {
    table.row({"A. adopt", "take " + incumbent_name(page, false) + commit_words(*facts.wins.back()),
               "nothing more to run"});
  }
  table.row({"B. continue",
             view.status == SessionStatus::closed
                 ? "open the next session from the incumbent and take the first of the next steps"
                 : "`sdpa-wb resume` and take the first of the next steps",
             average_cost(page)});
  const auto rate = number(field(view.opened.payload, "rates"), "device_usd_per_hour");
  table.row(
      {"C. stop", "the session folder keeps everything",
       rate ? fmt::format("nothing; a device kept waiting costs ${} an hour{}", *rate,
                          cite(view.opened.seq))
            : std::string("nothing; what a waiting device costs is not known (rate not given)")});
  return out + table.str() + "\n";
}

std::string checklist_section(const Page& page) {
  const Facts& facts = page.facts;
  const SessionView& view = facts.view;
  std::string out = "## Checklist\n\n";
  const bool baseline_done =
      facts.baseline != nullptr && outcome_of(*facts.baseline) == IterationOutcome::baseline;
  out += box(done_if(baseline_done), "baseline measured and closed");
  out += box(done_if(!view.noise_floors.empty()), "noise floor measured");
  out += box(done_if(page.rival != nullptr),
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
  out += box(done_if(view.status == SessionStatus::closed), "session closed");
  return out + "\n";
}

std::string unseen_section(const Page& page) {
  const Facts& facts = page.facts;
  const SessionView& view = facts.view;
  std::vector<std::string> items;
  if (facts.holder != nullptr) {
    std::map<std::string, std::int64_t> seen;  // the same words once
    for (const Fact& finding : facts.holder->findings) {
      const std::string unseen = text(finding.payload, "unseen");
      if (!unseen.empty() && seen.try_emplace(unseen, finding.seq).second) {
        items.push_back(text(finding.payload, "analysis") + ": " + unseen);
        items.back() = inline_text(items.back(), 300) + cite(finding.seq);
      }
    }
    for (const Fact& profile : facts.holder->profiles) {
      if (!is_true(profile.payload, "available")) {
        items.push_back("no profile: " + inline_text(text(profile.payload, "reason"), 200) +
                        cite(profile.seq));
        break;
      }
    }
    if (facts.holder->profiles.empty()) items.push_back("no profile was taken of the incumbent");
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

}  // namespace wb::page
