// SPDX-License-Identifier: MIT
// Configurations: completed by the manifest's defaults and checked against values and restrictions.
#include <fmt/format.h>

#include <algorithm>

#include "variant/restriction.hpp"
#include "variant/variant.hpp"

namespace wb::variant {

using problem::Problem;

std::map<std::string, std::int64_t> problem_values(const Problem& problem) {
  return {{"B", problem.B},
          {"Hq", problem.Hq},
          {"Hkv", problem.Hkv},
          {"Sq", problem.Sq},
          {"Skv", problem.Skv},
          {"D", problem.D},
          {"Dv", problem.Dv},
          {"dtype_bytes", size_bytes(problem.dtype)},
          {"causal", static_cast<std::int64_t>(problem.causal)},
          {"mask", static_cast<std::int64_t>(problem.mask)}};
}

bool is_problem_name(std::string_view name) {
  return problem_values(Problem{}).contains(std::string(name));
}

namespace {

Result<void> check_values(const Manifest& manifest, const Configuration& configuration) {
  for (const auto& [name, value] : configuration) {
    const auto param = manifest.tune_params.find(name);
    if (param == manifest.tune_params.end()) {
      std::vector<std::string> known;
      for (const auto& [known_name, values] : manifest.tune_params) known.push_back(known_name);
      const std::string close = did_you_mean(name, known);
      std::string all;
      for (const std::string& word : known) all += (all.empty() ? "" : ", ") + word;
      return Error{ErrorCode::not_found, "set a parameter of", manifest.name,
                   "it has no parameter " + name,
                   !close.empty()  ? "did you mean " + close + "?"
                   : known.empty() ? "it has no tunable parameters"
                                   : "its parameters are " + all};
    }
    const auto& values = param->second;
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      std::string all;
      for (const std::int64_t v : values) all += (all.empty() ? "" : ", ") + fmt::to_string(v);
      return Error{ErrorCode::invalid, "set a parameter of", manifest.name,
                   name + "=" + fmt::to_string(value) + " is not one of its values",
                   "choose from " + all};
    }
  }
  return {};
}

}  // namespace

Result<Configuration> complete_configuration(const Manifest& manifest, const Configuration& given) {
  WB_TRY(check_values(manifest, given));
  Configuration complete = given;
  complete.insert(manifest.defaults.begin(), manifest.defaults.end());
  return complete;
}

Result<std::optional<std::string>> violated_restriction(const Manifest& manifest,
                                                        const Configuration& configuration,
                                                        const Problem* problem) {
  WB_TRY_ASSIGN(Configuration values, complete_configuration(manifest, configuration));
  if (problem != nullptr) values.merge(problem_values(*problem));
  for (const std::string& text : manifest.restrictions) {
    WB_TRY_ASSIGN(const Restriction restriction, Restriction::parse(text));
    const auto names = restriction.names();
    const bool asks_problem =
        std::any_of(names.begin(), names.end(), [](const auto& n) { return is_problem_name(n); });
    if (problem == nullptr && asks_problem) continue;
    auto holds = restriction.holds(values);
    if (!holds.ok()) {
      Error error = std::move(holds).error();
      error.subject = "\"" + text + "\" of " + manifest.name;
      return error;
    }
    if (!*holds) return std::optional<std::string>(text);
  }
  return std::optional<std::string>();
}

std::vector<std::string> techniques_in(const Manifest& manifest,
                                       const Configuration& configuration) {
  const auto values = complete_configuration(manifest, configuration);
  std::vector<std::string> used;
  for (const std::string& word : manifest.techniques) {
    const auto condition = manifest.technique_conditions.find(word);
    if (condition != manifest.technique_conditions.end() && values.ok()) {
      const auto parsed = Restriction::parse(condition->second);
      if (parsed.ok()) {
        const auto holds = parsed->holds(*values);
        if (holds.ok() && !*holds) continue;
      }
    }
    used.push_back(word);
  }
  return used;
}

}  // namespace wb::variant
