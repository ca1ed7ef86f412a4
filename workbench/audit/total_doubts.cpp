// SPDX-License-Identifier: MIT
#include "audit/total_doubts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/ascii.hpp"

namespace wb::audit {
namespace {

template <std::size_t N>
bool has_any(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(), [&](auto word) { return has_word(text, word); });
}

template <std::size_t N>
bool holds_any(std::string_view text, const std::array<std::string_view, N>& pieces) {
  return std::any_of(pieces.begin(), pieces.end(),
                     [&](auto piece) { return text.find(piece) != std::string_view::npos; });
}

bool is_count(const Figure& figure) {
  return figure.unit == Unit::none && figure.step == 1;
}

/// Whether the sum is right without one row or several adjacent rows. These may be parts of a part,
/// as "read" and "multiply" are of "layers", or repeated.
bool may_be_nested(const Total& one) {
  constexpr double k_near = 0.01;
  const double over = one.sum.value - one.printed.value;
  const double slack =
      is_count(one.printed) ? 0.5 : std::max(one.printed.step, k_near * one.printed.value);
  if (over <= 0) return false;
  // Headings with the sums of their rows count each part twice.
  if (std::abs(over - one.printed.value) < slack) return true;
  for (std::size_t from = 0; from < one.values.size(); ++from) {
    double run = 0;
    for (std::size_t to = from; to < one.values.size(); ++to) {
      run += one.values[to];
      if (std::abs(run - over) < slack) return true;
    }
  }
  return false;
}

/// The sum of a table's column without its rows of totals; nothing if it has no figure.
std::optional<double> column_sum(const TableFacts& table, const std::string& name) {
  const auto column = std::find_if(table.columns.begin(), table.columns.end(),
                                   [&](const Column& one) { return one.name == name; });
  if (column == table.columns.end()) return std::nullopt;
  const auto at = static_cast<std::size_t>(column - table.columns.begin());
  std::optional<double> sum;
  for (const Row& row : table.table->rows) {
    if (is_total(cell_of(row, 0))) continue;
    if (const auto figure = table.figure(row, at)) sum = sum.value_or(0) + figure->value;
  }
  return sum;
}

/// Whether the total also counts the preceding tables, back to one without such a column.
bool may_span_tables(const Total& one, const Scope& scope) {
  const auto& tables = scope.facts.tables;
  const std::string& name = scope.table.columns[one.column].name;
  const double over = one.printed.value - one.sum.value;
  double before = 0;
  for (auto at = static_cast<std::size_t>(&scope.table - tables.data()); at-- > 0;) {
    const auto sum = column_sum(tables[at], name);
    if (!sum) return false;
    before += *sum;
    if (std::abs(*sum - over) <= one.printed.step / 2) return true;
    if (std::abs(before - over) <= one.printed.step / 2) return true;
  }
  return false;
}

/// Whether a list right above the table has two of its parts and one that the table omits, which
/// makes the total right: "core.c (540 lines), shell.c (120 lines), mod.c (8 lines)".
bool may_count_listed(const Total& one, const Scope& scope) {
  constexpr int k_lines = 24;
  const double over = one.printed.value - one.sum.value;
  if (over <= 0) return false;
  bool left_out = false;
  std::vector<double> found;
  for (int line = std::max(1, scope.table.table->line - k_lines); line < scope.table.table->line;
       ++line) {
    if (scope.facts.document.at(line).in_table) continue;
    for (const Figure& figure : scope.facts.of(line)) {
      if (figure.unit != one.printed.unit) continue;
      left_out = left_out || std::abs(figure.value - over) <= one.printed.step / 2;
      const bool is_part =
          std::find(one.values.begin(), one.values.end(), figure.value) != one.values.end();
      const bool is_new = std::find(found.begin(), found.end(), figure.value) == found.end();
      if (is_part && is_new && figure.value > 0) found.push_back(figure.value);
    }
  }
  return left_out && found.size() >= 2;
}

/// Whether the total differs from the sum in one digit ("142.194" and 112.194), a slip; a measured
/// time would differ in more.
bool is_slip(const Total& one) {
  const std::string told = fmt::to_string(std::llround(one.printed.value / one.printed.step)),
                    sum = fmt::to_string(std::llround(one.sum.value / one.printed.step));
  if (told.size() != sum.size() || told.size() < 3) return false;
  std::size_t other = 0;
  for (std::size_t at = 0; at < told.size(); ++at) other += told[at] != sum[at] ? 1 : 0;
  return other == 1;
}

/// Whether the total may be the rounded sum: "1,180" for 1,173, "2.5 hours" for 2 h 15.
bool may_be_rounded(const Total& one) {
  constexpr double k_near = 0.01, k_hour = 3600;
  const double off = std::abs(one.printed.value - one.sum.value);
  const bool hours = one.printed.unit == Unit::time && one.printed.scale == k_hour;
  if (hours && std::fmod(one.printed.value, k_hour / 2) == 0 && off <= k_hour / 4) return true;
  const double ten = 10 * one.printed.step;
  const double rest = std::fmod(one.printed.value, ten);
  return off < ten && off <= k_near * one.sum.value && std::min(rest, ten - rest) < 0.01 * ten;
}

/// Whether the shares beside the parts are of their sum and not of the total, so that the total is
/// meant to be the sum.
bool are_shares_of_sum(const Total& one, const TableFacts& table) {
  for (std::size_t column = 1; column < table.columns.size(); ++column) {
    if (column == one.column) continue;
    std::size_t of_sum = 0, of_total = 0, all = 0;
    for (const Row& row : table.table->rows) {
      const auto part = table.figure(row, one.column), share = table.figure(row, column);
      if (is_total(cell_of(row, 0)) || !part || !share || share->unit != Unit::percent) continue;
      const auto fits = [&](double whole) {
        return std::abs(share->value - 100 * part->value / whole) <= share->step;
      };
      ++all;
      of_sum += fits(one.sum.value) ? 1 : 0;
      of_total += fits(one.printed.value) ? 1 : 0;
    }
    if (all >= 2 && of_sum == all && of_total < all) return true;
  }
  return false;
}

/// Whether the total follows from its own row: with columns "cost | ours | saved", the last is a
/// difference in the row of totals as well ("3,000 | 2 | 2,998").
bool follows_in_row(const Total& one, const Scope& scope) {
  const TableFacts& table = scope.table;
  const auto& rows = table.table->rows;
  const auto is_less = [&](const Row& row, std::size_t from, std::size_t off) {
    const auto here = table.figure(row, one.column), first = table.figure(row, from),
               second = table.figure(row, off);
    return here && first && second && here->unit == first->unit && here->unit == second->unit &&
           std::abs(first->value - second->value - here->value) <= here->step;
  };
  for (std::size_t off = 1; off < table.columns.size(); ++off) {
    if (off == one.column) continue;
    double least = 1e300, most = 0;
    std::optional<Figure> told;
    for (const Row& row : rows) {
      const auto figure = table.figure(row, off);
      if (!figure) continue;
      if (is_total(cell_of(row, 0))) {
        told = figure;
      } else {
        least = std::min(least, figure->value);
        most = std::max(most, figure->value);
      }
    }
    if (!told || told->value != most || least != most || most == 0) continue;
    for (std::size_t from = 1; from < table.columns.size(); ++from) {
      if (from == off || from == one.column) continue;
      const auto many = std::count_if(rows.begin(), rows.end(),
                                      [&](const Row& row) { return is_less(row, from, off); });
      if (many >= 3 && static_cast<std::size_t>(many) == rows.size()) return true;
    }
  }
  return false;
}

/// The lines before and after a table, up to other tables and headings.
std::string around(const Facts& facts, const TableFacts& table) {
  constexpr int k_lines = 4;
  const auto& lines = facts.document.lines;
  const auto& section =
      facts.document.sections[static_cast<std::size_t>(table.table->section)].title;
  std::string text = section + "\n" + table.table->caption + "\n";
  const int last = table.table->rows.empty() ? table.table->line : table.table->rows.back().line;
  int read = 0;
  for (auto at = static_cast<std::size_t>(last); at < lines.size() && read < k_lines; ++at) {
    const Line& line = lines[at];
    if (line.in_table || trimmed(line.plain).starts_with('#')) break;
    if (trimmed(line.plain).empty()) continue;
    text += line.lower + "\n";
    ++read;
  }
  return text;
}

/// Whether the text announces a ranking: "top 10 modules".
bool is_ranking(std::string_view text) {
  for (auto at = find_word(text, "top"); at; at = find_word(text, "top", *at + 3)) {
    const std::size_t digit = *at + 4;
    if (digit < text.size() && ascii::is_digit(text[digit])) {
      return true;
    }
  }
  return false;
}

constexpr std::array<std::string_view, 9> k_once{"unique",     "distinct",     "overlap",
                                                 "overlaps",   "overlapping",  "dedup",
                                                 "duplicates", "deduplicated", "duplicate"};
constexpr std::array<std::string_view, 8> k_once_said{
    "double-count",  "double count", "counted once", "counted twice",
    "more than one", "do not sum",   "not sum to",   "not add up"};
constexpr std::array<std::string_view, 12> k_some{"largest", "biggest", "key",     "selected",
                                                  "sample",  "samples", "example", "examples",
                                                  "excerpt", "partial", "omitted", "main"};
constexpr std::array<std::string_view, 6> k_some_said{"not listed",  "not shown", "not included",
                                                      "not counted", "excluding", "excludes"};
constexpr std::array<std::string_view, 9> k_adjusted{"adjusted", "adjustment", "adjustments",
                                                     "adjusts",  "normalized", "normalised",
                                                     "penalty",  "penalties",  "capped"};
/// Units that figures are not parsed in; a whole number of them is rounded.
constexpr std::array<std::string_view, 24> k_rounded{
    "k",         "m",       "b",        "bn",      "mtok", "ktok", "kloc",  "thousand",
    "thousands", "million", "millions", "billion", "h",    "hrs",  "hours", "w",
    "kw",        "kwh",     "mwh",      "kg",      "km",   "mm",   "j",     "pts"};
/// People and things that may appear in several rows and count once in total.
constexpr std::array<std::string_view, 76> k_takes_part{
    "modified",   "changed",      "touched",      "affected",     "updated",      "users",
    "people",     "team",         "teams",        "developers",   "contributors", "engineers",
    "staff",      "members",      "customers",    "clients",      "headcount",    "fte",
    "ftes",       "participants", "students",     "patients",     "subjects",     "authors",
    "agents",     "files",        "documents",    "games",        "languages",    "models",
    "categories", "types",        "topics",       "tags",         "tools",        "providers",
    "platforms",  "domains",      "sources",      "countries",    "cities",       "sites",
    "devices",    "machines",     "nodes",        "hosts",        "datasets",     "brands",
    "suppliers",  "vendors",      "companies",    "symbols",      "pairs",        "genes",
    "species",    "repos",        "repositories", "projects",     "skills",       "roles",
    "days",       "weeks",        "sessions",     "technologies", "tables",       "schemas",
    "databases",  "services",     "packages",     "channels",     "markets",      "stocks",
    "tickers",    "keywords",     "deps",         "dependencies"};
/// Quantities of a whole that may exceed the sum of its listed parts.
constexpr std::array<std::string_view, 12> k_of_whole{"lines",  "loc",        "sloc",       "words",
                                                      "tokens", "characters", "chars",      "bytes",
                                                      "bits",   "size",       "statements", "code"};

}  // namespace

