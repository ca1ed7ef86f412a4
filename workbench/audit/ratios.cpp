// SPDX-License-Identifier: MIT
#include "audit/ratios.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "audit/checks.hpp"
#include "core/ascii.hpp"

namespace wb::audit {
namespace {

constexpr double k_near_metric = 0.05;  ///< relative difference that is no contradiction

bool has_letters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), ascii::is_alnum);
}

/// Whether the text before a cell's figure is only a mark.
bool is_mark(std::string_view before) {
  std::string text = lower_of(before);
  for (const std::string_view mark : {"[ok]", "[no]", "[warn]"}) {
    if (const auto at = text.find(mark); at != std::string::npos) text.erase(at, mark.size());
  }
  return !has_letters(text) && text.find('-') == std::string::npos &&
         text.find('[') == std::string::npos && text.find('(') == std::string::npos &&
         text.find_first_of("+?<>") == std::string::npos;
}

/// Whether the text after the figure is empty, a deviation, or a remark in brackets.
bool is_remark(std::string_view behind) {
  const std::string rest = trimmed(behind);
  if (rest.starts_with('(')) {
    // "86.7 ms (planned) / 81.2 ms (measured)" holds two figures.
    const std::size_t closed = rest.find(')');
    const std::string more = closed == std::string::npos ? std::string() : rest.substr(closed + 1);
    return more.find_first_of("0123456789") == std::string::npos;
  }
  if (rest.empty() || rest.starts_with("+/-")) return true;
  return is_mark(rest) && rest.find_first_of("/,;|<>^:~") == std::string::npos;
}

/// Whether the cell says that nothing was measured: "-", "~", "n/a".
bool is_blank(const std::string& cell) {
  static constexpr std::array<std::string_view, 8> k_words{"n/a", "na",   "none",   "nan",
                                                           "oom", "fail", "failed", "skipped"};
  const std::string lower = lower_of(trimmed(cell));
  return std::none_of(lower.begin(), lower.end(), ascii::is_alnum) ||
         std::find(k_words.begin(), k_words.end(), lower) != k_words.end();
}

}  // namespace

std::vector<ValueColumn> value_columns(const TableFacts& table) {
  static constexpr std::array<std::string_view, 10> k_rates{
      "/s", "/sec", "per sec", "throughput", "qps", "rps", "fps", "iops", "tps", "ops"};
  std::vector<ValueColumn> found;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const Column& facts = table.columns[column];
    if (facts.role == Role::time) {
      found.push_back({column});
    } else if (facts.role == Role::flop_rate || facts.unit == Unit::byte_rate) {
      found.push_back({column, true});
    } else if (facts.role == Role::other && facts.unit == Unit::none && column > 0 &&
               !is_spread(facts.name)) {
      const std::string header = lower_of(table.table->headers[column]);
      std::size_t times = 0, filled = 0;
      for (const Row& row : table.table->rows) {
        if (is_blank(cell_of(row, column))) continue;
        ++filled;
        const auto figure = whole_figure(table, row, column);
        times += figure && figure->unit == Unit::time ? 1 : 0;
      }
      if (filled > 0 && times == filled) {
        found.push_back({column, false, true});
      } else if (std::any_of(k_rates.begin(), k_rates.end(),
                             [&](auto word) { return header.find(word) != std::string::npos; })) {
        found.push_back({column, true, true});
      }
    }
  }
  return found;
}

std::optional<Figure> whole_figure(const TableFacts& table, const Row& row, std::size_t column) {
  const std::string& cell = cell_of(row, column);
  auto figure = table.figure(row, column);
  if (!figure || figure->is_range || figure->bounded || has_decimal_comma("| " + cell + " |") ||
      !is_mark(std::string_view(cell).substr(0, figure->begin)) ||
      !is_remark(std::string_view(cell).substr(figure->end))) {
    return std::nullopt;
  }
  return figure;
}

