// SPDX-License-Identifier: MIT
// What was tried: one row per iteration, then the hypotheses by their mechanism, so that nobody
// repeats what did not help and everybody sees what an undecided one still needs.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/json.hpp"
#include "measure/prediction.hpp"
#include "report/session_sections.hpp"

namespace wb::report {

using session::IterationView;

namespace {

constexpr std::size_t k_max_iteration_rows = 60;
constexpr std::size_t k_max_hypotheses = 30;

std::string commit_cell(const IterationView& iteration) {
  if (!iteration.committed) return iteration.closed ? "not committed" : "";
  const std::string oid = text(iteration.committed->payload, "oid");
  return code(oid.substr(0, 10), 40) + cite(iteration.committed->seq);
}

std::string measured_cell(const Facts& facts, const IterationView& iteration) {
  const ComparisonIndex index(iteration);
  if (const Compared* figure = objective_figure(facts, index, facts.plan)) {
    return comparison_cell(*figure);
  }
  return "not measured";
}

std::string verdict_cell(const Facts& facts, const IterationView& iteration) {
  std::int64_t passed = 0, failed = 0;
  std::vector<std::int64_t> failures, passes;
  for (const session::Fact& verdict : iteration.verdicts) {
    if (facts.is_rival(iteration, text(verdict.payload, "subject"))) continue;
    const bool pass = is_true(verdict.payload, "pass");
    ++(pass ? passed : failed);
    (pass ? passes : failures).push_back(verdict.seq);
  }
  if (passed + failed == 0) return "not judged";
  return failed == 0 ? fmt::format("{} of {} passed{}", passed, passed, cite(passes))
                     : fmt::format("{} failed of {}{}", failed, passed + failed, cite(failures));
}

std::string outcome_cell(const IterationView& iteration) {
  std::string out(to_string(outcome_of(iteration)));
  const std::string invalidity = invalidity_of(iteration);
  if (!invalidity.empty()) out += " (" + inline_text(invalidity, 40) + ")";
  return out + (iteration.closed ? cite(iteration.closed->seq) : "");
}

/// Mechanism and size of a try; "open" while they are not decided.
std::pair<std::string, std::string> answer_words(const IterationView& iteration) {
  const auto decided = session::decided_prediction(iteration);
  if (!decided) return {"open", "open"};
  const bool is_denied = decided->mechanism == measure::Mechanism::not_confirmed;
  return {is_denied ? "not confirmed" : std::string(to_string(decided->mechanism)),
          std::string(to_string(decided->size))};
}

void add_row(Table& table, const Facts& facts, const IterationView& iteration) {
  const Json& hypothesis = field(iteration.opened.payload, "hypothesis");
  const bool is_try = hypothesis.is_object();
  const auto predicted = number(hypothesis, "predicted_speedup");
  auto [mechanism, size] = is_try ? answer_words(iteration) : std::pair<std::string, std::string>();
  if (is_try && iteration.hypothesis) mechanism += cite(iteration.hypothesis->seq);
  table.row({fmt::format("{}", iteration.number), code(candidate_label(iteration), 60),
             predicted ? speedup(predicted) + cite(iteration.opened.seq) : "",
             is_try ? measured_cell(facts, iteration) : "", mechanism, size,
             verdict_cell(facts, iteration), outcome_cell(iteration), commit_cell(iteration),
             is_try ? brief(text(hypothesis, "theory"), 100) : "none: the baseline"});
}

/// What an undecided or open hypothesis still needs.
std::string lacking(const Facts& facts, const IterationView& iteration) {
  const std::string invalidity = invalidity_of(iteration);
  if (invalidity == "environment") {
    return "the machine failed, not the variant: repeat it";
  }
  if (!invalidity.empty()) {
    return "a valid measurement: it ended as " + inline_text(invalidity, 40) + " (" +
           brief(facts.words(failure_message(iteration)), 160) + ")";
  }
  switch (outcome_of(iteration)) {
    case IterationOutcome::abandoned:
      return "a measurement: it was abandoned" +
             (failure_message(iteration).empty()
                  ? std::string()
                  : " (" + brief(facts.words(failure_message(iteration)), 160) + ")");
    case IterationOutcome::open:
      return "its end: it is in flight";
    default:
      return "resolution: more fresh processes or rounds, until the interval lies on one side";
  }
}

/// The size with its figures where it was decided, else the reason that was recorded.
std::string decided_how(const Facts& facts, const IterationView& iteration) {
  const auto decided = session::decided_prediction(iteration);
  if (!decided) return "not decided yet";
  const bool has_size = decided->size != measure::GainSize::undecided;
  const std::string reason =
      has_size ? decided->size_reason : text(iteration.hypothesis->payload, "reason");
  return brief(facts.words(reason), 120) + cite(iteration.hypothesis->seq);
}

void add_hypothesis_row(Table& table, const Facts& facts, const IterationView& iteration) {
  const Json& hypothesis = field(iteration.opened.payload, "hypothesis");
  const ComparisonIndex index(iteration);
  const Compared* figure = objective_figure(facts, index, facts.plan);
  std::string measured = "not measured", between = "none";
  if (figure != nullptr && figure->ratio.value) {
    const int decimals = ratio_decimals(figure->ratio);
    measured = fixed(*figure->ratio.value, decimals) + "x" + cite(figure->seq);
    if (figure->ratio.low && figure->ratio.high) {
      between = fmt::format("[{}, {}]{}", fixed(*figure->ratio.low, decimals),
                            fixed(*figure->ratio.high, decimals),
                            figure->phase == "confirmation" ? "" : " (selection)");
    }
  }
  const auto [mechanism, size] = answer_words(iteration);
  table.row({fmt::format("{}", iteration.number),
             speedup(number(hypothesis, "predicted_speedup")) + cite(iteration.opened.seq),
             measured, between, mechanism, size, decided_how(facts, iteration)});
}

std::string hypothesis_line(const Facts& facts, const IterationView& iteration, bool undecided) {
  std::string theory = text(field(iteration.opened.payload, "hypothesis"), "theory");
  while (theory.ends_with('.') || theory.ends_with(' ')) theory.pop_back();
  std::string out = fmt::format("- iteration {}{}: {}.", iteration.number,
                                cite(iteration.opened.seq), inline_text(facts.words(theory), 600));
  if (undecided) out += " Lacking: " + lacking(facts, iteration) + ".";
  return out + "\n";
}

/// The catalogue entries that iterations added to their parents, with the figure of all of them
/// together: "- iteration 3, win 1.2x: `x`, `y`". Empty for logs that do not record them.
std::string catalogue_use(const Facts& facts) {
  std::string out;
  for (const IterationView* iteration : facts.tries) {
    std::string added, idle;
    for (const std::string& word : strings(iteration->opened.payload, "adds")) {
      std::string& list = can_act(facts, word) ? added : idle;
      list += (list.empty() ? "" : ", ") + code(word, 40);
    }
    if (added.empty() && idle.empty()) continue;
    const ComparisonIndex index(*iteration);
    const Compared* figure = objective_figure(facts, index, facts.plan);
    out += fmt::format(
        "- iteration {}{}, {}{}: {}", iteration->number, cite(iteration->opened.seq),
        to_string(outcome_of(*iteration)),
        figure == nullptr ? std::string() : " " + speedup(figure->ratio) + cite(figure->seq),
        added.empty() ? "none that can act" : added);
    if (!idle.empty()) out += "; on no problem of the suite can it act: " + idle;
    out += "\n";
  }
  return out.empty() ? out
                     : "\nTechniques of the catalogue that were added; a figure is of all of its "
                       "line together:\n\n" +
                           out;
}

}  // namespace

std::string iterations_section(const Page& page) {
  const Facts& facts = page.facts;
  std::string out = "## Iterations\n\n";
  if (facts.view.iterations.empty()) return out + "None was opened.\n\n";
  Table table({"#>", "variant", "predicted>", "measured over the incumbent then", "mechanism",
               "size", "verdicts", "outcome", "commit", "hypothesis"});
  const std::size_t total = facts.view.iterations.size();
  const std::size_t skipped = total > k_max_iteration_rows ? total - k_max_iteration_rows : 0;
  for (std::size_t i = 0; i < total; ++i) {
    const IterationView& iteration = facts.view.iterations[i];
    // A long session shows its wins and its last iterations.
    if (i >= skipped || outcome_of(iteration) == IterationOutcome::win)
      add_row(table, facts, iteration);
  }
  out += table.str() + "\nEach closed iteration has its page, iterations/NNNN.md.\n";
  if (skipped > 0) {
    out += fmt::format("\nOf the first {} only wins are shown.\n",
                       count(static_cast<std::int64_t>(skipped), "iteration"));
  }
  return out + catalogue_use(facts) + "\n";
}

std::string hypotheses_section(const Page& page) {
  const Facts& facts = page.facts;
  std::vector<const IterationView*> confirmed, below, denied, used, undecided;
  for (const IterationView* iteration : facts.tries) {
    const auto decided = session::decided_prediction(*iteration);
    const auto mechanism = decided ? decided->mechanism : measure::Mechanism::undecided;
    const bool is_below = decided && decided->size == measure::GainSize::below;
    const bool is_used = page.conclusion.takes(candidate_label(*iteration));
    (mechanism == measure::Mechanism::undecided                  ? undecided
     : mechanism == measure::Mechanism::not_confirmed && is_used ? used
     : mechanism == measure::Mechanism::not_confirmed            ? denied
     : is_below                                                  ? below
                                                                 : confirmed)
        .push_back(iteration);
  }
  std::string out = "## Hypotheses\n\n";
  if (facts.tries.empty()) return out + "None was stated.\n\n";
  Table table({"#>", "predicted>", "measured>", interval_name(page.held), "mechanism", "size",
               "decided how"});
  const std::size_t first =
      facts.tries.size() > k_max_iteration_rows ? facts.tries.size() - k_max_iteration_rows : 0;
  for (std::size_t i = first; i < facts.tries.size(); ++i) {
    add_hypothesis_row(table, facts, *facts.tries[i]);
  }
  out += table.str() +
         "\nMechanism: whether the change helped. No test of its own was stated, so the comparison "
         "decides: confirmed where it is faster. Size: the measured gain beside the predicted one, "
         "within where it differs by at most a tenth in logarithms or by the interval.\n\n";
  const auto group = [&](const char* title, const std::vector<const IterationView*>& members,
                         bool is_undecided) {
    if (members.empty()) return;
    out += fmt::format("**{}: {}**\n\n", title, members.size());
    const std::size_t skipped =
        members.size() > k_max_hypotheses ? members.size() - k_max_hypotheses : 0;
    if (skipped > 0) out += fmt::format("- the first {} stand on their pages\n", skipped);
    for (std::size_t i = skipped; i < members.size(); ++i) {
      out += hypothesis_line(facts, *members[i], is_undecided);
    }
    out += "\n";
  };
  group("Mechanism confirmed", confirmed, false);
  group("Mechanism confirmed, but gained less than predicted", below, false);
  group("Mechanism not confirmed (do not try again on these problems without new evidence)", denied,
        false);
  group("Mechanism not confirmed over the suite, yet the best on some of its problems", used,
        false);
  group("Undecided", undecided, true);
  return out;
}

}  // namespace wb::report
