// SPDX-License-Identifier: MIT
// The samples behind the figures, as distances of each subject's samples from its own time, so that
// subjects of very different speed share an axis.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "html/document.hpp"
#include "html/svg.hpp"
#include "html/text.hpp"
#include "measure/quantiles.hpp"

namespace wb::html {
namespace {

constexpr std::size_t k_max_rows = 120, k_max_dots = 45;

struct Row {
  std::string subject, time;  ///< safe
  std::string_view css;
  std::int64_t seq = 0;
  double p05 = 0, p25 = 0, p50 = 0, p75 = 0, p95 = 0;  ///< percent from the reported time
  std::vector<double> turns;                           ///< medians of turns, percent from it
  std::size_t samples = 0;
};

struct Group {
  std::string problem;  ///< safe
  std::vector<Row> rows;
};

/// The samples of a subject on a problem, in the phase of the comparison.
std::optional<Row> row_of(const PageData& page_data, const report::Compared& compared,
                          const std::string& subject, std::optional<double> time_us) {
  if (!time_us || !(*time_us > 0)) return std::nullopt;
  Row row;
  std::vector<double> all;
  for (const TurnRow& turn : page_data.turns) {
    if (turn.iteration != page_data.page.facts.holder->number || turn.phase != compared.phase ||
        turn.plan != compared.plan || turn.problem != compared.problem || turn.subject != subject ||
        turn.regime == "sustained" || turn.samples_us.empty()) {
      continue;
    }
    std::vector<double> off;
    for (const double sample_us : turn.samples_us) {
      off.push_back(100 * (sample_us / *time_us - 1));
    }
    all.insert(all.end(), off.begin(), off.end());
    row.turns.push_back(measure::median(std::move(off)));
  }
  if (all.empty()) return std::nullopt;
  std::sort(all.begin(), all.end());
  row.samples = all.size();
  row.p05 = measure::quantile(all, 0.05);
  row.p25 = measure::quantile(all, 0.25);
  row.p50 = measure::quantile(all, 0.5);
  row.p75 = measure::quantile(all, 0.75);
  row.p95 = measure::quantile(all, 0.95);
  row.subject = words(subject, 60);
  row.time = report::microseconds(time_us) + " us";
  row.seq = compared.seq;
  return row;
}

Group group_of(const PageData& page_data, const std::string& problem) {
  const report::Page& page = page_data.page;
  const std::string& plan = page.facts.plan;
  Group group{words(page.facts.title(problem), 60), {}};
  const auto add = [&](std::optional<Row> row, std::string_view css) {
    if (!row) return;
    row->css = css;
    group.rows.push_back(*std::move(row));
  };
  bool has_own = false;
  for (const auto& compared : page.held.all()) {
    if (compared.problem != problem || compared.plan != plan) continue;
    const std::string against =
        compared.against_rival ? std::string(report::base_name(compared.against)) : std::string();
    if (page.held.find(against, problem, plan) != &compared) continue;  // a later phase is shown
    if (!has_own)
      add(row_of(page_data, compared, compared.candidate, compared.candidate_us), "main");
    has_own = !group.rows.empty();
    add(row_of(page_data, compared, compared.against, compared.against_us),
        compared.against_rival ? "rival" : "quiet");
  }
  return group;
}

void draw_row(Svg& svg, PageData& page_data, const Row& row, double y, const Scale& x) {
  svg.open(page_data.cited.link(row.seq),
           fmt::format("{}: {}; {} samples in {}, 5 to 95 % of them from {} % to {} % [e{}]",
                       row.subject, row.time, row.samples,
                       report::count(static_cast<std::int64_t>(row.turns.size()), "turn"),
                       report::fixed(row.p05, 2), report::fixed(row.p95, 2), row.seq));
  svg.line(x(row.p05), y, x(row.p95), y, fmt::format("{} stem", row.css));
  svg.line(x(row.p25), y, std::max(x(row.p75), x(row.p25) + 1), y,
           fmt::format("{} thick", row.css));
  svg.line(x(row.p50), y - 6, x(row.p50), y + 6, fmt::format("{} stem", row.css));
  std::string dots;
  const std::size_t every = row.turns.size() / k_max_dots + 1;
  for (std::size_t i = 0; i < row.turns.size(); i += every) {
    dots += fmt::format("M{} {}h0", coordinate(x(row.turns[i])), coordinate(y + 7));
  }
  svg.path(dots, fmt::format("{} dots", row.css));
  svg.close();
}

std::string draw(PageData& page_data, const std::vector<Group>& groups, double reach,
                 double width) {
  const bool stacked = width < 500;
  const double left = stacked ? 8 : 250, right = width - (stacked ? 8 : 84);
  const double pitch = stacked ? 40 : 23, head = 26;
  double height = 6;
  for (const Group& group : groups) {
    height += head + pitch * static_cast<double>(group.rows.size());
  }
  Svg svg(width, height + 40, "Samples of each subject around its reported time");
  const Scale x{-reach, reach, left, right, false};
  for (const double value : ticks(x, stacked ? 4 : 8)) {
    svg.line(x(value), 6, x(value), height, value == 0 ? "one" : "grid");
    svg.text(x(value), height + 16, fmt::format("{}{} %", value > 0 ? "+" : "", tick_text(value)),
             "s", Anchor::middle);
  }
  double y = 6;
  for (const Group& group : groups) {
    svg.text(stacked ? left : 0, y + 19, fitted(group.problem, width - 16), "b halo");
    y += head;
    for (const Row& row : group.rows) {
      if (stacked) {
        svg.text(left, y + 12, fitted(row.subject, width - 100, 11), "xs halo");
        svg.text(right, y + 12, row.time, "xs halo", Anchor::end);
        draw_row(svg, page_data, row, y + 24, x);
      } else {
        svg.text(14, y + 15, fitted(row.subject, left - 26), "");
        svg.text(right + 12, y + 15, row.time, "");
        draw_row(svg, page_data, row, y + 11, x);
      }
      y += pitch;
    }
  }
  svg.text((left + right) / 2, height + 34, "sample over the reported time", "xs", Anchor::middle);
  return svg.str();
}

}  // namespace

std::string distributions_figure(PageData& page_data) {
  constexpr std::string_view k_heading = "Samples behind the figures";
  const report::Page& page = page_data.page;
  std::vector<Group> groups;
  std::size_t rows = 0, left_out = 0;
  if (page.facts.holder != nullptr) {
    for (const report::SuiteEntry& entry : page.facts.suite) {
      Group group = group_of(page_data, entry.problem);
      if (group.rows.empty()) continue;
      if (rows + group.rows.size() > k_max_rows) {
        ++left_out;
        continue;
      }
      rows += group.rows.size();
      groups.push_back(std::move(group));
    }
  }
  if (groups.empty()) {
    return absent("samples", k_heading, "The log has no turns behind the incumbent's figures yet.");
  }
  std::vector<double> spread;
  for (const Group& group : groups) {
    for (const Row& row : group.rows) spread.push_back(std::max(-row.p05, row.p95));
  }
  // Wide enough for nine rows of ten; samples outside are drawn at the edge and labelled.
  const double reach = std::clamp(1.25 * measure::quantile(spread, 0.9), 0.2, 100.0);
  std::string caption = legend({{Shape::dot, "main", "incumbent"},
                                {Shape::dot, "rival", "rivals"},
                                {Shape::dot, "quiet", "the incumbent before"}});
  caption += fmt::format(
      "{} of the {}, {}. The line holds 90 % of the samples, the wide part half of them, the tick "
      "is their median; below it a dot for each turn's median. The time at the right is the "
      "reported one, and zero. What would lie beyond the axis stands at its edge.",
      page.facts.wins.empty() ? "Baseline" : "Confirmation",
      page.facts.wins.empty() ? "start" : "incumbent",
      words(page.facts.plan_label(page.facts.plan), 40));
  if (left_out > 0) {
    caption += fmt::format(" {} left out.",
                           report::count(static_cast<std::int64_t>(left_out), "more problem"));
  }
  return figure("samples", k_heading, caption,
                [&](double width) { return draw(page_data, groups, reach, width); });
}

}  // namespace wb::html