std::optional<Figure> ratio_figure(const TableFacts& table, const Row& row, std::size_t column) {
  const std::string& cell = cell_of(row, column);
  auto figure = table.figure(row, column);
  if (!figure || figure->is_range || figure->bounded || has_decimal_comma("| " + cell + " |") ||
      (figure->unit != Unit::factor && figure->unit != Unit::none) ||
      !is_mark(std::string_view(cell).substr(0, figure->begin))) {
    return std::nullopt;
  }
  const std::string rest = lower_of(trimmed(std::string_view(cell).substr(figure->end)));
  const bool word = rest.starts_with("faster") || rest.starts_with("slower") ||
                    rest.starts_with("speedup") || rest.starts_with("[");
  if (!is_remark(rest) && !word) return std::nullopt;
  // "2.0x slower" is inverted; the other rows show whether the column is.
  if (rest.starts_with("slower")) return std::nullopt;
  open_round(*figure);
  return figure;
}

void open_round(Figure& figure) {
  if (figure.step != 1 || figure.scale != 1 || figure.value < 10) return;
  double zeros = 1;
  while (std::fmod(figure.value, zeros * 10) == 0) zeros *= 10;
  figure.step = std::max(1.0, zeros / 2);
}

std::optional<Quotient> quotient_of(const Row& over, const std::optional<Figure>& top,
                                    const Row& under, const std::optional<Figure>& bottom) {
  if (!top || !bottom || top->value <= 0 || bottom->value <= 0 || top->unit != bottom->unit ||
      top->unit == Unit::percent) {
    return std::nullopt;
  }
  // Rates and counts in tables are rounded, too; only written arithmetic has exact operands.
  const auto open = [](const Figure& figure) {
    Interval whole = figure.whole();
    if (whole.low == whole.high) {
      whole = {figure.value - figure.step / 2, figure.value + figure.step / 2};
    }
    return whole;
  };
  const auto value = divide(open(*top), open(*bottom));
  if (!value) return std::nullopt;
  Quotient made{*top, *bottom, *value, *value, {}};
  if (top->binary_too && bottom->binary_too && top->scale == bottom->scale) {
    Figure plain_top = *top, plain_bottom = *bottom;
    plain_top.binary_too = plain_bottom.binary_too = false;
    made.alike = divide(open(plain_top), open(plain_bottom)).value_or(*value);
  }
  for (const int line : {over.line, under.line}) made.lines.push_back(line);
  return made;
}

bool is_aggregate(const Row& row) {
  static constexpr std::array<std::string_view, 9> k_words{
      "mean", "average", "avg", "geomean", "overall", "total", "median", "sum", "geometric"};
  const std::string label = lower_of(cell_of(row, 0));
  return std::any_of(k_words.begin(), k_words.end(),
                     [&](auto word) { return has_word(label, word); });
}

