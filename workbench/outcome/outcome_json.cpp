// SPDX-License-Identifier: MIT
#include <cmath>

#include "core/json.hpp"
#include "outcome/outcome.hpp"

namespace wb::outcome {
namespace {

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json number_or_null(const std::optional<double>& value) {
  return value ? number_or_null(*value) : Json(nullptr);
}

Json figure_json(const std::optional<Figure>& figure) {
  if (!figure) return nullptr;
  return {{"speedup", number_or_null(figure->speedup)},
          {"interval", measure::to_json(figure->interval)},
          {"outcome", measure::to_string(figure->outcome)},
          {"events", figure->events}};
}

Json mean_json(const std::optional<measure::Aggregate>& mean) {
  if (!mean || !(mean->value > 0)) return nullptr;
  return {{"speedup", mean->value}, {"interval", measure::to_json(mean->interval)}};
}

Json names_json(const Group& group, const std::vector<std::size_t>& problems) {
  Json names = Json::array();
  for (const std::size_t at : problems) names.push_back(group.problems[at].name);
  return names;
}

Json total_json(const Group& group, const Total& total) {
  return {{"mean", mean_json(total.mean)},
          {"events", total.events},
          {"faster", names_json(group, total.faster)},
          {"slower", names_json(group, total.slower)},
          {"same", names_json(group, total.same)},
          {"undecided", names_json(group, total.undecided)},
          {"missing", names_json(group, total.missing)}};
}

Json parts_json(const Group& group, const std::vector<Part>& parts) {
  Json list = Json::array();
  for (const Part& part : parts) {
    list.push_back({{"variant", part.variant}, {"problems", names_json(group, part.problems)}});
  }
  return list;
}

Json choice_json(const Group& group, const Choice& choice) {
  if (choice.variants.empty()) return nullptr;
  return {{"parts", parts_json(group, group.parts(choice))},
          {"over_start", total_json(group, choice.over_start)},
          {"over_rival", total_json(group, choice.over_rival)},
          {"selection_bias", choice.selection_bias}};
}

Json standing_json(const Standing& standing) {
  return {{"variant", standing.variant},
          {"over_start", figure_json(standing.over_start)},
          {"rival", standing.rival.empty() ? Json(nullptr) : Json(standing.rival)},
          {"over_rival", figure_json(standing.over_rival)}};
}

Json problem_json(const ProblemOutcome& problem) {
  Json standings = Json::array();
  for (const Standing& standing : problem.standings) standings.push_back(standing_json(standing));
  return {{"problem", problem.hidden ? Json(nullptr) : Json(problem.problem)},
          {"name", problem.name},
          {"weight", problem.weight},
          {"held_out", problem.held_out},
          {"best", problem.best.empty() ? Json(nullptr) : Json(problem.best)},
          {"start_us", number_or_null(problem.start_us)},
          {"rival_us", number_or_null(problem.rival_us)},
          {"variants", std::move(standings)}};
}

Json group_json(const Group& group) {
  Json problems = Json::array();
  for (const ProblemOutcome& problem : group.problems) problems.push_back(problem_json(problem));
  return {{"suite", group.is_suite},
          {"plan", group.plan},
          {"regime", group.regime.empty() ? Json(nullptr) : Json(group.regime)},
          {"problems", std::move(problems)},
          {"single", choice_json(group, group.single)},
          {"by_problem", choice_json(group, group.by_problem)}};
}

Json recommendation_json(const Outcome& outcome) {
  const Recommendation& made = outcome.recommendation;
  Json json{{"advice", made.develop.empty() ? to_string(made.advice) : "use_rivals"},
            {"group", outcome.groups.empty() ? Json(nullptr) : Json(made.group)},
            {"parts", Json::array()},
            {"keep_rival", Json::array()},
            {"develop", made.develop.empty() ? Json(nullptr) : Json(made.develop)},
            {"confirm", nullptr},
            {"text", advice_words(outcome)}};
  if (outcome.groups.empty()) return json;
  const Group& group = outcome.groups[made.group];
  json["parts"] = parts_json(group, made.parts);
  for (const std::size_t at : made.keep_rival) {
    const ProblemOutcome& problem = group.problems[at];
    json["keep_rival"].push_back(
        {{"problem", problem.name}, {"rival", problem.find(problem.best)->rival}});
  }
  if (made.confirmation) {
    json["confirm"] = {{"candidate", made.confirmation->candidate},
                       {"against", made.confirmation->against},
                       {"problems", names_json(group, made.confirmation->problems)}};
  }
  return json;
}

}  // namespace

Json to_json(const Outcome& outcome) {
  Json groups = Json::array(), variants = Json::array();
  for (const Group& group : outcome.groups) groups.push_back(group_json(group));
  for (const VariantOutcome& variant : outcome.variants) {
    variants.push_back({{"variant", variant.label},
                        {"passed", variant.passed},
                        {"confirmed", variant.confirmed},
                        {"over_start", mean_json(variant.over_start)}});
  }
  return {{"start", outcome.start},           {"incumbent", outcome.incumbent},
          {"iterations", outcome.iterations}, {"groups", std::move(groups)},
          {"variants", std::move(variants)},  {"recommendation", recommendation_json(outcome)},
          {"headline", headline(outcome)},    {"losses", losses(outcome)}};
}

}  // namespace wb::outcome
