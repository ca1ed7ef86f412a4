// SPDX-License-Identifier: MIT
#include "html/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/ascii.hpp"
#include "html/text.hpp"

namespace wb::html {

namespace {

std::vector<double> linear_ticks(double low, double high, int wanted) {
  const double raw = (high - low) / std::max(wanted, 1);
  if (!(raw > 0) || !std::isfinite(raw)) return {low};
  const double decade = std::pow(10.0, std::floor(std::log10(raw)));
  double step = decade * 10;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * decade >= raw * 0.999) {
      step = factor * decade;
      break;
    }
  }
  std::vector<double> result;
  for (double n = std::ceil(low / step - 1e-9); n * step <= high * (1 + 1e-12) + step * 1e-9; ++n) {
    result.push_back(n * step == 0 ? 0 : n * step);
  }
  return result;
}

}  // namespace

double Scale::operator()(double value) const {
  const double clamped = std::clamp(value, low, high);
  const double share =
      log ? std::log(clamped / low) / std::log(high / low) : (clamped - low) / (high - low);
  return from + share * (to - from);
}

void give_room(double& low, double& high, bool log) {
  if (!std::isfinite(low) || !std::isfinite(high) || low > high) {
    low = log ? 0.5 : 0;
    high = log ? 2 : 1;
  }
  if (log) {
    low = std::max(low, 1e-12);
    high = std::max(high, low);
    const double room = std::max(std::pow(high / low, 0.06), 1.02);
    low /= room;
    high *= room;
    return;
  }
  if (high == low) high = low + (low == 0 ? 1 : std::abs(low) * 0.1);
}

std::vector<double> ticks(const Scale& scale, int wanted) {
  if (!scale.log || scale.high / scale.low < 3) return linear_ticks(scale.low, scale.high, wanted);
  const double decades = std::log10(scale.high / scale.low);
  std::vector<double> factors{1, 2, 5};
  if (decades < 1.2) factors = {1, 1.5, 2, 3, 5, 7};
  int every = 1;
  if (3 * decades > wanted * 1.5) {
    factors = {1};
    every = std::max(1, static_cast<int>(std::ceil(decades / wanted)));
  }
  std::vector<double> result;
  const int first = static_cast<int>(std::floor(std::log10(scale.low)));
  const int last = static_cast<int>(std::ceil(std::log10(scale.high)));
  for (int decade = first; decade <= last; ++decade) {
    if (decade % every != 0) continue;
    for (const double factor : factors) {
      const double value = factor * std::pow(10.0, decade);
      if (value >= scale.low * 0.9999 && value <= scale.high * 1.0001) result.push_back(value);
    }
  }
  return result.size() >= 2 ? result : linear_ticks(scale.low, scale.high, wanted);
}

std::string tick_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-9)) return fmt::format("{:.1g}", value);
  std::string text =
      fmt::format("{:.9f}", ascii::number<double>(fmt::format("{:.4g}", value)).value_or(value));
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

namespace {

constexpr double k_letter_em = 0.62;  ///< width of a letter in the widest font of style()

/// The bytes of the first character: an entity or one code point.
std::size_t character_bytes(std::string_view safe) {
  if (safe.front() == '&') {
    const std::size_t end = safe.find(';');
    return end == std::string_view::npos ? 1 : end + 1;
  }
  std::size_t bytes = 1;
  while (bytes < safe.size() && (static_cast<unsigned char>(safe[bytes]) & 0xc0) == 0x80) ++bytes;
  return bytes;
}

}  // namespace

Svg::Svg(double width, double height, std::string_view label)
    : m_width(width), m_height(height), m_label(words(label)) {}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view css) {
  m_body += fmt::format("<path class=\"{}\" d=\"M{} {}L{} {}\"/>", css, coordinate(x1),
                        coordinate(y1), coordinate(x2), coordinate(y2));
}

void Svg::rect(double x, double y, double width, double height, std::string_view css) {
  m_body += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", css,
                        coordinate(x), coordinate(y), coordinate(width), coordinate(height));
}

void Svg::path(std::string_view d, std::string_view css) {
  m_body += fmt::format("<path class=\"{}\" d=\"{}\"/>", css, d);
}

void Svg::mark(Shape shape, double x, double y, double r, std::string_view css) {
  const auto at = [](double value) { return coordinate(value); };
  switch (shape) {
    case Shape::dot:
    case Shape::ring:
      m_body += fmt::format("<circle class=\"{}{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>", css,
                            shape == Shape::ring ? " hollow" : "", at(x), at(y), at(r));
      return;
    case Shape::diamond:
      path(fmt::format("M{} {}L{} {}L{} {}L{} {}Z", at(x), at(y - 1.3 * r), at(x + 1.3 * r), at(y),
                       at(x), at(y + 1.3 * r), at(x - 1.3 * r), at(y)),
           fmt::format("{} hollow", css));
      return;
    case Shape::square:
      rect(x - r, y - r, 2 * r, 2 * r, css);
      return;
    case Shape::triangle:
      path(fmt::format("M{} {}L{} {}L{} {}Z", at(x), at(y - 1.2 * r), at(x + 1.2 * r), at(y + r),
                       at(x - 1.2 * r), at(y + r)),
           css);
      return;
  }
}

void Svg::text(double x, double y, std::string_view safe, std::string_view css, Anchor anchor) {
  const std::string_view where = anchor == Anchor::start    ? ""
                                 : anchor == Anchor::middle ? " text-anchor=\"middle\""
                                                            : " text-anchor=\"end\"";
  m_body += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\"{}>{}</text>", css, coordinate(x),
                        coordinate(y), where, safe);
}

void Svg::open(std::string_view href, std::string_view safe_title) {
  m_closing = href.empty() ? "</g>" : "</a>";
  m_body += href.empty() ? std::string("<g>") : fmt::format("<a href=\"{}\">", href);
  m_body += fmt::format("<title>{}</title>", safe_title);
}

void Svg::close() {
  m_body += m_closing;
}

std::string Svg::str() const {
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "aria-label=\"{2}\">{3}</svg>",
      coordinate(m_width), coordinate(m_height), m_label, m_body);
}

double text_width(std::string_view text, double size_px) {
  std::size_t letters = 0;
  for (std::size_t i = 0; i < text.size(); i += character_bytes(text.substr(i))) ++letters;
  return static_cast<double>(letters) * size_px * k_letter_em;
}

std::string fitted(std::string_view safe, double width, double size_px) {
  if (text_width(safe, size_px) <= width) return std::string(safe);
  std::string out;
  double used = 2 * size_px * k_letter_em;
  for (std::size_t i = 0; i < safe.size();) {
    const std::size_t bytes = character_bytes(safe.substr(i));
    used += size_px * k_letter_em;
    if (used > width) break;
    out += safe.substr(i, bytes);
    i += bytes;
  }
  return out + "\u2026";
}

}  // namespace wb::html