std::vector<std::size_t> ratio_columns(const TableFacts& table) {
  static constexpr std::array<std::string_view, 6> k_words{"improvement", "gain",     "faster",
                                                           "factor",      "speed up", "speed-up"};
  std::vector<std::size_t> found = table.of(Role::ratio);
  for (std::size_t column = 1; column < table.columns.size(); ++column) {
    const Column& facts = table.columns[column];
    const bool named = std::any_of(k_words.begin(), k_words.end(), [&](auto word) {
      return facts.name.find(word) != std::string::npos;
    });
    if (facts.role != Role::other || !named) continue;
    std::size_t filled = 0, factors = 0;
    for (const Row& row : table.table->rows) {
      filled += cell_of(row, column).empty() ? 0 : 1;
      const auto figure = ratio_figure(table, row, column);
      factors += figure && figure->unit == Unit::factor ? 1 : 0;
    }
    if (factors > 0 && 2 * factors >= filled) found.push_back(column);
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool same_subject(const TableFacts& table, std::size_t first, std::size_t second) {
  static constexpr std::array<std::string_view, 14> k_quantiles{
      "p10", "p50",     "p90", "p95", "p99",  "median", "mean",
      "avg", "average", "min", "max", "best", "worst",  "std"};
  std::array<std::string, 2> subjects;
  const std::array<std::size_t, 2> columns{first, second};
  for (std::size_t n = 0; n < 2; ++n) {
    subjects[n] = table.columns[columns[n]].name;
    bool any = false;
    for (const std::string_view word : k_quantiles) {
      const auto at = find_word(subjects[n], word);
      if (!at) continue;
      subjects[n] = trimmed(subjects[n].erase(*at, word.size()));
      any = true;
    }
    if (!any) return false;
  }
  return subjects[0] == subjects[1];
}

void check_metric_rows(const TableFacts& table, Notes& notes) {
  const std::vector<std::size_t> ratios = ratio_columns(table);
  if (ratios.size() != 1) return;
  std::vector<std::size_t> values;
  for (std::size_t column = 1; column < table.columns.size(); ++column) {
    if (column == ratios[0] || is_spread(table.columns[column].name)) continue;
    const bool any =
        std::any_of(table.table->rows.begin(), table.table->rows.end(),
                    [&](const Row& row) { return whole_figure(table, row, column).has_value(); });
    if (any) values.push_back(column);
  }
  if (values.size() != 2 || values[0] > ratios[0] || values[1] > ratios[0]) return;
  // Rows of one kind are not metrics; the headers name the columns' quantities.
  bool named = false;
  struct Metric {
    const Row* row;
    Figure printed;
    Quotient up, down;
    bool fits;
  };
  std::vector<Metric> metrics;
  std::optional<Unit> metric_unit;
  for (const Row& row : table.table->rows) {
    const auto printed = ratio_figure(table, row, ratios[0]);
    auto first = whole_figure(table, row, values[0]), second = whole_figure(table, row, values[1]);
    if (!printed || !first || !second) continue;
    const Column label = column_named(cell_of(row, 0));
    named = named || label.unit != Unit::none || first->unit != metric_unit.value_or(first->unit);
    metric_unit = first->unit;
    for (Figure* figure : {&*first, &*second}) {
      if (figure->unit == Unit::none && label.unit != Unit::none) in_unit_of(label, *figure);
    }
    const auto up = quotient_of(row, first, row, second),
               down = quotient_of(row, second, row, first);
    if (!up || !down || first->unit == Unit::none) continue;
    const Interval wanted = printed->result();
    metrics.push_back(
        {&row, *printed, *up, *down, wanted.meets(up->value) || wanted.meets(down->value)});
  }
  const auto fits = static_cast<std::size_t>(
      std::count_if(metrics.begin(), metrics.end(), [](auto& one) { return one.fits; }));
  for (const Metric& metric : metrics) {
    const bool turn = metric.up.value.middle() < 1;
    const Quotient& quotient = turn ? metric.down : metric.up;
    const std::string formula =
        fmt::format("{} / {} = {}", full(quotient.top), full(quotient.bottom),
                    show(quotient.value, Unit::factor));
    if (metric.fits) {
      notes.held(metric.row->line, formula + ", printed " + metric.printed.printed);
    } else if (named && metrics.size() >= 2 && 2 * fits >= metrics.size()) {
      // Close by it may be of another run.
      const double middle = quotient.value.middle();
      const bool is_near = std::abs(metric.printed.value - middle) <= k_near_metric * middle;
      notes.add({.severity = is_near ? Severity::doubtful : Severity::contradiction,
                 .line = metric.row->line,
                 .printed = metric.printed.printed,
                 .computed = formula,
                 .meaning = "the ratio does not follow from the two values of its row",
                 .tolerance = tolerance_of(metric.printed)});
    } else {
      notes.add({.severity = Severity::unknown,
                 .line = metric.row->line,
                 .printed = metric.printed.printed,
                 .computed = formula,
                 .meaning = "what the ratio divides by what is not said"});
    }
  }
}

}  // namespace wb::audit
