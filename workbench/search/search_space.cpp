// SPDX-License-Identifier: MIT
#include "search/search_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <stdexcept>

#include "search/space_diagram.hpp"

namespace wb::search {

using problem::Problem;
using variant::Configuration;
using variant::Manifest;

namespace {

constexpr std::uint64_t k_max_points = std::uint64_t{1} << 62;

Error unusable(const Manifest& manifest, ErrorCode code, std::string cause, std::string next) {
  return Error{code, "make the search space of", manifest.name, std::move(cause), std::move(next)};
}

Result<std::vector<SpaceParameter>> sorted_parameters(const Manifest& manifest) {
  if (manifest.tune_params.empty()) {
    return unusable(manifest, ErrorCode::invalid, "it has no tunable parameters",
                    "add tune_params to its kernel.json, or use iterate");
  }
  std::vector<SpaceParameter> parameters;
  std::uint64_t points = 1;
  for (const auto& [name, listed] : manifest.tune_params) {
    SpaceParameter parameter{name, listed};
    auto& values = parameter.values;
    if (values.empty()) {
      return unusable(manifest, ErrorCode::invalid, "the parameter " + name + " has no values",
                      "list at least one in tune_params");
    }
    std::sort(values.begin(), values.end());
    const auto twice = std::adjacent_find(values.begin(), values.end());
    if (twice != values.end()) {
      return unusable(manifest, ErrorCode::invalid,
                      fmt::format("the parameter {} lists {} twice", name, *twice),
                      "list each value once");
    }
    if (__builtin_mul_overflow(points, values.size(), &points) || points > k_max_points) {
      return unusable(manifest, ErrorCode::limit, "its lists span more than 2^62 points",
                      "list fewer parameters or values");
    }
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

Result<std::vector<Problem>> taken_problems(const Manifest& manifest, const problem::Suite& suite) {
  std::vector<Problem> problems;
  std::string why = "the suite has no problem that is not held out";
  for (const problem::SuiteProblem& member : suite.problems) {
    if (member.held_out) continue;
    if (auto reason = variant::unsupported_reason(manifest, member.problem)) {
      why = fmt::format("it takes no problem of {} ({}: {})", suite.name,
                        problem::label(member.problem), *reason);
      continue;
    }
    problems.push_back(member.problem);
  }
  if (!problems.empty()) return problems;
  return unusable(manifest, ErrorCode::invalid, why, "choose a suite that its `supports` allows");
}

/// Adds the restrictions one by one, to find the one after which nothing is left.
Error nothing_left(const Manifest& manifest, const std::vector<SpaceParameter>& parameters,
                   const std::vector<Problem>& problems, std::uint64_t points) {
  const std::span<const std::string> all(manifest.restrictions);
  std::uint64_t before = points;
  std::size_t culprit = 0;
  // All of them together leave nothing, so the last needs no test.
  for (; culprit + 1 < all.size(); ++culprit) {
    const auto solved = solve_space(parameters, all.first(culprit + 1), problems);
    if (!solved) return solved.error();
    const std::uint64_t left = solved->count(solved->root());
    if (left == 0) break;
    before = left;
  }
  const std::string where = problems.size() == 1
                                ? "on " + problem::label(problems.front())
                                : fmt::format("on any of {} problems", problems.size());
  const std::string tried =
      culprit == 0
          ? fmt::format("the {} points", before)
          : fmt::format("the {} points (of {}) that those before it leave", before, points);
  return unusable(manifest, ErrorCode::invalid,
                  fmt::format("no configuration is left: the restriction \"{}\" holds for none of "
                              "{} {}",
                              all[culprit], tried, where),
                  "loosen it, or add values to the parameters it names");
}

}  // namespace

SearchSpace::SearchSpace(std::shared_ptr<const SpaceDiagram> diagram)
    : m_diagram(std::move(diagram)) {}

Result<SearchSpace> SearchSpace::make(const Manifest& manifest, const problem::Suite& suite) {
  WB_TRY_ASSIGN(const auto parameters, sorted_parameters(manifest));
  WB_TRY_ASSIGN(const auto problems, taken_problems(manifest, suite));
  auto solved = solve_space(parameters, manifest.restrictions, problems);
  if (!solved) {
    Error error = std::move(solved).error();
    if (error.subject == "the search space") error.subject = manifest.name;
    return error;
  }
  SearchSpace space(std::make_shared<const SpaceDiagram>(*std::move(solved)));
  if (space.size() > 0) return space;
  return nothing_left(manifest, parameters, problems, space.unrestricted_size());
}

SearchSpace::Index SearchSpace::size() const {
  return m_diagram->count(m_diagram->root());
}

SearchSpace::Index SearchSpace::unrestricted_size() const {
  Index points = 1;
  for (const SpaceParameter& parameter : m_diagram->parameters()) points *= parameter.values.size();
  return points;
}

std::map<std::string, std::vector<std::int64_t>> SearchSpace::parameters() const {
  std::map<std::string, std::vector<std::int64_t>> lists;
  for (const SpaceParameter& parameter : m_diagram->parameters()) {
    lists[parameter.name] = parameter.values;
  }
  return lists;
}

std::size_t SearchSpace::node_count() const {
  return m_diagram->node_count();
}

SearchSpace::Digits SearchSpace::digits(Index index) const {
  if (index >= size()) throw std::out_of_range("SearchSpace: index beyond the last configuration");
  Digits digits;
  SpaceDiagram::NodeId node = m_diagram->root();
  for (std::size_t d = 0; d < m_diagram->parameters().size(); ++d) {
    const auto children = m_diagram->children(node);
    std::uint32_t v = 0;
    while (index >= m_diagram->count(children[v])) index -= m_diagram->count(children[v++]);
    digits.push_back(v);
    node = children[v];
  }
  return digits;
}

std::optional<SearchSpace::Index> SearchSpace::rank(const Digits& digits) const {
  Index index = 0;
  SpaceDiagram::NodeId node = m_diagram->root();
  for (const std::uint32_t digit : digits) {
    const auto children = m_diagram->children(node);
    for (std::uint32_t v = 0; v < digit; ++v) index += m_diagram->count(children[v]);
    node = children[digit];
    if (node == SpaceDiagram::k_none) return std::nullopt;
  }
  return index;
}

Configuration SearchSpace::at(Index index) const {
  const Digits chosen = digits(index);
  Configuration configuration;
  for (std::size_t d = 0; d < chosen.size(); ++d) {
    const SpaceParameter& parameter = m_diagram->parameters()[d];
    configuration[parameter.name] = parameter.values[chosen[d]];
  }
  return configuration;
}

std::optional<SearchSpace::Index> SearchSpace::find(const Configuration& configuration) const {
  if (configuration.size() != m_diagram->parameters().size()) return std::nullopt;
  Digits chosen;
  for (const SpaceParameter& parameter : m_diagram->parameters()) {
    const auto given = configuration.find(parameter.name);
    if (given == configuration.end()) return std::nullopt;
    const auto& values = parameter.values;
    const auto value = std::lower_bound(values.begin(), values.end(), given->second);
    if (value == values.end() || *value != given->second) return std::nullopt;
    chosen.push_back(static_cast<std::uint32_t>(value - values.begin()));
  }
  return rank(chosen);
}

std::vector<SearchSpace::Index> SearchSpace::neighbors(Index index, Neighborhood kind) const {
  const Digits center = digits(index);
  std::vector<Index> found;
  for (std::size_t d = 0; d < center.size(); ++d) {
    const auto values = static_cast<std::uint32_t>(m_diagram->parameters()[d].values.size());
    Digits moved = center;
    std::optional<Index> below;  // the last valid one is the nearest
    for (moved[d] = 0; moved[d] < center[d]; ++moved[d]) {
      const auto valid = rank(moved);
      if (!valid) continue;
      if (kind == Neighborhood::one_parameter) found.push_back(*valid);
      below = valid;
    }
    if (kind == Neighborhood::adjacent && below) found.push_back(*below);
    for (moved[d] = center[d] + 1; moved[d] < values; ++moved[d]) {
      const auto valid = rank(moved);
      if (!valid) continue;
      found.push_back(*valid);
      if (kind == Neighborhood::adjacent) break;
    }
  }
  return found;
}

}  // namespace wb::search
