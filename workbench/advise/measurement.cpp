// SPDX-License-Identifier: MIT
#include "advise/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "advise/diagnosis.hpp"
#include "advise/remedy.hpp"
#include "catalogue/causes.hpp"
#include "core/json.hpp"
#include "problem/attention.hpp"

namespace wb::advise {

using catalogue::CauseNeed;
using problem::Problem;

namespace {

constexpr std::int64_t k_growth_steps = 3;  // 1, 2 and 4 times the size

std::string probed(const Target& target, const std::string& probe) {
  std::vector<const Problem*> all;
  for (const TargetProblem& one : target.problems) all.push_back(&one.problem);
  const Problem* base = smallest_problem(all);
  if (base == nullptr) return "P1;P2";
  std::string out;
  for (const Problem& one : probe_problems(*base, probe)) {
    out += (out.empty() ? "" : ";") + to_text(one);
  }
  return out;
}

void put_in(std::string& word, std::string_view place, const std::string& with) {
  const std::size_t at = word.find(place);
  if (at != std::string::npos) word.replace(at, place.size(), with);
}

/// "sdpa-wb measure VARIANT --plan eager --problem '…'"; the variant is positional.
std::string command_line(const CauseNeed& need, const Target& target, const Problem* open) {
  std::string positional, options;
  if (!need.arguments.is_object()) return "sdpa-wb " + need.verb;
  for (const auto& [name, value] : need.arguments.items()) {
    std::string word = value.is_string() ? value.get<std::string>() : value.dump();
    put_in(word, "{variant}", target.subject.empty() ? "VARIANT" : target.subject);
    if (word.find("{problems}") != std::string::npos) {
      put_in(word, "{problems}", probed(target, need.probe));
    }
    put_in(word, "{problem}", open != nullptr ? to_text(*open) : "P");
    if (name == "variant" || name == "id") {
      positional += " " + word;
    } else if (value == true) {
      options += " --" + name;
    } else {
      const bool has_spaces = word.find_first_of(" ;") != std::string::npos;
      options += fmt::format(" --{} {}", name, has_spaces ? "'" + word + "'" : word);
    }
  }
  return fmt::format("sdpa-wb {}{}{}", need.verb, positional, options);
}

}  // namespace

bool can_be_taken(const CauseNeed& need, const Target& target) {
  if (!need.plans.empty() && !target.plan.empty() && !is_among(need.plans, target.plan)) {
    return false;
  }
  const bool is_of_code = need.probe == "sass", is_of_gpu = is_of_code || need.verb == "profile";
  const bool has_gpu = target.backend.empty() || target.backend == "cuda";
  return (!is_of_gpu || has_gpu) && (!is_of_code || target.has_machine_code);
}

std::vector<Problem> probe_problems(const Problem& base, std::string_view probe) {
  std::vector<Problem> problems;
  const bool varies = probe == "heads" || probe == "keys";
  for (std::int64_t step = 0; step < (varies ? k_growth_steps : 1); ++step) {
    Problem problem = base;
    const std::int64_t times = std::int64_t{1} << step;
    if (probe == "heads") problem.B *= times;
    if (probe == "keys") {
      problem.Skv *= 2 * times;                // with Sq = Skv, both sizes would change
      problem.causal = problem::Causal::none;  // a masked key costs no iteration
    }
    if (varies) problem.name.clear();
    problems.push_back(std::move(problem));
  }
  return problems;
}

const Problem* smallest_problem(const std::vector<const Problem*>& problems) {
  const auto found = std::min_element(
      problems.begin(), problems.end(), [](const Problem* one, const Problem* other) {
        return problem::row_block_count(*one) < problem::row_block_count(*other);
      });
  return found == problems.end() ? nullptr : *found;
}

std::optional<DecidingMeasurement> deciding_measurement(const catalogue::Cause& cause,
                                                        const Target& target, const Problem* open) {
  const CauseNeed* chosen = nullptr;
  for (const CauseNeed& need : cause.needs) {
    if (!can_be_taken(need, target)) continue;
    const bool is_better = chosen == nullptr || (chosen->probe.empty() && !need.probe.empty());
    if (is_better) chosen = &need;
  }
  if (chosen == nullptr) return std::nullopt;
  return DecidingMeasurement{.command = command_line(*chosen, target, open),
                             .probe = chosen->probe,
                             .brings = chosen->brings,
                             .counter = chosen->counter};
}

}  // namespace wb::advise
