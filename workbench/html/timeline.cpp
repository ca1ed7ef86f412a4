// SPDX-License-Identifier: MIT
// The timeline: iterations, and below them when kernels were built, judged and timed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "html/document.hpp"
#include "html/svg.hpp"
#include "html/text.hpp"

namespace wb::html {

using session::IterationView;

namespace {

using report::IterationOutcome;

struct Span {
  double from_s = 0, to_s = 0;
};

struct Lane {
  std::string_view name, css;
  std::vector<Span> spans;
};

struct Bar {
  Span span;
  std::string label, title;  ///< safe
  std::string_view css;
  std::int64_t seq = 0;
  bool is_win = false;
};

struct Story {
  double end_s = 0, log_s = 0;  ///< ends of the axis and of the log
  std::vector<Bar> bars;
  std::vector<Lane> lanes;
  std::vector<Span> pauses;
};

std::string_view css_of_bar(IterationOutcome outcome) {
  switch (outcome) {
    case IterationOutcome::win:
      return "good";
    case IterationOutcome::invalid:
    case IterationOutcome::abandoned:
      return "bad";
    case IterationOutcome::baseline:
      return "quiet";
    default:
      return "main";
  }
}

class Times {
 public:
  explicit Times(const session::SessionView& view) : m_first(view.first_t) {}
  [[nodiscard]] double at(std::string_view t) const {
    return std::max(0.0, report::seconds_between(m_first, t).value_or(0));
  }

