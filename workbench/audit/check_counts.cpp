// SPDX-License-Identifier: MIT
// Counts: totals of the same thing told differently, a total row that counts other rows than there
// are, "5 of 6 pass" beside a table that says otherwise.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "audit/checks.hpp"
#include "audit/sums.hpp"

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
  bool all = false;    ///< "all 7 …"
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
      // "7 single-batch configs": a part of them, named by the words between.
      const bool part = word.empty() && (rest.find(" " + std::string(noun.short_word)) < 24 ||
                                         rest.find(" " + std::string(noun.word)) < 24);
      if (word.empty() && !part) continue;
      Mention mention{line.number, figure.value, false};
      if (!part) {
        const std::string before = trimmed(line.lower.substr(0, figure.begin));
        const std::string after = trimmed(std::string_view(rest).substr(word.size()));
        // "5 of 7 configs", "3 of 4": not a count of all.
        if (before.ends_with(" of") || before.ends_with("/")) continue;
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

void compare(const std::vector<Mention>& mentions, const Noun& noun, Notes& notes) {
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
  Finding finding{.severity = all ? Severity::contradiction : Severity::doubtful,
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

/// "| **Total** | … | 6 sessions |" under a column "Session".
void check_total_rows(const TableFacts& table, Notes& notes) {
  const auto& rows = table.table->rows;
  if (table.table->headers.empty() || !table.table->complete) return;
  const std::string thing = singular(lower_of(table.table->headers.front()));
  std::size_t from = 0;  // behind the total before
  for (std::size_t n = 0; n < rows.size(); ++n) {
    if (!is_total(rows[n].cells.front())) continue;
    const std::size_t above = n - std::exchange(from, n + 1);
    if (above == 0) continue;
    for (const std::string& cell : rows[n].cells) {
      for (const Figure& figure : figures_in(cell)) {
        const std::string rest = trimmed(std::string_view(lower_of(cell)).substr(figure.end));
        if (figure.unit != Unit::none || rest.empty() || singular(rest) != thing) continue;
        if (figure.value == static_cast<double>(above)) {
          notes.held(rows[n].line, fmt::format("{} rows, printed {}", above, figure.printed));
        } else {
          notes.add({.line = rows[n].line,
                     .printed = cell,
                     .computed = fmt::format("{} rows stand above", above),
                     .meaning = "the total row counts other rows than there are",
                     .tolerance = "none: counts are exact"});
        }
      }
    }
  }
}

struct Marks {
  double good = 0, bad = 0;
};

std::optional<Marks> marks_of(const TableFacts& table) {
  if (!table.table->complete) return std::nullopt;
  static constexpr std::array<std::string_view, 5> k_status{"status", "result", "verdict", "pass",
                                                            "passed"};
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const std::string& name = table.columns[column].name;
    if (std::find(k_status.begin(), k_status.end(), name) == k_status.end()) continue;
    Marks marks;
    for (const Row& row : table.table->rows) {
      const std::string cell = lower_of(cell_of(row, column));
      const bool bad = cell.find("[no]") != std::string::npos || has_word(cell, "fail") ||
                       has_word(cell, "failed") || cell == "no";
      const bool good = cell.find("[ok]") != std::string::npos || has_word(cell, "pass") ||
                        has_word(cell, "passed") || cell == "ok" || cell == "yes";
      if (bad == good) return std::nullopt;  // a row that says neither, or both
      ++(bad ? marks.bad : marks.good);
    }
    return marks;
  }
  return std::nullopt;
}

/// "5 of 6 tests pass" in the section of a table with a column of passes.
void check_passes(const Facts& facts, Notes& notes) {
  for (const TableFacts& table : facts.tables) {
    const auto marks = marks_of(table);
    if (!marks) continue;
    for (const Line& line : facts.document.lines) {
      if (line.section != table.table->section || line.in_table ||
          line.lower.find("pass") == std::string::npos) {
        continue;
      }
      const auto& figures = facts.of(line.number);
      for (std::size_t n = 0; n + 1 < figures.size(); ++n) {
        const std::string between =
            trimmed(line.lower.substr(figures[n].end, figures[n + 1].begin - figures[n].end));
        if ((between != "of" && between != "/" && between != "out of") ||
            figures[n].unit != Unit::none || figures[n + 1].unit != Unit::none) {
          continue;
        }
        // Of other things than the table's rows, such as runs, the table says nothing.
        if (figures[n + 1].value != marks->good + marks->bad) continue;
        const std::string formula =
            fmt::format("the table at line {} has {:.0f} of {:.0f}", table.table->line, marks->good,
                        marks->good + marks->bad);
        if (figures[n].value == marks->good) {
          notes.held(line.number, formula);
        } else {
          notes.add(
              {.line = line.number,
               .printed = fmt::format("{} of {} pass", figures[n].printed, figures[n + 1].printed),
               .computed = formula,
               .meaning = "the text and the table count differently",
               .tolerance = "none: counts are exact",
               .also = {table.table->line}});
        }
      }
    }
  }
}

}  // namespace

void check_counts(const Facts& facts, Notes& notes) {
  for (const Noun& noun : k_nouns) compare(mentions_of(facts, noun), noun, notes);
  for (const TableFacts& table : facts.tables) check_total_rows(table, notes);
  check_passes(facts, notes);
}

}  // namespace wb::audit
