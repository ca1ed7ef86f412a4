// SPDX-License-Identifier: MIT
// The figures of speedups: iteration by iteration over the incumbent, and of the final incumbent
// beside SDPA.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "html/document.hpp"
#include "html/svg.hpp"
#include "html/text.hpp"

namespace wb::html {

namespace {

using report::IterationOutcome;

// The speedup of each iteration over its incumbent, measured with interval, beside the prediction.

struct Point {
  std::int64_t number = 0, seq = 0, predicted_seq = 0;
  report::Ratio ratio;
  std::optional<double> predicted;
  IterationOutcome outcome = IterationOutcome::open;
  bool confirmed = false;
  std::string label, words;  ///< safe
};

std::vector<Point> points_of(const report::Facts& facts) {
  std::vector<Point> points;
  for (const session::IterationView* iteration : facts.tries) {
    const report::ComparisonIndex index(*iteration);
    Point point;
    point.number = iteration->number;
    point.seq = iteration->opened.seq;
    point.predicted_seq = iteration->opened.seq;
    point.outcome = report::outcome_of(*iteration);
    point.label = words(report::candidate_label(*iteration), 60);
    point.predicted =
        report::number(report::field(iteration->opened.payload, "hypothesis"), "predicted_speedup");
    point.words = escape(report::to_string(point.outcome));
    if (const auto* figure = report::objective_figure(facts, index, facts.plan)) {
      point.ratio = figure->ratio;
      point.seq = figure->seq;
      point.confirmed = figure->phase == "confirmation";
      point.words += ", " + unmarked(report::comparison_words(*figure));
    } else {
      point.words += ", not measured";
    }
    points.push_back(std::move(point));
  }
  return points;
}

std::string_view css_of(IterationOutcome outcome) {
  return outcome == IterationOutcome::win       ? "good"
         : outcome == IterationOutcome::no_gain ? "main"
                                                : "bad";
}

Scale value_scale(const std::vector<Point>& points, double top, double bottom) {
  double low = 1, high = 1;
  for (const Point& point : points) {
    for (const auto& value :
         {point.ratio.value, point.ratio.low, point.ratio.high, point.predicted}) {
      if (!value || !(*value > 0)) continue;
      low = std::min(low, *value);
      high = std::max(high, *value);
    }
  }
  give_room(low, high, true);
  return {low, high, bottom, top, true};
}

void draw_point(Svg& svg, PageData& page_data, const Point& point, double x, const Scale& y,
                bool labeled) {
  if (point.predicted && *point.predicted > 0) {
    svg.open(
        page_data.cited.link(point.predicted_seq),
        fmt::format("iteration {}: predicted {}", point.number, report::speedup(point.predicted)));
    svg.mark(Shape::diamond, x - 5, y(*point.predicted), 3.6, "quiet");
    svg.close();
  }
  svg.open(page_data.cited.link(point.seq), fmt::format("iteration {}, {}: {} [e{}]", point.number,
                                                        point.label, point.words, point.seq));
  if (!point.ratio.value || !(*point.ratio.value > 0)) {
    svg.text(x, y.from - 5, "\u00d7", "s b", Anchor::middle);
    svg.close();
    return;
  }
  if (point.ratio.low && point.ratio.high && *point.ratio.low > 0) {
    svg.line(x + 3, y(*point.ratio.low), x + 3, y(*point.ratio.high),
             fmt::format("{} stem", css_of(point.outcome)));
  }
  svg.mark(point.outcome == IterationOutcome::win ? Shape::dot : Shape::ring, x + 3,
           y(*point.ratio.value), 4, css_of(point.outcome));
  if (labeled) {
    svg.text(x + 11, y(*point.ratio.value) + 4,
             report::fixed(*point.ratio.value, report::ratio_decimals(point.ratio)) + "x", "halo");
  }
  svg.close();
}

std::string draw(PageData& page_data, const std::vector<Point>& points, double width) {
  const double left = 46, right = width - 52, top = 14;
  const double bottom = points.size() < 4 ? 140 : 218;  // few points need no tall frame
  Svg svg(width, bottom + 44, "Speedup of each iteration over its incumbent, with predictions");
  const Scale y = value_scale(points, top, bottom);
  for (const double value : ticks(y, 6)) {
    svg.line(left, y(value), right, y(value), "grid");
    svg.text(left - 7, y(value) + 4, tick_text(value) + "x", "s", Anchor::end);
  }
  svg.line(left, y(1), right, y(1), "one");
  svg.text(right + 4, y(1) + 4, "same", "xs");
  const double step = (right - left) / static_cast<double>(points.size());
  const auto every = static_cast<std::size_t>(std::ceil(24 / step));
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double x = left + (static_cast<double>(i) + 0.5) * step;
    const bool labeled = step > 62 || (points[i].outcome == IterationOutcome::win && step > 30);
    draw_point(svg, page_data, points[i], x, y, labeled);
    if (i % every == 0) {
      svg.text(x, bottom + 18, fmt::format("{}", points[i].number), "s", Anchor::middle);
    }
  }
  svg.text((left + right) / 2, bottom + 36, "iteration", "xs", Anchor::middle);
  return svg.str();
}

}  // namespace

