// SPDX-License-Identifier: MIT
// Of the report of two pages: what was tried, which steps won, what became of their predictions,
// and where the variants come from that the recommendation takes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "core/json.hpp"
#include "measure/prediction.hpp"
#include "report/summary.hpp"

namespace wb::report::two_pages {

using session::IterationView;

std::string ended(std::string words) {
  return words.ends_with('.') || words.ends_with("\u2026") ? words : words + ".";
}

std::string theory_of(const Facts& facts, const IterationView& iteration) {
  return facts.words(text(field(iteration.opened.payload, "hypothesis"), "theory"));
}

namespace {

constexpr std::size_t k_idea_bytes = 170, k_short_idea_bytes = 90;

/// "the fault …; the cure …" where both halves of a hypothesis do not fit, as what was changed
/// often stands in the second; that alone where there is room for one.
std::string cut_idea(std::string_view theory, std::size_t most) {
  constexpr std::size_t k_least_half = 28;
  const std::size_t half = theory.find("; ");
  if (theory.size() > most && half != std::string_view::npos && most < 2 * k_least_half) {
    return "\u2026; " + cut_idea(theory.substr(half + 2), most);
  }
  if (theory.size() > most && half != std::string_view::npos && most >= 2 * k_least_half) {
    const std::size_t first = std::min(half, most / 2);
    return clause(theory.substr(0, half), first) + "; " +
           cut_idea(theory.substr(half + 2), most - first);
  }
  std::string idea = theory.empty() ? "no idea was stated" : clause(theory, most);
  if (idea.ends_with('.')) idea.pop_back();
  return idea;
}

std::size_t shared_prefix(std::string_view a, std::string_view b) {
  const auto ends = std::mismatch(
      a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())), b.begin());
  return static_cast<std::size_t>(ends.first - a.begin());
}

}  // namespace

std::string idea_of(const Facts& facts, const IterationView& iteration, std::size_t most) {
  constexpr std::size_t k_least = 20, k_lead = 18;
  const std::string theory = theory_of(facts, iteration), idea = cut_idea(theory, most);
  if (theory.empty()) return idea;
  const IterationView* same = nullptr;
  std::size_t shared = 0;
  for (const IterationView* other : facts.tries) {
    if (other->number == iteration.number) continue;
    const std::string others = theory_of(facts, *other);
    if (others == theory) {
      if (other->number < iteration.number) same = other;
    } else if (cut_idea(others, most) == idea) {
      shared = std::max(shared, shared_prefix(theory, others));
    }
  }
  if (same != nullptr) {
    const std::size_t left = std::max(most, k_least + k_lead) - k_lead;
    return fmt::format("iteration {} again: {}", same->number, cut_idea(theory, left));
  }
  // The word in which they differ comes first.
  const std::size_t space = shared == 0 ? std::string::npos : theory.rfind(' ', shared - 1);
  if (space == std::string::npos) return idea;
  return "\u2026 " + cut_idea(std::string_view(theory).substr(space + 1), most);
}

std::string prediction_words(const IterationView& iteration) {
  using measure::GainSize;
  using measure::Mechanism;
  const auto decided = session::decided_prediction(iteration);
  if (!decided || decided->mechanism == Mechanism::undecided) {
    return "Whether it helped for that reason was not decided.";
  }
  if (decided->mechanism == Mechanism::not_confirmed) {
    return "The measurement does not show that it helps.";
  }
  const auto predicted = number(field(iteration.opened.payload, "hypothesis"), "predicted_speedup");
  const auto measured = number(iteration.hypothesis->payload, "measured_speedup");
  const std::string figure =
      predicted ? " (" + speedup(predicted) + cite(iteration.opened.seq) + ")" : std::string();
  // Less than half of the gain, in logarithms.
  const bool is_far = predicted && measured && *predicted > 1 && *measured > 0 &&
                      std::log(*measured) < 0.5 * std::log(*predicted);
  switch (decided->size) {
    case GainSize::within:
      return "It helped as predicted" + figure + ".";
    case GainSize::above:
      return "It helped more than predicted" + figure + ".";
    case GainSize::below:
      return (is_far ? "It helped, far less than predicted" : "It helped, less than predicted") +
             figure + ".";
    case GainSize::undecided:
      break;
  }
  return "It helped; whether as much as predicted" + figure + " is not decided.";
}

std::string no_gain_words(const Page& page, const IterationView& iteration) {
  const ComparisonIndex index(iteration);
  const Compared* figure = objective_figure(page.facts, index, page.facts.plan);
  const std::string word = figure != nullptr && figure->outcome == "slower" ? "slower" : "no gain";
  for (const outcome::Part& part : page.conclusion.recommendation.parts) {
    if (part.variant != candidate_label(iteration) || part.variant == page.facts.start) continue;
    return fmt::format("{} overall, used on {}", word, part.problems.size());
  }
  return word;
}

