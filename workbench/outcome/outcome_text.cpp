// SPDX-License-Identifier: MIT
// The outcome in plain English. One idea a sentence; every figure names its events.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/error.hpp"
#include "outcome/outcome.hpp"

namespace wb::outcome {

using measure::ComparisonOutcome;

namespace {

constexpr std::size_t k_named_problems = 4, k_named_events = 4, k_name_bytes = 80;
constexpr std::size_t k_steps_of_a_kind = 5;

std::string shown(std::string_view name) {
  return printable(name, k_name_bytes);
}

/// Enough decimals that neither end is rounded onto the other or onto 1.
std::string ratio_words(double speedup, const measure::Interval& interval) {
  if (!(speedup > 0)) return "no figure";
  const bool has_interval = measure::is_valid(interval);
  const auto is_blurred = [&](int decimals) {
    const double step = std::pow(10.0, -decimals);
    const auto near_one = [&](double end) { return end != 1 && std::abs(end - 1) < 0.5 * step; };
    return has_interval && (interval.high - interval.low < 2 * step || near_one(interval.low) ||
                            near_one(interval.high));
  };
  int decimals = speedup < 10 ? 2 : 1;
  while (decimals < 4 && is_blurred(decimals)) ++decimals;
  std::string words = fmt::format("{:.{}f}x", speedup, decimals);
  if (has_interval && interval.low < interval.high) {
    words += fmt::format(" [{:.{}f}, {:.{}f}]", interval.low, decimals, interval.high, decimals);
  }
  return words;
}

std::string event_words(const std::vector<std::int64_t>& events) {
  if (events.size() > k_named_events) {
    return fmt::format(" [e{} … e{}, {} events]", events.front(), events.back(), events.size());
  }
  std::string words;
  for (const std::int64_t event : events) words += fmt::format(" [e{}]", event);
  return words;
}

std::string figure_words(const Figure& figure) {
  return ratio_words(figure.speedup, figure.interval) + event_words(figure.events);
}

std::string mean_words(const Total& total) {
  return ratio_words(total.mean->value, total.mean->interval) + event_words(total.events);
}

std::string listed(const std::vector<std::string>& items) {
  std::string words;
  for (std::size_t i = 0; i < std::min(items.size(), k_named_problems); ++i) {
    words += (i == 0 ? "" : ", ") + items[i];
  }
  return items.size() > k_named_problems
             ? fmt::format("{} and {} more", words, items.size() - k_named_problems)
             : words;
}

std::string problems_words(const Group& group, const std::vector<std::size_t>& problems) {
  std::vector<std::string> names;
  for (const std::size_t at : problems) names.push_back(shown(group.problems[at].name));
  return listed(names);
}

std::string parts_words(const Recommendation& made) {
  std::vector<std::string> items;
  for (const Part& part : made.parts) {
    items.push_back(fmt::format("{} on {}", shown(part.variant), part.problems.size()));
  }
  return listed(items);
}

std::string what_words(const Outcome& outcome) {
  const Recommendation& made = outcome.recommendation;
  const std::string first = made.parts.empty() ? "" : shown(made.parts.front().variant);
  switch (made.advice) {
    case Advice::none:
      return "nothing is measured yet";
    case Advice::run_iterations:
      return "only the start is measured, beside no rival";
    case Advice::keep_start:
      return "keep the start " + first;
    case Advice::adopt:
      return "adopt " + first;
    case Advice::dispatch:
      return "dispatch: " + parts_words(made);
  }
  return {};
}

/// "ahead of the fastest rival on 43 of 45, same on 1, behind on 1".
std::string counts_words(const Total& total, std::string_view opponent) {
  std::string words =
      fmt::format("ahead of {} on {} of {}", opponent, total.faster.size(), total.measured());
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) words += fmt::format(", {} {}", what, count);
  };
  add(total.same.size(), "same on");
  add(total.slower.size(), "behind on");
  add(total.undecided.size(), "undecided on");
  add(total.missing.size(), "not compared on");
  return words;
}

