// SPDX-License-Identifier: MIT
// Private to html: what the parts of a page share: the facts, the events that it cites (each gets a
// row to lead to), the frame of a figure, and the document around it all.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "html/svg.hpp"
#include "html/turns.hpp"
#include "report/sections.hpp"
#include "session/session.hpp"

namespace wb::html {

/// Events that something on the page leads to. Beyond a limit none is added, so that the list of
/// them stays short; what has no row gets no link, and no link is broken.
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

/// What all parts are drawn from. Parts point into others, so it stays where it is.
struct Material {
  Material(const session::Session& whole, const session::SessionView& view, std::size_t max_events)
      : session(whole), page(view), cited(view.events, max_events) {}
  const session::Session& session;
  report::Page page;
  TurnTable turns;
  Citations cited;
};

/// Width in pixels of the two drawings of a figure: a page of 360 px has 16 px on each side.
inline constexpr double k_wide_px = 880, k_narrow_px = 328;

/// A figure with a heading; `safe_caption` says how to read it. It is drawn twice and shown in the
/// width that fits. `after` (HTML) follows the caption.
std::string figure(std::string_view id, std::string_view heading, std::string_view safe_caption,
                   const std::function<std::string(double width)>& draw,
                   std::string_view after = {});
/// The same without a drawing: why there is none.
std::string absent(std::string_view id, std::string_view heading, std::string_view safe_reason);

/// The whole file. `safe_title` for the window.
std::string document(std::string_view safe_title, std::string_view body);
std::string_view style();

// Figures and parts, each empty or a section with an id
// -----------------------------------------------------------------------------------------------

std::string speedups_figure(Material& material);       ///< #speedup
std::string standing_figure(Material& material);       ///< #sdpa
std::string roofline_figure(Material& material);       ///< #roofline
std::string distributions_figure(Material& material);  ///< #samples
std::string timeline_figure(Material& material);       ///< #timeline
std::string burn_figure(Material& material);           ///< #cost-burn
/// Where the axes of time end: with the log, unless it was closed long after all work was done.
double end_of_work_s(const Material& material);
/// Source diffs of each iteration to its parent, at most `max_bytes` of HTML.
std::string diffs_part(Material& material, std::size_t max_bytes);
/// One row for each cited event; the last part to be made.
std::string events_part(const Material& material);

/// A table of escaped cells that scrolls sideways where the page is narrow. A column whose name
/// ends in '>' is aligned to the right.
class HtmlTable {
 public:
  explicit HtmlTable(const std::vector<std::string>& header);
  void row(const std::vector<std::string>& cells);
  [[nodiscard]] std::string str() const;

 private:
  std::vector<bool> m_right;
  std::string m_text;
};

/// A legend: shape, class and escaped words of each kind of mark.
struct Key {
  Shape shape;
  std::string_view css, safe_words;
};
std::string legend(const std::vector<Key>& keys);

}  // namespace wb::html
