// SPDX-License-Identifier: MIT
#include "outcome/siblings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "core/json.hpp"
#include "outcome/outcome.hpp"
#include "problem/attention.hpp"

namespace wb::outcome {

using problem::Problem;

namespace {

struct Property {
  const char* name;
  std::int64_t (*value)(const Problem&);
};

/// What decides how a kernel fits a problem, the nearest reason first.
constexpr std::array<Property, 7> k_properties{
    {{"blocks", [](const Problem& one) { return problem::row_block_count(one); }},
     {"Skv", [](const Problem& one) { return one.Skv; }},
     {"Sq", [](const Problem& one) { return one.Sq; }},
     {"D", [](const Problem& one) { return one.D; }},
     {"B*Hq", [](const Problem& one) { return one.B * one.Hq; }},
     {"causal",
      [](const Problem& one) -> std::int64_t {
        return one.causal == problem::Causal::none ? 0 : 1;
      }},
     {"mask", [](const Problem& one) -> std::int64_t {
        return one.mask == problem::MaskKind::none ? 0 : 1;
      }}}};

struct Range {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  void add(std::int64_t value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

/// 1: the first is shown faster there, -1: the second, 0: neither.
int winner(const Standing& first, const Standing& second, const std::string& start) {
  if (!first.over_start || !second.over_start) return 0;
  const auto direct = [](const Figure& figure) {
    if (figure.outcome == measure::ComparisonOutcome::faster) return 1;
    return figure.outcome == measure::ComparisonOutcome::slower ? -1 : 0;
  };
  if (second.variant == start) return direct(*first.over_start);
  if (first.variant == start) return -direct(*second.over_start);
  const auto &one = first.over_start->interval, &other = second.over_start->interval;
  if (!measure::is_valid(one) || !measure::is_valid(other)) return 0;
  if (one.low > other.high) return 1;
  return other.low > one.high ? -1 : 0;
}

std::vector<Contest> contests_of(const Group& group, const std::string& start,
                                 const std::string& first, const std::string& second) {
  std::vector<Contest> contests;
  for (const ProblemOutcome& one : group.problems) {
    if (one.held_out) continue;
    const Standing *mine = one.find(first), *theirs = one.find(second);
    auto parsed = problem::parse_problem(one.problem);
    if (mine == nullptr || theirs == nullptr || !parsed.ok()) continue;
    const int side = winner(*mine, *theirs, start);
    if (side != 0) contests.push_back({*std::move(parsed), side > 0});
  }
  return contests;
}

}  // namespace

std::optional<Contrast> contrast_of(const std::string& first, const std::string& second,
                                    const std::vector<Contest>& contests) {
  const auto firsts = static_cast<std::size_t>(std::count_if(
      contests.begin(), contests.end(), [](const Contest& one) { return one.first_won; }));
  const std::size_t seconds = contests.size() - firsts;
  if (firsts < k_least_wins || seconds < k_least_wins) return std::nullopt;
  for (const Property& property : k_properties) {
    Range mine, theirs;
    for (const Contest& one : contests) {
      (one.first_won ? mine : theirs).add(property.value(one.problem));
    }
    if (mine.least > theirs.most) {
      return Contrast{first, second, property.name, mine.least, theirs.most, firsts, seconds};
    }
    if (theirs.least > mine.most) {
      return Contrast{second, first, property.name, theirs.least, mine.most, seconds, firsts};
    }
  }
  return std::nullopt;
}

std::vector<Contrast> contrasts_of(const Outcome& outcome) {
  std::vector<Contrast> found;
  if (outcome.groups.empty() || !outcome.groups.front().is_suite) return found;
  const Group& suite = outcome.groups.front();
  std::set<std::string> variants;
  for (const ProblemOutcome& one : suite.problems) {
    for (const Standing& standing : one.standings) variants.insert(standing.variant);
  }
  for (auto first = variants.begin(); first != variants.end(); ++first) {
    for (auto second = std::next(first); second != variants.end(); ++second) {
      auto contrast =
          contrast_of(*first, *second, contests_of(suite, outcome.start, *first, *second));
      if (contrast) found.push_back(*std::move(contrast));
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Contrast& one, const Contrast& other) {
    return one.ahead + one.behind > other.ahead + other.behind;
  });
  if (found.size() > k_most_contrasts) found.resize(k_most_contrasts);
  return found;
}

std::string Contrast::words() const {
  const auto counts = fmt::format(" ({} and {} problems)", ahead, behind);
  if (property == "blocks") {
    return fmt::format("{} ahead from {} blocks of {} query rows on, {} up to {}{}", above, from,
                       problem::k_rows_per_block, below, to, counts);
  }
  if (property == "causal" || property == "mask") {
    return fmt::format("{} ahead where {}, {} elsewhere{}", above,
                       property == "causal" ? "the problem is causal" : "a mask is given", below,
                       counts);
  }
  return fmt::format("{} ahead where {} >= {}, {} up to {}{}", above, property, from, below, to,
                     counts);
}

Json to_json(const Contrast& contrast) {
  return {{"above", contrast.above},   {"below", contrast.below}, {"property", contrast.property},
          {"from", contrast.from},     {"to", contrast.to},       {"ahead", contrast.ahead},
          {"behind", contrast.behind}, {"says", contrast.words()}};
}

}  // namespace wb::outcome
