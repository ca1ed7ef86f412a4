// SPDX-License-Identifier: MIT
// Checks columns of ratios: the reading that most rows follow is taken (audit/ratio_column.hpp),
// and a row that differs from it is judged only if nothing else may be meant.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "audit/checks.hpp"
#include "audit/ratio_column.hpp"
#include "core/ascii.hpp"

namespace wb::audit {
namespace {

constexpr double k_near_ratio = 0.05;       ///< relative difference that is no contradiction
constexpr double k_near_base = 0.1;         ///< the same over another row, or if few rows show it
constexpr double k_near_statistics = 0.25;  ///< the same between medians, means, bests

/// Whether the row is named after an earlier state: "pre-optimization", "old path".
bool tells_earlier(const Row& row) {
  static constexpr std::array<std::string_view, 7> k_words{
      "pre", "before", "old", "previous", "previously", "earlier", "former"};
  const std::string label = lower_of(cell_of(row, 0));
  return std::any_of(k_words.begin(), k_words.end(),
                     [&](auto word) { return has_word(label, word); });
}

class Judge : RatioColumn {
 public:
  using RatioColumn::RatioColumn;

  void run(const Facts& facts, Notes& notes) {
    const Reading* best = nullptr;
    for (const Reading& reading : m_readings) {
      if (reading.tried > 0 && (best == nullptr || reading.fits > best->fits)) best = &reading;
    }
    if (best == nullptr) return;
    const bool clear = is_clear(*best);
    if (!clear && best->fits < 2 && best->fits < best->tried) return unclear(*best, notes);
    std::size_t others = 0;
    for (std::size_t n = 0; n < m_rows.size(); ++n) {
      if (!m_printed[n] || !best->rows[n]) continue;
      const Quotient& quotient = *best->rows[n];
      const std::string formula = words(*best, n);
      if (m_printed[n]->result().meets(quotient.alike)) {
        notes.held(m_rows[n].line, formula + ", printed " + m_printed[n]->printed);
      } else if (!clear || m_printed[n]->result().meets(quotient.value) || is_excused(*best, n)) {
        ++others;
      } else {
        const auto turned = divide({1, 1}, quotient.value);
        const bool is_turned = turned && m_printed[n]->result().meets(*turned);
        // Close by it may be of figures that were not rounded yet, or of other runs.
        const double middle = quotient.value.middle();
        // A ratio beside two medians may be the median of ratios; a header that says "median"
        // confirms it. Another row may come from another run than the one that the ratio was taken
        // from.
        const bool is_sure = best->kind == ReadingKind::pair && (is_only(*best) || best->fits >= 3);
        const double near = of_statistics(*best) ? k_near_statistics
                            : is_sure            ? k_near_ratio
                                                 : k_near_base;
        const bool is_near = std::abs(m_printed[n]->value - middle) <= near * middle ||
                             (is_statistic(m_column) && !names_row() && !is_turned) ||
                             (is_mean_of_ratios(*best) && !is_turned);
        // "~400 ms / ~150 ms" is too vague to contradict "2.5x".
        const bool is_vague = m_printed[n]->approximate || quotient.top.approximate ||
                              quotient.bottom.approximate || is_qualified(facts, n);
        // A row of an earlier state may have been held against the base of its time.
        const bool is_earlier = best->kind != ReadingKind::pair && tells_earlier(m_rows[n]);
        // One matching row proves too little unless nothing else could be divided.
        const bool is_shown = (best->fits >= 2 || is_only(*best)) && is_told(*best) &&
                              !is_of_any_row(*best, n) && !is_behind_other(*best) &&
                              !is_split(*best) && !(is_turned && is_of_choice(*best, n));
        notes.add({.severity = is_near || is_vague || is_earlier || !is_shown
                                   ? Severity::doubtful
                                   : Severity::contradiction,
                   .line = m_rows[n].line,
                   .printed = m_printed[n]->printed,
                   .computed = formula,
                   .meaning = is_turned ? "the ratio is turned around, beside the other rows"
                              : best->kind == ReadingKind::pair
                                  ? "the ratio does not follow from the times of its row"
                                  : "the ratio does not follow as those of the other rows do",
                   .tolerance = tolerance_of(*m_printed[n]),
                   .also = quotient.lines});
      }
    }
    if (others > 0) {
      notes.add({.severity = Severity::unknown,
                 .line = m_table.table->line,
                 .printed = fmt::format("{} ratios of the column \"{}\"", others,
                                        m_table.table->headers[m_column]),
                 .computed = "they do not follow as most rows do, and may be of another row",
                 .meaning = "what they divide by what is not said: not judged"});
    }
  }

