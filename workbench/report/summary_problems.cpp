// SPDX-License-Identifier: MIT
// Of the report of two pages: problem by problem, and what verdicts and held-out problems say.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/json.hpp"
#include "report/summary.hpp"

namespace wb::report::two_pages {

using session::Fact;

namespace {

const outcome::Standing* taken_on(const outcome::Group& group, std::size_t at) {
  return at < group.by_problem.variants.size()
             ? group.problems[at].find(group.by_problem.variants[at])
             : nullptr;
}

// Cells
// -----------------------------------------------------------------------------------------

std::string figure_cell(const std::optional<outcome::Figure>& figure, bool has_interval = false) {
  if (!figure) return "not compared";
  if (figure->events.empty()) return "the same variant";
  return (has_interval ? speedup(ratio_of(*figure)) : bare_speedup(*figure)) +
         cite_ends(figure->events);
}

std::string place_of(const outcome::Standing* standing) {
  using measure::ComparisonOutcome;
  if (standing == nullptr || !standing->over_rival) return "no rival";
  switch (standing->over_rival->outcome) {
    case ComparisonOutcome::faster:
      return "ahead";
    case ComparisonOutcome::slower:
      return "behind";
    case ComparisonOutcome::same:
      return "same";
    case ComparisonOutcome::ambiguous:
      return "undecided";
  }
  return {};
}

/// A variant's time, and the comparison that has it.
struct TimedIn {
  double time_us = 0;
  std::int64_t seq = 0;
};
/// The times of variants under the group's plan and regime.
struct VariantTimes {
  std::map<std::pair<std::int64_t, std::string>, double> by_event;     ///< event, variant
  std::map<std::pair<std::string, std::string>, TimedIn> as_measured;  ///< problem, variant: last
};

VariantTimes variant_times(const session::SessionView& view, const outcome::Group& group) {
  VariantTimes times;
  const auto read = [&](const Fact& fact) {
    const Json& made = fact.payload;
    const std::string problem = text(made, "problem"), regime = text(made, "regime");
    if (problem.empty() || text(made, "plan") != group.plan) return;
    if (text(made, "phase") == "selection" || (!regime.empty() && regime != group.regime)) return;
    for (const auto& [subject, key] :
         {std::pair{"against", "against_us"}, std::pair{"candidate", "candidate_us"}}) {
      const auto time_us = number(made, key);
      if (!time_us || !(*time_us > 0)) continue;
      const std::string label = text(made, subject);
      times.by_event[{fact.seq, label}] = *time_us;
      TimedIn& known = times.as_measured[{problem, label}];
      if (fact.seq >= known.seq) known = {*time_us, fact.seq};
    }
  };
  for (const session::IterationView& iteration : view.iterations) {
    for (const Fact& fact : iteration.comparisons) read(fact);
  }
  for (const Fact& fact : view.outside.comparisons) read(fact);
  return times;
}

/// In the turns that its figures come from, else as last measured.
std::optional<TimedIn> time_of(const VariantTimes& times, const std::string& problem,
                               const outcome::Standing& standing) {
  for (const auto& figure : {standing.over_rival, standing.over_start}) {
    if (!figure) continue;
    for (const std::int64_t event : figure->events) {
      const auto found = times.by_event.find({event, standing.variant});
      if (found != times.by_event.end()) return TimedIn{found->second, event};
    }
  }
  const auto found = times.as_measured.find({problem, standing.variant});
  return found == times.as_measured.end() ? std::nullopt : std::optional(found->second);
}

// The table
// -----------------------------------------------------------------------------------------

/// By rising figure over the rival, then over the start; problems without a figure come last.
std::vector<std::size_t> by_figure(const outcome::Group& group) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < group.problems.size(); ++i) {
    if (!group.problems[i].held_out && taken_on(group, i) != nullptr) order.push_back(i);
  }
  const auto key = [&](std::size_t at) {
    const outcome::Standing& standing = *taken_on(group, at);
    if (standing.over_rival) return std::pair(0, standing.over_rival->speedup);
    return standing.over_start ? std::pair(1, standing.over_start->speedup) : std::pair(2, 0.0);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

std::vector<std::string> split_name(const std::string& name) {
  std::vector<std::string> parts{""};
  for (const char c : name) {
    if (c == '_') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// The shapes of problems whose names do not tell them: what all have in common, and the rest.
struct ShapeCells {
  std::string common;               ///< "D64, f16"; empty where names tell it, or nothing is
  std::vector<std::string> by_row;  ///< "B4_H16_S512"; empty where names tell it
  [[nodiscard]] bool differ() const {
    return std::any_of(by_row.begin(), by_row.end(), [](const auto& one) { return !one.empty(); });
  }
};

ShapeCells shapes_of(const outcome::Group& group, const std::vector<std::size_t>& order) {
  ShapeCells shapes;
  shapes.by_row.resize(order.size());
  std::vector<std::string> whole;
  std::vector<std::vector<std::string>> parts;
  bool is_told = true, is_aligned = true;
  for (const std::size_t at : order) {
    const outcome::ProblemOutcome& problem = group.problems[at];
    whole.push_back(short_name(problem.problem));
    // The log may name a problem by words that are no shape.
    if (problem.hidden || whole.back() == problem.problem) return shapes;
    is_told = is_told && whole.back() == problem.name;
    parts.push_back(split_name(whole.back()));
    is_aligned = is_aligned && parts.back().size() == parts.front().size();
  }
  if (is_told) return shapes;
  if (!is_aligned) {
    shapes.by_row = std::move(whole);
    return shapes;
  }
  for (std::size_t i = 0; i < parts.front().size(); ++i) {
    const bool is_common = std::all_of(parts.begin(), parts.end(),
                                       [&](const auto& one) { return one[i] == parts.front()[i]; });
    if (is_common) shapes.common += (shapes.common.empty() ? "" : ", ") + parts.front()[i];
    for (std::size_t row = 0; !is_common && row < parts.size(); ++row) {
      shapes.by_row[row] += (shapes.by_row[row].empty() ? "" : "_") + parts[row][i];
    }
  }
  return shapes;
}

/// What the table of problems shows. A column that says the same everywhere is left out, and so
/// are those about rivals where none has a figure.
struct Columns {
  bool has_shape = false, has_taken = false, has_time = false, has_start = false,
       has_rivals = false, has_interval = true, has_place = false, has_names = false;
  std::string only_rival;  ///< where it is the same on all of them
};

Columns columns_for(const outcome::Group& group, const std::vector<std::size_t>& order,
                    const ShapeCells& shapes, const VariantTimes& times) {
  std::set<std::string> taken, rivals, places;
  Columns columns;
  columns.has_shape = shapes.differ();
  for (const std::size_t at : order) {
    const outcome::Standing& standing = *taken_on(group, at);
    taken.insert(standing.variant);
    rivals.insert(std::string(base_name(standing.rival)));
    places.insert(place_of(&standing));
    columns.has_time = columns.has_time || time_of(times, group.problems[at].problem, standing);
    columns.has_start =
        columns.has_start || (standing.over_start && !standing.over_start->events.empty());
    columns.has_rivals = columns.has_rivals || standing.over_rival.has_value();
  }
  columns.has_taken = taken.size() > 1;
  columns.has_place = columns.has_rivals && places.size() > 1;
  columns.has_names = columns.has_rivals && rivals.size() > 1;
  if (rivals.size() == 1) columns.only_rival = *rivals.begin();
  return columns;
}

std::vector<std::string> header_of(const Columns& columns) {
  std::vector<std::string> header{"problem"};
  if (columns.has_shape) header.emplace_back("shape");
  if (columns.has_taken) header.emplace_back("take");
  if (columns.has_start) header.emplace_back("over the start>");
  if (columns.has_time) header.emplace_back("time us>");
  if (columns.has_rivals) {
    header.push_back(columns.only_rival.empty() ? "over the fastest rival>"
                                                : "over " + code(columns.only_rival, 40) + ">");
  }
  if (columns.has_place) header.emplace_back("place");
  if (columns.has_names) header.emplace_back("that rival");
  return header;
}

/// The rows of the table: single problems, and several of one variant folded into one row.
struct Rows {
  std::vector<std::vector<std::size_t>> rows;  ///< positions in the order of figures
};

/// Of a long list both ends are shown, and before them all problems that take another variant than
/// most do; the rest is folded by variant, so that no row hides which one a problem takes.
Rows rows_for(const outcome::Group& group, const std::vector<std::size_t>& order,
              std::size_t most) {
  Rows made;
  std::vector<bool> is_single(order.size(), order.size() <= most);
  const auto variant_at = [&](std::size_t i) { return taken_on(group, order[i])->variant; };
  if (order.size() > most) {
    std::map<std::string, std::size_t> counts;
    for (std::size_t i = 0; i < order.size(); ++i) ++counts[variant_at(i)];
    const auto main =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::size_t others = order.size() - main->second;
    // One row is left for each variant whose problems are folded.
    const bool shows_others = others + 1 <= most;
    std::size_t left = most - std::min(most, shows_others ? 1 : counts.size());
    for (std::size_t i = 0; shows_others && i < order.size(); ++i) {
      if (variant_at(i) == main->first) continue;
      is_single[i] = true;
      --left;
    }
    std::size_t low = 0, high = order.size();
    for (bool from_low = !is_single.front(); left > 0 && low < high; from_low = !from_low) {
      const std::size_t i = from_low ? low++ : --high;
      if (is_single[i]) {
        from_low = !from_low;  // the same end again
        continue;
      }
      is_single[i] = true;
      --left;
    }
  }
  std::map<std::string, std::size_t> folded;  // the row of each variant
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (is_single[i]) {
      made.rows.push_back({i});
      continue;
    }
    // Beyond the last row the variants share it.
    const bool is_full = made.rows.size() >= most && !folded.empty();
    const auto [slot, is_new] =
        folded.try_emplace(variant_at(i), is_full ? folded.begin()->second : made.rows.size());
    if (is_new && !is_full) made.rows.emplace_back();
    made.rows[slot->second].push_back(i);
  }
  return made;
}

/// What the cells of a row are made from.
struct Sources {
  const outcome::Group& group;
  const std::vector<std::size_t>& order;
  const ShapeCells& shapes;
  const VariantTimes& times;
};

std::string time_cell(const Sources& from, const outcome::ProblemOutcome& problem,
                      const outcome::Standing& standing) {
  const auto found = time_of(from.times, problem.problem, standing);
  return found ? microseconds(found->time_us) + cite(found->seq) : std::string("-");
}

std::vector<std::string> single_cells(const Sources& from, const Columns& columns, std::size_t i) {
  const outcome::ProblemOutcome& problem = from.group.problems[from.order[i]];
  const outcome::Standing& standing = *taken_on(from.group, from.order[i]);
  std::vector<std::string> cells{inline_text(problem.name, 50)};
  if (columns.has_shape) cells.push_back(inline_text(from.shapes.by_row[i], 60));
  if (columns.has_taken) cells.push_back(code(standing.variant, 60));
  if (columns.has_start) {
    // Beside a rival the interval of that figure is what a reader needs.
    cells.push_back(figure_cell(standing.over_start, columns.has_interval && !columns.has_rivals));
  }
  if (columns.has_time) cells.push_back(time_cell(from, problem, standing));
  if (columns.has_rivals) cells.push_back(figure_cell(standing.over_rival, columns.has_interval));
  if (columns.has_place) cells.push_back(place_of(&standing));
  if (columns.has_names) {
    cells.push_back(standing.rival.empty() ? "-" : code(base_name(standing.rival), 40));
  }
  return cells;
}

/// "1.01x [e5] to 1.31x [e9]" of problems in one row.
std::string range_cell(const std::optional<outcome::Figure>& low,
                       const std::optional<outcome::Figure>& high) {
  return low && high ? figure_cell(low) + " to " + figure_cell(high) : "-";
}

std::vector<std::string> folded_cells(const Sources& from, const Columns& columns,
                                      const std::vector<std::size_t>& row) {
  const outcome::Standing &low = *taken_on(from.group, from.order[row.front()]),
                          &high = *taken_on(from.group, from.order[row.back()]);
  const bool is_one_variant = std::all_of(row.begin(), row.end(), [&](std::size_t i) {
    return taken_on(from.group, from.order[i])->variant == low.variant;
  });
  std::vector<std::string> cells{fmt::format("{} more", row.size())};
  if (columns.has_shape) cells.emplace_back("");
  if (columns.has_taken) cells.push_back(is_one_variant ? code(low.variant, 60) : "several");
  // The list is in the order of the figures over the rivals, where there are any.
  if (columns.has_start) {
    cells.push_back(columns.has_rivals ? std::string()
                                       : range_cell(low.over_start, high.over_start));
  }
  if (columns.has_time) cells.emplace_back("");
  if (columns.has_rivals) cells.push_back(range_cell(low.over_rival, high.over_rival));
  return cells;
}

std::string problem_table(const Sources& from, const Columns& columns, const Rows& rows) {
  Table table(header_of(columns));
  for (const std::vector<std::size_t>& row : rows.rows) {
    table.row(row.size() == 1 ? single_cells(from, columns, row.front())
                              : folded_cells(from, columns, row));
  }
  return table.str();
}

std::size_t longest_line(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    longest = std::max(longest, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return longest;
}

// Words below it
// -----------------------------------------------------------------------------------------

/// How many verdict runs of what is recommended passed, and how close they came to failing.
std::string correctness_words(const Page& page) {
  std::size_t runs = 0, passed = 0, verdicts = 0, passed_verdicts = 0;
  double most = -1;
  std::int64_t seq = 0;
  const auto read = [&](const session::IterationView& part) {
    for (const session::VerdictFact& verdict : part.verdicts) {
      const std::string outcome = text(verdict.payload, "outcome");
      if (!is_recommended(page, text(verdict.payload, "subject"))) continue;
      // A refused problem and a fault of the machine judge nothing.
      if (outcome == "constraints" || outcome == "environment") continue;
      ++verdicts;
      passed_verdicts += is_true(verdict.payload, "pass") ? 1 : 0;
      const Json listed = verdict.runs();
      if (!listed.is_array()) continue;
      for (const Json& run : listed) {
        ++runs;
        passed += is_true(run, "pass") ? 1 : 0;
        const auto share = number(field(run, "worst"), "share");
        if (!share || *share <= most) continue;
        most = *share;
        seq = verdict.seq;
      }
    }
  };
  for (const session::IterationView& iteration : page.facts.view.iterations) read(iteration);
  read(page.facts.view.outside);
  if (verdicts == 0) return {};
  const bool has_runs = runs > 0;
  const std::size_t all = has_runs ? runs : verdicts, good = has_runs ? passed : passed_verdicts;
  std::string out = fmt::format("Correctness: {} {}{} passed",
                                good == all ? std::string("all") : fmt::format("{} of", good), all,
                                has_runs ? " verdict runs" : " verdicts");
  if (most >= 0) {
    out += fmt::format("; the closest used {} of its error budget{}", percent(most), cite(seq));
  }
  return out + ".";
}

/// Which of two parts is the faster one on each held-out problem, which tells whether the choice of
/// parts carries over; nothing where neither is or figures are missing.
std::optional<std::size_t> ahead_when_held_out(const Page& page, const outcome::Group& group,
                                               bool is_rival) {
  const std::vector<outcome::Part>& parts = page.conclusion.recommendation.parts;
  if (parts.size() != 2) return {};
  std::size_t n = 0, firsts = 0, seconds = 0;
  for (const outcome::ProblemOutcome& problem : group.problems) {
    if (!problem.held_out) continue;
    ++n;
    const outcome::Standing *first = problem.find(parts[0].variant),
                            *second = problem.find(parts[1].variant);
    if (first == nullptr || second == nullptr) return {};
    const auto& one = is_rival ? first->over_rival : first->over_start;
    const auto& other = is_rival ? second->over_rival : second->over_start;
    if (!one || !other || !measure::is_valid(one->interval) || !measure::is_valid(other->interval))
      return {};
    firsts += one->interval.low > other->interval.high ? 1 : 0;
    seconds += other->interval.low > one->interval.high ? 1 : 0;
  }
  if (n == 0 || (firsts != n && seconds != n)) return {};
  return firsts == n ? 0 : 1;
}

/// What the taken variants are on the held-out problems, which chose none of them.
std::string held_out_words(const Page& page, const outcome::Group& group) {
  std::size_t n = 0;
  for (const outcome::ProblemOutcome& problem : group.problems) n += problem.held_out ? 1 : 0;
  if (n == 0) return {};
  std::string out;
  for (const bool is_rival : {true, false}) {
    const std::vector<outcome::Part>& parts = page.conclusion.recommendation.parts;
    const auto ahead = ahead_when_held_out(page, group, is_rival);
    for (const outcome::Part& part : parts) {
      if (ahead && &part != &parts[*ahead]) continue;
      std::vector<const outcome::Figure*> figures;
      for (const outcome::ProblemOutcome& problem : group.problems) {
        const outcome::Standing* standing = problem.held_out ? problem.find(part.variant) : nullptr;
        if (standing == nullptr) continue;
        const auto& figure = is_rival ? standing->over_rival : standing->over_start;
        if (figure && figure->speedup > 0 && !figure->events.empty()) figures.push_back(&*figure);
      }
      if (figures.empty()) continue;
      const auto [low, high] =
          std::minmax_element(figures.begin(), figures.end(),
                              [](const auto* a, const auto* b) { return a->speedup < b->speedup; });
      const auto told_figure = [](const outcome::Figure* one) {
        return bare_speedup(*one) + cite_ends(one->events);
      };
      out += fmt::format("{}{} {}{}{}", out.empty() ? "" : ", ", code(part.variant, 60),
                         told_figure(*low),
                         *low == *high ? std::string() : " to " + told_figure(*high),
                         figures.size() < n ? fmt::format(" on {}", figures.size()) : "");
    }
    if (out.empty()) continue;
    return fmt::format(
        "{} held out: {} over the {}{}.", of_problems(n), out, is_rival ? "fastest rival" : "start",
        ahead ? fmt::format(", ahead of {} on each", code(parts[1 - *ahead].variant, 60))
              : std::string());
  }
  return fmt::format("{} held out: no figure.", of_problems(n));
}

}  // namespace

std::string problem_section(const Page& page, const Size& size) {
  constexpr std::size_t k_most_width = 200;
  const outcome::Group* group = page.conclusion.main_group();
  if (group == nullptr) return {};
  const std::vector<std::size_t> order = by_figure(*group);
  if (order.empty()) return {};
  const ShapeCells shapes = shapes_of(*group, order);
  const VariantTimes times = variant_times(page.facts.view, *group);
  Columns columns = columns_for(*group, order, shapes, times);
  // Where room is short, the place beside the rivals matters more than that beside the start.
  if (size.rows < Size{}.rows - 1 && columns.has_rivals) columns.has_start = false;
  // One column alone says nothing.
  if (header_of(columns).size() == 1) return {};
  const Rows rows = rows_for(*group, order, size.rows);
  const Sources from{*group, order, shapes, times};
  std::string table = problem_table(from, columns, rows);
  for (bool Columns::*column : {&Columns::has_place, &Columns::has_names, &Columns::has_interval,
                                &Columns::has_shape, &Columns::has_time}) {
    if (longest_line(table) <= k_most_width) break;
    columns.*column = false;
    table = problem_table(from, columns, rows);
  }
  std::string below;
  for (const std::string& words : {correctness_words(page), held_out_words(page, *group)}) {
    if (!words.empty()) below += (below.empty() ? "" : " ") + words;
  }
  return fmt::format("## Problem by problem\n\nThe weakest problem first.{}\n\n{}\n{}{}",
                     shapes.common.empty() ? "" : " All are " + shapes.common + ".", table, below,
                     below.empty() ? "" : "\n\n");
}

}  // namespace wb::report::two_pages