namespace {

// Where the variants come from
// ----------------------------------------------------------------------------------------

/// The last iteration that measured this variant; nullptr if none did.
const IterationView* origin_of(const Facts& facts, const std::string& label) {
  const IterationView* found = nullptr;
  for (const IterationView* iteration : facts.tries) {
    const IterationOutcome outcome = outcome_of(*iteration);
    const bool is_measured =
        outcome == IterationOutcome::win || outcome == IterationOutcome::no_gain;
    if (is_measured && candidate_label(*iteration) == label) found = iteration;
  }
  return found;
}

/// The win with the largest confirmed figure, and that figure.
struct LargestStep {
  const IterationView* iteration = nullptr;
  const ComparisonIndex* index = nullptr;
  Compared figure;
};

LargestStep largest_step(const Page& page) {
  LargestStep found;
  for (std::size_t i = 0; i < page.facts.wins.size(); ++i) {
    const Compared* figure = objective_figure(page.facts, page.steps[i], page.facts.plan);
    if (figure == nullptr || !figure->ratio.value) continue;
    const bool is_larger =
        found.iteration == nullptr || *figure->ratio.value > *found.figure.ratio.value;
    if (is_larger) found = {page.facts.wins[i], &page.steps[i], *figure};
  }
  return found;
}

std::string step_words(const Page& page, const LargestStep& step) {
  const std::string label = candidate_label(*step.iteration);
  return fmt::format(
      "{} was iteration {}, {}{}: {} {}{}{}",
      page.facts.wins.size() == 1 ? "The one step that won" : "The largest step",
      step.iteration->number, speedup(step.figure.ratio.value), cite(step.figure.seq),
      ended(cut_idea(theory_of(page.facts, *step.iteration), k_idea_bytes)),
      prediction_words(*step.iteration), scope_words(page, *step.iteration, *step.index),
      is_recommended(page, label) ? " It made " + code(label, 60) + "." : std::string());
}

/// What the variant is beside the incumbent of its time on the problems that it is taken for.
std::string part_words(const Page& page, const outcome::Part& part, const IterationView& origin,
                       std::size_t idea_bytes) {
  const outcome::Group* group = page.conclusion.main_group();
  const std::string& first = page.conclusion.recommendation.parts.front().variant;
  const ComparisonIndex index(origin);
  const Compared *low = nullptr, *high = nullptr;
  for (const std::size_t at : part.problems) {
    const Compared* found = index.find("", group->problems[at].problem, page.facts.plan);
    if (found == nullptr || !found->ratio.value) continue;
    // The others are held against the one that most problems take.
    if (part.variant != first && found->against != first) continue;
    if (low != nullptr && found->against != low->against) continue;
    if (low == nullptr || *found->ratio.value < *low->ratio.value) low = found;
    if (high == nullptr || *found->ratio.value > *high->ratio.value) high = found;
  }
  std::string out =
      fmt::format("{} came in iteration {}: {}", code(part.variant, 60), origin.number,
                  ended(cut_idea(theory_of(page.facts, origin), idea_bytes)));
  if (low == nullptr) return out;
  const std::string range =
      low == high ? speedup(low->ratio.value) + cite(low->seq)
                  : fmt::format("{}{} to {}{}", speedup(low->ratio.value), cite(low->seq),
                                speedup(high->ratio.value), cite(high->seq));
  return out + fmt::format(" On its {} it is {} against {}.", of_problems(part.problems.size()),
                           range, code(low->against, 60));
}

}  // namespace

std::vector<std::string> win_words(const Page& page) {
  constexpr std::size_t k_told = 4;  // with their ideas; of others the iteration alone
  const std::vector<outcome::Part>& parts = page.conclusion.recommendation.parts;
  std::vector<std::string> out;
  const LargestStep step = largest_step(page);
  if (step.iteration != nullptr) out.push_back(step_words(page, step));
  const std::string& develop = page.conclusion.recommendation.develop;
  std::string others;
  std::size_t told_parts = 0;
  for (const outcome::Part& part : parts) {
    if (part.variant == page.facts.start || part.variant.empty()) continue;
    // Where rivals are used, only what to go on with matters.
    if (!develop.empty() && part.variant != develop) continue;
    if (step.iteration != nullptr && candidate_label(*step.iteration) == part.variant) continue;
    const IterationView* origin = origin_of(page.facts, part.variant);
    if (origin == nullptr) {
      out.push_back(
          fmt::format("Why {} is ahead is not known: it was compared here, not developed here.",
                      code(part.variant, 60)));
    } else if (++told_parts <= k_told) {
      out.push_back(
          part_words(page, part, *origin, told_parts <= 2 ? k_idea_bytes : k_short_idea_bytes));
    } else {
      others += fmt::format("{}{} came in iteration {}", others.empty() ? "" : ", ",
                            code(part.variant, 60), origin->number);
    }
  }
  if (!others.empty()) out.push_back(others + ".");
  return out;
}

// What was tried
// --------------------------------------------------------------------------------------------

