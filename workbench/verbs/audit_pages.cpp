// SPDX-License-Identifier: MIT
#include "verbs/audit_pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "audit/figure.hpp"
#include "audit/repair.hpp"
#include "core/ascii.hpp"
#include "verbs/audit_session.hpp"

namespace wb::verbs {
namespace {

using audit::Severity;

constexpr std::size_t k_most_lines = 20;  ///< most differing lines reported for one page

/// The figures that differ between two versions of a line, or the first differing words.
std::pair<std::string, std::string> differing(std::string_view printed, std::string_view said) {
  const std::string a = audit::plain_of(printed), b = audit::plain_of(said);
  const auto left = audit::figures_in(a), right = audit::figures_in(b);
  std::string was, is;
  if (left.size() == right.size()) {
    for (std::size_t n = 0; n < left.size(); ++n) {
      if (left[n].printed == right[n].printed) continue;
      was += (was.empty() ? "" : ", ") + left[n].printed;
      is += (is.empty() ? "" : ", ") + right[n].printed;
    }
    if (!was.empty()) return {was, is};
  }
  std::size_t same = 0;
  while (same < a.size() && same < b.size() && a[same] == b[same]) ++same;
  while (same > 0 && a[same - 1] != ' ') --same;
  return {printable(a.substr(std::min(same, a.size())), 40),
          printable(b.substr(std::min(same, b.size())), 40)};
}

/// The events that a line cites: "[e12]".
std::string cited(std::string_view line) {
  std::string events;
  for (std::size_t at = line.find("[e"); at != std::string_view::npos;
       at = line.find("[e", at + 1)) {
    const std::size_t close = line.find(']', at);
    if (close == std::string_view::npos || close - at > 12) continue;
    events += (events.empty() ? "" : ", ") + std::string(line.substr(at + 1, close - at - 1));
  }
  return events.empty() ? "its events" : events;
}

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) end = text.size();
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

void compare_pages(const std::string& file, const std::string& printed, const std::string& said,
                   Severity severity, std::string_view meaning, SessionAudit& audited) {
  if (printed == said) return;
  const auto was = lines_of(printed), is = lines_of(said);
  std::size_t told = 0, more = 0;
  for (std::size_t n = 0; n < std::max(was.size(), is.size()); ++n) {
    const std::string_view a = n < was.size() ? was[n] : "", b = n < is.size() ? is[n] : "";
    if (a == b) continue;
    if (told == k_most_lines) {
      ++more;
      continue;
    }
    const auto [shown, right] = differing(a, b);
    ++told;
    audited.add(file, {.severity = severity,
                       .line = static_cast<int>(n + 1),
                       .printed = shown.empty() ? "nothing" : shown,
                       .computed = fmt::format("the log says {} ({})",
                                               right.empty() ? "nothing" : right, cited(b)),
                       .meaning = std::string(meaning)});
    if (was.size() != is.size()) {
      audited.add(file, {.severity = severity,
                         .line = static_cast<int>(n + 1),
                         .printed = fmt::format("{} lines", was.size()),
                         .computed = fmt::format("the log gives {}", is.size()),
                         .meaning = "from here on the lines do not correspond"});
      return;
    }
  }
  if (told == 0) {
    audited.add(file, {.severity = severity,
                       .line = static_cast<int>(was.size()),
                       .printed = fmt::format("{} bytes", printed.size()),
                       .computed = fmt::format("the log gives {} bytes", said.size()),
                       .meaning = "line ends or the end of the file differ"});
  }
  if (more > 0) audited.gaps.push_back(fmt::format("{}: {} more lines differ", file, more));
}

namespace reading {

bool is_of_word(char c) {
  return ascii::is_alnum(c) || c == '_';
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool names(std::string_view text, std::string_view name) {
  if (name.empty()) return false;
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool starts = at == 0 || !is_of_word(text[at - 1]);
    if (starts && (end == text.size() || !is_of_word(text[end]))) return true;
  }
  return false;
}

std::optional<std::string_view> behind(std::string_view text, std::string_view lead) {
  if (!text.starts_with(lead)) return std::nullopt;
  return text.substr(lead.size());
}

std::optional<std::size_t> take_count(std::string_view& text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<std::pair<std::size_t, std::size_t>> share_in(std::string_view text) {
  const auto part = take_count(text);
  if (!part || !text.starts_with(" of ")) return std::nullopt;
  text.remove_prefix(4);
  const auto whole = take_count(text);
  if (!whole) return std::nullopt;
  return std::pair(*part, *whole);
}

std::optional<std::size_t> count_before(std::string_view text, std::string_view part) {
  const std::size_t at = text.find(part);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t from = at;
  while (from > 0 && text[from - 1] >= '0' && text[from - 1] <= '9') --from;
  std::string_view digits = text.substr(from, at - from);
  return take_count(digits);
}

std::vector<std::string_view> cells_of(std::string_view row) {
  std::vector<std::string_view> cells;
  while (row.starts_with('|')) {
    row.remove_prefix(1);
    const std::size_t end = row.find('|');
    if (end == std::string_view::npos) break;
    std::string_view cell = row.substr(0, end);
    while (cell.starts_with(' ')) cell.remove_prefix(1);
    while (cell.ends_with(' ')) cell.remove_suffix(1);
    cells.push_back(cell);
    row.remove_prefix(end);
  }
  return cells;
}

std::vector<std::string_view> code_in(std::string_view line) {
  std::vector<std::string_view> code;
  for (std::size_t at = line.find('`'); at != std::string_view::npos; at = line.find('`', at)) {
    const std::size_t end = line.find('`', at + 1);
    if (end == std::string_view::npos) break;
    code.push_back(line.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return code;
}

}  // namespace reading

}  // namespace wb::verbs
