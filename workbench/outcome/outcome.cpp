// SPDX-License-Identifier: MIT
#include "outcome/outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/json.hpp"
#include "outcome/choice.hpp"
#include "outcome/measured.hpp"
#include "problem/suite.hpp"

namespace wb::outcome {

using session::SessionView;

namespace {

/// The problems of the suite, with the names that they may have.
std::vector<ProblemOutcome> suite_of(const SessionView& view) {
  std::vector<ProblemOutcome> suite;
  std::size_t held_out = 0;
  const Json& problems = member(member(view.opened.payload, "suite"), "problems");
  if (!problems.is_array()) return suite;
  for (const Json& item : problems) {
    ProblemOutcome problem;
    problem.problem = text(item, "problem");
    if (problem.problem.empty()) continue;
    problem.name = text(item, "name");
    if (problem.name.empty()) problem.name = problem::short_name(problem.problem);
    problem.weight = number(item, "weight").value_or(1);
    const Json& is_held_out = member(item, "held_out");
    problem.held_out = is_held_out.is_boolean() && is_held_out.get<bool>();
    if (problem.held_out) ++held_out;
    if (problem.held_out && view.status != session::SessionStatus::closed) {
      problem.hidden = true;
      problem.name = fmt::format("held-out {}", held_out);
    }
    suite.push_back(std::move(problem));
  }
  return suite;
}

const Row& row_or_empty(const Measured& measured, const RowKey& key) {
  static const Row empty{};
  const auto found = measured.rows.find(key);
  return found == measured.rows.end() ? empty : found->second;
}

Group suite_group(const Measured& measured, std::vector<ProblemOutcome> suite) {
  Group group;
  group.is_suite = true;
  group.plan = measured.plan;
  group.regime = measured.regime;
  group.problems = std::move(suite);
  Field field{measured, {}, nullptr, measured.rule};
  for (const ProblemOutcome& problem : group.problems) {
    field.rows.push_back(
        &row_or_empty(measured, {problem.problem, measured.plan, measured.regime}));
  }
  field.objective = &row_or_empty(measured, {"", measured.plan, measured.regime});
  choose(field, group);
  return group;
}

/// What was measured beside the suite's deciding plan, one group for each plan and regime. Of plans
/// that a session measures beside the deciding one only `compare` makes a group: theirs are figures
/// about the incumbent, not another contest. `with_suite` lets the suite's own problems take part,
/// where others were compared under the deciding plan and regime.
std::vector<Group> other_groups(const Measured& measured, const SessionView& view,
                                const std::vector<ProblemOutcome>& suite, bool with_suite) {
  std::map<std::pair<std::string, std::string>, std::vector<const RowKey*>> found;
  std::vector<RowKey> compared;
  for (const session::Fact& fact : view.outside.comparisons) {
    RowKey key{text(fact.payload, "problem"), text(fact.payload, "plan"), ""};
    if (key.plan == "hot") key.regime = text(fact.payload, "regime");
    if (std::find(compared.begin(), compared.end(), key) == compared.end()) {
      compared.push_back(std::move(key));
    }
  }
  const auto named = [&](const RowKey& key) {
    return std::find_if(suite.begin(), suite.end(), [&](const ProblemOutcome& problem) {
      return problem.problem == key.problem;
    });
  };
  const auto is_of_suite = [&](const RowKey& key) {
    return key.plan == measured.plan && key.regime == measured.regime && named(key) != suite.end();
  };
  for (const RowKey& key : compared) {
    if (key.problem.empty()) continue;
    if (!with_suite && is_of_suite(key)) continue;
    if (variants_of(measured, row_or_empty(measured, key)).empty()) continue;
    found[{key.plan, key.regime}].push_back(&key);
  }
  std::vector<Group> groups;
  for (const auto& [conditions, keys] : found) {
    // Such a group would say nothing beside the suite's.
    if (std::all_of(keys.begin(), keys.end(), [&](auto* key) { return is_of_suite(*key); }))
      continue;
    Group group;
    group.plan = conditions.first;
    group.regime = conditions.second;
    Field field{measured, {}, nullptr, "geomean_speedup"};
    for (const RowKey* key : keys) {
      const auto at = named(*key);
      ProblemOutcome problem;
      problem.problem = key->problem;
      problem.name = at == suite.end() ? problem::short_name(key->problem) : at->name;
      problem.hidden = at != suite.end() && at->hidden;
      group.problems.push_back(std::move(problem));
      field.rows.push_back(&row_or_empty(measured, *key));
    }
    choose(field, group);
    groups.push_back(std::move(group));
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return a.problems.size() > b.problems.size();
  });
  return groups;
}

bool has_other_than_start(const Group& group, const std::string& start) {
  return std::any_of(group.problems.begin(), group.problems.end(), [&](const auto& problem) {
    return std::any_of(problem.standings.begin(), problem.standings.end(),
                       [&](const Standing& standing) { return standing.variant != start; });
  });
}

bool has_figures(const Group& group) {
  return group.by_problem.over_rival.measured() > 0 || group.by_problem.over_start.measured() > 0;
}

/// The suite, unless nothing but the start was measured there and more was measured elsewhere:
/// other variants, or, where no iteration ran, the start beside rivals on more problems.
std::size_t main_of(const Outcome& outcome) {
  const std::vector<Group>& groups = outcome.groups;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (has_other_than_start(groups[i], outcome.start)) return i;
  }
  if (outcome.iterations > 0) return 0;
  const auto most = std::max_element(groups.begin(), groups.end(), [](auto& a, auto& b) {
    return a.by_problem.over_rival.measured() < b.by_problem.over_rival.measured();
  });
  return static_cast<std::size_t>(most - groups.begin());
}

