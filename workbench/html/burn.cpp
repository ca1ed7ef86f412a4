// SPDX-License-Identifier: MIT
// The session's cost over time, one panel per unit, with the budget if one was set.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "html/document.hpp"
#include "html/svg.hpp"
#include "html/text.hpp"

namespace wb::html {

using session::CostItem;
using session::Fact;
using session::IterationView;
using session::SessionView;

namespace {

struct Step {
  double at_s = 0, total = 0;
  std::int64_t seq = 0;
};

struct Panel {
  std::string title, unit, end_words;  ///< safe
  std::vector<Step> steps;
  std::optional<double> budget;
  std::string budget_words;  ///< safe
};

struct Debits {
  std::vector<const Fact*> facts;
  explicit Debits(const SessionView& view) {
    const auto take = [&](const IterationView& iteration) {
      for (const Fact& cost : iteration.costs) facts.push_back(&cost);
    };
    take(view.outside);
    for (const IterationView& iteration : view.iterations) take(iteration);
    std::sort(facts.begin(), facts.end(),
              [](const Fact* a, const Fact* b) { return a->seq < b->seq; });
  }
};

double seconds_at(const SessionView& view, const std::string& t) {
  return std::max(0.0, report::seconds_between(view.first_t, t).value_or(0));
}

std::vector<Panel> panels_of(const report::Page& page) {
  const SessionView& view = page.facts.view;
  const Json& budget = report::field(view.opened.payload, "budget");
  const Debits debits(view);
  std::vector<Panel> panels;
  for (const CostItem item : {CostItem::device, CostItem::compile_cpu, CostItem::tokens}) {
    const report::CostCell& cell = page.costs.total().cells[static_cast<std::size_t>(item)];
    if (!cell.used) continue;
    Panel panel;
    panel.unit = std::string(report::item_unit(item));
    panel.title = fmt::format("{}, {}", report::item_title(item), panel.unit);
    panel.end_words = page.costs.quantity(item, cell);
    double total = 0;
    for (const Fact* cost : debits.facts) {
      if (report::text(cost->payload, "item") != to_string(item)) continue;
      total += report::number(cost->payload, "quantity").value_or(0);
      panel.steps.push_back({seconds_at(view, cost->t), total, cost->seq});
    }
    panels.push_back(std::move(panel));
  }
  Panel money{"money, US dollars", "$", {}, {}, report::number(budget, "usd"), {}};
  double total = 0;
  for (const Fact* cost : debits.facts) {
    const auto usd = report::number(cost->payload, "usd");
    if (!usd) continue;
    total += *usd;
    money.steps.push_back({seconds_at(view, cost->t), total, cost->seq});
  }
  if (total > 0 || money.budget) {
    const std::string words = unmarked(page.costs.usd(page.costs.total()));
    money.end_words = words.starts_with('$') ? words : "not all priced";
    if (money.budget) money.budget_words = "budget $" + report::fixed(*money.budget, 2);
    panels.push_back(std::move(money));
  }
  if (const auto limit = report::integer(budget, "evaluations")) {
    Panel panel{"evaluations", "", {}, {}, static_cast<double>(*limit), {}};
    panel.budget_words = "budget " + report::count(*limit, "evaluation");
    double n = 0;  // as the budget counts: closed and not abandoned iterations
    for (const IterationView* iteration : page.facts.tries) {
      const report::IterationOutcome outcome = report::outcome_of(*iteration);
      if (!iteration->closed || outcome == report::IterationOutcome::abandoned) continue;
      panel.steps.push_back({seconds_at(view, iteration->closed->t), ++n, iteration->closed->seq});
    }
    panel.end_words = tick_text(n);
    panels.push_back(std::move(panel));
  }
  return panels;
}

double draw_panel(Svg& svg, PageData& page_data, const Panel& panel, double top, const Scale& x,
                  const Scale& minutes) {
  const double height = 92;
  const double bottom = top + 22 + height;
  double high = panel.steps.empty() ? 1 : panel.steps.back().total;
  if (panel.budget) high = std::max(high, *panel.budget);
  const Scale y{0, high > 0 ? high * 1.06 : 1, bottom, top + 22, false};
  svg.text(0, top + 11, panel.title, "b");
  for (const double value : ticks(y, 3)) {
    svg.line(x.from, y(value), x.to, y(value), "grid");
    svg.text(x.from - 7, y(value) + 4, tick_text(value), "s", Anchor::end);
  }
  for (const double value : ticks(minutes, svg.width() < 500 ? 5 : 10)) {
    svg.text(minutes(value), bottom + 15, tick_text(value), "xs", Anchor::middle);
  }
  if (panel.budget) {
    svg.line(x.from, y(*panel.budget), x.to, y(*panel.budget), "limit");
    svg.text(x.from + 6, y(*panel.budget) + 14, panel.budget_words, "halo s");
  }
  std::string d = fmt::format("M{} {}", coordinate(x(0)), coordinate(y(0)));
  for (const Step& step : panel.steps) {
    d += fmt::format("H{}V{}", coordinate(x(step.at_s)), coordinate(y(step.total)));
  }
  d += fmt::format("H{}", coordinate(x.to));
  svg.path(d, "main stem");
  for (const Step& step : panel.steps) {
    if (panel.steps.size() > 150) break;
    svg.open(page_data.cited.link(step.seq),
             fmt::format("{} {} after {} [e{}]", report::with_prefix(step.total), panel.unit,
                         report::duration(step.at_s), step.seq));
    svg.mark(Shape::dot, x(step.at_s), y(step.total), 2.2, "main");
    svg.close();
  }
  if (!panel.steps.empty()) {
    svg.text(x.to + 7, y(panel.steps.back().total) + 4, panel.end_words, "");
  }
  return bottom + 30;
}

std::string draw(PageData& page_data, const std::vector<Panel>& panels, double end_s,
                 double width) {
  double widest = 0;
  for (const Panel& panel : panels) widest = std::max(widest, text_width(panel.end_words));
  const double left = 58, right = width - std::min(widest + 12, 130.0);
  const Scale x{0, std::max(end_s, 1e-3), left, right, false};
  const bool in_minutes = end_s > 180;
  const Scale axis{0, x.high / (in_minutes ? 60 : 1), left, right, false};
  const double height = 144.0 * static_cast<double>(panels.size());
  Svg svg(width, height + 18, "Cost over time");
  double top = 0;
  for (const Panel& panel : panels) top = draw_panel(svg, page_data, panel, top, x, axis);
  svg.text((left + right) / 2, height + 8,
           in_minutes ? "minutes since the session opened" : "seconds since the session opened",
           "xs", Anchor::middle);
  return svg.str();
}

}  // namespace

double end_of_work_s(const PageData& page_data) {
  const SessionView& view = page_data.page.facts.view;
  double end_s = 0;
  const auto take = [&](const std::string& t) { end_s = std::max(end_s, seconds_at(view, t)); };
  for (const Fact* cost : Debits(view).facts) take(cost->t);
  for (const IterationView& iteration : view.iterations) {
    take(iteration.closed ? iteration.closed->t : view.last_t);
  }
  const double last_s = seconds_at(view, view.last_t);
  return end_s > 0 && last_s > 2 * end_s ? end_s : last_s;
}

std::string burn_figure(PageData& page_data) {
  constexpr std::string_view k_heading = "Cost burn";
  const report::Page& page = page_data.page;
  const std::vector<Panel> panels = panels_of(page);
  if (panels.empty()) return absent("cost-burn", k_heading, "Nothing was debited yet.");
  const SessionView& view = page.facts.view;
  std::string caption = "Each dot is a debit. Spent: " + unmarked(page.costs.spend());
  const Json& budget = report::field(view.opened.payload, "budget");
  if (const auto limit = report::number(budget, "wall_s")) {
    caption += fmt::format("; budget {} of wall time", report::duration(*limit));
  } else if (!report::number(budget, "usd") && !report::integer(budget, "evaluations")) {
    caption += "; no budget set";
  }
  caption += ".";
  const double end_s = end_of_work_s(page_data);
  return figure("cost-burn", k_heading, caption,
                [&](double width) { return draw(page_data, panels, end_s, width); });
}

}  // namespace wb::html
