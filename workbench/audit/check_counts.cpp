// SPDX-License-Identifier: MIT
// Checks counts: differing totals of the same thing, and a total row that does not match the number
// of rows. check_passes.cpp checks "5 of 6 pass".
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "audit/checks.hpp"
#include "audit/sums.hpp"
#include "core/ascii.hpp"

namespace wb::audit {
namespace {

struct Noun {
  std::string_view word, short_word;
};
constexpr std::array<Noun, 6> k_nouns{{{"configurations", "configs"},
                                       {"sessions", "sessions"},
                                       {"experiments", "experiments"},
                                       {"kernels", "kernels"},
                                       {"shapes", "shapes"},
                                       {"problems", "problems"}}};

constexpr std::size_t k_most_mentions = 500;

struct Mention {
  int line = 0;
  double count = 0;
  bool total = false;  ///< "all 7 …", "10 … tested": the whole, not a part
  bool all = false;    ///< a total and not a part: "all 7 …", "10 … tested"
  bool item = false;   ///< in a list item; each item has its own subject
};

constexpr std::array<std::string_view, 5> k_done{"tested", "measured", "benchmarked", "evaluated",
                                                 "profiled"};

std::vector<Mention> mentions_of(const Facts& facts, const Noun& noun) {
  std::vector<Mention> found;
  for (const Line& line : facts.document.lines) {
    if (line.in_table || line.fenced || found.size() >= k_most_mentions) continue;
    for (const Figure& figure : facts.of(line.number)) {
      if (figure.unit != Unit::none || figure.is_range || figure.bounded || figure.approximate ||
          figure.value != std::floor(figure.value)) {
        continue;
      }
      const std::string rest = trimmed(std::string_view(line.lower).substr(figure.end));
      const std::string_view word = rest.starts_with(noun.word)         ? noun.word
                                    : rest.starts_with(noun.short_word) ? noun.short_word
                                                                        : std::string_view{};
      // "7 single-batch configs" counts a part, named by the words in between.
      const bool part = word.empty() && (rest.find(" " + std::string(noun.short_word)) < 24 ||
                                         rest.find(" " + std::string(noun.word)) < 24);
      if (word.empty() && !part) continue;
      Mention mention{line.number, figure.value};
      mention.item = line.item;
      if (!part) {
        const std::string before = trimmed(line.lower.substr(0, figure.begin));
        const std::string after = trimmed(std::string_view(rest).substr(word.size()));
        // "5 of 7 configs" and "3 of 4" do not count all.
        if (before.ends_with(" of") || before.ends_with("/")) continue;
        // "if all 3 sessions fail" is about planned sessions.
        static constexpr std::array<std::string_view, 6> k_if{
            "if all", "when all", "once all", "until all", "unless all", "should all"};
        if (std::any_of(k_if.begin(), k_if.end(),
                        [&](auto words) { return before.ends_with(words); })) {
          continue;
        }
        mention.all = before.ends_with("all");
        mention.total = mention.all || std::any_of(k_done.begin(), k_done.end(), [&](auto done) {
                          return after.starts_with(done);
                        });
      }
      found.push_back(mention);
    }
  }
  return found;
}

/// The second-level section that contains the line; 0 above the first.
int entry_of(const Facts& facts, int line) {
  const auto& sections = facts.document.sections;
  int at = facts.document.at(line).section;
  while (at > 0) {
    const Section& section = sections[static_cast<std::size_t>(at)];
    if (section.level <= 2 || section.parent < 0) return section.level <= 1 ? 0 : at;
    at = section.parent;
  }
  return 0;
}

/// Whether the sections are named after days or number problems, cases or versions, so that each
/// has its own subject.
bool is_log(const Facts& facts) {
  static constexpr std::array<std::string_view, 12> k_months{
      "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
  static constexpr std::array<std::string_view, 9> k_things{
      "problem", "case", "version", "day", "week", "iteration", "attempt", "round", "experiment"};
  std::size_t named = 0;
  for (const Section& section : facts.document.sections) {
    if (section.level != 2) continue;
    const bool digits = section.title.find_first_of("0123456789") != std::string::npos;
    const bool month =
        digits && std::any_of(k_months.begin(), k_months.end(), [&](auto word) {
          const auto at = section.title.find(word);
          return at != std::string::npos && (at == 0 || section.title[at - 1] == ' ');
        });
    const bool thing = std::any_of(k_things.begin(), k_things.end(),
                                   [&](auto word) { return has_word(section.title, word); });
    const bool date = section.title.starts_with("20") || section.title.starts_with("v");
    named += (month || thing || (digits && date)) ? 1 : 0;
  }
  return named >= 2;
}

/// Whether the section of `line` is `outer` or lies within it.
bool is_within(const Facts& facts, int line, int outer) {
  const auto& document = facts.document;
  const int around = document.at(outer).section;
  int at = document.at(line).section;
  while (at > 0 && at != around) at = document.sections[static_cast<std::size_t>(at)].parent;
  return at == around || (at <= 0 && around <= 0);
}

void compare(const Facts& facts, const std::vector<Mention>& mentions, const Noun& noun,
             Notes& notes) {
  std::vector<Mention> totals, parts;
  for (const Mention& mention : mentions) {
    auto& list = mention.total ? totals : parts;
    const bool known = std::any_of(list.begin(), list.end(),
                                   [&](auto& one) { return one.count == mention.count; });
    if (!known) list.push_back(mention);
  }
  if (totals.size() < 2) {
    if (totals.size() == 1 && mentions.size() > 1) {
      notes.held(totals[0].line,
                 fmt::format("one total of {}: {:.0f}", noun.word, totals[0].count));
    }
    return;
  }
  double sum = 0;
  std::string words;
  for (const Mention& part : parts) {
    if (std::any_of(totals.begin(), totals.end(), [&](auto& one) {
          return one.count == part.count && one.count > totals.front().count;
        })) {
      continue;
    }
    if (part.count == totals.front().count) continue;
    sum += part.count;
    words += fmt::format("{}{:.0f} (line {})", words.empty() ? "" : " + ", part.count, part.line);
  }
  const bool all = std::any_of(totals.begin(), totals.end(), [](auto& one) { return one.all; });
  // "All 20 …" in one item and "all 15 …" in another have different subjects, and so have three
  // differing totals.
  const bool items =
      std::all_of(totals.begin(), totals.end(), [](auto& one) { return one.all && one.item; });
  // Totals that differ by more than this factor count a part and the whole; within one paragraph
  // they count two sets.
  constexpr double k_apart = 2.5;
  constexpr int k_paragraph = 2;
  const bool apart = totals.size() == 2 && std::max(totals[0].count, totals[1].count) >
                                               k_apart * std::min(totals[0].count, totals[1].count);
  const bool together =
      totals.size() == 2 && std::abs(totals[0].line - totals[1].line) < k_paragraph;
  // Sibling sections may each count their own set; text above them counts all.
  const bool beside = totals.size() == 2 && totals[0].all && totals[1].all &&
                      !is_within(facts, totals[0].line, totals[1].line) &&
                      !is_within(facts, totals[1].line, totals[0].line);
  const bool sure = all && !items && totals.size() == 2 && !apart && !together && !beside;
  Finding finding{.severity = sure ? Severity::contradiction : Severity::doubtful,
                  .line = totals[0].line,
                  .printed = fmt::format("{:.0f} {}", totals[0].count, noun.word),
                  .meaning = "the same thing is counted differently",
                  .tolerance = "none: counts are exact"};
  for (std::size_t n = 1; n < totals.size(); ++n) {
    finding.computed +=
        fmt::format("{}line {} says {:.0f}", n == 1 ? "" : ", ", totals[n].line, totals[n].count);
    finding.also.push_back(totals[n].line);
  }
  if (!words.empty()) {
    finding.computed += fmt::format("; the parts told elsewhere: {} = {:.0f}", words, sum);
  }
  notes.add(std::move(finding));
}

std::string singular(std::string word) {
  if (word.size() > 3 && word.ends_with('s')) word.pop_back();
  return word;
}

/// Whether the row stands for several items ("a, b", "2 replicas", "a + b"); "N+1" and "3" name
/// one.
bool is_several(const Row& row) {
  const std::string label = lower_of(cell_of(row, 0));
  static constexpr std::array<std::string_view, 6> k_between{", ",  " + ", " & ",
                                                             " / ", "; ",  " and "};
  if (std::any_of(k_between.begin(), k_between.end(),
                  [&](auto between) { return label.find(between) != std::string::npos; })) {
    return true;
  }
  const auto figure = figure_at(label, 0);
  return figure && figure->end + 1 < label.size() && label[figure->end] == ' ' &&
         ascii::is_alpha(label[figure->end + 1]);
}

/// Checks "| **Total** | … | 6 sessions |" against the number of rows below the column "Session".
void check_total_rows(const TableFacts& table, Notes& notes) {
  const auto& rows = table.table->rows;
  if (table.table->headers.empty() || !table.table->complete) return;
  const std::string thing = singular(lower_of(table.table->headers.front()));
  // "9 weeks" is a duration, not a count of rows.
  static constexpr std::array<std::string_view, 9> k_times{
      "second", "minute", "hour", "day", "week", "month", "quarter", "year", "date"};
  if (std::find(k_times.begin(), k_times.end(), thing) != k_times.end()) return;
  std::size_t from = 0;  // position after the previous total
  for (std::size_t n = 0; n < rows.size(); ++n) {
    if (!is_total(rows[n].cells.front())) continue;
    const std::size_t above = n - std::exchange(from, n + 1);
    if (above == 0) continue;
    for (const std::string& cell : rows[n].cells) {
      for (const Figure& figure : figures_in(cell)) {
        const std::string rest = trimmed(std::string_view(lower_of(cell)).substr(figure.end));
        // "all 12 standards" may include some that the table omits.
        if (figure.begin != 0 || figure.unit != Unit::none || rest.empty() ||
            singular(rest) != thing) {
          continue;
        }
        if (figure.value == static_cast<double>(above)) {
          notes.held(rows[n].line, fmt::format("{} rows, printed {}", above, figure.printed));
        } else {
          // Row 0 stands for the text before the first row.
          const bool each = std::none_of(rows.begin(), rows.end(), is_several) &&
                            cell_of(rows[n - above], 0) != "0";
          notes.add({.severity = each ? Severity::contradiction : Severity::doubtful,
                     .line = rows[n].line,
                     .printed = cell,
                     .computed = fmt::format("{} rows stand above", above),
                     .meaning = "the total row counts other rows than there are",
                     .tolerance = "none: counts are exact"});
        }
      }
    }
  }
}

}  // namespace

void check_counts(const Facts& facts, Notes& notes) {
  for (const Noun& noun : k_nouns) {
    // Sibling entries (two days, two problems) count different things.
    std::map<int, std::vector<Mention>> entries;
    std::vector<Mention> all = mentions_of(facts, noun);
    for (const Mention& mention : all) entries[entry_of(facts, mention.line)].push_back(mention);
    const bool apart = entries.size() > 1 && !entries.contains(0) && is_log(facts);
    if (!apart) {
      compare(facts, all, noun, notes);
      continue;
    }
    for (const auto& [entry, mentions] : entries) compare(facts, mentions, noun, notes);
  }
  for (const TableFacts& table : facts.tables) check_total_rows(table, notes);
  check_passes(facts, notes);
}

}  // namespace wb::audit
