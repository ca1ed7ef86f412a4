// SPDX-License-Identifier: MIT
// Checks "5 of 6 pass" against a table of passes and failures.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "audit/checks.hpp"

namespace wb::audit {
namespace {

struct Marks {
  double good = 0, bad = 0;
};

/// Whether a cell says that it passed; nothing if it says more than that: "failed, then fixed".
std::optional<bool> mark_of(const std::string& cell) {
  static constexpr std::array<std::string_view, 5> k_good{"[ok]", "pass", "passed", "ok", "yes"};
  static constexpr std::array<std::string_view, 4> k_bad{"[no]", "fail", "failed", "no"};
  const auto is_in = [](const auto& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  std::optional<bool> mark;
  for (std::size_t at = 0; at < cell.size();) {
    const std::size_t end = std::min(cell.find(' ', at), cell.size());
    const std::string_view word = std::string_view(cell).substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const bool good = is_in(k_good, word), bad = is_in(k_bad, word);
    if (good == bad || (mark && *mark != good)) return std::nullopt;
    mark = good;
  }
  return mark;
}

std::optional<Marks> marks_of(const TableFacts& table) {
  if (!table.table->complete) return std::nullopt;
  static constexpr std::array<std::string_view, 5> k_status{"status", "result", "verdict", "pass",
                                                            "passed"};
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const std::string& name = table.columns[column].name;
    if (std::find(k_status.begin(), k_status.end(), name) == k_status.end()) continue;
    Marks marks;
    for (const Row& row : table.table->rows) {
      const auto good = mark_of(lower_of(cell_of(row, column)));
      if (!good) return std::nullopt;  // the row says neither or both
      ++(*good ? marks.good : marks.bad);
    }
    return marks;
  }
  return std::nullopt;
}

/// Whether the line says that whole items pass ("6 tests pass", "6 passed") and is not about a
/// threshold (">= 4/5"), a score ("4.2/5") or a goal.
bool tells_passes(const Line& line, const Figure& part, const Figure& whole) {
  static constexpr std::array<std::string_view, 8> k_wanted{"threshold", "target", "must", "should",
                                                            "required",  "score",  "need", "if"};
  const auto is_whole = [](const Figure& figure) {
    return figure.unit == Unit::none && figure.value == std::floor(figure.value) &&
           figure.step == 1 && !figure.bounded && !figure.approximate && !figure.is_range;
  };
  if (!is_whole(part) || !is_whole(whole) || part.value > whole.value) return false;
  if (std::any_of(k_wanted.begin(), k_wanted.end(),
                  [&](auto word) { return has_word(line.lower, word); })) {
    return false;
  }
  const std::string between = trimmed(line.lower.substr(part.end, whole.begin - part.end));
  if (between != "of" && between != "/" && between != "out of") return false;
  constexpr std::size_t k_words_behind = 24;
  const std::string behind = line.lower.substr(whole.end, k_words_behind);
  return has_word(behind, "pass") || has_word(behind, "passed") || has_word(behind, "passes") ||
         has_word(behind, "passing");
}

}  // namespace

void check_passes(const Facts& facts, Notes& notes) {
  std::map<int, std::size_t> tables;
  for (const TableFacts& table : facts.tables) ++tables[table.table->section];
  for (const TableFacts& table : facts.tables) {
    const auto marks = marks_of(table);
    if (!marks || tables[table.table->section] > 1) continue;
    for (const Line& line : facts.document.lines) {
      if (line.section != table.table->section || line.in_table) continue;
      const auto& figures = facts.of(line.number);
      for (std::size_t n = 0; n + 1 < figures.size(); ++n) {
        const Figure &part = figures[n], &whole = figures[n + 1];
        // The table says nothing about items other than its rows, for example runs.
        if (!tells_passes(line, part, whole) || whole.value != marks->good + marks->bad) continue;
        const std::string formula =
            fmt::format("the table at line {} has {:.0f} of {:.0f}", table.table->line, marks->good,
                        marks->good + marks->bad);
        if (part.value == marks->good) {
          notes.held(line.number, formula);
        } else {
          notes.add({.line = line.number,
                     .printed = fmt::format("{} of {} pass", part.printed, whole.printed),
                     .computed = formula,
                     .meaning = "the text and the table count differently",
                     .tolerance = "none: counts are exact",
                     .also = {table.table->line}});
        }
      }
    }
  }
}

}  // namespace wb::audit
