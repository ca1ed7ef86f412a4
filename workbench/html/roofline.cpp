// SPDX-License-Identifier: MIT
// The roofline: FLOP/s over FLOP per byte, one point per problem and subject. The roof is that of
// the problems' dtype.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/json.hpp"
#include "html/document.hpp"
#include "html/svg.hpp"
#include "html/text.hpp"
#include "problem/problem.hpp"

namespace wb::html {
namespace {

struct Mark {
  Shape shape = Shape::dot;
  std::string_view css;
  double flops_per_s = 0;
  std::int64_t seq = 0;
  std::string title;  ///< safe
};

struct Spot {
  std::string name, dtype;  ///< safe
  double intensity = 0;     ///< FLOP per byte that must move
  std::string own_time_us, own_rate, rival_time_us;
  std::int64_t seq = 0;
  std::vector<Mark> marks;
};

struct Roof {
  std::string dtype;
  double flops_per_s = 0;
};

struct Plot {
  std::vector<Spot> spots;
  std::vector<Roof> roofs;
  double bytes_per_s = 0;
  std::int64_t hidden = 0;
};

double peak(const Json& device, const std::string& key) {
  return report::number(report::field(device, key), "value").value_or(0);
}

std::string rate(double flops_per_s) {
  return report::with_prefix(flops_per_s) + "FLOP/s";
}

/// A round value as "200 G".
std::string short_rate(double value) {
  constexpr std::pair<double, const char*> k_prefixes[] = {
      {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [factor, prefix] : k_prefixes) {
    if (value >= factor) return tick_text(value / factor) + " " + prefix;
  }
  return tick_text(value);
}

void add_mark(Spot& spot, const problem::Work& work, const report::Compared& compared, bool own,
              Shape shape, std::string_view css, const std::string& who) {
  const auto time_us = own ? compared.candidate_us : compared.against_us;
  if (!time_us || !(*time_us > 0)) return;
  const double flops_per_s = work.flops / (*time_us * 1e-6);
  spot.marks.push_back({shape, css, flops_per_s, compared.seq,
                        fmt::format("{}, {}: {} us, {}, {} FLOP per byte [e{}]", spot.name, who,
                                    report::microseconds(time_us), rate(flops_per_s),
                                    tick_text(spot.intensity), compared.seq)});
}

/// Any comparison of the problem that timed the iteration's own variant.
const report::Compared* own_time(const report::Facts& facts, const report::ComparisonIndex& index,
                                 const std::string& problem) {
  const report::Compared* found = index.find("", problem, facts.plan);
  if (found != nullptr) return found;
  for (const report::Compared& compared : index.all()) {
    if (compared.problem == problem && compared.plan == facts.plan && compared.candidate_us) {
      return &compared;
    }
  }
  return nullptr;
}

Spot spot_of(const report::Page& page, const report::ComparisonIndex& baseline,
             const problem::Problem& problem, const std::string& text,
             std::set<std::string>& dtypes) {
  const problem::Work work = problem::work(problem);
  Spot spot;
  spot.name = words(page.facts.title(text), 60);
  spot.dtype = std::string(to_string(problem.dtype));
  spot.intensity = work.min_bytes > 0 ? work.flops / work.min_bytes : 0;
  if (page.facts.holder != page.facts.baseline) {
    if (const auto* start = own_time(page.facts, baseline, text)) {
      add_mark(spot, work, *start, true, Shape::square, "quiet", "the start");
    }
  }
  if (const auto* rival = report::fastest_rival(page.facts, page.held, text, page.facts.plan)) {
    add_mark(spot, work, *rival, false, Shape::diamond, "rival",
             words(std::string(report::base_name(rival->against)), 60));
    spot.rival_time_us = report::microseconds(rival->against_us);
  }
  if (const auto* own = own_time(page.facts, page.held, text)) {
    add_mark(spot, work, *own, true, Shape::dot, "main", "the incumbent");
    spot.own_time_us = report::microseconds(own->candidate_us);
    if (own->candidate_us && *own->candidate_us > 0) {
      spot.own_rate = rate(work.flops / (*own->candidate_us * 1e-6));
    }
    spot.seq = own->seq;
  }
  if (!spot.marks.empty()) dtypes.insert(spot.dtype);
  return spot;
}

Plot plot_of(const report::Page& page) {
  Plot plot;
  const report::Facts& facts = page.facts;
  const report::ComparisonIndex baseline = facts.baseline != nullptr
                                               ? report::ComparisonIndex(*facts.baseline)
                                               : report::ComparisonIndex(session::IterationView{});
  std::set<std::string> dtypes;
  for (const report::SuiteEntry& entry : facts.suite) {
    if (entry.held_out && facts.hide_held_out) {  // its position would reveal its shape
      ++plot.hidden;
      continue;
    }
    const Result<problem::Problem> problem = problem::parse_problem(entry.problem);
    if (!problem) continue;
    Spot spot = spot_of(page, baseline, *problem, entry.problem, dtypes);
    if (!spot.marks.empty() && spot.intensity > 0) plot.spots.push_back(std::move(spot));
  }
  if (facts.view.environment) {
    const Json& device = report::field(facts.view.environment->payload, "device");
    plot.bytes_per_s = peak(device, "memory_bytes_per_s");
    for (const std::string& dtype : dtypes) {
      const double flops_per_s = peak(device, dtype + "_flops_per_s");
      if (flops_per_s > 0) plot.roofs.push_back({dtype, flops_per_s});
    }
  }
  return plot;
}

void draw_roofs(Svg& svg, const Plot& plot, const Scale& x, const Scale& y) {
  double highest = 0;
  // Equal roofs share their line and its label.
  std::map<double, std::string> labels;
  for (const Roof& roof : plot.roofs) {
    std::string& label = labels[roof.flops_per_s];
    label += (label.empty() ? "" : ", ") + roof.dtype;
    highest = std::max(highest, roof.flops_per_s);
  }
  for (const auto& [flops_per_s, label] : labels) {
    const double ridge = plot.bytes_per_s > 0 ? flops_per_s / plot.bytes_per_s : x.low;
    svg.line(x(std::max(ridge, x.low)), y(flops_per_s), x.to, y(flops_per_s), "roof");
    svg.text(x.to - 2, y(flops_per_s) - 6, fmt::format("{} {}", label, rate(flops_per_s)), "halo s",
             Anchor::end);
  }
  if (!(plot.bytes_per_s > 0)) return;
  const double ridge = highest / plot.bytes_per_s;
  const double from = std::max(x.low, y.low / plot.bytes_per_s);
  const double to = std::min(ridge, x.high);
  if (from >= to) return;
  svg.line(x(from), y(from * plot.bytes_per_s), x(to), y(to * plot.bytes_per_s), "roof");
  const double at = std::sqrt(from * to);
  svg.text(x(at) + 8, y(at * plot.bytes_per_s) + 16, report::with_prefix(plot.bytes_per_s) + "B/s",
           "halo s");
}

void draw_spots(Svg& svg, PageData& page_data, const Plot& plot, const Scale& x, const Scale& y) {
  const bool is_numbered = plot.spots.size() > 1;
  struct Label {
    double x, y;
    std::string numbers;
  };
  std::vector<Label> labels;
  for (std::size_t i = 0; i < plot.spots.size(); ++i) {
    const Spot& spot = plot.spots[i];
    for (const Mark& mark : spot.marks) {
      svg.open(page_data.cited.link(mark.seq), mark.title);
      svg.mark(mark.shape, x(spot.intensity), y(mark.flops_per_s),
               mark.shape == Shape::square ? 3 : 4, mark.css);
      svg.close();
    }
    if (!is_numbered) continue;
    const double at_x = x(spot.intensity) + 8, at_y = y(spot.marks.back().flops_per_s) + 4;
    const auto near = std::find_if(labels.begin(), labels.end(), [&](const Label& other) {
      return std::abs(other.x - at_x) < 14 && std::abs(other.y - at_y) < 11;
    });
    if (near != labels.end()) {
      near->numbers += fmt::format(", {}", i + 1);
    } else {
      labels.push_back({at_x, at_y, fmt::format("{}", i + 1)});
    }
  }
  for (const Label& label : labels) {
    svg.text(label.x, label.y, fitted(label.numbers, svg.width() - label.x, 11), "halo xs");
  }
}

std::string draw(PageData& page_data, const Plot& plot, double width) {
  const double left = 62, right = width - 14, top = 20, bottom = 322;
  Svg svg(width, bottom + 42, "Roofline: FLOP/s over FLOP per byte");
  double x_low = 1e300, x_high = 0, y_low = 1e300, y_high = 0;
  for (const Spot& spot : plot.spots) {
    x_low = std::min(x_low, spot.intensity);
    x_high = std::max(x_high, spot.intensity);
    for (const Mark& mark : spot.marks) {
      y_low = std::min(y_low, mark.flops_per_s);
      y_high = std::max(y_high, mark.flops_per_s);
    }
  }
  for (const Roof& roof : plot.roofs) {
    y_high = std::max(y_high, roof.flops_per_s);
    if (!(plot.bytes_per_s > 0)) continue;
    const double ridge = roof.flops_per_s / plot.bytes_per_s;
    x_low = std::min(x_low, ridge / 4);
    x_high = std::max(x_high, ridge * 4);
  }
  give_room(x_low, x_high, true);
  give_room(y_low, y_high, true);
  const Scale x{x_low, x_high, left, right, true}, y{y_low, y_high, bottom, top, true};
  for (const double value : ticks(y, 6)) {
    svg.line(left, y(value), right, y(value), "grid");
    svg.text(left - 7, y(value) + 4, short_rate(value), "s", Anchor::end);
  }
  for (const double value : ticks(x, width < 500 ? 4 : 8)) {
    svg.line(x(value), top, x(value), bottom, "grid");
    svg.text(x(value), bottom + 17, tick_text(value), "s", Anchor::middle);
  }
  svg.text(left - 7, top - 8, "FLOP/s", "xs", Anchor::end);
  svg.text((left + right) / 2, bottom + 35, "FLOP per byte that must move", "xs", Anchor::middle);
  draw_roofs(svg, plot, x, y);
  draw_spots(svg, page_data, plot, x, y);
  return svg.str();
}

std::string table_of(PageData& page_data, const Plot& plot) {
  HtmlTable table({"#>", "problem", "dtype", "FLOP per byte>", "incumbent us>", "FLOP/s>",
                   "fastest rival us>", "event"});
  for (std::size_t i = 0; i < plot.spots.size(); ++i) {
    const Spot& spot = plot.spots[i];
    const std::string link = page_data.cited.link(spot.seq);
    table.row({fmt::format("{}", i + 1), spot.name, spot.dtype, tick_text(spot.intensity),
               spot.own_time_us, spot.own_rate, spot.rival_time_us,
               link.empty() ? "" : fmt::format("<a href=\"{}\">e{}</a>", link, spot.seq)});
  }
  return table.str();
}

}  // namespace

std::string roofline_figure(PageData& page_data) {
  constexpr std::string_view k_heading = "Roofline";
  const report::Page& page = page_data.page;
  const Plot plot = plot_of(page);
  if (plot.spots.empty()) {
    return absent("roofline", k_heading,
                  "No comparison timed the incumbent. What it took alone stands in the report's "
                  "table against the roofline.");
  }
  std::vector<LegendEntry> keys{{Shape::dot, "main", "incumbent"},
                                {Shape::diamond, "rival", "fastest rival"}};
  if (page.facts.holder != page.facts.baseline) keys.push_back({Shape::square, "quiet", "start"});
  std::string caption = legend(keys);
  caption += fmt::format("Medians, {}. FLOP and bytes are what the problem itself demands. ",
                         words(page.facts.plan_label(page.facts.plan), 40));
  caption += plot.roofs.empty()
                 ? "The log has no peak of this dtype, so there is no roof."
                 : "The roof is the dense peak of the dtype and the memory's bandwidth as recorded "
                   "for the device; tensors that stay in a cache may lie above the slope.";
  if (plot.hidden > 0) {
    caption += fmt::format(" {} not shown while the session is open.",
                           report::count(plot.hidden, "held-out problem"));
  }
  return figure(
      "roofline", k_heading, caption, [&](double width) { return draw(page_data, plot, width); },
      table_of(page_data, plot));
}

}  // namespace wb::html
