// SPDX-License-Identifier: MIT
// The outcome in plain English. One idea a sentence; every figure names its events.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "outcome/outcome.hpp"

namespace wb::outcome {

using measure::ComparisonOutcome;

namespace {

constexpr std::size_t k_named_problems = 4, k_named_events = 4, k_name_bytes = 80;
constexpr std::size_t k_steps_of_a_kind = 5;

/// Brackets and backticks of a name would look like an event or a command on a page.
std::string shown(std::string_view name) {
  std::string words = printable(name, k_name_bytes);
  std::replace(words.begin(), words.end(), '[', '(');
  std::replace(words.begin(), words.end(), ']', ')');
  std::replace(words.begin(), words.end(), '`', '\'');
  return words;
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
    return fmt::format(" [e{}] to [e{}] ({} events)", events.front(), events.back(), events.size());
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

/// The rivals to keep with their problems, the one on most of them first.
std::vector<Part> kept_rivals(const Outcome& outcome, const Group& group) {
  std::map<std::string, std::vector<std::size_t>> kept;
  for (const std::size_t at : outcome.recommendation.keep_rival) {
    kept[group.problems[at].find(group.by_problem.variants[at])->rival].push_back(at);
  }
  std::vector<Part> rivals;
  for (auto& [rival, problems] : kept) rivals.push_back({rival, std::move(problems)});
  std::stable_sort(rivals.begin(), rivals.end(), [](const Part& a, const Part& b) {
    return a.problems.size() > b.problems.size();
  });
  return rivals;
}

std::string what_words(const Outcome& outcome) {
  const Recommendation& made = outcome.recommendation;
  if (!made.develop.empty()) return "use " + rivals_to_use(outcome);
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
  return fmt::format(" (compared between iterations, {}{}{})", shown(group.plan),
                     group.regime.empty() ? "" : " ", shown(group.regime));
}

std::string loss_words(const std::vector<Loss>& losses) {
  std::vector<std::string> items;
  for (const Loss& loss : losses) {
    items.push_back(fmt::format("{} {}{}", shown(loss.problem), figure_words(loss.figure),
                                loss.against.empty() ? "" : " of " + shown(loss.against)));
  }
  return listed(items);
}

void sort_largest_first(std::vector<Loss>& losses) {
  std::stable_sort(losses.begin(), losses.end(), [](const Loss& a, const Loss& b) {
    return a.figure.speedup < b.figure.speedup;
  });
}

/// Held-out problems count here: a loss there is one.
std::vector<Loss> losses_to_start(const Group& group, const std::vector<std::string>& variants) {
  std::vector<Loss> losses;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Standing* standing = group.problems[i].find(variants[i]);
    if (standing == nullptr || !standing->over_start) continue;
    if (standing->over_start->outcome != ComparisonOutcome::slower) continue;
    losses.push_back({group.problems[i].name, "", *standing->over_start});
  }
  sort_largest_first(losses);
  return losses;
}

std::string keep_words(const Outcome& outcome, const Group& group) {
  std::string words;
  for (const Part& kept : kept_rivals(outcome, group)) {
    words += fmt::format("{} {} on {}", words.empty() ? "; keep" : ",", shown(kept.variant),
                         problems_words(group, kept.problems));
  }
  return words;
}

/// Where a rival is ahead everywhere: the rivals to use, how far off the best own choice is, and
/// what to develop further.
std::string rivals_first(const Outcome& outcome, const Group& group) {
  const std::vector<Part> rivals = kept_rivals(outcome, group);
  const std::size_t n = outcome.recommendation.keep_rival.size();
  const bool is_one = rivals.size() == 1;
  std::string words = "Use ";
  if (is_one) {
    words += fmt::format("{} on {}: it is ahead of the best variant here.",
                         shown(rivals.front().variant),
                         n == 1 ? problems_words(group, rivals.front().problems)
                                : fmt::format("all {} problems", n));
  } else {
    std::vector<std::string> items;
    for (const Part& rival : rivals) {
      constexpr std::size_t k_named = 3;
      const std::size_t count = rival.problems.size();
      items.push_back(fmt::format("{} on {}", shown(rival.variant),
                                  count <= k_named ? problems_words(group, rival.problems)
                                                   : fmt::format("{} problems", count)));
    }
    words += items.size() == 2 ? items.front() + " and " + items.back() : listed(items);
    words += ": each is ahead of the best variant here.";
  }
  if (const auto& mean = group.by_problem.over_rival.mean) {
    const std::string ratio = ratio_words(mean->value, mean->interval);
    words +=
        fmt::format(" The best own choice reaches {} of {}{}.", ratio.substr(0, ratio.find(' ')),
                    is_one ? "it" : "them", n == 1 ? "" : " on average");
  }
  const std::string& own = outcome.recommendation.develop;
  if (outcome.recommendation.advice == Advice::keep_start) {
    return words +
           fmt::format(" To go on, develop the start {}: {}.", shown(own), start_reason(outcome));
  }
  return words + fmt::format(" To go on, develop {}: it is the best {}.", shown(own),
                             group.single.variants.empty() ? "on most problems" : "single variant");
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
    words += outcome.recommendation.develop.empty() ? "; " : "; the best own choice is ";
    words += counts_words(rivals, rival_words(*group, choice));
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

std::string rivals_to_use(const Outcome& outcome) {
  const Group* group = outcome.main_group();
  if (group == nullptr) return {};
  std::vector<std::string> items;
  for (const Part& rival : kept_rivals(outcome, *group)) {
    items.push_back(fmt::format("{} on {}", shown(rival.variant), rival.problems.size()));
  }
  return listed(items);
}

Losses losses_of(const Outcome& outcome) {
  Losses found;
  const Group* group = outcome.main_group();
  if (group == nullptr) return found;
  const Choice& choice = group->by_problem;
  for (const std::size_t at : choice.over_rival.slower) {
    const Standing* standing = group->problems[at].find(choice.variants[at]);
    found.to_rivals.push_back({group->problems[at].name, standing->rival, *standing->over_rival});
  }
  sort_largest_first(found.to_rivals);
  found.to_start = losses_to_start(*group, choice.variants);
  if (outcome.incumbent.empty()) return found;
  std::vector<std::string> others;
  for (const std::string& variant : choice.variants) {
    others.push_back(variant == outcome.incumbent ? std::string() : outcome.incumbent);
  }
  found.of_incumbent = losses_to_start(*group, others);
  return found;
}

std::string losses(const Outcome& outcome) {
  const Losses found = losses_of(outcome);
  std::string words;
  const auto add = [&](const std::string& what, const std::vector<Loss>& lost) {
    if (lost.empty()) return;
    words += (words.empty() ? "" : " ") + what + ": " + loss_words(lost) + ".";
  };
  add("Slower than a rival", found.to_rivals);
  add("Slower than the start", found.to_start);
  add(fmt::format("The incumbent {} alone is slower than the start", shown(outcome.incumbent)),
      found.of_incumbent);
  return words;
}

std::string start_reason(const Outcome& outcome) {
  const Group* group = outcome.main_group();
  if (group == nullptr || outcome.recommendation.advice != Advice::keep_start) return {};
  const bool has_other =
      std::any_of(group->problems.begin(), group->problems.end(), [&](const auto& problem) {
        return std::any_of(problem.standings.begin(), problem.standings.end(),
                           [&](const Standing& one) { return one.variant != outcome.start; });
      });
  if (!has_other && outcome.iterations == 0) return "no other variant was measured";
  if (!has_other) {
    return outcome.iterations == 1
               ? "its one iteration brought no confirmed gain"
               : fmt::format("none of {} iterations brought a confirmed gain", outcome.iterations);
  }
  if (group->parts(group->by_problem).size() > 1) {
    return "another variant is faster only where a rival is faster still";
  }
  std::string words = "no other variant is shown faster";
  if (!group->is_suite) return words;
  for (const VariantOutcome& one : outcome.variants) {
    if (one.label == outcome.start || !one.confirmed || !one.over_start) continue;
    // A figure above 1 that is no gain would read as one.
    const measure::Interval& interval = one.over_start->interval;
    if (!measure::is_valid(interval) || interval.high >= 1) break;
    return words +
           fmt::format(" (the best of them: {})", ratio_words(one.over_start->value, interval));
  }
  return words;
}

namespace {

/// " and of torch_math", " and of the rivals", where none is ahead of the choice on any problem.
std::string beaten_rivals(const Group& group) {
  const Total& rivals = group.by_problem.over_rival;
  if (rivals.faster.empty() || !rivals.slower.empty() || !rivals.missing.empty()) return {};
  std::set<std::string> names;
  for (std::size_t at = 0; at < group.problems.size(); ++at) {
    const Standing* standing = group.problems[at].find(group.by_problem.variants[at]);
    if (standing != nullptr && !group.problems[at].held_out) names.insert(standing->rival);
  }
  return names.size() == 1 ? " and of " + shown(*names.begin()) : std::string(" and of the rivals");
}

}  // namespace

std::string advice_words(const Outcome& outcome) {
  const Recommendation& made = outcome.recommendation;
  const Group* group = outcome.main_group();
  if (made.advice == Advice::none) return "Measure a baseline first.";
  if (made.advice == Advice::run_iterations || group == nullptr) {
    return "Run iterations: only the start is measured, and beside no rival.";
  }
  if (!made.develop.empty()) return rivals_first(outcome, *group);
  std::string words;
  if (made.advice == Advice::dispatch) {
    words = "Dispatch by problem: " + parts_words(made);
    if (made.parts.size() == 2) {
      words += fmt::format(" ({})", problems_words(*group, made.parts[1].problems));
    }
  } else if (made.advice == Advice::keep_start) {
    words = "Keep the start " + shown(made.parts.front().variant) + ": " + start_reason(outcome);
  } else {
    words = "Use " + shown(made.parts.empty() ? outcome.incumbent : made.parts.front().variant);
    if (group->is_suite && !outcome.start.empty()) {
      words += " in place of the start" + beaten_rivals(*group);
    }
  }
  const Total& rivals = group->by_problem.over_rival;
  if (rivals.measured() > 0 && rivals.slower.size() == rivals.measured()) {
    words += "; wherever a rival was measured it is faster";
  }
  words += keep_words(outcome, *group);
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
  const std::vector<Loss> lost = losses_of(outcome).to_rivals;
  for (std::size_t i = 0; i < std::min(lost.size(), k_steps_of_a_kind); ++i) {
    steps.push_back(fmt::format("Close the gap on {}: {} of {}.", shown(lost[i].problem),
                                figure_words(lost[i].figure), shown(lost[i].against)));
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

std::string bias_words(const Outcome& outcome) {
  const Choice* choice = outcome.chosen();
  if (choice == nullptr || !choice->over_rival.mean) return {};
  const double bias = choice->selection_bias;
  if (!(std::abs(bias - 1) >= 0.001)) return {};
  return fmt::format(
      " Choosing the fastest by the same figures makes the mean over rivals {:.1f} % too {}; its "
      "interval allows for that.",
      100 * std::abs(bias - 1), bias > 1 ? "high" : "low");
}

std::string paragraph(const Outcome& outcome) {
  std::string words = capitalized(headline(outcome)) + "." + bias_words(outcome);
  const std::string lost = losses(outcome);
  if (!lost.empty()) words += " " + lost;
  if (outcome.main_group() != nullptr) words += " " + advice_words(outcome);
  return words;
}

}  // namespace wb::outcome
