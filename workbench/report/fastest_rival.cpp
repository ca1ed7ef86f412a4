// SPDX-License-Identifier: MIT
// The opponent "SDPA" of a page: on each problem the fastest rival with a figure. Rivals differ in
// the problems that they accept and in where they are fast, so no single one is PyTorch's SDPA.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/phrases.hpp"

namespace wb::report {
namespace {

/// The cell "1.76x [1.74, 1.79], faster [e528]"; it names the rival if that is not `expected`.
std::string cell(const Compared* compared, const std::string& expected) {
  if (compared == nullptr) return "none stands";
  if (!compared->ratio.value) {
    return "no figure beside " + code(std::string(base_name(compared->against)), 60) +
           cite(compared->seq);
  }
  const std::string other(base_name(compared->against));
  return outcome_words(*compared) + (other == expected ? "" : " (" + code(other, 60) + ")") +
         cite(compared->seq);
}

/// The comparison with the lowest ratio to a rival with a figure; nullptr if there is none.
const Compared* lowest_figure(const Facts& facts, const ComparisonIndex& index,
                              const std::string& problem, const std::string& plan) {
  const Compared* lowest = nullptr;
  for (const auto& [name, rival] : facts.rivals) {
    const Compared* compared = index.find(name, problem, plan);
    if (compared == nullptr || !rival.stands(problem) || !(compared->ratio.value > 0.0)) continue;
    // Ratios are paired by round, so they separate two rivals when medians do not.
    if (lowest == nullptr || *compared->ratio.value < *lowest->ratio.value) lowest = compared;
  }
  return lowest;
}

/// The fastest rival of each problem of the suite, in order; nullptr if none has a figure.
std::vector<const Compared*> fastest_rivals(const Facts& facts, const ComparisonIndex& index,
                                            const std::string& plan) {
  std::vector<const Compared*> fastest;
  for (const SuiteEntry& entry : facts.suite) {
    fastest.push_back(fastest_rival(facts, index, entry.problem, plan));
  }
  return fastest;
}

/// The names of the rivals that have a figure.
std::set<std::string> names_of(const std::vector<const Compared*>& fastest) {
  std::set<std::string> names;
  for (const Compared* compared : fastest) {
    if (compared != nullptr && compared->ratio.value) names.emplace(base_name(compared->against));
  }
  return names;
}

std::set<std::string> rivals_of_all_plans(const Page& page) {
  std::set<std::string> names;
  for (const std::string& plan : page.facts.plans) {
    names.merge(names_of(fastest_rivals(page.facts, page.held, plan)));
  }
  return names;
}

std::string listed(const std::vector<std::string>& rivals) {
  if (rivals.empty()) return "the fastest rival of each";  // none of them is known
  std::string out = "the fastest rival of each (";
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    out += (i == 0 ? "" : ", ") + code(rivals[i], 60);
  }
  return out + ")";
}

/// The geometric mean of the problems' speedups, by the suite's weights; its interval averages the
/// ends of theirs, which holds for any dependence. Nothing if one has no figure.
std::optional<Gain> geometric_mean(const Facts& facts,
                                   const std::vector<const Compared*>& fastest) {
  double log_sum = 0, low_sum = 0, high_sum = 0, weights = 0;
  bool has_interval = true;
  Gain mean;
  for (std::size_t i = 0; i < facts.suite.size(); ++i) {
    if (facts.suite[i].held_out && fastest[i] == nullptr) continue;
    if (fastest[i] == nullptr || !fastest[i]->ratio.value) return std::nullopt;
    const Ratio& ratio = fastest[i]->ratio;
    const double weight = facts.suite[i].weight;
    log_sum += weight * std::log(*ratio.value);
    has_interval = has_interval && ratio.low && ratio.high && *ratio.low > 0 && *ratio.high > 0;
    if (has_interval) low_sum += weight * std::log(*ratio.low);
    if (has_interval) high_sum += weight * std::log(*ratio.high);
    weights += weight;
    mean.events.push_back(fastest[i]->seq);
  }
  if (!(weights > 0)) return std::nullopt;
  mean.ratio.value = std::exp(log_sum / weights);
  if (has_interval) mean.ratio.low = std::exp(low_sum / weights);
  if (has_interval) mean.ratio.high = std::exp(high_sum / weights);
  return mean;
}

}  // namespace

const Compared* fastest_rival(const Facts& facts, const ComparisonIndex& index,
                              const std::string& problem, const std::string& plan) {
  for (const auto& [name, rival] : facts.rivals) {
    const Compared* compared = index.find(name, problem, plan);
    if (compared == nullptr || !rival.stands(problem)) continue;
    // This rival may have been the fastest, so no other may be called that.
    if (!(compared->ratio.value > 0.0)) return compared;
  }
  return lowest_figure(facts, index, problem, plan);
}

