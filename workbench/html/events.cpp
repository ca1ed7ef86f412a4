// SPDX-License-Identifier: MIT
// The events that the page cites, one row each, as targets of links.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "html/document.hpp"
#include "html/text.hpp"

namespace wb::html {
namespace {

std::string summary(const report::Facts& facts, const session::Event& event) {
  const Json& payload = event.payload;
  std::string out;
  const auto add = [&](const std::string& safe) {
    if (!safe.empty()) out += (out.empty() ? "" : ", ") + safe;
  };
  if (const auto iteration = report::integer(payload, "iteration")) {
    add(fmt::format("iteration {}", *iteration));
  }
  const auto word = [&](const char* key) { return words(report::text(payload, key), 80); };
  for (const char* key : {"phase", "plan", "analysis", "tool", "item", "verb"}) add(word(key));
  for (const char* key : {"subject", "variant", "candidate"}) add(word(key));
  if (const std::string against = word("against"); !against.empty()) add("against " + against);
  const std::string problem = report::text(payload, "problem");
  // The title and not the text, because the text of a held-out problem is hidden while the session
  // is open.
  if (!problem.empty()) add(words(facts.title(problem), 80));
  add(word("outcome"));
  if (const auto ratio = report::ratio(payload); ratio.value) add(report::speedup(ratio));
  add(words(facts.words(report::text(payload, "reason")), 120));
  if (const auto quantity = report::number(payload, "quantity")) {
    add(report::with_prefix(*quantity) + word("unit"));
  }
  return out;
}

/// "2026-11-20 18:03:22".
std::string moment(std::string t) {
  t.resize(std::min<std::size_t>(t.size(), 19));
  std::replace(t.begin(), t.end(), 'T', ' ');
  return words(t, 40);
}

}  // namespace

std::string events_part(const PageData& page_data) {
  if (page_data.cited.all().empty()) return {};
  std::string out =
      "<section id=\"events\"><h2>Events cited</h2><p class=\"soft\">The figures above come from "
      "these; <code>sdpa-wb show eN</code> prints one in full, a turn with all samples.</p>"
      "<details><summary>" +
      report::count(static_cast<std::int64_t>(page_data.cited.all().size()), "event") +
      "</summary><div class=\"scroll\"><table "
      "class=\"wraps\"><thead><tr><th>event</th><th>time</th><th>type</th>"
      "<th>what</th></tr></thead><tbody>\n";
  for (const std::int64_t seq : page_data.cited.all()) {
    const Result<session::Event> event = page_data.session.log().event(seq);
    if (!event) continue;
    out += fmt::format("<tr id=\"e{0}\"><td>e{0}</td><td>{1}</td><td>{2}</td><td>{3}</td></tr>\n",
                       seq, moment(event->t), words(event->type, 64),
                       summary(page_data.page.facts, *event));
  }
  return out + "</tbody></table></div></details></section>\n";
}

}  // namespace wb::html
