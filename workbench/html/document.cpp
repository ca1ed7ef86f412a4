// SPDX-License-Identifier: MIT
#include "html/document.hpp"

#include <fmt/format.h>

#include "html/text.hpp"

namespace wb::html {

std::string Citations::link(std::int64_t seq) {
  if (seq < 1 || seq > m_events) return {};
  if (!m_cited.contains(seq)) {
    if (m_cited.size() >= m_limit) return {};
    m_cited.insert(seq);
  }
  return fmt::format("#e{}", seq);
}

std::string figure(std::string_view id, std::string_view heading, std::string_view safe_caption,
                   const std::function<std::string(double width)>& draw, std::string_view after) {
  return fmt::format(
      "<section id=\"{}\"><h2>{}</h2><figure><div class=\"wide\">{}</div><div class=\"narrow\">{}"
      "</div><figcaption>{}</figcaption></figure>{}</section>\n",
      id, heading, draw(k_wide_px), draw(k_narrow_px), safe_caption, after);
}

std::string absent(std::string_view id, std::string_view heading, std::string_view safe_reason) {
  return fmt::format("<section id=\"{}\"><h2>{}</h2><p class=\"soft\">{}</p></section>\n", id,
                     heading, safe_reason);
}

HtmlTable::HtmlTable(const std::vector<std::string>& header) {
  m_text = "<div class=\"scroll\"><table><thead><tr>";
  for (std::string name : header) {
    m_right.push_back(name.ends_with('>'));
    if (m_right.back()) name.pop_back();
    m_text += fmt::format("<th{}>{}</th>", m_right.back() ? " class=\"r\"" : "", name);
  }
  m_text += "</tr></thead><tbody>\n";
}

void HtmlTable::row(const std::vector<std::string>& cells) {
  m_text += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    m_text += fmt::format("<td{}>{}</td>", m_right[i] ? " class=\"r\"" : "", cells[i]);
  }
  m_text += "</tr>\n";
}

std::string HtmlTable::str() const {
  return m_text + "</tbody></table></div>\n";
}

std::string legend(const std::vector<LegendEntry>& keys) {
  std::string out = "<ul class=\"legend\">";
  for (const LegendEntry& key : keys) {
    Svg svg(14, 12, key.safe_words);
    svg.mark(key.shape, 7, 6, 4, key.css);
    out += fmt::format("<li>{} {}</li>", svg.str(), key.safe_words);
  }
  return out + "</ul>";
}

std::string document(std::string_view safe_title, std::string_view body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      // A second barrier: unescaped text could neither run nor load anything.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      safe_title, style(), body);
}

}  // namespace wb::html