std::string sdpa_table(const Facts& facts, const ComparisonIndex& index,
                       std::string_view candidate) {
  std::set<std::string> rivals;
  for (const Compared& compared : index.all()) {
    const RivalFacts* rival = compared.against_rival ? facts.find_rival(compared.against) : nullptr;
    if (rival != nullptr && !compared.problem.empty() && rival->stands(compared.problem)) {
      rivals.insert(rival->name);
    }
  }
  if (rivals.size() < 2) return {};
  std::vector<std::string> header{"problem", "fastest rival", "its us>",
                                  fmt::format("{} us>", candidate)};
  for (const std::string& plan : facts.plans) {
    header.push_back(inline_text(facts.plan_label(plan), 40));
  }
  Table table(header);
  const std::vector<const Compared*> fastest = fastest_rivals(facts, index, facts.plan);
  for (std::size_t i = 0; i < facts.suite.size(); ++i) {
    const SuiteEntry& entry = facts.suite[i];
    const Compared* first = fastest[i];
    if (first == nullptr) continue;
    // A rival without a figure means that the fastest is unknown.
    const bool is_known = first->ratio.value.has_value();
    const std::string name(is_known ? base_name(first->against) : "");
    std::vector<std::string> cells{inline_text(facts.title(entry.problem), 60),
                                   is_known ? code(name, 60) : "not known",
                                   microseconds(is_known ? first->against_us : std::nullopt),
                                   microseconds(first->candidate_us)};
    for (const std::string& plan : facts.plans) {
      cells.push_back(cell(fastest_rival(facts, index, entry.problem, plan), name));
    }
    table.row(std::move(cells));
  }
  if (table.empty()) return {};
  std::string out = fmt::format(
      "SDPA: on each problem the fastest rival that takes it, beside which the figure under {} is "
      "the lowest. Where another is the fastest under another plan, it is named.\n\n{}\n",
      inline_text(facts.plan_label(facts.plan), 40), table.str());
  if (const auto mean = geometric_mean(facts, fastest)) {
    out += fmt::format(
        "Geometric mean of the speedups under {}: {}{}. As each problem's fastest rival was chosen "
        "by the same figures it favors the rivals a little.\n\n",
        inline_text(facts.plan_label(facts.plan), 40), speedup(mean->ratio), cite(mean->events));
  }
  return out;
}

std::string rival_words(const Page& page) {
  std::set<std::string> names;
  const outcome::Group* group = page.conclusion.main_group();
  const std::size_t n = group == nullptr ? 0 : group->by_problem.variants.size();
  for (std::size_t i = 0; i < n; ++i) {
    const outcome::ProblemOutcome& problem = group->problems[i];
    const outcome::Standing* standing = problem.find(group->by_problem.variants[i]);
    if (problem.held_out || standing == nullptr || !standing->over_rival) continue;
    if (standing->over_rival->speedup > 0) names.emplace(base_name(standing->rival));
  }
  const RivalFacts* only = names.size() == 1 ? page.facts.find_rival(*names.begin()) : nullptr;
  return only != nullptr ? rival_name(*only) : listed({names.begin(), names.end()});
}

bool is_rival_compared(const Page& page) {
  const auto fastest = fastest_rivals(page.facts, page.held, page.facts.plan);
  return std::any_of(fastest.begin(), fastest.end(),
                     [](const Compared* compared) { return compared != nullptr; });
}

bool has_rival_figure(const Page& page) {
  return !names_of(fastest_rivals(page.facts, page.held, page.facts.plan)).empty();
}

std::string sdpa_column(const Page& page) {
  const std::set<std::string> names = rivals_of_all_plans(page);
  const RivalFacts* only = names.size() == 1 ? page.facts.find_rival(*names.begin()) : nullptr;
  return only != nullptr ? rival_name(*only) : listed({names.begin(), names.end()});
}

std::string sdpa_cell(const Page& page, const std::string& plan) {
  const std::vector<const Compared*> fastest = fastest_rivals(page.facts, page.held, plan);
  const std::set<std::string> names = names_of(fastest);
  const bool is_known = std::all_of(fastest.begin(), fastest.end(), [](const Compared* compared) {
    return compared == nullptr || compared->ratio.value;
  });
  const std::set<std::string> all = rivals_of_all_plans(page);
  // Named if no rival has a figure under this plan.
  const std::set<std::string>& named = names.empty() ? all : names;
  const RivalFacts* only = named.size() == 1 ? page.facts.find_rival(*named.begin()) : nullptr;
  if (only != nullptr && is_known) {
    // The column's header names one rival only if it is the fastest under every plan.
    const bool is_named = all.size() <= 1;
    return rival_cell(page, *only, plan) + (is_named ? "" : " (" + code(only->name, 60) + ")");
  }
  const auto mean = geometric_mean(page.facts, fastest);
  return mean ? speedup(mean->ratio) + ", geometric mean" + cite(mean->events)
              : "not on every problem";
}

}  // namespace wb::report