 private:
  std::string m_first;
};

Bar bar_of(const report::Facts& facts, const IterationView& iteration, const Times& times) {
  Bar bar;
  const IterationOutcome outcome = report::outcome_of(iteration);
  const std::string& end = iteration.closed ? iteration.closed->t : facts.view.last_t;
  bar.span = {times.at(iteration.opened.t), times.at(end)};
  bar.label = fmt::format("{} {}", iteration.number, report::to_string(outcome));
  bar.title = fmt::format("iteration {}, {}: {}, {} [e{}]", iteration.number,
                          words(report::candidate_label(iteration), 60), report::to_string(outcome),
                          report::duration(bar.span.to_s - bar.span.from_s),
                          iteration.closed ? iteration.closed->seq : iteration.opened.seq);
  bar.css = css_of_bar(outcome);
  bar.seq = iteration.closed ? iteration.closed->seq : iteration.opened.seq;
  bar.is_win = outcome == IterationOutcome::win;
  return bar;
}

void add_builds(Lane& lane, const IterationView& iteration, const Times& times) {
  for (const session::Fact& built : iteration.built) {
    const double end = times.at(built.t);
    lane.spans.push_back(
        {std::max(0.0, end - report::number(built.payload, "wall_s").value_or(0)), end});
  }
}

Story story_of(const PageData& page_data) {
  const report::Facts& facts = page_data.page.facts;
  const session::SessionView& view = facts.view;
  const Times times(view);
  Story story;
  story.end_s = end_of_work_s(page_data);
  story.log_s = times.at(view.last_t);
  Lane builds{"built", "quiet", {}}, verdicts{"judged", "rival", {}}, turns{"timed", "main", {}};
  add_builds(builds, view.outside, times);
  for (const IterationView& iteration : view.iterations) {
    story.bars.push_back(bar_of(facts, iteration, times));
    add_builds(builds, iteration, times);
    for (const session::Fact& verdict : iteration.verdicts) {
      verdicts.spans.push_back({times.at(verdict.t), times.at(verdict.t)});
    }
  }
  for (const TurnRow& turn : page_data.turns) {
    const double end = times.at(page_data.session.log().envelope(turn.seq).t);
    turns.spans.push_back({std::max(0.0, end - turn.wall_us * 1e-6), end});
  }
  story.lanes = {std::move(builds), std::move(verdicts), std::move(turns)};
  double paused_s = -1;
  for (std::int64_t seq = 1; seq <= page_data.session.log().size(); ++seq) {
    const session::EventEnvelope event = page_data.session.log().envelope(seq);
    if (event.type == "session_paused") paused_s = times.at(event.t);
    if (event.type == "session_resumed" && paused_s >= 0) {
      story.pauses.push_back({paused_s, times.at(event.t)});
      paused_s = -1;
    }
  }
  return story;
}

/// Draws spans; spans that share a pixel are drawn as one.
std::string painted(const std::vector<Span>& spans, const Scale& x, double top, double height) {
  const auto columns = static_cast<std::size_t>(x.to - x.from) + 1;
  std::vector<bool> on(columns, false);
  for (const Span& span : spans) {
    const auto first = static_cast<std::size_t>(x(span.from_s) - x.from);
    const auto last = static_cast<std::size_t>(x(span.to_s) - x.from);
    for (std::size_t column = first; column <= std::min(last, columns - 1); ++column) {
      on[column] = true;
    }
  }
  std::string d;
  for (std::size_t begin = 0; begin < columns; ++begin) {
    if (!on[begin]) continue;
    std::size_t end = begin;
    while (end < columns && on[end]) ++end;
    d += fmt::format("M{} {}h{}v{}h-{}z", coordinate(x.from + static_cast<double>(begin)),
                     coordinate(top), end - begin, coordinate(height), end - begin);
    begin = end;
  }
  return d;
}

struct Unit {
  std::string_view name;
  double seconds;
};

Unit unit_for(double seconds) {
  if (seconds > 3 * 86400.0) return {"days", 86400};
  if (seconds > 3 * 3600.0) return {"hours", 3600};
  return seconds > 180 ? Unit{"minutes", 60} : Unit{"seconds", 1};
}

std::string draw(PageData& page_data, const Story& story, double width) {
  const double left = 62, right = width - 12;
  const Scale x{0, std::max(story.end_s, 1e-3), left, right, false};
  const double lane_height = 12, pitch = 24, bar_top = 10, bar_height = 22;
  const double lanes_top = bar_top + bar_height + 14;
  const double bottom = lanes_top + pitch * static_cast<double>(story.lanes.size()) - 4;
  Svg svg(width, bottom + 42, "Timeline of the session");
  const Unit unit = unit_for(story.end_s);
  const Scale in_unit{0, x.high / unit.seconds, left, right, false};
  for (const double value : ticks(in_unit, width < 500 ? 5 : 10)) {
    svg.line(in_unit(value), 4, in_unit(value), bottom, "grid");
    svg.text(in_unit(value), bottom + 17, tick_text(value), "s", Anchor::middle);
  }
  svg.text((left + right) / 2, bottom + 35, fmt::format("{} since the session opened", unit.name),
           "xs", Anchor::middle);
  for (const Span& pause : story.pauses) {
    svg.open("", "paused for " + report::duration(pause.to_s - pause.from_s));
    svg.rect(x(pause.from_s), 4, std::max(1.0, x(pause.to_s) - x(pause.from_s)), bottom - 4,
             "zone");
    svg.close();
  }
  svg.text(left - 8, bar_top + 15, "iteration", "s", Anchor::end);
  for (const Bar& bar : story.bars) {
    const double from = x(bar.span.from_s), length = std::max(1.5, x(bar.span.to_s) - from - 1);
    svg.open(page_data.cited.link(bar.seq), bar.title);
    svg.rect(from, bar_top, length, bar_height, fmt::format("{} bar", bar.css));
    svg.close();
  }
  // Labels are drawn after all bars, because a narrow neighbour must not cover one.
  for (const Bar& bar : story.bars) {
    const double from = x(bar.span.from_s), length = x(bar.span.to_s) - from;
    if (length > text_width(bar.label) + 10) {
      svg.text(from + 6, bar_top + 15, bar.label, "on");
    } else if (length > 16 && bar.label.find(' ') != std::string::npos) {
      svg.text(from + 4, bar_top + 15, bar.label.substr(0, bar.label.find(' ')), "on");
    }
  }
  for (std::size_t i = 0; i < story.lanes.size(); ++i) {
    const Lane& lane = story.lanes[i];
    const double top = lanes_top + pitch * static_cast<double>(i);
    svg.text(left - 8, top + lane_height - 2, lane.name, "s", Anchor::end);
    svg.line(left, top + lane_height, right, top + lane_height, "grid");
    svg.path(painted(lane.spans, x, top, lane_height), fmt::format("{} bar", lane.css));
  }
  return svg.str();
}

}  // namespace

std::string timeline_figure(PageData& page_data) {
  const Story story = story_of(page_data);
  constexpr std::string_view k_heading = "Timeline";
  if (story.bars.empty()) return absent("timeline", k_heading, "No iteration was opened.");
  std::string caption = fmt::format(
      "{} in all. Built: wall time of the compiler, none where the cache had it; judged: when a "
      "verdict was given; timed: wall time of the turns.",
      report::duration(story.log_s));
  if (story.log_s > story.end_s) {
    caption += fmt::format(" The axis ends with the work, after {}; the log was closed later.",
                           report::duration(story.end_s));
  }
  if (!story.pauses.empty()) caption += " Shaded: paused.";
  return figure("timeline", k_heading, caption,
                [&](double width) { return draw(page_data, story, width); });
}

}  // namespace wb::html