/// The parts without these problems. A part of which nothing is left is none.
std::vector<Part> without(std::vector<Part> parts, const std::vector<std::size_t>& problems) {
  for (Part& part : parts) {
    std::erase_if(part.problems, [&](std::size_t at) {
      return std::find(problems.begin(), problems.end(), at) != problems.end();
    });
  }
  std::erase_if(parts, [](const Part& part) { return part.problems.empty(); });
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.problems.size() > b.problems.size();
  });
  return parts;
}

Recommendation recommend(const Outcome& outcome) {
  Recommendation made;
  if (outcome.groups.empty()) return made;
  made.group = main_of(outcome);
  const Group& group = outcome.groups[made.group];
  if (!has_figures(group)) {
    made.advice = outcome.start.empty() ? Advice::none : Advice::run_iterations;
    return made;
  }
  const std::vector<Part> best = group.parts(group.by_problem);
  const std::string base = group.single.variants.empty() ? "" : group.single.variants.front();
  made.keep_rival = group.by_problem.over_rival.slower;
  made.parts = without(best, made.keep_rival);
  if (made.parts.empty() && !best.empty()) {
    made.parts = best;
    made.develop = base.empty() ? best.front().variant : base;
  }
  if (made.parts.size() > 1) {
    made.advice = Advice::dispatch;
    // A dispatch that wins nowhere is not worth a confirmation.
    if (base.empty() || !made.develop.empty()) return made;
    const auto other = std::find_if(made.parts.begin(), made.parts.end(),
                                    [&](const Part& part) { return part.variant != base; });
    made.confirmation = {other->variant, base, other->problems};
    return made;
  }
  const bool is_start = !made.parts.empty() && made.parts.front().variant == outcome.start;
  if (!is_start) {
    made.advice = Advice::adopt;
    return made;
  }
  const bool has_rivals = group.by_problem.over_rival.measured() > 0;
  const bool was_tried = outcome.iterations > 0 || has_other_than_start(group, outcome.start);
  made.advice = has_rivals || was_tried ? Advice::keep_start : Advice::run_iterations;
  return made;
}

