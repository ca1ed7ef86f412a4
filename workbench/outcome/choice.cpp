// SPDX-License-Identifier: MIT
#include "outcome/choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "measure/comparison.hpp"

namespace wb::outcome {

using measure::ComparisonOutcome;

namespace {

double speedup_of(const std::optional<Figure>& figure) {
  return figure && figure->speedup > 0 ? figure->speedup : 0;
}

/// The fastest first: by the ratio over the start, or where some do not lead to it, over rivals.
void sort_standings(std::vector<Standing>& standings) {
  const bool by_start = std::all_of(standings.begin(), standings.end(), [](const auto& standing) {
    return standing.over_start.has_value();
  });
  const auto figure = [&](const Standing& standing) {
    return speedup_of(by_start ? standing.over_start : standing.over_rival);
  };
  std::stable_sort(standings.begin(), standings.end(),
                   [&](const Standing& a, const Standing& b) { return figure(a) > figure(b); });
}

void set_standings(const Field& field, const Row& row, ProblemOutcome& problem) {
  const Measured& measured = field.measured;
  for (const std::string& variant : variants_of(measured, row)) {
    Standing standing;
    standing.variant = variant;
    if (!measured.start.empty()) {
      standing.over_start = row.figure(variant, measured.start, measured.rivals);
    }
    set_rival(measured, row, standing);
    problem.standings.push_back(std::move(standing));
  }
  sort_standings(problem.standings);
  problem.start_us = row.time_us(measured.start);
}

/// The variants that have a standing on every problem that is not held out.
std::vector<std::string> on_every_problem(const Group& group) {
  std::set<std::string> common;
  bool is_first = true;
  for (const ProblemOutcome& problem : group.problems) {
    if (problem.held_out) continue;
    std::set<std::string> here;
    for (const Standing& standing : problem.standings) {
      if (is_first || common.contains(standing.variant)) here.insert(standing.variant);
    }
    common = std::move(here);
    is_first = false;
  }
  return {common.begin(), common.end()};
}

void add(Total& total, std::size_t at, const Figure* figure) {
  if (figure == nullptr) {
    total.missing.push_back(at);
    return;
  }
  auto& list = figure->outcome == ComparisonOutcome::faster   ? total.faster
               : figure->outcome == ComparisonOutcome::slower ? total.slower
               : figure->outcome == ComparisonOutcome::same   ? total.same
                                                              : total.undecided;
  list.push_back(at);
  for (const std::int64_t event : figure->events) {
    if (std::find(total.events.begin(), total.events.end(), event) == total.events.end()) {
      total.events.push_back(event);
    }
  }
}

struct Weighed {
  measure::Comparison comparison;
  double weight = 1;
  std::optional<double> opponent_us;
};

std::optional<measure::Aggregate> mean_of(const Field& field, const std::vector<Weighed>& parts) {
  std::vector<measure::Comparison> comparisons;
  std::vector<double> weights, times_us;
  for (const Weighed& part : parts) {
    if (!(part.weight > 0)) continue;
    comparisons.push_back(part.comparison);
    weights.push_back(part.weight);
    if (part.opponent_us) times_us.push_back(*part.opponent_us);
  }
  if (comparisons.empty()) return std::nullopt;
  if (field.rule != "weighted_time") return measure::geometric_mean(comparisons, weights);
  if (times_us.size() != comparisons.size()) return std::nullopt;
  return measure::weighted_time_speedup(comparisons, times_us, weights);
}

Total total_of(const Field& field, const Group& group, const std::vector<std::string>& variants,
               bool is_over_start) {
  Total total;
  std::vector<Weighed> parts;
  for (std::size_t i = 0; i < group.problems.size(); ++i) {
    const ProblemOutcome& problem = group.problems[i];
    if (problem.held_out) continue;
    const Standing* standing = problem.find(variants[i]);
    const std::optional<Figure>* found = standing == nullptr ? nullptr
                                         : is_over_start     ? &standing->over_start
                                                             : &standing->over_rival;
    const Figure* figure = found != nullptr && *found ? &**found : nullptr;
    add(total, i, figure);
    if (figure == nullptr || !(figure->speedup > 0)) continue;
    if (field.rule == "one_problem" && problem.name != field.measured.objective_problem &&
        problem.problem != field.measured.objective_problem) {
      continue;
    }
    Weighed part;
    part.comparison.speedup = figure->speedup;
    part.comparison.interval = figure->interval;
    part.weight = problem.weight;
    part.opponent_us = is_over_start ? problem.start_us : field.rows[i]->time_us(standing->rival);
    parts.push_back(std::move(part));
  }
  std::sort(total.events.begin(), total.events.end());
  total.mean = mean_of(field, parts);
  return total;
}

Choice choice_of(const Field& field, const Group& group, std::vector<std::string> variants) {
  Choice choice;
  choice.over_start = total_of(field, group, variants, true);
  choice.over_rival = total_of(field, group, variants, false);
  choice.variants = std::move(variants);
  return choice;
}

/// The objective's own figure of a variant over the start: it knows of biases that all problems of
/// a process share, so its interval is the narrower one.
std::optional<Figure> objective_figure(const Field& field, const std::string& variant) {
  const std::string& start = field.measured.start;
  if (field.objective == nullptr || start.empty()) return std::nullopt;
  const auto there = field.objective->subjects();
  if (!there.contains(variant) || !there.contains(start)) return std::nullopt;
  return field.objective->figure(variant, start, field.measured.rivals);
}

Choice single_of(const Field& field, const Group& group, const std::string& variant) {
  Choice choice = choice_of(field, group, std::vector<std::string>(group.problems.size(), variant));
  if (const auto figure = objective_figure(field, variant)) {
    choice.over_start.mean = measure::Aggregate{figure->speedup, figure->interval};
    choice.over_start.events = figure->events;
  }
  return choice;
}

/// Whether the first is shown faster than the second over the group: by the word of the objective's
/// comparison, else by the interval of the mean over the problems. Nothing where they never met.
std::optional<bool> is_shown_faster(const Field& field, const Group& group,
                                    const std::string& first, const std::string& second) {
  if (field.objective != nullptr) {
    const auto there = field.objective->subjects();
    if (there.contains(first) && there.contains(second)) {
      const auto figure = field.objective->figure(first, second, field.measured.rivals);
      if (figure) return figure->outcome == ComparisonOutcome::faster;
    }
  }
  std::vector<Weighed> parts;
  for (std::size_t i = 0; i < group.problems.size(); ++i) {
    if (group.problems[i].held_out) continue;
    const auto figure = field.rows[i]->figure(first, second, field.measured.rivals);
    if (!figure || !(figure->speedup > 0)) return std::nullopt;
    Weighed part;
    part.comparison.speedup = figure->speedup;
    part.comparison.interval = figure->interval;
    part.weight = group.problems[i].weight;
    part.opponent_us = field.rows[i]->time_us(second);
    parts.push_back(std::move(part));
  }
  const auto mean = mean_of(field, parts);
  if (!mean) return std::nullopt;
  return mean->interval.low > 1;
}

/// The best of those that serve every problem; an empty choice when there is none. The incumbent,
/// or else the start, stays the best unless another is shown faster: a larger mean may be noise.
Choice best_single(const Field& field, const Group& group) {
  std::vector<std::pair<std::string, Choice>> all;
  for (const std::string& variant : on_every_problem(group)) {
    all.emplace_back(variant, single_of(field, group, variant));
  }
  // Where one of them does not lead to the start, rivals are the common yardstick.
  const bool by_start = std::all_of(all.begin(), all.end(), [](const auto& item) {
    return item.second.over_start.missing.empty() && item.second.over_start.mean;
  });
  const auto value = [&](const Choice& choice) {
    const auto& mean = by_start ? choice.over_start.mean : choice.over_rival.mean;
    return mean && mean->value > 0 ? mean->value : 0;
  };
  const auto named = [&](const std::string& variant) {
    return std::find_if(all.begin(), all.end(),
                        [&](const auto& item) { return item.first == variant; });
  };
  auto holder = named(field.measured.incumbent);
  if (holder == all.end()) holder = named(field.measured.start);
  auto best = holder;
  for (auto item = all.begin(); item != all.end(); ++item) {
    if (best != all.end() && !(value(item->second) > value(best->second))) continue;
    if (holder != all.end() &&
        !is_shown_faster(field, group, item->first, holder->first).value_or(true)) {
      continue;
    }
    best = item;
  }
  return best == all.end() ? Choice{} : std::move(best->second);
}

/// The fastest of those that are shown faster than the base on this problem, else the base.
std::string best_on(const Field& field, const Row& row, const ProblemOutcome& problem,
                    const std::string& base) {
  if (problem.find(base) == nullptr) {
    return problem.standings.empty() ? std::string() : problem.standings.front().variant;
  }
  std::string best = base;
  double best_speedup = 1;
  for (const Standing& standing : problem.standings) {
    const auto over = row.figure(standing.variant, base, field.measured.rivals);
    if (!over || over->outcome != ComparisonOutcome::faster) continue;
    if (over->speedup <= best_speedup) continue;
    best = standing.variant;
    best_speedup = over->speedup;
  }
  return best;
}

void widen(std::optional<measure::Aggregate>& mean, double bias) {
  if (!mean || !measure::is_valid(mean->interval)) return;
  mean->interval.low /= std::max(bias, 1.0);
  mean->interval.high /= std::min(bias, 1.0);
}

}  // namespace

std::vector<std::string> variants_of(const Measured& measured, const Row& row) {
  std::vector<std::string> variants;
  for (const std::string& subject : row.subjects()) {
    if (!measured.is_rival(subject)) variants.push_back(subject);
  }
  return variants;
}

void set_rival(const Measured& measured, const Row& row, Standing& standing) {
  std::string without_figure;
  for (const std::string& rival : row.subjects()) {
    if (!measured.is_rival(rival)) continue;
    const Edge* beside = row.direct(standing.variant, rival);
    if (beside != nullptr && !beside->has_figure) without_figure = rival;
    const auto figure = row.figure(standing.variant, rival, measured.rivals);
    if (!figure) continue;
    if (standing.over_rival && standing.over_rival->speedup <= figure->speedup) continue;
    standing.over_rival = figure;
    standing.rival = rival;
  }
  if (without_figure.empty()) return;
  if (standing.over_rival && standing.over_rival->outcome == ComparisonOutcome::slower) return;
  Figure unknown;
  unknown.speedup = measure::k_unknown;
  unknown.interval = {measure::k_unknown, measure::k_unknown, 0.99};
  unknown.events = {row.direct(standing.variant, without_figure)->seq};
  standing.over_rival = unknown;
  standing.rival = without_figure;
}

void choose(const Field& field, Group& group) {
  for (std::size_t i = 0; i < group.problems.size(); ++i) {
    set_standings(field, *field.rows[i], group.problems[i]);
  }
  group.single = best_single(field, group);
  std::vector<std::string> best;
  for (std::size_t i = 0; i < group.problems.size(); ++i) {
    ProblemOutcome& problem = group.problems[i];
    const std::string base = group.single.variants.empty() ? "" : group.single.variants.front();
    // Held-out problems judge a choice and take no part in it.
    problem.best = problem.held_out && !base.empty() && problem.find(base) != nullptr
                       ? base
                       : best_on(field, *field.rows[i], problem, base);
    if (const Standing* standing = problem.find(problem.best)) {
      problem.rival_us = field.rows[i]->time_us(standing->rival);
    }
    best.push_back(problem.best);
  }
  group.by_problem = choice_of(field, group, std::move(best));
  // The same choice has the same figures.
  if (group.by_problem.variants == group.single.variants) group.by_problem = group.single;
  for (Choice* choice : {&group.single, &group.by_problem}) {
    if (choice->variants.empty()) continue;
    choice->selection_bias = selection_bias(field, group, *choice);
    widen(choice->over_rival.mean, choice->selection_bias);
  }
}

}  // namespace wb::outcome