std::string speedups_figure(PageData& page_data) {
  const report::Facts& facts = page_data.page.facts;
  const std::vector<Point> points = points_of(facts);
  constexpr std::string_view k_heading = "Speedup, iteration by iteration";
  if (points.empty()) {
    return absent("speedup", k_heading,
                  "No iteration was run: this session measured a baseline only.");
  }
  const std::string caption =
      legend({{Shape::dot, "good", "win"},
              {Shape::ring, "main", "no gain"},
              {Shape::ring, "bad", "invalid, abandoned or open"},
              {Shape::diamond, "quiet", "predicted"}}) +
      fmt::format(
          "Time of the incumbent of that moment divided by the candidate's, over the "
          "suite ({}), by ratios; the bar is the {}. Above 1x is faster; \u00d7 was not "
          "measured.",
          words(facts.plan_label(facts.plan), 40),
          unmarked(report::interval_name(page_data.page.held)));
  return figure("speedup", k_heading, caption,
                [&](double width) { return draw(page_data, points, width); });
}

// The incumbent beside SDPA, problem by problem: the ratio to the fastest rival with a figure.

namespace {

struct StandingRow {
  std::string name, value, title;  ///< safe
  const report::Compared* compared = nullptr;
};

std::vector<StandingRow> rows_of(const report::Page& page) {
  std::vector<StandingRow> rows;
  for (const report::SuiteEntry& entry : page.facts.suite) {
    const auto* compared =
        report::fastest_rival(page.facts, page.held, entry.problem, page.facts.plan);
    if (compared == nullptr || !(compared->ratio.value > 0.0)) continue;
    const std::string rival = words(std::string(report::base_name(compared->against)), 60);
    StandingRow row;
    row.name = words(page.facts.title(entry.problem), 60);
    row.value =
        report::fixed(*compared->ratio.value, report::ratio_decimals(compared->ratio)) + "x";
    row.title = fmt::format("{} beside {}: {}; {} us beside {} us [e{}]", row.name, rival,
                            unmarked(report::comparison_words(*compared)),
                            report::microseconds(compared->candidate_us),
                            report::microseconds(compared->against_us), compared->seq);
    row.compared = compared;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string_view css_of(const report::Compared& compared) {
  return compared.outcome == "faster" ? "good" : compared.outcome == "slower" ? "bad" : "quiet";
}

std::string draw(PageData& page_data, const std::vector<StandingRow>& rows, double width) {
  double longest = 0;
  for (const StandingRow& row : rows) longest = std::max(longest, text_width(row.name));
  const bool stacked = width < 500;  // the name above its line
  const double pitch = stacked ? 34 : 22;
  const double left = stacked ? 8 : std::min(longest + 16, 260.0);
  const double right = width - 60, top = 8;
  const double bottom = top + pitch * static_cast<double>(rows.size()) + 4;
  Svg svg(width, bottom + 40, "Speedup over the fastest rival, problem by problem");
  double low = 1, high = 1;
  for (const StandingRow& row : rows) {
    const report::Ratio& ratio = row.compared->ratio;
    for (const auto& value : {ratio.value, ratio.low, ratio.high}) {
      if (!value || !(*value > 0)) continue;
      low = std::min(low, *value);
      high = std::max(high, *value);
    }
  }
  give_room(low, high, true);
  const Scale x{low, high, left, right, true};
  for (const double value : ticks(x, stacked ? 5 : 9)) {
    svg.line(x(value), top, x(value), bottom, "grid");
    svg.text(x(value), bottom + 16, tick_text(value) + "x", "s", Anchor::middle);
  }
  svg.line(x(1), top, x(1), bottom, "one");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const StandingRow& row = rows[i];
    const double y = top + pitch * (static_cast<double>(i) + (stacked ? 0.74 : 0.5));
    const report::Ratio& ratio = row.compared->ratio;
    if (stacked) {
      svg.text(left, y - 9, fitted(row.name, width - 16, 11), "xs halo");
    } else {
      svg.text(0, y + 4, fitted(row.name, left - 12), "");
    }
    svg.open(page_data.cited.link(row.compared->seq), row.title);
    if (ratio.low && ratio.high && *ratio.low > 0) {
      svg.line(x(*ratio.low), y, x(*ratio.high), y, fmt::format("{} stem", css_of(*row.compared)));
    }
    svg.mark(row.compared->outcome == "faster" ? Shape::dot : Shape::ring, x(*ratio.value), y, 4,
             css_of(*row.compared));
    svg.text(right + 12, y + 4, row.value, "");
    svg.close();
  }
  svg.text((left + right) / 2, bottom + 34, "speedup over the fastest rival", "xs", Anchor::middle);
  return svg.str();
}

}  // namespace

std::string standing_figure(PageData& page_data) {
  const report::Page& page = page_data.page;
  const std::vector<StandingRow> rows = rows_of(page);
  constexpr std::string_view k_heading = "Beside SDPA, problem by problem";
  if (rows.empty()) {
    return absent("sdpa", k_heading, "No rival stands beside the incumbent on any problem.");
  }
  std::string caption = legend({{Shape::dot, "good", "faster than the rival"},
                                {Shape::ring, "bad", "slower"},
                                {Shape::ring, "quiet", "same or ambiguous"}});
  caption += fmt::format(
      "{} beside the fastest rival that takes the problem ({}): its time divided by the "
      "incumbent's, by ratios, with {}.",
      unmarked(report::incumbent_name(page, false)),
      words(page.facts.plan_label(page.facts.plan), 40),
      unmarked(report::interval_name(page.held)));
  const auto missing = std::count_if(
      page.facts.suite.begin(), page.facts.suite.end(), [&](const report::SuiteEntry& entry) {
        // Held-out problems are measured at confirmation only.
        return !entry.held_out && report::fastest_rival(page.facts, page.held, entry.problem,
                                                        page.facts.plan) == nullptr;
      });
  if (missing > 0) caption += fmt::format(" Not compared: {}.", report::count(missing, "problem"));
  return figure("sdpa", k_heading, caption,
                [&](double width) { return draw(page_data, rows, width); });
}

}  // namespace wb::html
