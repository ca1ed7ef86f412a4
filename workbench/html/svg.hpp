// SPDX-License-Identifier: MIT
// Private to html: pictures in pixels from the top left, and the scales that map values to them.
// Colors and widths are CSS classes (style()), so that light, dark and print share one drawing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wb::html {

/// Maps [low, high] to pixels [from, to], logarithmically when `log`. Values outside are clamped.
struct Scale {
  double low = 0, high = 1, from = 0, to = 1;
  bool log = false;
  [[nodiscard]] double operator()(double value) const;
};

/// Widens a range so that marks do not touch the frame, and keeps it finite and not empty; both
/// ends of a log range stay above 0.
void give_room(double& low, double& high, bool log);

/// About `wanted` round values inside the scale. For a log scale: 1, 2 and 5 of each decade, or
/// decades only, or round steps over a small range.
std::vector<double> ticks(const Scale& scale, int wanted);
/// Without exponent: "0.05", "250", "1.5".
std::string tick_text(double value);

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