 private:
  /// Whether the reading divides medians (means, bests) of columns or rows; the median of ratios is
  /// not the ratio of medians.
  bool of_statistics(const Reading& reading) const {
    return is_statistic(reading.over) && is_statistic(reading.under);
  }

  /// "Mean | Ratio": tools print the mean of the ratios of single runs, which one outlier changes
  /// much.
  bool is_mean_of_ratios(const Reading& reading) const {
    return m_table.columns[m_column].name == "ratio" && reading.kind != ReadingKind::pair &&
           of_statistics(reading);
  }

  /// Whether the header names other columns: "tkDNN speedup", read as OpenCV over Darknet beside
  /// columns of tkDNN.
  bool names_others(const Reading& reading) const {
    const std::string& name = m_table.columns[m_column].name;
    const std::string& over = m_table.columns[reading.over].name;
    const std::string& under = m_table.columns[reading.under].name;
    return std::any_of(m_values.begin(), m_values.end(), [&](const ValueColumn& value) {
      if (value.column == reading.over || value.column == reading.under) return false;
      const std::string& other = m_table.columns[value.column].name;
      for (std::size_t at = 0; at < name.size();) {
        std::size_t end = at;
        while (end < name.size() && ascii::is_alnum(name[end])) ++end;
        const std::string word = name.substr(at, end - at);
        if (word.size() >= 3 && has_word(other, word) && !has_word(over, word) &&
            !has_word(under, word)) {
          return true;
        }
        at = end + 1;
      }
      return false;
    });
  }

  /// "old | new | old speedup | new speedup": each ratio belongs to its own side and divides
  /// something without a column.
  bool is_of_own_side(const Reading& reading) const {
    const auto names_alone = [&](std::size_t ratio, std::size_t side, std::size_t other) {
      const std::string& name = m_table.columns[side].name;
      for (std::size_t at = 0; at < name.size();) {
        std::size_t end = at;
        while (end < name.size() && ascii::is_alnum(name[end])) ++end;
        const std::string word = name.substr(at, end - at);
        if (word.size() >= 3 && has_word(m_table.columns[ratio].name, word) &&
            !has_word(m_table.columns[other].name, word)) {
          return true;
        }
        at = end + 1;
      }
      return false;
    };
    const std::vector<std::size_t> ratios = ratio_columns(m_table);
    const auto any_names = [&](std::size_t side, std::size_t other) {
      return std::any_of(ratios.begin(), ratios.end(), [&](std::size_t ratio) {
        return ratio != m_column && names_alone(ratio, side, other);
      });
    };
    return (names_alone(m_column, reading.over, reading.under) &&
            any_names(reading.under, reading.over)) ||
           (names_alone(m_column, reading.under, reading.over) &&
            any_names(reading.over, reading.under));
  }

  /// Whether nothing else could be divided: two columns of times and one of ratios, one column of
  /// times and a row of 1.00x, or a header that names the row.
  bool is_only(const Reading& reading) const {
    if (reading.kind == ReadingKind::pair) return times(true) == 2 && m_alone;
    return names_row() || (reading.kind == ReadingKind::base && m_values.size() == 1);
  }

