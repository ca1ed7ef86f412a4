// SPDX-License-Identifier: MIT
// Checks totals of lists and brackets against their parts: "a (b + c)", "- K: 8 MB … - Total: 16
// MB".
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "audit/checks.hpp"
#include "audit/sums.hpp"
#include "audit/total_doubts.hpp"

namespace wb::audit {
namespace {

constexpr std::size_t k_most_parts = 64;  ///< parts of one list

/// Checks totals in brackets: "$0.90 (GPU $0.15 + AI $0.75)".
void check_brackets(const Facts& facts, const Line& line, Notes& notes) {
  const auto& figures = facts.of(line.number);
  for (std::size_t n = 0; n + 2 < figures.size(); ++n) {
    const Figure& printed = figures[n];
    if (!adds_up(printed.unit) || printed.unit == Unit::none || printed.is_range) continue;
    if (trimmed(line.plain.substr(printed.end, 3)).substr(0, 1) != "(") continue;
    Sum sum;
    double most = 0;
    std::size_t at = n + 1;
    for (; at < figures.size() && figures[at].unit == printed.unit; ++at) {
      const std::string between =
          line.plain.substr(figures[at - 1].end, figures[at].begin - figures[at - 1].end);
      // "(heap at 10.67 GiB, stack +0.34 GiB)" states a change and not a sum.
      const bool joined = between.find(at == n + 1 ? '(' : '+') != std::string::npos;
      if (!joined || between.find_first_of(at == n + 1 ? ")" : "),;") != std::string::npos) break;
      most = std::max(most, figures[at].value);
      add(sum, figures[at]);
    }
    // "(GPU $1 + agent $2 + the rest)": one part has no figure.
    const std::size_t close = line.plain.find(')', figures[at - 1].end);
    const std::string behind =
        close == std::string::npos
            ? "+"
            : line.plain.substr(figures[at - 1].end, close - figures[at - 1].end);
    if (behind.find_first_of("+-*/x0123456789") != std::string::npos) continue;
    if (sum.parts.size() < 2) continue;
    // In "Budget: $0 ($200 + $200 of credits)" the bracket does not hold the total's parts. In "14
    // GB (weights 10 GB + cache 2 GB)" the bracket may not list all parts.
    constexpr double k_far = 1.5;
    const bool is_whole = printed.value > most && printed.value <= k_far * sum.value;
    const bool more = printed.value > sum.value && printed.unit != Unit::money;
    const auto doubt = is_whole && !more
                           ? std::nullopt
                           : std::optional<std::string_view>("it may be of other things");
    judge_sum(line.number, printed, sum, "the figure", notes, doubt);
  }
}

/// The value of a list item: the figure after its last "=", else its only figure.
std::optional<Figure> item_figure(const Facts& facts, const Line& line) {
  const auto& figures = facts.of(line.number);
  const auto label = label_of(line.plain);
  if (!label || figures.empty()) return std::nullopt;
  const std::size_t equals = line.plain.rfind('=');
  for (const Figure& figure : figures) {
    const bool after =
        equals == std::string::npos ? figure.begin >= label->rest : figure.begin > equals;
    if (after && !figure.bounded) return figure;
  }
  return std::nullopt;
}

/// Whether the line is only a label and one figure: "- K: 8 MB".
bool is_bare(const Facts& facts, const Line& line) {
  const auto label = label_of(line.plain);
  const auto& figures = facts.of(line.number);
  if (!label || figures.empty() || figures.back().begin < label->rest) return false;
  const Figure& figure = figures.back();
  return trimmed(line.plain.substr(label->rest, figure.begin - label->rest)).empty() &&
         trimmed(line.plain.substr(figure.end)).empty();
}

/// Judges a list's total. A qualified total ("Total resolution: 8 s", "50 MB for 1000 domains",
/// "$192,000/year") may count something else, so only the word "total" alone counts, in a list
/// whose every line is a label and a figure.
void judge_list(const Facts& facts, std::size_t at, std::size_t parts, const Figure& printed,
                const Sum& sum, const std::string& label, Notes& notes) {
  const auto& lines = facts.document.lines;
  bool plain = label == "total";
  for (std::size_t up = at - parts; up <= at; ++up) {
    const bool blank = trimmed(lines[up].plain).empty();
    plain = plain && (blank || is_bare(facts, lines[up]));
  }
  // A total outside the list may include other items, and a measured total includes the time
  // between its parts.
  const bool outer = lines[at - 1].indent > lines[at].indent;
  const bool measured = printed.unit == Unit::time && printed.value > sum.value;
  constexpr double k_far = 1.5;  // as for tables: the total may include unlisted items
  const bool far = printed.value > k_far * sum.value;
  const auto doubt =
      plain && !outer && !measured && !far ? std::nullopt : std::optional<std::string_view>("");
  judge_sum(lines[at].number, printed, sum, "the total", notes, doubt);
}

void judge_product(int line, const Figure& printed, const std::vector<Figure>& parts,
                   Notes& notes) {
  Interval low{1, 1}, high{1, 1};
  std::vector<std::string> words;
  for (const Figure& part : parts) {
    // The ends of a range are rounded; they are taken as printed.
    low = low * Interval{part.value, part.value};
    high = high * Interval{part.high, part.high};
    words.push_back(part.printed);
  }
  const std::string formula = fmt::format("{} = {}-{}", fmt::join(words, " x "), show(low.low),
                                          show(high.high, Unit::factor));
  const auto near = [](double value, double wanted) {
    return std::abs(value - wanted) <= 0.1 * wanted;
  };
  if (near(printed.value, low.low) && near(printed.high, high.high)) {
    notes.held(line, formula + ", printed " + printed.printed);
  } else {
    // A result below the product of the best factors may be a forecast, because not every step
    // reaches its best. If one end equals the product, the other end should too.
    const bool one_end =
        printed.is_range && (near(printed.value, low.low) || near(printed.high, high.high));
    const bool within = printed.value > low.low && printed.high < high.high;
    const bool sure = !within && (one_end || printed.high > high.high);
    notes.add({.severity = sure ? Severity::contradiction : Severity::doubtful,
               .line = line,
               .printed = printed.printed,
               .computed = formula,
               .meaning = "factors of successive steps multiply; the total is not their product",
               .tolerance = "10 %"});
  }
}

}  // namespace

void check_bracket_totals(const Facts& facts, Notes& notes) {
  for (const Line& line : facts.document.lines) check_brackets(facts, line, notes);
}

void check_list_totals(const Facts& facts, Notes& notes) {
  const auto& lines = facts.document.lines;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const auto label = label_of(lines[n].plain);
    if (!label || !label->label.starts_with("total") || lines[n].in_table) continue;
    const auto printed = item_figure(facts, lines[n]);
    if (!printed) continue;
    const auto& told = facts.of(lines[n].number);
    const auto alike = std::count_if(told.begin(), told.end(), [&](const Figure& figure) {
      return figure.unit == printed->unit;
    });
    // "$16,000/month = $192,000/year": the line does not say which of them is the total.
    if (alike > 1 && lines[n].plain.find('+') == std::string::npos) continue;
    std::vector<Figure> parts;
    std::size_t lines_of_parts = 0;
    for (std::size_t up = n; up-- > 0;) {
      if (trimmed(lines[up].plain).empty()) {
        if (parts.empty() && up + 1 == n) continue;
        break;
      }
      if (!lines[up].item || lines[up].in_table) break;
      // "500 us -> 50 us" states a change and not a part.
      if (lines[up].plain.find("->") != std::string::npos) {
        parts.clear();
        break;
      }
      if (parts.size() == k_most_parts) {
        parts.clear();  // an incomplete list cannot be judged
        break;
      }
      const bool nested = lines[n].item && lines[up].indent < lines[n].indent;
      if (nested) break;
      const auto part = item_figure(facts, lines[up]);
      // "Per agent: 400 MB" is the size of each of several items, all of which the total counts.
      const auto name = label_of(lines[up].plain);
      if (name && (is_no_sum(name->label) || has_word(name->label, "each") ||
                   has_word(name->label, "every") || is_no_part(name->label))) {
        parts.clear();
        break;
      }
      // "T5 alone is 10 GB" and "L: 0.5 GB, G: 1.5 GB": the list was not read completely.
      const bool sums_up = lines[up].plain.find('=') != std::string::npos;
      const auto& figures = facts.of(lines[up].number);
      const auto same = std::count_if(figures.begin(), figures.end(), [&](const Figure& figure) {
        return figure.unit == printed->unit;
      });
      const bool is_read = part && part->unit == printed->unit && (sums_up || same == 1);
      if (!is_read) {
        if (same > 0) parts.clear();
        break;
      }
      parts.insert(parts.begin(), *part);
      lines_of_parts = n - up;
    }
    if (parts.size() < 2) continue;
    if (printed->unit == Unit::factor) {
      judge_product(lines[n].number, *printed, parts, notes);
    } else if (adds_up(printed->unit) && printed->unit != Unit::none && !printed->is_range) {
      Sum sum;
      for (const Figure& part : parts) add(sum, part);
      if (std::none_of(parts.begin(), parts.end(), [](auto& part) { return part.is_range; })) {
        judge_list(facts, n, lines_of_parts, *printed, sum, label->label, notes);
      }
    }
  }
}

}  // namespace wb::audit
