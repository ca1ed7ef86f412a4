// SPDX-License-Identifier: MIT
// Private to html: shared parts of a page: the facts and turns of the session, the cited events
// (each has a row to link to), the frame of a figure, and the document around it.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "html/svg.hpp"
#include "report/phrases.hpp"
#include "session/session.hpp"

namespace wb::html {

struct TurnRow {
  std::int64_t seq = 0, iteration = -1;
  std::string phase, plan, regime, problem, subject;
  std::vector<double> samples_us;  ///< finite ones
  double wall_us = 0;
};

using TurnTable = std::vector<TurnRow>;

/// Errors: damaged.
Result<TurnTable> read_turns(const session::Session& session, const session::SessionView& view);

/// The events that the page links to, limited in number so that their list stays short. An event
/// without a row gets no link, so that no link is broken.
class Citations {
 public:
  explicit Citations(std::int64_t events, std::size_t limit) : m_events(events), m_limit(limit) {}
  /// "#e12", or empty when there is no such event or no room.
  std::string link(std::int64_t seq);
  [[nodiscard]] const std::set<std::int64_t>& all() const { return m_cited; }

 private:
  std::int64_t m_events;
  std::size_t m_limit;
  std::set<std::int64_t> m_cited;
};

/// The input of all parts. It has inner references, so it is not movable.
struct PageData {
  PageData(const session::Session& whole, const session::SessionView& view, std::size_t max_events)
      : session(whole), page(view), cited(view.events, max_events) {}
  const session::Session& session;
  report::Page page;
  TurnTable turns;
  Citations cited;
};

/// Widths in pixels of the two drawings of a figure: a page of 360 px has margins of 16 px.
inline constexpr double k_wide_px = 880, k_narrow_px = 328;

/// A figure with a heading; `safe_caption` says how to read it. It is drawn in two widths, and the
/// fitting one is shown. `after` (HTML) follows the caption.
std::string figure(std::string_view id, std::string_view heading, std::string_view safe_caption,
                   const std::function<std::string(double width)>& draw,
                   std::string_view after = {});
/// A figure that cannot be drawn, with the reason.
std::string absent(std::string_view id, std::string_view heading, std::string_view safe_reason);

/// The whole file. `safe_title` is the window's title.
std::string document(std::string_view safe_title, std::string_view body);
std::string_view style();

// Figures and parts; each is empty or a section with an id.

std::string speedups_figure(PageData& page_data);       ///< #speedup
std::string standing_figure(PageData& page_data);       ///< #sdpa
std::string roofline_figure(PageData& page_data);       ///< #roofline
std::string distributions_figure(PageData& page_data);  ///< #samples
std::string timeline_figure(PageData& page_data);       ///< #timeline
std::string burn_figure(PageData& page_data);           ///< #cost-burn
/// The end of time axes: the log's end, unless it was closed long after all work was done.
double end_of_work_s(const PageData& page_data);
/// Source diffs of each iteration to its parent, at most `max_bytes` of HTML.
std::string diffs_part(PageData& page_data, std::size_t max_bytes);

/// A table of escaped cells that scrolls sideways on a narrow page. A column whose name ends in '>'
/// is aligned to the right.
class HtmlTable {
 public:
  explicit HtmlTable(const std::vector<std::string>& header);
  void row(const std::vector<std::string>& cells);
  [[nodiscard]] std::string str() const;

 private:
  std::vector<bool> m_right;
  std::string m_text;
};

/// An entry of a legend: shape, class and escaped words of one kind of mark.
struct LegendEntry {
  Shape shape;
  std::string_view css, safe_words;
};
std::string legend(const std::vector<LegendEntry>& keys);

}  // namespace wb::html