bool is_no_sum(std::string_view name) {
  static constexpr std::array<std::string_view, 41> k_words{
      "avg", "average", "mean", "median", "max", "min", "rate", "per", "speedup", "ratio",
      "latency", "p50", "share", "efficiency", "p95", "p99", "peak", "throughput", "percent",
      "best", "unique", "distinct", "rank", "id", "year", "cumulative",
      // A limit, goal or estimate is stated for the whole separately.
      "target", "targets", "goal", "goals", "maximum", "minimum", "limit", "limits", "cap",
      "budget", "claimed", "threshold",
      // These describe the state after a row, not the row.
      "running", "balance", "remaining"};
  return has_any(name, k_words);
}

bool is_no_part(std::string_view label) {
  // Branches of a tree, and marks for omitted rows ("...", "+ 5 more").
  for (const std::string_view start : {"-", "+", ">", "..", "&nbsp;"}) {
    if (label.starts_with(start)) return true;
  }
  static constexpr std::array<std::string_view, 13> k_made{
      "total",    "subtotal", "sub-total", "average",   "avg",       "mean",      "median",
      "combined", "overall",  "thereof",   "including", "remaining", "difference"};
  static constexpr std::array<std::string_view, 12> k_taken_off{
      "discount", "discounts", "refund", "refunds", "credit",  "credits",
      "rebate",   "deduction", "less",   "minus",   "savings", "deductions"};
  return has_any(label, k_made) || has_any(label, k_taken_off) ||
         label.find("of which") != std::string_view::npos || label == "net" || label == "sum";
}

