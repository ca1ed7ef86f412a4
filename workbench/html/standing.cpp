// SPDX-License-Identifier: MIT
// The incumbent beside SDPA, problem by problem: the ratio to the fastest rival with a figure.
#include <fmt/format.h>

#include <algorithm>

#include "html/document.hpp"
#include "html/scale.hpp"
#include "html/text.hpp"

namespace wb::html {
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
  if (!page.sdpa.missing.empty()) {
    caption +=
        fmt::format(" Not compared: {}.",
                    report::count(static_cast<std::int64_t>(page.sdpa.missing.size()), "problem"));
  }
  return figure("sdpa", k_heading, caption,
                [&](double width) { return draw(page_data, rows, width); });
}

}  // namespace wb::html
