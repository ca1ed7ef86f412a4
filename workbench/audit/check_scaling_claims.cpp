// SPDX-License-Identifier: MIT
// Checks claims about scaling in prose ("8x batch", "8x more work", "super-linear", "4x data")
// against the rows with those shapes and times.
#include <fmt/format.h>

#include <algorithm>

#include "audit/checks.hpp"
#include "audit/series.hpp"

namespace wb::audit {
namespace {

/// Reports "8x batch" in prose if that step of the table changed the heads as well.
void check_multiples(const Facts& facts, const std::vector<Series>& all, Notes& notes) {
  for (const Size& size : k_sizes) {
    std::vector<int> lines;
    std::string printed, formula;
    for (const Line& line : facts.document.lines) {
      if (line.in_table || line.fenced) continue;
      for (const Figure& figure : facts.of(line.number)) {
        const std::string rest = trimmed(std::string_view(line.lower).substr(figure.end));
        if (figure.unit != Unit::factor || figure.is_range || !rest.starts_with(size.word))
          continue;
        for (const Series& series : all) {
          const Shape& a = series.table->shapes[series.rows.front()];
          const Shape& b = series.table->shapes[series.rows.back()];
          if (a.*size.member == 0 || (b.*size.member) / (a.*size.member) != figure.value) continue;
          Shape same = b;
          same.*size.member = a.*size.member;
          if (same == a) continue;
          const Growth grown = growth(series, series.rows.front(), series.rows.back());
          printed = fmt::format("{} {}", figure.printed, size.word);
          formula = fmt::format("{}: work grows {}x", differences(a, b), show(grown.work));
          if (lines.empty() || lines.back() != line.number) lines.push_back(line.number);
          break;
        }
      }
    }
    if (lines.empty()) continue;
    Finding finding{.severity = Severity::doubtful,
                    .line = lines.front(),
                    .printed = printed,
                    .computed = formula,
                    .meaning =
                        "the measured step changes more than this size; what is expected of "
                        "the time must follow the work"};
    finding.also.assign(lines.begin() + 1, lines.end());
    notes.add(std::move(finding));
  }
}

/// Reports "super-linearly" in prose about a time column that is nearly linear in the work.
void check_words(const Facts& facts, const std::vector<Series>& all, Notes& notes) {
  for (const Line& line : facts.document.lines) {
    if (line.in_table || word_in(line.lower) != "super-linear") continue;
    for (const Figure& figure : facts.of(line.number)) {
      if (figure.unit != Unit::factor || figure.is_range) continue;
      for (const Series& series : all) {
        const Growth grown = growth(series, series.rows.front(), series.rows.back());
        if (!figure.result().meets({grown.time, grown.time}) || grown.work <= 1) continue;
        if (word_fits("super-linear", grown.exponent())) continue;
        notes.add(
            {.line = line.number,
             .printed = fmt::format("{} called super-linear", figure.printed),
             .computed = fmt::format("time {}x for work {}x: exponent {:.2f}, {}", show(grown.time),
                                     show(grown.work), grown.exponent(), kind_of(grown.exponent())),
             .meaning = "by work the time does not grow too fast: no sign of serial execution",
             .tolerance = fmt::format("exponent 1 ± {}", k_linear),
             .also = {series.table->table->rows[series.rows.back()].line}});
        return;
      }
    }
  }
}

/// Checks work ratios such as "B=1,H=8 -> B=8,H=16 = 8x more work".
void check_work_claims(const Facts& facts, Notes& notes) {
  std::vector<Finding> found;
  for (const Line& line : facts.document.lines) {
    const std::vector<Shape> shapes = shapes_in(line.plain);
    if (shapes.size() != 2 || !shapes[0].lacks_same(shapes[1])) continue;
    for (const Figure& figure : facts.of(line.number)) {
      const std::string rest = trimmed(std::string_view(line.lower).substr(figure.end));
      if (figure.unit != Unit::factor ||
          !(rest.starts_with("more work") || rest.starts_with("work"))) {
        continue;
      }
      const double work = shapes[1].work() / shapes[0].work();
      const std::string formula =
          fmt::format("{}: {}x", differences(shapes[0], shapes[1]), show(work));
      if (figure.result().meets({work, work})) {
        notes.held(line.number, formula + ", printed " + figure.printed);
        continue;
      }
      // The same claim on several lines is one finding.
      const auto same = std::find_if(found.begin(), found.end(), [&](const Finding& one) {
        return one.computed == formula && one.printed == figure.printed + " work";
      });
      if (same != found.end()) {
        same->also.push_back(line.number);
        continue;
      }
      found.push_back({.line = line.number,
                       .printed = figure.printed + " work",
                       .computed = formula,
                       .meaning = "work is the product of all sizes that change",
                       .tolerance = tolerance_of(figure)});
    }
  }
  for (Finding& finding : found) notes.add(std::move(finding));
}

/// Checks "scales linearly with B x H (0.58 -> 1.28ms)" against the rows with those two times.
void check_quoted_times(const Facts& facts, const std::vector<Series>& all, Notes& notes) {
  for (const Line& line : facts.document.lines) {
    const std::string word = word_in(line.lower);
    if (line.in_table || word.empty()) continue;
    const auto& figures = facts.of(line.number);
    for (std::size_t n = 0; n + 1 < figures.size(); ++n) {
      const Figure &from = figures[n], &to = figures[n + 1];
      if (to.unit != Unit::time || (from.unit != Unit::time && from.unit != Unit::none)) continue;
      if (trimmed(line.plain.substr(from.end, to.begin - from.end)) != "->") continue;
      const double scale = from.unit == Unit::none ? to.scale : 1;
      const Interval first{(from.value - from.step) * scale, (from.value + from.step) * scale};
      for (const Series& series : all) {
        std::optional<std::size_t> a, b;
        for (const std::size_t row : series.rows) {
          const double time = time_at(series, row);
          if (!a && first.meets({time, time})) a = row;
          if (a && row != *a && !b && to.result().meets({time, time})) b = row;
        }
        if (!a || !b) continue;
        const Growth grown = growth(series, *a, *b);
        if (grown.work < 1.5) continue;
        const std::string formula = fmt::format(
            "{}: time {}x for work {}x, exponent {:.2f}, {}",
            differences(series.table->shapes[*a], series.table->shapes[*b]), show(grown.time),
            show(grown.work), grown.exponent(), kind_of(grown.exponent()));
        if (word_fits(word, grown.exponent())) {
          notes.held(line.number, formula + ", called " + word);
        } else {
          notes.add(
              {.line = line.number,
               .printed = fmt::format("{} -> {} called {}", from.printed, to.printed, word),
               .computed = formula,
               .meaning = "the word does not fit the rows with these times",
               .tolerance = fmt::format("exponent 1 ± {}", k_linear),
               .also = {series.table->table->rows[*a].line, series.table->table->rows[*b].line}});
        }
        break;
      }
    }
  }
}

/// Checks "~4.3x data -> ~200x time" below the two sizes that it compares ("S=4: …", "S=512: …").
void check_data_claims(const Facts& facts, Notes& notes) {
  const auto& lines = facts.document.lines;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const auto& figures = facts.of(lines[n].number);
    if (figures.size() < 2 || figures[0].unit != Unit::factor || figures[1].unit != Unit::factor) {
      continue;
    }
    if (!trimmed(std::string_view(lines[n].lower).substr(figures[0].end)).starts_with("data")) {
      continue;
    }
    std::vector<std::pair<Shape, int>> above;
    for (std::size_t up = n; up-- > 0 && lines[up].item && up + 8 > n;) {
      const Shape shape = shape_in(lines[up].plain);
      if (!shape.empty()) above.emplace_back(shape, lines[up].number);
    }
    if (above.size() != 2 || !above[0].first.lacks_same(above[1].first)) continue;
    const auto& [small, small_line] = above[1];
    const auto& [large, large_line] = above[0];
    double ratio = 1;
    for (const Size& size : k_sizes) {
      if (small.*size.member > 0) ratio *= (large.*size.member) / (small.*size.member);
    }
    const std::string formula =
        fmt::format("{}: at least {}x the data", differences(small, large), show(ratio));
    if (figures[0].result().high >= ratio * 0.9) {
      notes.held(lines[n].number, formula + ", printed " + figures[0].printed);
      continue;
    }
    notes.add({.line = lines[n].number,
               .printed = figures[0].printed + " data",
               .computed = formula,
               .meaning = "the data grow far more than is said; what is left of the excess in time "
                          "must be judged by work",
               .tolerance = tolerance_of(figures[0]),
               .also = {small_line, large_line}});
  }
}

}  // namespace

void check_scaling_claims(const Facts& facts, Notes& notes) {
  const std::vector<Series> all = series_of(facts);
  check_multiples(facts, all, notes);
  check_words(facts, all, notes);
  check_work_claims(facts, notes);
  check_quoted_times(facts, all, notes);
  check_data_claims(facts, notes);
}

}  // namespace wb::audit
