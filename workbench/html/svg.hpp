// SPDX-License-Identifier: MIT
// Private to html: an SVG picture in pixels from the top left. Colors and widths are CSS classes
// (style.cpp), so that light, dark and print share one drawing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wb::html {

enum class Shape { dot, ring, diamond, square, triangle };
enum class Anchor { start, middle, end };

class Svg {
 public:
  /// `label` describes the picture for screen readers; it is escaped here.
  Svg(double width, double height, std::string_view label);

  void line(double x1, double y1, double x2, double y2, std::string_view css);
  void rect(double x, double y, double width, double height, std::string_view css);
  void path(std::string_view d, std::string_view css);
  void mark(Shape shape, double x, double y, double radius, std::string_view css);
  /// `safe` is already escaped (text.hpp).
  void text(double x, double y, std::string_view safe, std::string_view css,
            Anchor anchor = Anchor::start);
  /// Elements drawn until close() show `safe_title` and link to `href` ("#e12"; empty: no link).
  void open(std::string_view href, std::string_view safe_title);
  void close();

  [[nodiscard]] double width() const { return m_width; }
  [[nodiscard]] std::string str() const;

 private:
  double m_width, m_height;
  std::string m_label, m_body, m_closing;
};

/// An upper estimate of a text's width at 12 px.
double text_width(std::string_view text, double size_px = 12);
/// `safe` text cut to `width` pixels, with an ellipsis; never cuts an entity.
std::string fitted(std::string_view safe, double width, double size_px = 12);

}  // namespace wb::html