bool has_headings(const Total& one) {
  constexpr double k_large = 50;
  const auto& values = one.values;
  std::size_t found = 0;
  for (std::size_t at = 0; at + 2 < values.size();) {
    double run = values[at + 1];
    std::size_t to = at + 2;
    bool alike = true;
    for (; to < values.size() && run < values[at]; ++to) {
      run += values[to];
      alike = alike && values[to] == values[at + 1];
    }
    const bool is_one = to > at + 2 && std::abs(run - values[at]) <= one.printed.step / 2 &&
                        values[at] >= k_large * one.printed.step && !alike;
    found += is_one ? 1 : 0;
    at = is_one ? to : at + 1;
  }
  return found > 1;
}

bool is_sum(const Total& one) {
  Notes notes;
  judge_sum(0, one.printed, one.sum, "", notes);
  return !notes.m_held.empty();
}

bool is_far(const Total& one) {
  constexpr double k_far = 1.5, k_far_measured = 1.3;
  return one.printed.value > (one.measured ? k_far_measured : k_far) * one.sum.value;
}

Scope scope_of(const Facts& facts, const TableFacts& table, const Row& row) {
  Scope scope{.facts = facts, .table = table, .label = lower_of(cell_of(row, 0))};
  const std::string text = around(facts, table) + scope.label;
  scope.adjusted = has_any(text, k_adjusted);
  scope.distinct = has_any(text, k_once) || holds_any(text, k_once_said);
  static constexpr std::array<std::string_view, 4> k_more{"including", "includes", "incl", "plus"};
  scope.partial = std::any_of(row.cells.begin(), row.cells.end(), [](const std::string& cell) {
    return has_any(lower_of(cell), k_more);
  });
  scope.partial =
      scope.partial || is_ranking(text) || has_any(text, k_some) || holds_any(text, k_some_said);
  return scope;
}

