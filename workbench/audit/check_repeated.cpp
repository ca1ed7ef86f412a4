// SPDX-License-Identifier: MIT
// Checks quantities that are stated several times: the duration and the cost of the whole work, and
// the times of its phases.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "audit/checks.hpp"
#include "audit/sums.hpp"
#include "core/ascii.hpp"

namespace wb::audit {
namespace {

constexpr std::size_t k_most_told = 1'000;  ///< statements of one quantity

struct Told {
  int line;
  Figure figure;
  bool whole = false;  ///< its section says that it is for the document's whole work
};

constexpr std::array<std::string_view, 6> k_durations{"time",    "total time", "duration",
                                                      "elapsed", "wall time",  "total duration"};
constexpr std::array<std::string_view, 3> k_costs{"cost", "total cost", "session cost"};
constexpr std::array<std::string_view, 5> k_wholes{"summary", "overview", "conclusion", "report",
                                                   "total"};

/// Whether the line is about the document's whole work and not a run, a step or a plan: in a
/// summary, directly under the title, or in an italic footer.
bool is_of_the_whole(const Facts& facts, const Line& line) {
  const Section& section = facts.document.sections[static_cast<std::size_t>(line.section)];
  const bool footer = line.plain.starts_with('*') || line.plain.starts_with('_');
  return footer || section.level <= 1 ||
         std::any_of(k_wholes.begin(), k_wholes.end(),
                     [&](auto word) { return section.title.find(word) != std::string::npos; });
}

template <std::size_t N>
bool is_one_of(const std::string& label, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), label) != words.end();
}

/// Whether the costs belong to alternative cases ("without", "with"): two that differ in one
/// section, or three or more of which no two agree.
bool are_of_cases(const Facts& facts, const std::vector<Told>& told) {
  bool any_agree = false, beside = false;
  for (std::size_t a = 0; a < told.size(); ++a) {
    for (std::size_t b = a + 1; b < told.size(); ++b) {
      const bool agree = told[a].figure.result().meets(told[b].figure.result());
      any_agree = any_agree || agree;
      const bool one_section =
          facts.document.at(told[a].line).section == facts.document.at(told[b].line).section;
      beside = beside || (!agree && one_section);
    }
  }
  return beside || (told.size() > 2 && !any_agree);
}

/// Whether the two lines belong to sibling items ("### 1. Quick guide", "### 2. Summary"), each
/// with its own value.
bool are_of_items(const Facts& facts, const Told& a, const Told& b) {
  const auto& sections = facts.document.sections;
  const Section& one = sections[static_cast<std::size_t>(facts.document.at(a.line).section)];
  const Section& other = sections[static_cast<std::size_t>(facts.document.at(b.line).section)];
  const auto is_item = [](const Section& section) {
    return section.level >= 2 && !section.title.empty() && ascii::is_digit(section.title.front());
  };
  return one.line != other.line && one.parent == other.parent && is_item(one) && is_item(other);
}

void compare(const Facts& facts, const std::vector<Told>& told, std::string_view what,
             Notes& notes) {
  if (told.size() < 2 || are_of_cases(facts, told)) return;
  // The figure that most lines agree on is taken, or the last one in a tie; the others are
  // reported.
  const auto agreeing = [&](const Told& one) {
    return std::count_if(told.begin(), told.end(), [&](const Told& other) {
      return one.figure.result().meets(other.figure.result());
    });
  };
  const Told& stands = *std::max_element(told.rbegin(), told.rend(), [&](auto& a, auto& b) {
    return std::pair(agreeing(a), a.whole) < std::pair(agreeing(b), b.whole);
  });
  std::vector<int> lines;
  for (const Told& one : told) {
    if (one.figure.result().meets(stands.figure.result())) lines.push_back(one.line);
  }
  for (const Told& one : told) {
    if (one.figure.result().meets(stands.figure.result())) continue;
    // A figure that is only called total may belong to one of several cases; figures that differ by
    // more than this factor are of two quantities.
    constexpr double k_apart = 3;
    const double here = one.figure.value, there = stands.figure.value;
    const bool apart = std::max(here, there) > k_apart * std::min(here, there);
    const bool sure = one.whole && stands.whole && !apart && !are_of_items(facts, one, stands);
    notes.add(
        {.severity = sure ? Severity::contradiction : Severity::doubtful,
         .line = one.line,
         .printed = one.figure.printed,
         .computed = fmt::format("line {} says {}", lines.front(), stands.figure.printed),
         .meaning = sure ? fmt::format("two figures for the same {}", what)
                         : fmt::format("two figures for one {}, if both are of the whole", what),
         .tolerance = tolerance_of(one.figure),
         .also = lines});
  }
  if (lines.size() == told.size()) {
    notes.held(told.front().line, fmt::format("{}: {} figures agree on {}", what, told.size(),
                                              told.front().figure.printed));
  }
}