namespace {

/// "cut off: stopped by a signal", in the log's words.
std::string abandoned_words(const IterationView& iteration) {
  const std::string why = iteration.closed ? text(iteration.closed->payload, "message") : "";
  return why.empty() ? "abandoned, not decided" : "not decided: " + inline_text(why, 60);
}

std::string came_of(const Page& page, const IterationView& iteration) {
  const IterationOutcome outcome = outcome_of(iteration);
  if (outcome == IterationOutcome::win) return "won";
  if (outcome == IterationOutcome::open) return "in flight";
  if (outcome == IterationOutcome::invalid) {
    const std::string why = invalidity_of(iteration);
    return "failed" + (why.empty() ? "" : ": " + inline_text(why, 40));
  }
  if (outcome == IterationOutcome::abandoned) return abandoned_words(iteration);
  if (outcome != IterationOutcome::no_gain) return std::string(to_string(outcome));
  return no_gain_words(page, iteration);
}

/// How far a figure lies from 1; a win counts more than any other.
double weight_of(const Page& page, const IterationView& iteration, const Compared* figure) {
  const IterationOutcome outcome = outcome_of(iteration);
  const bool is_kept =
      outcome == IterationOutcome::win ||
      (outcome == IterationOutcome::no_gain && is_recommended(page, candidate_label(iteration)));
  const double size =
      figure == nullptr || !figure->ratio.value.has_value() || !(*figure->ratio.value > 0)
          ? 0
          : std::abs(std::log(*figure->ratio.value));
  return size + (is_kept ? 1e3 : 0);
}

std::string tally_words(const Page& page) {
  std::size_t wins = 0, failed = 0, abandoned = 0, open = 0;
  std::map<std::string, std::size_t> no_gain;  // by what came of them
  for (const IterationView* iteration : page.facts.tries) {
    switch (outcome_of(*iteration)) {
      case IterationOutcome::win:
        ++wins;
        break;
      case IterationOutcome::no_gain:
        ++no_gain[no_gain_words(page, *iteration)];
        break;
      case IterationOutcome::invalid:
        ++failed;
        break;
      case IterationOutcome::abandoned:
        ++abandoned;
        break;
      default:
        ++open;
    }
  }
  std::string out = count(static_cast<std::int64_t>(page.conclusion.iterations), "iteration") +
                    " closed after the baseline";
  std::string parts;
  const auto add = [&](std::size_t n, std::string_view words) {
    if (n > 0) parts += fmt::format("{} {} {}", parts.empty() ? ":" : ",", n, words);
  };
  add(wins, "won (faster than the best before)");
  for (const auto& [words, n] : no_gain) add(n, words);
  add(failed, "failed");
  add(abandoned, "not decided");
  out += parts + ".";
  return open > 0 ? out + " One is in flight." : out;
}

}  // namespace

std::string tried_section(const Page& page, const Size& size) {
  const Facts& facts = page.facts;
  std::string out = "## What was tried\n\n";
  if (facts.tries.empty()) {
    const std::size_t compared = facts.view.outside.comparisons.size();
    return out + (facts.baseline == nullptr ? "Nothing yet.\n\n"
                  : compared == 0           ? "No iteration was run.\n\n"
                                  : "No iteration was run: kernels were only compared.\n\n");
  }
  struct Try {
    const IterationView* iteration;
    ComparisonIndex index;
    const Compared* figure;
    double weight;
  };
  std::vector<Try> tries;
  tries.reserve(facts.tries.size());  // `figure` points into `index`
  for (const IterationView* iteration : facts.tries) {
    tries.push_back({iteration, ComparisonIndex(*iteration), nullptr, 0});
    Try& made = tries.back();
    made.figure = objective_figure(facts, made.index, facts.plan);
    made.weight = weight_of(page, *iteration, made.figure);
  }
  std::vector<const Try*> shown;
  for (const Try& one : tries) shown.push_back(&one);
  if (shown.size() > size.rows) {
    std::stable_sort(shown.begin(), shown.end(),
                     [](const Try* a, const Try* b) { return a->weight > b->weight; });
    shown.resize(size.rows);
    std::sort(shown.begin(), shown.end());  // in the order of the log
  }
  Table table({"#>", "idea", "predicted>", "measured>", "what came of it"});
  for (const Try* one : shown) {
    const IterationView& iteration = *one->iteration;
    const auto predicted =
        number(field(iteration.opened.payload, "hypothesis"), "predicted_speedup");
    std::string measured = "-";
    if (one->figure != nullptr && one->figure->ratio.value) {
      measured = speedup(one->figure->ratio.value) + cite(one->figure->seq);
    }
    table.row({fmt::format("{}", iteration.number), idea_of(facts, iteration, size.idea_bytes),
               predicted ? speedup(predicted) + cite(iteration.opened.seq) : "-", measured,
               came_of(page, iteration)});
  }
  const bool has_held_out = std::any_of(facts.suite.begin(), facts.suite.end(),
                                        [](const SuiteEntry& one) { return one.held_out; });
  out += tally_words(page) + (has_held_out ? " Measured includes held-out problems.\n\n" : "\n\n") +
         table.str() + "\n";
  const std::size_t left = tries.size() - shown.size();
  if (left == 0) return out;
  return out +
         (left == 1 ? std::string("One smaller one is")
                    : fmt::format("{} smaller ones are", left)) +
         " in the whole report.\n\n";
}

}  // namespace wb::report::two_pages
