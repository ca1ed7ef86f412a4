// SPDX-License-Identifier: MIT
// Checks factors that are printed with an interval, "1.76x [1.74, 1.79], faster": against their own
// interval and word, and against the two times of their row in a table.
#include <fmt/format.h>

#include <algorithm>

#include "audit/checks.hpp"
#include "core/ascii.hpp"

namespace wb::audit {
namespace {

/// Relative tolerance: a factor from paired turns is not exactly the quotient of two medians.
constexpr double k_slack = 0.02;

struct Measured {
  Figure factor, low, high;
  std::string rest;  ///< text after the bracket
};

/// The factor at figure `n` of a text; nothing if no interval follows. Whole numbers in brackets
/// may be citations.
std::optional<Measured> measured_at(std::string_view text, const std::vector<Figure>& figures,
                                    std::size_t n) {
  if (n + 2 >= figures.size()) return std::nullopt;
  const Figure &factor = figures[n], &low = figures[n + 1], &high = figures[n + 2];
  const auto between = [&](const Figure& a, const Figure& b) {
    return trimmed(text.substr(a.end, b.begin - a.end));
  };
  const bool plain = factor.unit == Unit::factor && low.unit == Unit::none &&
                     high.unit == Unit::none && !factor.is_range && !low.is_range &&
                     !high.is_range && (low.step < 1 || high.step < 1);
  if (!plain || between(factor, low) != "[" || between(low, high) != ",") return std::nullopt;
  std::string rest(text.substr(high.end));
  if (!rest.starts_with(']')) return std::nullopt;
  return Measured{factor, low, high, rest.substr(1)};
}

Interval whole(const Figure& figure) {
  return {figure.operand().low, figure.operand(true).high};
}

void judge_itself(int line, const Measured& one, Notes& notes) {
  const Interval around{one.low.result().low, one.high.result().high};
  const std::string interval = fmt::format("[{}, {}]", one.low.printed, one.high.printed);
  if (!one.factor.result().meets(around)) {
    notes.add({.line = line,
               .printed = fmt::format("{} {}", one.factor.printed, interval),
               .computed = fmt::format("{} is {} its interval {}", one.factor.printed,
                                       one.factor.value < around.low ? "below" : "above", interval),
               .meaning = "a figure lies within its own interval",
               .tolerance = tolerance_of(one.factor)});
  }
  const bool faster = one.rest.starts_with(", faster"), slower = one.rest.starts_with(", slower");
  if ((faster && around.high < 1) || (slower && around.low > 1)) {
    notes.add({.line = line,
               .printed = fmt::format("{} {}, {}", one.factor.printed, interval,
                                      faster ? "faster" : "slower"),
               .computed = fmt::format("all of {} is {} 1", interval, faster ? "below" : "above"),
               .meaning = "the word is the opposite of its figures"});
  }
}

struct Fit {
  const Row* row;
  Measured measured;
  Figure first, second;
  bool up = false, down = false;  ///< whether first / second and second / first lie in the interval
};

std::vector<Fit> fits_of(const TableFacts& table, std::size_t column,
                         const std::vector<std::size_t>& times) {
  std::vector<Fit> fits;
  for (const Row& row : table.table->rows) {
    const std::string& cell = cell_of(row, column);
    const auto figures = figures_in(cell);
    auto measured = measured_at(cell, figures, 0);
    const auto first = table.figure(row, times[0]), second = table.figure(row, times[1]);
    if (!measured || !first || !second || first->value <= 0 || second->value <= 0) continue;
    // "(torch_flash)": relative to another baseline than the row's.
    const std::size_t open = measured->rest.find('(');
    const bool other = open != std::string::npos && open + 1 < measured->rest.size() &&
                       ascii::is_alpha(measured->rest[open + 1]);
    if (other) continue;
    const Interval wide{measured->low.result().low * (1 - k_slack),
                        measured->high.result().high * (1 + k_slack)};
    const auto up = divide(whole(*first), whole(*second));
    const auto down = divide(whole(*second), whole(*first));
    Fit fit{&row, *std::move(measured), *first, *second};
    fit.up = up && wide.meets(*up);
    fit.down = down && wide.meets(*down);
    fits.push_back(std::move(fit));
  }
  return fits;
}

/// Whether the document names `name` as the deciding measurement, "hot burst (decides)". If so, the
/// rows' times are those of the column "hot burst".
bool decides(const Document& document, const std::string& name) {
  if (name.empty()) return false;
  return std::any_of(document.lines.begin(), document.lines.end(), [&](const Line& line) {
    return line.lower.find(name + " (decides)") != std::string::npos;
  });
}

/// The two columns that the factors compare are seldom named. If they are not, the pair that fits
/// most rows is taken; if two pairs fit equally well, nothing is judged.
void check_rows(const Facts& facts, const TableFacts& table, Notes& notes) {
  const std::vector<std::size_t> times = table.of(Role::time);
  if (times.size() != 2) return;
  std::vector<Fit> best;
  std::ptrdiff_t most = 0;
  bool is_up = false, alone = true;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    std::vector<Fit> fits = fits_of(table, column, times);
    const auto ups = std::count_if(fits.begin(), fits.end(), [](auto& one) { return one.up; });
    const auto downs = std::count_if(fits.begin(), fits.end(), [](auto& one) { return one.down; });
    const auto count = std::max(ups, downs);
    if (count == 0 || count < most) continue;
    const bool said = decides(facts.document, table.columns[column].name);
    alone = count > most || said;
    if (!alone) continue;
    most = count;
    is_up = ups > downs;
    best = std::move(fits);
    if (said) break;
  }
  const auto all = static_cast<std::ptrdiff_t>(best.size());
  if (most * 2 < all) return;
  for (const Fit& fit : best) {
    const Figure &top = is_up ? fit.first : fit.second, &bottom = is_up ? fit.second : fit.first;
    const auto ratio = divide(whole(top), whole(bottom));
    if (!ratio) continue;
    const Measured& printed = fit.measured;
    const std::string formula =
        fmt::format("{} / {}: {} / {} = {}", table.columns[times[is_up ? 0 : 1]].name,
                    table.columns[times[is_up ? 1 : 0]].name, full(top), full(bottom),
                    show(*ratio, Unit::factor));
    const std::string told = fmt::format("{} [{}, {}]", printed.factor.printed, printed.low.printed,
                                         printed.high.printed);
    if (is_up ? fit.up : fit.down) {
      notes.held(fit.row->line, formula + ", printed " + told);
    } else if (alone && most < all) {
      notes.add({.severity = Severity::doubtful,
                 .line = fit.row->line,
                 .printed = told,
                 .computed = formula,
                 .meaning = "the times of the row are beyond the interval, those of most are not",
                 .tolerance = "the interval, and 2 % for medians of pairs"});
    }
  }
}

}  // namespace

void check_intervals(const Facts& facts, Notes& notes) {
  for (const Line& line : facts.document.lines) {
    const auto& figures = facts.of(line.number);
    for (std::size_t n = 0; n < figures.size(); ++n) {
      if (const auto one = measured_at(line.plain, figures, n)) {
        judge_itself(line.number, *one, notes);
      }
    }
  }
  for (const TableFacts& table : facts.tables) check_rows(facts, table, notes);
}

}  // namespace wb::audit