/// Checks that the durations of sibling phases add up to the whole: "### Phase 2: Analysis (20
/// min)".
void check_phases(const Facts& facts, std::vector<Told>& durations, Notes& notes) {
  std::map<int, Sum> sums;
  std::map<int, int> first;
  for (const Section& section : facts.document.sections) {
    const bool phase = section.title.starts_with("phase ") || section.title.starts_with("step ") ||
                       section.title.starts_with("stage ");
    const std::size_t open = section.title.rfind('(');
    if (!phase || open == std::string::npos) continue;
    const auto figure = figure_at(section.title, open + 1);
    if (!figure || figure->unit != Unit::time || figure->is_range) continue;
    add(sums[section.parent], *figure);
    first.try_emplace(section.parent, section.line);
  }
  for (const auto& [parent, sum] : sums) {
    if (sum.parts.size() < 2) continue;
    for (const Told& told : durations) {
      const Line& line = facts.document.at(told.line);
      int at = line.section;
      while (at > 0 && at != parent) {
        at = facts.document.sections[static_cast<std::size_t>(at)].parent;
      }
      const auto label = label_of(line.plain);
      if (at == parent && parent > 0 && label && label->label.starts_with("total")) {
        judge_sum(told.line, told.figure, sum, "the time of all phases", notes);
      }
    }
  }
}

}  // namespace

void check_repeated_figures(const Facts& facts, Notes& notes) {
  std::vector<Told> durations, costs, all_durations;
  for (const Line& line : facts.document.lines) {
    const auto label = label_of(line.plain);
    if (!label || line.fenced || line.in_table ||
        all_durations.size() + costs.size() >= k_most_told) {
      continue;
    }
    const bool time = is_one_of(label->label, k_durations);
    if (!time && !is_one_of(label->label, k_costs)) continue;
    const auto& figures = facts.of(line.number);
    const auto figure = std::find_if(figures.begin(), figures.end(), [&](const Figure& one) {
      return one.begin >= label->rest && one.unit == (time ? Unit::time : Unit::money);
    });
    if (figure == figures.end() || figure->is_range || figure->bounded || figure->approximate) {
      continue;
    }
    if (figure->begin > label->rest + 2) continue;  // words before the figure qualify it
    if (time && figure->value < 1) continue;        // a measured call, not a session
    const std::string rest = trimmed(line.lower.substr(figure->end));
    // "6 hours (with all the waiting)", "1.5 hours at the keyboard": the figure is for a part.
    const bool more = rest.find_first_of("abcdefghijklmnopqrstuvwxyz") != std::string::npos;
    if (more && label->label.starts_with("total")) continue;
    if (rest.starts_with("per ") || rest.starts_with("/") || rest.starts_with("each") ||
        rest.starts_with("->")) {
      continue;
    }
    if (time) all_durations.push_back({line.number, *figure});
    // "40 minutes (cycles 1 to 3)", "9 minutes so far": words after the figure may qualify it; a
    // sum in brackets does not.
    const bool bare = !more || (rest.starts_with('(') && rest.find('+') != std::string::npos);
    const bool whole = bare && is_of_the_whole(facts, line);
    if (!is_of_the_whole(facts, line) && !label->label.starts_with("total")) continue;
    (time ? durations : costs).push_back({line.number, *figure, whole});
  }
  check_phases(facts, all_durations, notes);
  compare(facts, durations, "duration", notes);
  compare(facts, costs, "cost", notes);
}

}  // namespace wb::audit
