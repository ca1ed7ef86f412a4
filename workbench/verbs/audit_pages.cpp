// SPDX-License-Identifier: MIT
#include "verbs/audit_pages.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "audit/figure.hpp"
#include "audit/repair.hpp"
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

}  // namespace wb::verbs
