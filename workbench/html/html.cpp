// SPDX-License-Identifier: MIT
// The page of one session: first screen, figures, source changes, the whole report, cited events.
#include "html/html.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "html/document.hpp"
#include "html/markdown.hpp"
#include "html/text.hpp"
#include "report/report.hpp"

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

/// One row for each cited event, as a target of links; must be made last.
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

/// Size limits for the parts that grow with the session.
struct Room {
  std::size_t diff_bytes = 500'000, events = 3'000, report_bytes = 600'000;
};

struct Tile {
  std::string big, small;  ///< safe
};

/// Splits "1.02x [1.01, 1.03], faster" into "1.02x" and the rest; text without a figure is
/// unchanged.
Tile tile_of(const std::string& safe, const std::string& tail) {
  const bool has_figure = !safe.empty() && safe.front() >= '0' && safe.front() <= '9';
  const std::size_t end =
      has_figure ? std::min(safe.find_first_of(" ,"), safe.size()) : std::string::npos;
  if (!has_figure) return {"\u2013", tail + ": " + safe};
  std::string rest = safe.substr(end);
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == ',')) rest.erase(0, 1);
  return {safe.substr(0, end), tail + (rest.empty() ? "" : ": " + rest)};
}

std::string tiles(const report::Page& page) {
  std::vector<Tile> all;
  all.push_back(tile_of(unmarked(report::chosen_over_start(page)), "over the start"));
  const outcome::Choice* choice = page.conclusion.chosen();
  if (choice != nullptr && choice->over_rival.measured() > 0) {
    const outcome::Total& rivals = choice->over_rival;
    all.push_back(tile_of(unmarked(report::chosen_over_rivals(page)), "over SDPA"));
    all.push_back({fmt::format("{} of {}", rivals.faster.size(), rivals.measured()),
                   fmt::format("problems faster than SDPA, {} slower", rivals.slower.size())});
  } else {
    all.push_back({"\u2013", "no rival stands beside it"});
  }
  const report::CostRow& total = page.costs.total();
  const report::CostCell& device = total.cells[static_cast<std::size_t>(session::CostItem::device)];
  const std::string usd = unmarked(page.costs.usd(total));
  all.push_back(device.used ? Tile{page.costs.quantity(session::CostItem::device, device) + " s",
                                   "of device, " + usd}
                            : Tile{usd, "spent"});
  std::string out = "<div class=\"tiles\">";
  for (const Tile& tile : all) {
    out += fmt::format("<div><b>{}</b><span>{}</span></div>", tile.big, tile.small);
  }
  return out + "</div>\n";
}

std::string kind_line(const report::Page& page, const std::string& index) {
  const report::Facts& facts = page.facts;
  std::string out = "SDPA Workbench";
  if (!index.empty()) {
    out = "<a href=\"./" + escape(index) + "\">all sessions</a> \u00b7 " + out;
  }
  const std::string contest = report::contest_name(page);
  const outcome::Group* group = page.conclusion.main_group();
  const bool is_suite = group == nullptr || group->is_suite;
  if (!contest.empty()) out += (is_suite ? " \u00b7 suite " : " \u00b7 ") + words(contest, 60);
  if (facts.view.environment) {
    const std::string device =
        report::text(report::field(facts.view.environment->payload, "device"), "name");
    if (!device.empty()) out += " \u00b7 " + words(device, 80);
  }
  out += " \u00b7 " + words(facts.view.first_t.substr(0, 10), 40);
  return "<p class=\"kind\">" + out + "</p>\n";
}

std::string redaction_note(const report::Facts& facts) {
  const Json& redacted = report::field(facts.view.opened.payload, session::k_redacted_key);
  if (!redacted.is_object()) return {};
  return "<p class=\"copy\">A redacted copy: names, addresses and paths were replaced, and the log "
         "was chained anew. The original's head was <code>" +
         words(report::text(redacted, "log_head").substr(0, 12), 64) + "</code>.</p>\n";
}

std::string navigation(bool has_diffs, bool has_events) {
  std::string out = "<nav>";
  const auto link = [&](std::string_view id, std::string_view name) {
    out += fmt::format("<a href=\"#{}\">{}</a>", id, name);
  };
  link("sdpa", "Beside SDPA");
  link("speedup", "Iterations");
  link("roofline", "Roofline");
  link("samples", "Samples");
  link("timeline", "Timeline");
  link("cost-burn", "Cost");
  if (has_diffs) link("diffs", "Source changes");
  link("report", "Report");
  if (has_events) link("events", "Events");
  return out + "</nav>\n";
}

std::string page_of(const session::Session& session, const session::SessionView& view,
                    const TurnTable& turns, const std::string& markdown, const std::string& index,
                    const Room& room) {
  PageData page_data(session, view, room.events);
  page_data.turns = turns;
  const SplitReport report = split_report(markdown);
  const std::string title = unmarked(report.title);
  std::string first = "<header class=\"first\">\n" + kind_line(page_data.page, index) + "<h1>" +
                      title + "</h1>\n" + redaction_note(page_data.page.facts) +
                      tiles(page_data.page) +
                      render_markdown(report.first_screen, page_data.cited) + "</header>\n";
  std::string figures = standing_figure(page_data) + speedups_figure(page_data) +
                        roofline_figure(page_data) + distributions_figure(page_data) +
                        timeline_figure(page_data) + burn_figure(page_data);
  const std::string diffs = diffs_part(page_data, room.diff_bytes);
  const std::string rest = report_part(report.rest, page_data.cited, room.report_bytes);
  const std::string events = events_part(page_data);
  const std::string footer = fmt::format(
      "<footer>Made from {} of the session's log, head <code>{}</code>, recorded by "
      "sdpa-wb {}. One file, "
      "without scripts or anything from a network.</footer>\n",
      report::count(view.events, "event"), words(view.log_head.substr(0, 12), 64),
      words(report::text(view.opened.payload, "workbench_version"), 40));
  return document(title, first + navigation(!diffs.empty(), !events.empty()) + "<main>\n" +
                             figures + diffs + rest + events + "</main>\n" + footer);
}

}  // namespace
}  // namespace wb::html

namespace wb::html {

Result<std::string> session_html(const session::Session& session, const std::string& index,
                                 const session::SessionView* view) {
  if (view == nullptr) {
    WB_TRY_ASSIGN(view, session.current(session::FoldDepth::full));
  }
  WB_TRY_ASSIGN(const html::TurnTable turns, html::read_turns(session, *view));
  const std::string markdown = report::render_session(*view);
  const html::Room rooms[] = {
      {}, {100'000, 3'000, 600'000}, {50'000, 1'000, 250'000}, {20'000, 200, 80'000}};
  std::size_t bytes = 0;
  for (const html::Room& room : rooms) {
    std::string page = html::page_of(session, *view, turns, markdown, index, room);
    bytes = page.size();
    if (bytes <= k_max_html_bytes) return page;
  }
  return Error{ErrorCode::limit, "make a page of", session.folder().string(),
               fmt::format("it would have {} bytes, and {} are allowed", bytes, k_max_html_bytes),
               "read `sdpa-wb report` instead"};
}

}  // namespace wb::html