  /// Whether names say which column is divided by the other, or enough rows show it: "1k traces |
  /// 5k traces" may be two sizes of something else.
  bool is_told(const Reading& reading) const {
    if (reading.kind != ReadingKind::pair) return !reading.about;
    static constexpr std::array<std::string_view, 22> k_sides{
        "old",        "new",    "after",    "original", "optimized", "optimised",
        "sequential", "serial", "parallel", "current",  "previous",  "naive",
        "ours",       "mine",   "cpu",      "gpu",      "target",    "actual",
        "v1",         "v2",     "cold",     "warm"};
    const auto tells = [&](std::size_t column) {
      const Column& facts = m_table.columns[column];
      return facts.reference || std::any_of(k_sides.begin(), k_sides.end(),
                                            [&](auto word) { return has_word(facts.name, word); });
    };
    return tells(reading.over) || tells(reading.under) ||
           (reading.fits >= 3 && 4 * reading.fits >= 3 * reading.tried);
  }

  /// Whether so many rows follow this reading, and so few other readings are possible, that a row
  /// that differs is wrong.
  bool is_clear(const Reading& best) const {
    const std::size_t fits = best.fits, tried = best.tried;
    if (tried < 2 || fits == 0 || has_unread()) return false;
    const bool most = 4 * fits >= 3 * tried;
    if (best.kind == ReadingKind::pair) {
      if (names_row() || names_others(best) || is_of_own_side(best)) return false;
      if (same_subject(m_table, best.over, best.under)) return false;
      const bool is_time = std::any_of(m_values.begin(), m_values.end(), [&](auto& one) {
        return one.column == best.over && !one.is_rate;
      });
      // Beside another column of ratios ("vs genuine x") one row proves nothing.
      if (is_time && times(true) == 2) return 2 * fits >= tried && (fits >= 2 || m_alone);
      return fits >= 3 && most;
    }
    const bool alone = m_values.size() == 1 || times(true) == 1;
    if (best.kind == ReadingKind::base) return alone ? 2 * fits >= tried : fits >= 3 && most;
    if (best.kind == ReadingKind::previous) return fits >= 3 && most;
    return fits >= 3 && fits + 1 >= tried;
  }

  /// Whether another plausible reading gives this row's figure.
  bool is_excused(const Reading& best, std::size_t row) const {
    // A second row of 1.00x is the base of another group.
    if (best.kind != ReadingKind::pair && m_printed[row]->value == 1) return true;
    if (is_of_other_column(best, row)) return true;
    return std::any_of(m_readings.begin(), m_readings.end(), [&](const Reading& other) {
      if (&other == &best || !other.rows[row]) return false;
      const bool reversed = other.kind == ReadingKind::pair && best.kind == ReadingKind::pair &&
                            other.over == best.under && other.under == best.over;
      if (reversed || !m_printed[row]->result().meets(other.rows[row]->value)) return false;
      if (other.kind == ReadingKind::any) {
        return best.kind != ReadingKind::pair && other.fits >= best.fits && other.fits >= 2;
      }
      // Another pair of times in the row may be the one that the figure divides.
      if (other.kind == ReadingKind::pair) return true;
      // Groups may have their own base before or after their rows.
      if (other.kind == ReadingKind::base && other.speedup == best.speedup) return true;
      return other.fits >= 2 || other.speedup;
    });
  }

  /// Whether two or more rows, at least half of all, do not follow the base; each may have its own.
  static bool is_split(const Reading& reading) {
    const std::size_t misses = reading.tried - reading.fits;
    return reading.kind == ReadingKind::base && misses >= 2 && misses >= reading.fits;
  }