std::vector<VariantOutcome> variants_of_session(const Measured& measured, const Outcome& outcome) {
  std::map<std::string, VariantOutcome> all;
  const auto variant = [&](const std::string& label) -> VariantOutcome& {
    VariantOutcome& made = all[label];
    made.label = label;
    made.name = base_name(label);
    return made;
  };
  for (const auto& [label, event] : measured.built) variant(label).built = event;
  for (const auto& [label, verdicts] : measured.verdicts) {
    if (measured.is_rival(label)) continue;
    variant(label).passed = verdicts.failed.empty() && !verdicts.passed.empty();
  }
  // Its share of won problems and its mean decide within a session.
  std::map<std::string, std::pair<double, std::size_t>> rank;
  for (const Group& group : outcome.groups) {
    for (const ProblemOutcome& problem : group.problems) {
      for (const Standing& standing : problem.standings) {
        variant(standing.variant).confirmed = true;
        if (!problem.held_out && problem.best == standing.variant) ++rank[standing.variant].second;
      }
    }
  }
  if (!outcome.groups.empty() && outcome.groups.front().is_suite) {
    const Group& suite = outcome.groups.front();
    const Row& objective = row_or_empty(measured, {"", suite.plan, suite.regime});
    const auto there = objective.subjects();
    for (auto& [label, made] : all) {
      if (label == measured.start && made.confirmed) {
        made.over_start = measure::Aggregate{1, {1, 1, 0.99}};
      } else if (there.contains(label) && there.contains(measured.start)) {
        const auto figure = objective.figure(label, measured.start, measured.rivals);
        if (figure) made.over_start = measure::Aggregate{figure->speedup, figure->interval};
      }
    }
  }
  for (const auto& [label, made] : all) {
    rank[label].first = made.over_start ? made.over_start->value : 0;
  }
  std::vector<VariantOutcome> variants;
  for (auto& [label, made] : all) variants.push_back(std::move(made));
  std::stable_sort(variants.begin(), variants.end(),
                   [&](const VariantOutcome& a, const VariantOutcome& b) {
                     if (a.passed != b.passed) return a.passed;
                     if (a.confirmed != b.confirmed) return a.confirmed;
                     if (a.confirmed && rank[a.label] != rank[b.label]) {
                       return rank[a.label] > rank[b.label];
                     }
                     return a.built > b.built;
                   });
  return variants;
}

}  // namespace

std::string_view to_string(Advice value) {
  static constexpr std::string_view k_words[] = {"none", "run_iterations", "keep_start", "adopt",
                                                 "dispatch"};
  return k_words[static_cast<int>(value)];
}

const Standing* ProblemOutcome::find(std::string_view variant) const {
  const auto found =
      std::find_if(standings.begin(), standings.end(),
                   [&](const Standing& standing) { return standing.variant == variant; });
  return found == standings.end() ? nullptr : &*found;
}

std::vector<Part> Group::parts(const Choice& choice) const {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < choice.variants.size(); ++i) {
    if (choice.variants[i].empty() || problems[i].held_out) continue;
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const Part& part) {
      return part.variant == choice.variants[i];
    });
    if (found == parts.end()) {
      parts.push_back({choice.variants[i], {i}});
    } else {
      found->problems.push_back(i);
    }
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.problems.size() > b.problems.size();
  });
  return parts;
}

const VariantOutcome* Outcome::find(std::string_view name) const {
  const auto found = std::find_if(variants.begin(), variants.end(), [&](const auto& variant) {
    return variant.passed && variant.name == name;
  });
  return found == variants.end() ? nullptr : &*found;
}

const Group* Outcome::main_group() const {
  if (recommendation.group >= groups.size()) return nullptr;
  return has_figures(groups[recommendation.group]) ? &groups[recommendation.group] : nullptr;
}

const Choice* Outcome::chosen() const {
  const Group* group = main_group();
  return group == nullptr ? nullptr : &group->by_problem;
}

bool Outcome::takes(std::string_view variant) const {
  return variant != start && std::any_of(recommendation.parts.begin(), recommendation.parts.end(),
                                         [&](const Part& part) { return part.variant == variant; });
}

Outcome outcome_of(const SessionView& view) {
  const Measured measured(view);
  Outcome outcome;
  outcome.start = measured.start;
  outcome.incumbent = view.incumbent;
  outcome.iterations = measured.iterations;
  const std::vector<ProblemOutcome> suite = suite_of(view);
  if (!suite.empty()) outcome.groups.push_back(suite_group(measured, suite));
  const bool only_start =
      !suite.empty() && !has_other_than_start(outcome.groups.front(), outcome.start);
  for (Group& group : other_groups(measured, view, suite, only_start)) {
    outcome.groups.push_back(std::move(group));
  }
  outcome.recommendation = recommend(outcome);
  outcome.variants = variants_of_session(measured, outcome);
  return outcome;
}

}  // namespace wb::outcome