/// "torch_default" where it is the fastest everywhere, else "the fastest rival".
std::string rival_words(const Group& group, const Choice& choice) {
  std::string only;
  for (std::size_t i = 0; i < group.problems.size(); ++i) {
    const Standing* standing = group.problems[i].find(choice.variants[i]);
    if (standing == nullptr || standing->rival.empty()) continue;
    if (!only.empty() && only != standing->rival) return "the fastest rival";
    only = standing->rival;
  }
  return only.empty() ? "the fastest rival" : shown(only);
}

std::string where_words(const Group& group) {
  if (group.is_suite) return {};
  return fmt::format(" (compared between iterations, {}{}{})", group.plan,
                     group.regime.empty() ? "" : " ", group.regime);
}

struct Loss {
  std::string name, against;
  const Figure* figure = nullptr;
};

std::string loss_words(std::vector<Loss> losses) {
  std::stable_sort(losses.begin(), losses.end(), [](const Loss& a, const Loss& b) {
    return a.figure->speedup < b.figure->speedup;
  });
  std::vector<std::string> items;
  for (const Loss& loss : losses) {
    items.push_back(fmt::format("{} {}{}{}", loss.name, figure_words(*loss.figure),
                                loss.against.empty() ? "" : " of ", loss.against));
  }
  return listed(items);
}

std::vector<Loss> losses_to_rivals(const Group& group, const Choice& choice) {
  std::vector<Loss> losses;
  for (const std::size_t at : choice.over_rival.slower) {
    const Standing* standing = group.problems[at].find(choice.variants[at]);
    losses.push_back(
        {shown(group.problems[at].name), shown(standing->rival), &*standing->over_rival});
  }
  return losses;
}

/// Held-out problems count here: a loss there is one.
std::vector<Loss> losses_to_start(const Group& group, const Choice& choice) {
  std::vector<Loss> losses;
  for (std::size_t i = 0; i < choice.variants.size(); ++i) {
    const Standing* standing = group.problems[i].find(choice.variants[i]);
    if (standing == nullptr || !standing->over_start) continue;
    if (standing->over_start->outcome != ComparisonOutcome::slower) continue;
    losses.push_back({shown(group.problems[i].name), "", &*standing->over_start});
  }
  return losses;
}

/// What the incumbent loses to the start where the recommendation takes another variant.
std::vector<Loss> incumbent_losses(const Outcome& outcome, const Group& group,
                                   const Choice& choice) {
  if (outcome.incumbent.empty()) return {};
  Choice alone;
  for (std::size_t i = 0; i < group.problems.size(); ++i) {
    const bool differs = i >= choice.variants.size() || choice.variants[i] != outcome.incumbent;
    alone.variants.push_back(differs ? outcome.incumbent : "");
  }
  return losses_to_start(group, alone);
}

std::string keep_words(const Outcome& outcome, const Group& group, const Choice& choice) {
  std::map<std::string, std::vector<std::size_t>> kept;
  for (const std::size_t at : outcome.recommendation.keep_rival) {
    kept[group.problems[at].find(choice.variants[at])->rival].push_back(at);
  }
  std::string words;
  for (const auto& [rival, problems] : kept) {
    words += fmt::format("{} {} on {}", words.empty() ? "; keep" : ",", shown(rival),
                         problems_words(group, problems));
  }
  return words;
}

std::string capitalized(std::string words) {
  if (!words.empty() && words[0] >= 'a' && words[0] <= 'z') {
    words[0] = static_cast<char>(words[0] - 'a' + 'A');
  }
  return words;
}

}  // namespace

std::string headline(const Outcome& outcome) {
  std::string words = what_words(outcome);
  const Group* group = outcome.main_group();
  if (group == nullptr) return words;
  const Choice& choice = group->by_problem;
  const Total& rivals = choice.over_rival;
  words += where_words(*group);
  if (rivals.measured() > 0) {
    words += "; " + counts_words(rivals, rival_words(*group, choice));
    if (rivals.mean) words += ", " + mean_words(rivals);
  } else {
    words += "; no rival stands beside it";
  }
  const bool is_start = outcome.recommendation.advice == Advice::keep_start;
  if (choice.over_start.mean && choice.over_start.missing.empty() && !is_start) {
    words += "; " + mean_words(choice.over_start) + " over the start";
  }
  return words;
}