  /// "parameters | vs standard | time | vs standard": each ratio belongs to the column before it.
  bool is_behind_other(const Reading& best) const {
    if (best.kind == ReadingKind::pair || m_alone || m_column < 2 || best.over == m_column - 1) {
      return false;
    }
    const auto figures = std::count_if(m_rows.begin(), m_rows.end(), [&](const Row& row) {
      return cell_of(row, m_column - 1).find_first_of("0123456789") != std::string::npos;
    });
    return 2 * static_cast<std::size_t>(figures) > m_rows.size();
  }

  /// Whether the ratio is right relative to some other row, which the header need not name.
  bool is_of_any_row(const Reading& best, std::size_t row) const {
    if (best.kind == ReadingKind::pair) return false;
    return std::any_of(m_readings.begin(), m_readings.end(), [&](const Reading& other) {
      return other.kind != ReadingKind::pair && other.over == best.over &&
             other.speedup == best.speedup && other.rows[row] &&
             m_printed[row]->result().meets(other.rows[row]->value);
    });
  }

  /// Whether a column of another quantity, such as sizes or perplexities, gives the ratio of the
  /// same rows.
  bool is_of_other_column(const Reading& best, std::size_t row) const {
    if (best.kind == ReadingKind::pair) return false;
    const auto& lines = best.rows[row]->lines;
    for (std::size_t column = 1; column < m_table.columns.size(); ++column) {
      if (column == m_column || column == best.over) continue;
      for (const Row& other : m_rows) {
        if (std::find(lines.begin(), lines.end(), other.line) == lines.end()) continue;
        if (other.line == m_rows[row].line) continue;
        // This includes "17.4 ms/layer", though it is not a plain time.
        const auto here = m_table.figure(m_rows[row], column),
                   there = m_table.figure(other, column);
        for (const auto& one : {quotient_of(m_rows[row], here, other, there),
                                quotient_of(other, there, m_rows[row], here)}) {
          if (one && m_printed[row]->result().meets(one->value)) return true;
        }
      }
    }
    return false;
  }

  std::string words(const Reading& reading, std::size_t row) const {
    const Quotient& one = *reading.rows[row];
    const std::string names = reading.kind == ReadingKind::pair
                                  ? fmt::format("{} / {}: ", m_table.columns[reading.over].name,
                                                m_table.columns[reading.under].name)
                                  : std::string();
    return fmt::format("{}{} / {} = {}", names, full(one.top), full(one.bottom),
                       show(one.value, Unit::factor));
  }

  void unclear(const Reading& best, Notes& notes) const {
    const auto printed = static_cast<std::size_t>(std::count_if(
        m_printed.begin(), m_printed.end(), [](auto& one) { return one.has_value(); }));
    const auto first =
        std::find_if(m_printed.begin(), m_printed.end(), [](auto& one) { return one.has_value(); });
    const auto row = static_cast<std::size_t>(first - m_printed.begin());
    if (times(false) == 0 || best.tried == best.fits) return;
    notes.add({.severity = Severity::unknown,
               .line = m_rows[row].line,
               .printed = fmt::format("{} ratios", printed),
               .computed = fmt::format("{} are one time of their row over the other, or over "
                                       "another row's",
                                       best.fits),
               .meaning = "what the column divides by what is not said"});
  }
};

}  // namespace

void check_ratio_columns(const Facts& facts, Notes& notes) {
  for (const TableFacts& table : facts.tables) {
    const std::vector<std::size_t> times = table.of(Role::time);
    bool any_values = false;
    const std::vector<std::size_t> ratios = ratio_columns(table);
    for (const std::size_t column : ratios) {
      any_values = any_values || !value_columns(table).empty();
      Judge(table, column, ratios.size() == 1).run(facts, notes);
    }
    if (!any_values) check_metric_rows(table, notes);
    // With two times of one side, such as quantiles, "3x faster" is about neither.
    if (times.size() == 2 &&
        table.columns[times[0]].reference != table.columns[times[1]].reference) {
      check_ratio_cells(table, times, notes);
    }
  }
}

}  // namespace wb::audit