bool is_named(const Scope& scope, std::size_t column) {
  const std::string header = lower_of(scope.table.table->headers[column]);
  std::size_t at = 0;
  while (at < scope.label.size()) {
    std::size_t end = scope.label.find(' ', at);
    if (end == std::string::npos) end = scope.label.size();
    const std::string word = scope.label.substr(at, end - at);
    at = end + 1;
    const bool total = word.empty() || word == "total" || word == "totals" || word == "grand";
    if (!total && !has_word(header, word)) return false;
  }
  return true;
}

std::optional<std::string_view> doubt_of(const Total& one, const Scope& scope) {
  constexpr double k_near = 0.05;
  const double total = one.printed.value, sum = one.sum.value;
  // The best of whole runs is not the sum of the best of their parts, and concurrent parts add up
  // to more than the whole.
  const bool fine = one.printed.unit == Unit::none && one.printed.step < 1;
  if ((one.measured || fine) && std::abs(total - sum) <= k_near * std::abs(sum)) {
    return "it may have been measured for itself";
  }
  if (one.measured && total < sum) return "parts may overlap";
  // Clock times: the time between the parts was measured, too, or they are times since the start.
  const bool clocked = one.measured && !(one.printed.unit == Unit::time && one.printed.scale >= 60);
  if (clocked && !are_shares_of_sum(one, scope.table) && !is_slip(one)) {
    return "it may have been measured around them";
  }
  if (follows_in_row(one, scope)) return "it follows from its own row";
  if (may_be_nested(one) || scope.nested) return "some may be parts of others";
  if (!is_named(scope, one.column)) return "the words beside it may say of what else it is";
  if (scope.distinct) return "what stands in several rows may count once";
  const std::string header = lower_of(scope.table.table->headers[one.column]);
  const double rounded = static_cast<double>(one.values.size() + 1) / 2;
  if (std::abs(total - sum) <= rounded * one.printed.step && has_any(header, k_rounded)) {
    return "only rounding could explain it";
  }
  if (scope.adjusted) return "the words beside it say that it was adjusted";
  if (may_be_rounded(one)) return "it may have been rounded";
  if (total < sum && has_any(header, k_takes_part)) return "some may stand in several rows";
  if (total < sum) return std::nullopt;
  // A file has more lines than its sections.
  if (one.printed.unit == Unit::bytes || has_any(header, k_of_whole)) {
    return "the whole may be more than these parts";
  }
  if (one.gaps) return "a row without a figure may have one";
  // Unlisted items in one column may count in the others, too.
  if (scope.row_is_more || scope.partial) return "it may count what is not listed";
  if (may_span_tables(one, scope)) return "it may count other tables of the document";
  if (may_count_listed(one, scope)) return "it may count what is listed above the table";
  return std::nullopt;
}

}  // namespace wb::audit