std::string losses(const Outcome& outcome) {
  const Group* group = outcome.main_group();
  if (group == nullptr) return {};
  const Choice& choice = group->by_problem;
  std::string words;
  const auto add = [&](const std::string& what, std::vector<Loss> found) {
    if (found.empty()) return;
    words += (words.empty() ? "" : " ") + what + ": " + loss_words(std::move(found)) + ".";
  };
  add("Slower than a rival", losses_to_rivals(*group, choice));
  add("Slower than the start", losses_to_start(*group, choice));
  add(fmt::format("The incumbent {} alone is slower than the start", shown(outcome.incumbent)),
      incumbent_losses(outcome, *group, choice));
  return words;
}

std::string advice_words(const Outcome& outcome) {
  const Recommendation& made = outcome.recommendation;
  const Group* group = outcome.main_group();
  if (made.advice == Advice::none) return "Measure a baseline first.";
  if (made.advice == Advice::run_iterations || group == nullptr) {
    return "Run iterations: only the start is measured, and beside no rival.";
  }
  const Choice& choice = group->by_problem;
  std::string words;
  if (made.advice == Advice::dispatch) {
    words = "Dispatch by problem: " + parts_words(made);
    if (made.parts.size() == 2) {
      words += fmt::format(" ({})", problems_words(*group, made.parts[1].problems));
    }
  } else if (made.advice == Advice::keep_start) {
    words = "Keep the start " + shown(made.parts.front().variant);
  } else {
    words = "Use " + shown(made.parts.empty() ? outcome.incumbent : made.parts.front().variant);
    if (group->is_suite && !outcome.start.empty()) words += " in place of the start";
  }
  const Total& rivals = choice.over_rival;
  if (rivals.measured() > 0 && rivals.slower.size() == rivals.measured()) {
    words += fmt::format("; on every problem measured a rival is faster{}",
                         keep_words(outcome, *group, choice));
  } else {
    words += keep_words(outcome, *group, choice);
  }
  if (made.confirmation) {
    words += fmt::format("; confirm by `sdpa-wb compare {} {}` in one run on {}",
                         shown(made.confirmation->candidate), shown(made.confirmation->against),
                         problems_words(*group, made.confirmation->problems));
  }
  return words + ".";
}

std::vector<std::string> next_steps(const Outcome& outcome) {
  std::vector<std::string> steps{advice_words(outcome)};
  const Group* group = outcome.main_group();
  if (group == nullptr) return steps;
  const Choice& choice = group->by_problem;
  std::vector<Loss> lost = losses_to_rivals(*group, choice);
  std::stable_sort(lost.begin(), lost.end(), [](const Loss& a, const Loss& b) {
    return a.figure->speedup < b.figure->speedup;
  });
  for (std::size_t i = 0; i < std::min(lost.size(), k_steps_of_a_kind); ++i) {
    steps.push_back(fmt::format("Close the gap on {}: {} of {}.", lost[i].name,
                                figure_words(*lost[i].figure), lost[i].against));
  }
  const std::vector<std::size_t>& open = choice.over_rival.undecided;
  for (std::size_t i = 0; i < std::min(open.size(), k_steps_of_a_kind); ++i) {
    const Standing* standing = group->problems[open[i]].find(choice.variants[open[i]]);
    steps.push_back(fmt::format("Measure {} beside {} again with more processes or rounds: {}.",
                                shown(group->problems[open[i]].name), shown(standing->rival),
                                figure_words(*standing->over_rival)));
  }
  return steps;
}

std::string paragraph(const Outcome& outcome) {
  std::string words = capitalized(headline(outcome)) + ".";
  if (const Group* group = outcome.main_group()) {
    const double bias = group->by_problem.selection_bias;
    if (std::abs(bias - 1) >= 0.001) {
      words += fmt::format(
          " Choosing the fastest by the same figures makes this mean {:.1f} % too {}; its interval "
          "allows for that.",
          100 * std::abs(bias - 1), bias > 1 ? "high" : "low");
    }
  }
  const std::string lost = losses(outcome);
  if (!lost.empty()) words += " " + lost;
  if (outcome.main_group() != nullptr) words += " " + advice_words(outcome);
  return words;
}

}  // namespace wb::outcome
